package input

import (
	"slices"
	"strings"
	"unicode/utf8"

	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

const (
	signWidth = 2 // the sign of the mode and a blank
	minRows   = 3 // that a long text gets at least
)

// textWidth is how wide the text may be: the cursor needs a column behind its end.
func (b *Box) textWidth() int { return max(1, b.width-signWidth-1) }

// View draws the box with a line above and below, and the popup under it.
func (b *Box) View(c screen.Canvas) screen.Drawing {
	b.width = c.Width
	ink := c.Theme.Border
	switch b.mode {
	case Shell:
		ink = c.Theme.Warn
	case Memory:
		ink = c.Theme.Info
	}
	rule := ink.Paint(strings.Repeat("─", max(c.Width, 0)))
	d := screen.Drawing{Lines: []string{rule}}
	d = d.Below(b.body(c, ink))
	d = d.Below(screen.Drawing{Lines: []string{b.lowerRule(c, ink)}})
	if b.search != nil {
		return d.Below(b.searchLine(c))
	}
	return d.Below(b.popup.view(c))
}

// sign is the character before the first row.
func (b *Box) sign(c screen.Canvas, ink theme.Style) string {
	switch b.mode {
	case Shell, Memory:
		return ink.Paint(b.mode.Prefix()) + " "
	}
	return c.Theme.Faint.Paint(">") + " "
}

// lowerRule shows what one should know about the state of the box.
func (b *Box) lowerRule(c screen.Canvas, ink theme.Style) string {
	var words []string
	if b.vim.on {
		words = append(words, c.T(b.vim.mode.String())+b.vim.pendingText())
	}
	if b.reader.Pending() != "" {
		words = append(words, b.reader.Pending()+" …")
	}
	switch b.mode {
	case Shell:
		words = append(words, c.T("shell command"))
	case Memory:
		words = append(words, c.T("note to remember"))
	}
	if b.stash != nil {
		words = append(words, c.T("a draft is put aside"))
	}
	if b.busy > 0 {
		words = append(words, c.T("reading an image…"))
	}
	if len(words) == 0 {
		return ink.Paint(strings.Repeat("─", max(c.Width, 0)))
	}
	label := screen.Cut(" "+strings.Join(words, " · ")+" ", c.Width-4, "…")
	rest := max(0, c.Width-2-screen.Width(label))
	return screen.Cut(ink.Paint("──")+c.Theme.Faint.Paint(label)+ink.Paint(strings.Repeat("─", rest)), c.Width, "")
}

// body draws the rows of the text that are in sight.
func (b *Box) body(c screen.Canvas, ink theme.Style) screen.Drawing {
	text, cursor, lay := b.text, b.cursor, &b.lay
	var mark func(from, to int) string
	if b.search != nil {
		e, _ := b.search.match()
		text, lay = e.Display, &layout{}
		cursor = max(0, matchAt(text, b.search.query))
		hit, n := cursor, len(b.search.query)
		mark = func(from, to int) string { return paintRange(text, from, to, hit, hit+n, c.Theme.Selected) }
	}
	lay.fit(text, b.textWidth())
	rows := min(len(lay.rows), max(minRows, c.Height/3))
	at := lay.row(cursor)
	b.top = max(0, min(b.top, len(lay.rows)-rows, at))
	if at >= b.top+rows {
		b.top = at - rows + 1
	}
	var d screen.Drawing
	for i := b.top; i < b.top+rows; i++ {
		from, to := lay.rows[i], lay.end(text, i)
		line := ""
		switch {
		case mark != nil:
			line = mark(from, to)
		case b.vim.visual():
			lo, hi := b.visualRange()
			line = paintRange(text, from, to, lo, hi, c.Theme.Selected)
		default:
			line = b.paintMarks(c, from, to)
		}
		lead := strings.Repeat(" ", signWidth)
		if i == b.top {
			lead = b.sign(c, ink)
		}
		d.Lines = append(d.Lines, screen.Cut(lead+line, c.Width, ""))
	}
	b.addHints(c, &d, text)
	if b.search == nil {
		d.Cursor = &screen.Cursor{X: min(signWidth+lay.column(text, cursor), max(c.Width-1, 0)), Y: at - b.top}
	}
	return d
}

// addHints shows the placeholder of an empty box, or what a command still wants.
func (b *Box) addHints(c screen.Canvas, d *screen.Drawing, text string) {
	if b.search != nil {
		return
	}
	hint := ""
	switch {
	case text == "" && b.mode == Prompt:
		hint = b.Placeholder
	case text == "" && b.mode == Shell:
		hint = c.T("a command for the shell; Backspace goes back")
	case text == "" && b.mode == Memory:
		hint = c.T("what should be remembered; Backspace goes back")
	default:
		hint = b.argumentHint()
	}
	if hint != "" {
		last := len(d.Lines) - 1
		d.Lines[last] = screen.Cut(d.Lines[last]+c.Theme.Faint.Paint(screen.Clean(hint)), c.Width, "…")
	}
}

// paintMarks draws a piece of the text with the marks of pastes in another colour.
func (b *Box) paintMarks(c screen.Canvas, from, to int) string {
	if len(b.attached) == 0 {
		return shown(b.text[from:to])
	}
	var out strings.Builder
	for pos := from; pos < to; {
		if start := b.snap(pos); start < pos { // a mark that began in the row above
			end := min(to, b.next(start))
			out.WriteString(c.Theme.Info.Paint(shown(b.text[pos:end])))
			pos = end
			continue
		}
		if a := b.markAt(pos); a != nil {
			end := min(to, pos+len(a.mark))
			out.WriteString(c.Theme.Info.Paint(shown(b.text[pos:end])))
			pos = end
			continue
		}
		end := to
		if i := strings.IndexByte(b.text[pos+1:to], '['); i >= 0 {
			end = pos + 1 + i
		}
		out.WriteString(shown(b.text[pos:end]))
		pos = end
	}
	return out.String()
}

// paintRange draws text[from:to] with the part between lo and hi in a style.
func paintRange(text string, from, to, lo, hi int, style theme.Style) string {
	lo, hi = max(from, min(lo, to)), max(from, min(hi, to))
	if lo >= hi {
		return shown(text[from:to])
	}
	return shown(text[from:lo]) + style.Paint(shown(text[lo:hi])) + shown(text[hi:to])
}

// searchLine is where the search is typed.
func (b *Box) searchLine(c screen.Canvas) screen.Drawing {
	s := b.search
	label := c.T("search the history of this project:")
	switch s.scope {
	case OfEverywhere:
		label = c.T("search the whole history:")
	case OfSession:
		label = c.T("search this session:")
	}
	if _, ok := s.match(); !ok && !s.reading {
		label = c.T("nothing found:")
	}
	query := shown(s.query)
	room := max(1, c.Width-screen.Width(label)-2)
	for screen.Width(query) >= room && query != "" {
		query = query[nextCluster(query, 0):] // its end is what matters
	}
	line := c.Theme.Faint.Paint(label) + " " + query
	x := min(screen.Width(label)+1+screen.Width(query), max(c.Width-1, 0))
	return screen.Drawing{Lines: []string{screen.Cut(line, c.Width, "")}, Cursor: &screen.Cursor{X: x}}
}

const popupRows = 8

// view draws the suggestions: a window around the chosen one.
func (p *popup) view(c screen.Canvas) screen.Drawing {
	if p.kind == noPopup {
		return screen.Drawing{}
	}
	if len(p.items) == 0 {
		if p.waiting {
			return screen.Drawing{Lines: []string{screen.Cut("  "+c.Theme.Faint.Paint(c.T("listing files…")), c.Width, "")}}
		}
		return screen.Drawing{}
	}
	rows := min(len(p.items), popupRows)
	top := max(0, min(p.selected-rows/2, len(p.items)-rows))
	column := 0
	for _, s := range p.items[top : top+rows] {
		column = max(column, screen.Width(shown(s.label))+1+screen.Width(s.hint))
	}
	column = min(column+2, max(c.Width*2/5, 24))
	var d screen.Drawing
	for i := top; i < top+rows; i++ {
		d.Lines = append(d.Lines, p.items[i].line(c, i == p.selected, column))
	}
	return d
}

func (s suggestion) line(c screen.Canvas, chosen bool, column int) string {
	sign, style := "  ", theme.Style{}
	if chosen {
		sign, style = c.Theme.Selected.Paint("❯")+" ", c.Theme.Selected
	}
	room := c.Width - 2
	if s.help == "" && s.hint == "" {
		return screen.Cut(sign+fitPath(s.label, s.matched, room, style, c.Theme), c.Width, "")
	}
	label := fitPath(s.label, s.matched, min(column, room), style, c.Theme)
	if s.hint != "" {
		label += " " + c.Theme.Faint.Paint(screen.Clean(s.hint))
	}
	label = screen.Pad(screen.Cut(label, min(column, room), "…"), column)
	help := strings.Join(strings.Fields(screen.Clean(s.help)), " ")
	return screen.Cut(screen.Cut(sign+label+"  "+c.Theme.Faint.Paint(help), c.Width, "…"), c.Width, "")
}

// fitPath draws a name with the letters that matched emphasised. What is too long loses its beginning: the end of a path says more.
func fitPath(label string, matched []int, room int, style theme.Style, t *theme.Theme) string {
	label = strings.ReplaceAll(strings.ToValidUTF8(label, "\uFFFD"), "\n", "⏎")
	runes := []rune(label)
	start := 0
	for width := screen.Width(shown(label)); width > room-1 && start < len(runes) && room > 1; {
		width -= clusterWidth(string(runes[start]))
		start++
	}
	var out strings.Builder
	if start > 0 {
		out.WriteString(style.Paint("…"))
	}
	for i := start; i < len(runes); {
		hit := slices.Contains(matched, i)
		j := i
		for j < len(runes) && slices.Contains(matched, j) == hit {
			j++
		}
		piece := shown(string(runes[i:j]))
		if hit {
			out.WriteString(style.With(t.Strong).With(t.Underline).Paint(piece))
		} else {
			out.WriteString(style.Paint(piece))
		}
		i = j
	}
	return out.String()
}

// PopupOpen reports whether suggestions or the search are shown below the box.
func (b *Box) PopupOpen() bool { return b.popup.open() || b.search != nil }

// Cursor is the place of the cursor in Text, counted in characters.
func (b *Box) Cursor() int { return utf8.RuneCountInString(b.mode.Prefix() + b.text[:b.cursor]) }
