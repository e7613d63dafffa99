package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// A Row is something that can be picked.
type Row struct {
	Name   string
	Detail string
	Note   string // at the right edge, such as a price
	Tone   Tone   // of the note
	Now    bool   // it is in use
}

// A Picker lets one row be picked out of many. Typing narrows the list.
type Picker struct {
	Title string
	Intro string
	Rows  []Row
	Empty string // what to say without rows
	// Preview draws what picking a row would mean; nil: there is nothing to show.
	Preview func(c screen.Canvas, row int) []string
	// Levels, if there are some for a row, are chosen with the arrows to the sides; Level is the chosen one.
	Levels    func(row int) []string
	LevelName string // what the levels are
	Level     string // before: the one in use; after: the chosen one
	Other     string // a last row that takes a text of its own, such as the name of a model; "": there is none

	Chosen int    // -1 when done: nothing was picked
	Own    string // with Chosen == len(Rows): the text

	done   bool
	begun  bool
	filter Field
	own    Field
	list   cursor
	found  []int
	page   int
	widest int      // of the first names: the width of their column
	names  []string // of the rows, in small letters
	texts  []string // names and details, likewise
}

// Done reports whether something was picked, or nothing is to be.
func (p *Picker) Done() bool { return p.done }

func (p *Picker) begin() {
	if p.begun {
		return
	}
	p.begun = true
	p.search()
	for _, row := range p.Rows[:min(len(p.Rows), 200)] {
		if row.Detail != "" {
			p.widest = max(p.widest, screen.Width(oneLine(row.Name)))
		}
	}
	for i, row := range p.Rows {
		if row.Now {
			p.list.at = i
		}
	}
}

// search finds the rows that have all words of the filter, in names before details.
func (p *Picker) search() {
	p.found = p.found[:0]
	if len(p.names) != len(p.Rows) {
		p.names, p.texts = make([]string, len(p.Rows)), make([]string, len(p.Rows))
		for i, row := range p.Rows {
			p.names[i] = strings.ToLower(row.Name)
			p.texts[i] = p.names[i] + " " + strings.ToLower(row.Detail)
		}
	}
	words := strings.Fields(strings.ToLower(p.filter.Text()))
	var late []int
	for i := range p.Rows {
		switch {
		case hasAll(p.names[i], words):
			p.found = append(p.found, i)
		case hasAll(p.texts[i], words):
			late = append(late, i)
		}
	}
	p.found = append(p.found, late...)
	p.list = cursor{}
}

// hasAll reports whether a text in small letters has all words.
func hasAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// rows is how many rows there are, with the one for a text of its own.
func (p *Picker) rows() int {
	if p.Other != "" {
		return len(p.found) + 1
	}
	return len(p.found)
}

func (p *Picker) atOther() bool { return p.Other != "" && p.list.at == len(p.found) }

// Row is the chosen row; -1: none is.
func (p *Picker) Row() int {
	p.begin()
	if p.list.at < len(p.found) {
		return p.found[p.list.at]
	}
	return -1
}

// Update takes a key.
func (p *Picker) Update(msg tea.Msg) tea.Cmd {
	p.begin()
	k := key(msg)
	switch {
	case isQuit(k):
		if k == "esc" && p.filter.Text() != "" {
			p.filter.Set("")
			p.search()
			return nil
		}
		p.Chosen, p.done = -1, true
	case k == "enter":
		p.pick()
	case (k == "left" || k == "right") && len(p.levels()) > 0:
		p.turn(k)
	case p.list.move(k, p.rows(), p.page):
	case p.atOther() && p.own.Update(msg):
	case p.filter.Update(msg):
		p.search()
	}
	return nil
}

func (p *Picker) pick() {
	switch {
	case p.atOther():
		if p.Own = strings.TrimSpace(p.own.Text()); p.Own != "" {
			p.Chosen, p.done = len(p.Rows), true
		}
	case p.Row() >= 0:
		p.Chosen, p.done = p.Row(), true
		if levels := p.levels(); len(levels) == 0 {
			p.Level = ""
		}
	}
}

func (p *Picker) levels() []string {
	if p.Levels == nil || p.Row() < 0 {
		return nil
	}
	return p.Levels(p.Row())
}

func (p *Picker) turn(k string) {
	levels := p.levels()
	at := 0
	for i, l := range levels {
		if l == p.Level {
			at = i
		}
	}
	if k == "left" {
		at = max(at-1, 0)
	} else {
		at = min(at+1, len(levels)-1)
	}
	p.Level = levels[at]
}

// View draws the rows that are seen.
func (p *Picker) View(c screen.Canvas) screen.Drawing {
	p.begin()
	s := newSheet(c, p.Title, c.Theme.Accent)
	s.hint = c.T("Enter choose · type to search · Esc leave")
	if p.Intro != "" {
		s.add(screen.Wrap(c.Theme.Faint.Paint(screen.Clean(c.T(p.Intro))), c.Width-1)...)
	}
	if p.filter.Text() != "" {
		s.field(c.Theme.Accent.Paint(c.T("Search: ")), &p.filter)
	}
	preview := p.preview(c)
	below := len(preview)
	levels := p.levels()
	if len(levels) > 0 {
		below += 2
		s.hint = c.T("←→ how hard it thinks") + " · " + s.hint
	}
	p.page = max(s.room(below+1), 3)
	from, to := p.list.window(p.rows(), p.page)
	for i := from; i < to; i++ {
		if i == len(p.found) {
			p.other(s)
			continue
		}
		s.add(drawRow(c, p.Rows[p.found[i]], i == p.list.at, c.Width-1, min(p.widest, c.Width/2)))
	}
	if p.rows() == 0 {
		s.add(c.Theme.Faint.Paint(firstText(p.Empty, c.T("Nothing fits."))))
	}
	if line := more(c, from, to, p.rows()); line != "" {
		s.add(line)
	}
	if len(levels) > 0 {
		s.add("", c.Theme.Faint.Paint(c.T(p.LevelName)+" ")+p.drawLevels(c, levels))
	}
	s.add(preview[:min(len(preview), s.room(0))]...)
	return s.end()
}

func (p *Picker) preview(c screen.Canvas) []string {
	if p.Preview == nil || p.Row() < 0 {
		return nil
	}
	lines := p.Preview(inner(c), p.Row())
	if most := c.Height / 2; len(lines) > most {
		lines = lines[:most]
	}
	return append([]string{""}, lines...)
}

func (p *Picker) other(s *sheet) {
	label := oneLine(s.c.T(p.Other)) + ": "
	if p.atOther() {
		s.field(s.c.Theme.Selected.Paint("❯ "+label), &p.own)
		return
	}
	s.add("  " + label)
}

func (p *Picker) drawLevels(c screen.Canvas, levels []string) string {
	var out []string
	for _, l := range levels {
		if l == p.Level {
			out = append(out, c.Theme.Selected.Paint("["+l+"]"))
		} else {
			out = append(out, c.Theme.Faint.Paint(" "+l+" "))
		}
	}
	return strings.Join(out, "")
}

// drawRow is a row of a list: name, detail, and a note at the right edge.
func drawRow(c screen.Canvas, row Row, chosen bool, width, nameWidth int) string {
	mark := "  "
	if chosen {
		mark = "❯ "
	}
	name := oneLine(row.Name)
	if row.Now {
		name += " ✓"
	}
	left := mark + name
	if row.Detail != "" {
		left = mark + screen.Pad(screen.Cut(name, nameWidth+2, "…"), nameWidth+2)
	}
	note := oneLine(row.Note)
	room := width - screen.Width(note)
	if note != "" {
		room -= 2
	}
	left = screen.Cut(left, room, "…")
	detail := ""
	if row.Detail != "" {
		detail = screen.Cut(" "+oneLine(row.Detail), max(room-screen.Width(left), 0), "…")
	}
	if chosen {
		left = c.Theme.Selected.Paint(left)
	}
	line := left + c.Theme.Faint.Paint(detail)
	if note != "" {
		line = screen.Pad(line, room+2) + paint(c, row.Tone, note)
	}
	return line
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
