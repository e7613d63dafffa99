package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

func (m *Manager) press(msg tea.Msg, k string) tea.Cmd {
	switch {
	case m.doing != "":
		if k == "ctrl+c" {
			m.done = true
		}
		return nil
	case m.act != nil:
		return m.complete(msg, k)
	case m.open != "":
		return m.pressDetail(k)
	}
	return m.pressList(msg, k)
}

func (m *Manager) pressList(msg tea.Msg, k string) tea.Cmd {
	if m.finding {
		switch {
		case k == "enter" || k == "up" || k == "down":
			m.finding = false
		case isQuit(k):
			m.finding = false
			m.filter.Set("")
		default:
			m.filter.Update(msg)
		}
		if m.tab < len(m.list) && m.finding {
			m.list[m.tab] = cursor{}
		}
		return nil
	}
	if k == "esc" && m.filter.Text() != "" {
		m.filter.Set("")
		return nil
	}
	switch {
	case isQuit(k):
		m.done = true
	case (k == "tab" || k == "right") && len(m.sections) > 0:
		m.tab, m.said = (m.tab+1)%len(m.sections), ""
	case (k == "shift+tab" || k == "left") && len(m.sections) > 0:
		m.tab, m.said = (m.tab+len(m.sections)-1)%len(m.sections), ""
	case m.tab < len(m.list) && m.list[m.tab].move(k, len(m.items()), m.page):
		m.said, m.err = "", nil
	case k == "enter":
		return m.show()
	case k == "/":
		m.finding, m.said = true, ""
	default:
		if a := m.find(k); a != nil {
			return m.begin(a)
		}
	}
	return nil
}

// find is the act of a key, on the chosen item or on the section.
func (m *Manager) find(k string) *Act {
	if it := m.chosen(); it != nil {
		for i := range it.Acts {
			if it.Acts[i].Key == k {
				return &it.Acts[i]
			}
		}
	}
	if m.open == "" && m.tab < len(m.sections) {
		acts := m.sections[m.tab].Acts
		for i := range acts {
			if acts[i].Key == k {
				return &acts[i]
			}
		}
	}
	return nil
}

// show opens the details of the chosen item. An item without details does what its Enter says.
func (m *Manager) show() tea.Cmd {
	it := m.chosen()
	if it == nil {
		return nil
	}
	if a := m.find("enter"); a != nil {
		return m.begin(a)
	}
	if it.Read == nil {
		return nil
	}
	m.open, m.detail, m.missing, m.scroll, m.said = it.ID, nil, nil, scroll{end: it.Tail, follow: it.Tail}, ""
	return m.read()
}

func (m *Manager) pressDetail(k string) tea.Cmd {
	switch {
	case k == "esc" || k == "q" || k == "left":
		m.open, m.said = "", ""
	case k == "ctrl+c":
		m.done = true
	default:
		if a := m.find(k); a != nil {
			return m.begin(a)
		}
		m.scroll.move(k, m.height)
	}
	return nil
}

// begin does an act, after what it needs was typed.
func (m *Manager) begin(a *Act) tea.Cmd {
	m.said, m.err, m.actItem = "", nil, ""
	if it := m.chosen(); it != nil {
		m.actItem = it.ID
	}
	if a.Text != "" || a.Confirm != "" {
		m.act = a
		m.field.Set(a.Was)
		return nil
	}
	return m.do(a, "")
}

func (m *Manager) complete(msg tea.Msg, k string) tea.Cmd {
	a := m.act
	switch {
	case isQuit(k):
		m.act = nil
	case a.Text != "":
		if k != "enter" {
			m.field.Update(msg)
			return nil
		}
		if text := strings.TrimSpace(m.field.Text()); text != "" || a.Was != "" {
			m.act = nil
			return m.do(a, text)
		}
	case k == "y" || k == "enter":
		m.act = nil
		return m.do(a, "")
	case k == "n":
		m.act = nil
	}
	return nil
}

func (m *Manager) do(a *Act, text string) tea.Cmd {
	if a.Leave {
		m.Left, m.LeftItem, m.LeftText, m.done = a.Name, m.actItem, text, true
		return nil
	}
	m.doing = a.Name
	run := a.Do
	return func() tea.Msg {
		said, err := run(text)
		return didMsg{m, said, err}
	}
}
