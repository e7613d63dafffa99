package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// A Tab is one page of a View.
type Tab struct {
	Name string
	Body Page
}

// A View shows text that can be scrolled and searched, on one or more tabs. It has no answer.
type View struct {
	Title string
	Tabs  []Tab
	// Load, if there is one, brings the tabs, and runs outside Update; until then the view says that it waits.
	Load func() ([]Tab, error)
	Full bool // the whole screen

	done    bool
	loading bool
	err     error
	tab     int
	scroll  []scroll
	height  int
	search  Field
	typing  bool
	lines   []string // what was drawn last, for the search
}

// tabsMsg is what Load brought.
type tabsMsg struct {
	of   *View
	tabs []Tab
	err  error
}

// Done reports whether the view was left.
func (v *View) Done() bool { return v.done }

// FullScreen reports whether the view wants all of the screen.
func (v *View) FullScreen() bool { return v.Full }

// Init is to be run when the view is opened.
func (v *View) Init() tea.Cmd {
	if v.Load == nil {
		return nil
	}
	v.loading = true
	return func() tea.Msg {
		tabs, err := v.Load()
		return tabsMsg{v, tabs, err}
	}
}

// Update takes a key.
func (v *View) Update(msg tea.Msg) tea.Cmd {
	if m, ok := msg.(tabsMsg); ok {
		if m.of == v {
			v.loading, v.Tabs, v.err = false, m.tabs, m.err
		}
		return nil
	}
	k := key(msg)
	if v.typing {
		switch {
		case isQuit(k):
			v.typing = false
			v.search.Set("")
		case k == "enter":
			v.typing = false
			v.find(1)
		default:
			v.search.Update(msg)
		}
		return nil
	}
	switch {
	case k == "":
	case isQuit(k) || k == "q" || k == "enter":
		v.done = true
	case k == "tab" || k == "right":
		v.turn(1)
	case k == "shift+tab" || k == "left":
		v.turn(-1)
	case k == "/":
		v.typing = true
	case k == "n":
		v.find(1)
	case k == "shift+n" || k == "N":
		v.find(-1)
	case v.tab < len(v.scroll):
		v.scroll[v.tab].move(k, v.height)
	}
	return nil
}

func (v *View) turn(by int) {
	if n := len(v.Tabs); n > 0 {
		v.tab = (v.tab + by + n) % n
	}
}

// find goes to the next line that has the text that is looked for.
func (v *View) find(by int) {
	text := strings.ToLower(v.search.Text())
	if text == "" || v.tab >= len(v.scroll) {
		return
	}
	at := &v.scroll[v.tab].top
	for i := *at + by; i >= 0 && i < len(v.lines); i += by {
		if strings.Contains(strings.ToLower(v.lines[i]), text) {
			*at = i
			return
		}
	}
}

// View draws the chosen tab.
func (v *View) View(c screen.Canvas) screen.Drawing {
	s := newSheet(c, v.Title, c.Theme.Accent)
	s.hint = c.T("↑↓ scroll · / search · Esc close")
	if len(v.Tabs) > 1 {
		s.hint = c.T("Tab next page") + " · " + s.hint
	}
	for len(v.scroll) < len(v.Tabs) {
		v.scroll = append(v.scroll, scroll{})
	}
	switch {
	case v.err != nil:
		s.add(screen.Wrap(c.Theme.Bad.Paint(screen.Clean(v.err.Error())), c.Width-1)...)
		return s.end()
	case v.loading:
		s.add(c.Theme.Faint.Paint(c.T("One moment…")))
		return s.end()
	case len(v.Tabs) == 0:
		return s.end()
	}
	if len(v.Tabs) > 1 {
		var names []string
		for i, t := range v.Tabs {
			names = append(names, tabName(c, c.T(t.Name), i == v.tab))
		}
		s.add(strings.Join(names, " "), "")
	}
	below := 0
	if v.typing {
		below = 1
	}
	v.height = s.room(below)
	v.lines = v.Tabs[v.tab].Body(inner(c))
	s.add(v.scroll[v.tab].cut(c, v.lines, v.height)...)
	if v.typing {
		s.field(c.Theme.Accent.Paint("/"), &v.search)
	}
	return s.end()
}
