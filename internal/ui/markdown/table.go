package markdown

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/text"

	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// maxColumns bounds tables; more columns than that are no table that a terminal could show.
const maxColumns = 40

// isTable tells rows of which the second one divides the head from the rest.
func isTable(rows []string) bool {
	if len(rows) < 2 || !strings.Contains(rows[0], "|") {
		return false
	}
	divider := strings.TrimSpace(rows[1])
	if !strings.Contains(divider, "|") || !strings.Contains(divider, "-") || strings.Trim(divider, "|:- ") != "" {
		return false
	}
	columns := len(split(rows[0]))
	return columns <= maxColumns && columns == len(split(divider))
}

// split cuts a row into its cells. A bar that is escaped or inside of code divides nothing.
func split(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	var found []string
	start, code := 0, false
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case '`':
			code = !code && strings.Contains(row[i+1:], "`")
		case '|':
			if !code {
				found = append(found, strings.TrimSpace(row[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(row[start:]); last != "" || len(found) == 0 {
		found = append(found, last)
	}
	return found
}

// table draws rows in columns that fit the canvas; where even narrow columns do not fit, as one record below the other.
func table(c screen.Canvas, rows []string) []string {
	head := split(rows[0])
	sides := alignments(split(rows[1]), len(head))
	grid := [][]string{cellsOf(c, head, len(head), c.Theme.Strong)}
	for _, row := range rows[2:] {
		grid = append(grid, cellsOf(c, split(row), len(head), theme.Style{}))
	}
	widths := make([]int, len(head))
	for _, row := range grid {
		for i, cell := range row {
			for line := range strings.SplitSeq(cell, "\n") {
				widths[i] = max(widths[i], screen.Width(line), 1)
			}
		}
	}
	room := c.Width - 3*(len(head)-1)
	if room < 5*len(head) && sum(widths) > room {
		return records(c, grid)
	}
	fit(widths, room)
	bar := " " + c.Theme.Border.Paint("│") + " "
	var lines []string
	for i, row := range grid {
		lines = append(lines, rowLines(row, widths, sides, bar)...)
		if i == 0 {
			lines = append(lines, c.Theme.Border.Paint(divider(widths)))
		}
	}
	return lines
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}

// cellsOf parses the cells of a row, of which there are as many as the head has.
func cellsOf(c screen.Canvas, row []string, count int, style theme.Style) []string {
	parsed := make([]string, count)
	for i := range min(count, len(row)) {
		source := row[i]
		if strings.ContainsAny(source, "\\<") {
			source = strings.NewReplacer("\\|", "|", "<br>", "\n", "<br/>", "\n", "<br />", "\n").Replace(source)
		}
		if !hasMarks(source) {
			parsed[i] = style.Paint(source)
			continue
		}
		b := blocks{c: c, source: []byte(source)}
		var out strings.Builder
		doc := cells().Parse(text.NewReader(b.source))
		for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
			b.write(&out, n, style)
		}
		parsed[i] = out.String()
	}
	return parsed
}

// A side is where the text of a column stands.
type side uint8

const (
	left side = iota
	right
	middle
)

func alignments(dividers []string, count int) []side {
	sides := make([]side, count)
	for i := range min(count, len(dividers)) {
		begins, ends := strings.HasPrefix(dividers[i], ":"), strings.HasSuffix(dividers[i], ":")
		switch {
		case begins && ends:
			sides[i] = middle
		case ends:
			sides[i] = right
		}
	}
	return sides
}

// fit makes the widest columns narrower until all have room. Columns that need less than their share keep what they need.
func fit(widths []int, room int) {
	if sum(widths) <= room {
		return
	}
	order := make([]int, len(widths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return widths[a] - widths[b] })
	for i, column := range order {
		share := max(room/(len(order)-i), 1)
		widths[column] = min(widths[column], share)
		room -= widths[column]
	}
}

func rowLines(row []string, widths []int, sides []side, bar string) []string {
	height := 1
	wrapped := make([][]string, len(row))
	for i, cell := range row {
		wrapped[i] = screen.Wrap(cell, widths[i])
		height = max(height, len(wrapped[i]))
	}
	lines := make([]string, height)
	for y := range lines {
		var b strings.Builder
		for x := range row {
			if x > 0 {
				b.WriteString(bar)
			}
			cell := ""
			if y < len(wrapped[x]) {
				cell = wrapped[x][y]
			}
			b.WriteString(aligned(cell, widths[x], sides[x], x == len(row)-1))
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

func aligned(cell string, width int, s side, last bool) string {
	free := max(width-screen.Width(cell), 0)
	before := 0
	switch s {
	case right:
		before = free
	case middle:
		before = free / 2
	}
	after := free - before
	if last {
		after = 0
	}
	return strings.Repeat(" ", before) + cell + strings.Repeat(" ", after)
}

func divider(widths []int) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("─", w)
	}
	return strings.Join(parts, "─┼─")
}

// records draws each row as lines of "head: cell".
func records(c screen.Canvas, grid [][]string) []string {
	var lines []string
	for i, row := range grid[1:] {
		if i > 0 {
			lines = append(lines, "")
		}
		for j, cell := range row {
			if cell != "" || grid[0][j] != "" {
				lines = append(lines, screen.Wrap(grid[0][j]+": "+cell, c.Width)...)
			}
		}
	}
	if len(grid) == 1 {
		return screen.Wrap(strings.Join(grid[0], ", "), c.Width)
	}
	return lines
}
