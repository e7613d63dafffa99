package markdown

import (
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"gofer/internal/ui/highlight"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// A drawer makes lines of pieces, in their order. It remembers only what the next piece needs to know.
type drawer struct {
	last     kind // of the piece before
	language *highlight.Language
	state    highlight.State
}

// codeIndent is how far program text stands in.
const codeIndent = 2

// minWidth is how narrow nested parts become; deeper ones are not moved in any more.
const minWidth = 12

func (d *drawer) piece(c screen.Canvas, lines []string, p piece) []string {
	c.Width = max(c.Width, 1)
	if d.last != nothing && p.kind != fenceLine && p.kind != fenceEnd && (p.gap || airy(d.last) || airy(p.kind)) {
		lines = append(lines, "")
	}
	d.last = p.kind
	switch p.kind {
	case fenceOpen:
		d.language, d.state = highlight.Named(p.lines[0]), 0
	case fenceLine:
		return append(lines, d.code(c, p.lines[0])...)
	case fenceEnd:
	case rule:
		return append(lines, c.Theme.Faint.Paint(strings.Repeat("─", min(c.Width, 60))))
	default:
		lines = append(lines, d.block(c, p)...)
	}
	return lines
}

// airy tells the blocks that have an empty line before and after them, even where the text has none.
func airy(k kind) bool { return k == heading || k == rule || k == fenceOpen || k == fenceEnd }

// code draws one line of program text.
func (d *drawer) code(c screen.Canvas, line string) []string {
	painted, next := d.language.Paint(c.Theme, line, d.state)
	d.state = next
	return moved(screen.Break(painted, inner(c.Width, codeIndent)), c.Width, codeIndent, "", "")
}

// inner is the width that is left beside an indent.
func inner(width, indent int) int {
	if width-indent < minWidth {
		return width
	}
	return width - indent
}

// moved puts a mark before the first line and blanks before the others, unless there is no room for that.
func moved(lines []string, width, indent int, first, others string) []string {
	if width-indent < minWidth {
		return lines
	}
	if others == "" {
		others = strings.Repeat(" ", indent)
	}
	if first == "" {
		first = others
	}
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = first + line
		case line != "" || strings.TrimSpace(others) != "":
			lines[i] = others + line
		}
	}
	return lines
}

func (d *drawer) block(c screen.Canvas, p piece) []string {
	source := p.lines
	if p.kind == rest {
		source = slices.Clone(source)
		for i, line := range source {
			source[i] = unindent(line, p.content)
		}
	}
	if p.kind == paragraph && isTable(source) {
		return table(c, source)
	}
	if p.kind == paragraph && isPlain(source) {
		return screen.Wrap(strings.Join(source, "\n"), c.Width)
	}
	src := []byte(strings.Join(source, "\n"))
	b := blocks{c: c, source: src, number: p.number}
	width := inner(c.Width, p.indent)
	lines := b.children(documents().Parse(text.NewReader(src)), width, theme.Style{}, false)
	return moved(lines, c.Width, p.indent, "", "")
}

// isPlain tells lines in which nothing has a meaning, so that they need not be parsed.
func isPlain(lines []string) bool {
	for _, line := range lines {
		if line == "" || line[0] == ' ' || strings.HasSuffix(line, " ") || hasMarks(line) || isUnderline(line) {
			return false
		}
	}
	return true
}

func hasMarks(line string) bool {
	return strings.ContainsAny(line, "*_`[]<>&\\~!#") || strings.Contains(line, "http")
}

// blocks draws the tree of one piece.
type blocks struct {
	c      screen.Canvas
	source []byte
	number int // of the first item of the first list, when it is not the one that is written
}

// children draws the blocks below a node, with an empty line between them unless they are tight.
func (b *blocks) children(parent ast.Node, width int, style theme.Style, tight bool) []string {
	var lines []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		drawn := b.block(n, width, style)
		if len(lines) > 0 && len(drawn) > 0 && (!tight || n.HasBlankPreviousLines()) {
			lines = append(lines, "")
		}
		lines = append(lines, drawn...)
	}
	return lines
}

func (b *blocks) block(n ast.Node, width int, style theme.Style) []string {
	t := b.c.Theme
	switch n := n.(type) {
	case *ast.Heading:
		style = style.With(t.Heading)
		if n.Level == 1 {
			style = style.With(t.Underline)
		} else if n.Level > 2 {
			style = t.Strong
		}
		return screen.Wrap(b.inline(n, style), width)
	case *ast.Blockquote:
		lines := b.children(n, inner(width, 2), style.With(t.Quote), false)
		if len(lines) == 0 {
			lines = []string{""}
		}
		bar := t.Border.Paint("│") + " "
		return moved(lines, width, 2, bar, bar)
	case *ast.List:
		return b.list(n, width, style)
	case *ast.FencedCodeBlock:
		return b.code(n.Lines(), highlight.Named(string(n.Language(b.source))), width)
	case *ast.CodeBlock:
		return b.code(n.Lines(), nil, width)
	case *ast.ThematicBreak:
		return []string{t.Faint.Paint(strings.Repeat("─", min(width, 60)))}
	}
	if raw := b.rows(n); isTable(raw) {
		c := b.c
		c.Width = width
		return table(c, raw)
	}
	return screen.Wrap(b.inline(n, style), width)
}

// rows are the source lines of a block.
func (b *blocks) rows(n ast.Node) []string {
	if n.Type() != ast.TypeBlock || n.Lines() == nil || n.Lines().Len() < 2 {
		return nil
	}
	var rows []string
	for _, segment := range n.Lines().Sliced(0, n.Lines().Len()) {
		rows = append(rows, strings.TrimSpace(string(segment.Value(b.source))))
	}
	return rows
}

func (b *blocks) code(lines *text.Segments, language *highlight.Language, width int) []string {
	d := drawer{language: language}
	c := b.c
	c.Width = width
	var drawn []string
	for _, segment := range lines.Sliced(0, lines.Len()) {
		drawn = append(drawn, d.code(c, strings.TrimRight(string(segment.Value(b.source)), "\n"))...)
	}
	return drawn
}

func (b *blocks) list(list *ast.List, width int, style theme.Style) []string {
	number := list.Start
	if b.number > 0 {
		number, b.number = b.number, 0
	}
	var lines []string
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		sign := "• "
		if list.IsOrdered() {
			sign = strconv.Itoa(number) + ". "
			number++
		} else if box := b.box(n); box != "" {
			sign = box
		}
		indent := screen.Width(sign)
		drawn := b.children(n, inner(width, indent), style, true)
		if len(drawn) == 0 {
			drawn = []string{""}
		}
		if width-indent < minWidth {
			drawn[0] = screen.Cut(sign+drawn[0], width, "")
		}
		if len(lines) > 0 && n.HasBlankPreviousLines() {
			lines = append(lines, "")
		}
		lines = append(lines, moved(drawn, width, indent, b.c.Theme.Faint.Paint(sign), "")...)
	}
	return lines
}

// box is the box of a task, which is taken out of its text.
func (b *blocks) box(itemNode ast.Node) string {
	first := itemNode.FirstChild()
	if first == nil || first.Lines() == nil || first.Lines().Len() == 0 {
		return ""
	}
	segment := first.Lines().At(0)
	raw := string(segment.Value(b.source))
	sign := ""
	switch {
	case strings.HasPrefix(raw, "[ ] "):
		sign = "☐ "
	case strings.HasPrefix(raw, "[x] "), strings.HasPrefix(raw, "[X] "):
		sign = "☑ "
	default:
		return ""
	}
	// The brackets are the beginning of the first texts of the item.
	left := 4
	for n := first.FirstChild(); n != nil && left > 0; n = n.NextSibling() {
		piece, ok := n.(*ast.Text)
		if !ok {
			break
		}
		cut := min(left, piece.Segment.Len())
		piece.Segment = piece.Segment.WithStart(piece.Segment.Start + cut)
		left -= cut
	}
	return sign
}
