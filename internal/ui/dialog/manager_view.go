package dialog

import (
	"strings"

	"gofer/internal/ui/screen"
)

// View draws the list, or the details of an item.
func (m *Manager) View(c screen.Canvas) screen.Drawing {
	title := m.Title
	if it := m.item(m.open); m.open != "" && it != nil {
		title += " · " + it.Name
	}
	s := newSheet(c, title, c.Theme.Accent)
	s.hint = m.hints(c)
	if !m.loaded {
		s.add(c.Theme.Faint.Paint(c.T("One moment…")))
		return s.end()
	}
	foot := m.foot(c)
	below := len(foot)
	if m.act != nil {
		below++
	}
	if m.open != "" {
		m.drawDetail(s, below)
	} else {
		m.drawList(s, below)
	}
	s.add(foot...)
	if m.act != nil {
		if m.act.Text != "" {
			s.field(c.Theme.Accent.Paint(c.T(m.act.Text)+": "), &m.field)
		} else {
			answers := c.T(" (y/n)")
			s.add(c.Theme.Warn.Paint(screen.Cut(oneLine(m.act.Confirm), c.Width-1-screen.Width(answers), "…")) + answers)
		}
	}
	return s.end()
}

// foot is what became of the last act.
func (m *Manager) foot(c screen.Canvas) []string {
	switch {
	case m.doing != "":
		return []string{c.Theme.Faint.Paint(c.T(m.doing) + " …")}
	case m.err != nil:
		lines := screen.Wrap(c.Theme.Bad.Paint(screen.Clean(m.err.Error())), c.Width-1)
		return lines[:min(len(lines), 3)]
	case m.said != "":
		lines := screen.Wrap(c.Theme.Good.Paint(screen.Clean(m.said)), c.Width-1)
		return lines[:min(len(lines), 3)]
	}
	return nil
}

func (m *Manager) drawList(s *sheet, below int) {
	c := s.c
	if len(m.sections) > 1 {
		var names []string
		for i, sec := range m.sections {
			names = append(names, tabName(c, c.T(sec.Name), i == m.tab))
		}
		s.add(strings.Join(names, " "))
	}
	if m.tab >= len(m.sections) {
		return
	}
	sec := m.sections[m.tab]
	if sec.Intro != "" {
		s.add(screen.Wrap(c.Theme.Faint.Paint(screen.Clean(c.T(sec.Intro))), c.Width-1)...)
	}
	switch {
	case m.finding:
		s.field(c.Theme.Accent.Paint(c.T("Search: ")), &m.filter)
	case m.filter.Text() != "":
		s.add(c.Theme.Accent.Paint(c.T("Search: ")) + strings.ReplaceAll(m.filter.Text(), "\n", "⏎"))
	}
	items := m.items()
	if len(items) == 0 {
		text := firstText(c.T(sec.Empty), c.T("There is nothing here."))
		if m.filter.Text() != "" {
			text = c.T("Nothing fits.")
		}
		s.add(screen.Wrap(c.Theme.Faint.Paint(screen.Clean(text)), c.Width-1)...)
		return
	}
	m.page = max(s.room(below+1), 3)
	from, to := m.list[m.tab].window(len(items), m.page)
	width := 0
	for _, it := range items[from:to] {
		if it.Detail != "" {
			width = max(width, screen.Width(oneLine(it.Name)))
		}
	}
	width = min(width, c.Width/2)
	for i := from; i < to; i++ {
		it := items[i]
		s.add(drawRow(c, Row{Name: it.Name, Detail: it.Detail, Note: it.State, Tone: it.Tone}, i == m.list[m.tab].at, c.Width-1, width))
	}
	if line := more(c, from, to, len(items)); line != "" {
		s.add(line)
	}
}

func (m *Manager) drawDetail(s *sheet, below int) {
	c := s.c
	m.height = s.room(below)
	switch {
	case m.missing != nil:
		s.add(screen.Wrap(c.Theme.Bad.Paint(screen.Clean(m.missing.Error())), c.Width-1)...)
	case m.detail == nil:
		s.add(c.Theme.Faint.Paint(c.T("One moment…")))
	default:
		s.add(m.scroll.cut(c, m.detail(inner(c)), m.height)...)
	}
}

// hints names the keys that do something here.
func (m *Manager) hints(c screen.Canvas) string {
	if m.act != nil && m.act.Text != "" {
		return c.T("Enter keep · Esc leave")
	}
	var parts []string
	add := func(acts []Act) {
		for _, a := range acts {
			parts = append(parts, keyName(a.Key)+" "+c.T(a.Name))
		}
	}
	it := m.chosen()
	if it != nil {
		add(it.Acts)
		if m.open == "" && it.Read != nil && m.find("enter") == nil {
			parts = append(parts, c.T("Enter show"))
		}
	}
	if m.open == "" && m.tab < len(m.sections) {
		add(m.sections[m.tab].Acts)
	}
	if m.open == "" && len(m.items()) > 5 {
		parts = append(parts, c.T("/ search"))
	}
	if m.open == "" && len(m.sections) > 1 {
		parts = append(parts, c.T("Tab next page"))
	}
	way := c.T("Esc close")
	if m.open != "" {
		way = c.T("Esc back")
	}
	if len(parts) == 0 {
		return way
	}
	// The way out is always told.
	return screen.Cut(strings.Join(parts, " · "), max(c.Width-4-screen.Width(way), 0), "…") + " · " + way
}

// keyName is how people write a key.
func keyName(k string) string {
	switch k {
	case "enter":
		return "Enter"
	case "space":
		return "Space"
	case "delete":
		return "Del"
	}
	if rest, ok := strings.CutPrefix(k, "ctrl+"); ok {
		return "Ctrl-" + strings.ToUpper(rest)
	}
	return k
}
