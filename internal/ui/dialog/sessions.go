package dialog

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// A Session is one that can be gone on with.
type Session struct {
	ID, Path string
	Title    string
	Prompts  string // what the search looks at besides the title
	Branch   string
	Folder   string
	Changed  time.Time
	Size     int64
	Messages int
	Now      bool // it is the one that runs
}

// firstSessions is how many are listed at once; the rest follows while the list is already there.
const firstSessions = 60

// Sessions picks the session to go on with. The newest ones are there at once, the others come behind them.
type Sessions struct {
	// List brings the newest sessions of this folder or of all, at most a number of them, 0 being all. It runs outside Update.
	List func(all bool, most int) ([]Session, error)
	// Read brings the beginning and end of a session.
	Read func(s Session) (Page, error)
	// Rename gives a session a title. nil: it cannot be done here.
	Rename func(s Session, title string) error
	Clock  func() time.Time

	Chosen *Session // nil when done: none

	done    bool
	all     bool
	rows    []Session
	texts   []string // what the search looks at, in small letters
	whole   bool     // all rows are there
	err     error
	filter  Field
	list    cursor
	found   []int
	page    int
	open    string
	detail  Page
	scroll  scroll
	height  int
	naming  bool
	name    Field
	stopped string // what went wrong with an act
}

type sessionsMsg struct {
	of    *Sessions
	all   bool
	rows  []Session
	texts []string
	whole bool
	err   error
}

type sessionMsg struct {
	of   *Sessions
	path string
	page Page
	err  error
}

type renamedMsg struct {
	of          *Sessions
	path, title string
	err         error
}

// Done reports whether a session was picked, or none is to be.
func (p *Sessions) Done() bool { return p.done }

// FullScreen says that the list gets the whole screen.
func (p *Sessions) FullScreen() bool { return true }

// Init is to be run when the picker is opened.
func (p *Sessions) Init() tea.Cmd { return p.load(firstSessions) }

func (p *Sessions) load(most int) tea.Cmd {
	all, list := p.all, p.List
	return func() tea.Msg {
		rows, err := list(all, most)
		texts := make([]string, len(rows))
		for i, s := range rows {
			texts[i] = strings.ToLower(s.Title + " " + s.Prompts + " " + s.Branch)
		}
		return sessionsMsg{p, all, rows, texts, most == 0 || len(rows) < most, err}
	}
}

// Update takes a key, or what a command brought.
func (p *Sessions) Update(msg tea.Msg) tea.Cmd {
	switch m := msg.(type) {
	case sessionsMsg:
		if m.of != p || m.all != p.all {
			return nil
		}
		at := p.chosenPath()
		p.rows, p.whole, p.err, p.texts = m.rows, m.whole, m.err, m.texts
		p.search()
		p.keep(at)
		if !m.whole && m.err == nil {
			return p.load(0)
		}
	case sessionMsg:
		if m.of == p && m.path == p.open {
			p.detail = m.page
			if m.err != nil {
				p.detail = Text(m.err.Error())
			}
		}
	case renamedMsg:
		if m.of == p {
			p.renamed(m)
		}
	case tea.KeyPressMsg, tea.PasteMsg:
		return p.press(msg, key(msg))
	}
	return nil
}

func (p *Sessions) chosenPath() string {
	if s := p.chosen(); s != nil {
		return s.Path
	}
	return ""
}

func (p *Sessions) keep(path string) {
	for i, at := range p.found {
		if p.rows[at].Path == path {
			p.list.at = i
		}
	}
}

func (p *Sessions) chosen() *Session {
	if p.list.at < len(p.found) {
		return &p.rows[p.found[p.list.at]]
	}
	return nil
}

func (p *Sessions) search() {
	p.found = p.found[:0]
	words := strings.Fields(strings.ToLower(p.filter.Text()))
	for i := range p.rows {
		if len(words) == 0 || hasAll(p.texts[i], words) || len(words) == 1 && strings.HasPrefix(p.rows[i].ID, words[0]) {
			p.found = append(p.found, i)
		}
	}
	p.list = cursor{}
}

func (p *Sessions) press(msg tea.Msg, k string) tea.Cmd {
	switch {
	case p.naming:
		return p.pressName(msg, k)
	case p.open != "":
		switch {
		case isQuit(k) || k == "ctrl+v":
			p.open = ""
		case k == "enter":
			p.pick()
		default:
			p.scroll.move(k, p.height)
		}
		return nil
	}
	p.stopped = ""
	switch {
	case k == "esc" && p.filter.Text() != "":
		p.filter.Set("")
		p.search()
	case isQuit(k):
		p.done = true
	case k == "enter":
		p.pick()
	case k == "tab":
		p.all = !p.all
		p.rows, p.found, p.whole, p.list = nil, nil, false, cursor{}
		return p.load(firstSessions)
	case k == "ctrl+v" && p.chosen() != nil:
		return p.show()
	case k == "ctrl+r" && p.chosen() != nil && p.Rename != nil:
		p.naming = true
		p.name.Set(p.chosen().Title)
	case p.list.move(k, len(p.found), p.page):
	case p.filter.Update(msg):
		p.search()
	}
	return nil
}

func (p *Sessions) pick() {
	if s := p.chosen(); s != nil {
		p.Chosen, p.done = s, true
	}
}

func (p *Sessions) show() tea.Cmd {
	s := *p.chosen()
	p.open, p.detail, p.scroll = s.Path, nil, scroll{}
	read := p.Read
	return func() tea.Msg {
		page, err := read(s)
		return sessionMsg{p, s.Path, page, err}
	}
}

func (p *Sessions) pressName(msg tea.Msg, k string) tea.Cmd {
	switch {
	case isQuit(k):
		p.naming = false
	case k == "enter":
		p.naming = false
		s, title, rename := *p.chosen(), strings.TrimSpace(p.name.Text()), p.Rename
		if title == "" {
			return nil
		}
		return func() tea.Msg { return renamedMsg{p, s.Path, title, rename(s, title)} }
	default:
		p.name.Update(msg)
	}
	return nil
}

func (p *Sessions) renamed(m renamedMsg) {
	if m.err != nil {
		p.stopped = m.err.Error()
		return
	}
	for i := range p.rows {
		if p.rows[i].Path == m.path {
			p.rows[i].Title = m.title
			p.texts[i] += " " + strings.ToLower(m.title)
		}
	}
}

// View draws the rows that are seen, or one session.
func (p *Sessions) View(c screen.Canvas) screen.Drawing {
	title := c.T("Go on with a session of this folder")
	if p.all {
		title = c.T("Go on with a session of any folder")
	}
	s := newSheet(c, title, c.Theme.Accent)
	if p.open != "" {
		s.hint = c.T("Enter go on with it · Esc back")
		p.height = s.room(0)
		if p.detail == nil {
			s.add(c.Theme.Faint.Paint(c.T("One moment…")))
		} else {
			s.add(p.scroll.cut(c, p.detail(inner(c)), p.height)...)
		}
		return s.end()
	}
	s.hint = c.T("Enter go on · type to search · Tab all folders · Ctrl-V look · Ctrl-R rename · Esc leave")
	if p.all {
		s.hint = c.T("Enter go on · type to search · Tab this folder · Ctrl-V look · Ctrl-R rename · Esc leave")
	}
	if p.naming {
		s.field(c.Theme.Accent.Paint(c.T("Title: ")), &p.name)
	} else {
		p.filter.Placeholder = c.T("search titles and prompts")
		s.field(c.Theme.Accent.Paint(c.T("Search: ")), &p.filter)
	}
	switch {
	case p.err != nil:
		s.add(screen.Wrap(c.Theme.Bad.Paint(screen.Clean(p.err.Error())), c.Width-1)...)
	case p.stopped != "":
		s.add(screen.Wrap(c.Theme.Bad.Paint(screen.Clean(p.stopped)), c.Width-1)...)
	case len(p.rows) == 0 && !p.whole:
		s.add(c.Theme.Faint.Paint(c.T("One moment…")))
	case len(p.found) == 0:
		s.add(c.Theme.Faint.Paint(c.T("There is no such session.")))
	}
	p.drawRows(s)
	return s.end()
}

func (p *Sessions) drawRows(s *sheet) {
	c := s.c
	rows := max((s.room(1))/2, 1) // each takes two lines
	p.page = rows
	from, to := p.list.window(len(p.found), rows)
	for i := from; i < to; i++ {
		row := p.rows[p.found[i]]
		mark, name := "  ", screen.Cut(firstText(oneLine(row.Title), row.ID), c.Width-3, "…")
		if i == p.list.at {
			mark = "❯ "
			name = c.Theme.Selected.Paint(name)
		}
		s.add(mark + name)
		s.add("    " + c.Theme.Faint.Paint(strings.Join(p.facts(c, row), " · ")))
	}
	if line := more(c, from, to, len(p.found)); line != "" && !p.whole {
		s.add(line + c.Theme.Faint.Paint(" …"))
	} else if line != "" {
		s.add(line)
	}
}

func (p *Sessions) facts(c screen.Canvas, row Session) []string {
	now := time.Now
	if p.Clock != nil {
		now = p.Clock
	}
	facts := []string{Age(c, now().Sub(row.Changed)), c.F("%d messages", row.Messages), Bytes(row.Size)}
	if row.Branch != "" {
		facts = append(facts, oneLine(row.Branch))
	}
	if p.all && row.Folder != "" {
		facts = append(facts, oneLine(row.Folder))
	}
	if row.Now {
		facts = append(facts, c.T("this session"))
	}
	return facts
}

// Age is how long ago something was, in words.
func Age(c screen.Canvas, d time.Duration) string {
	switch {
	case d < time.Minute:
		return c.T("just now")
	case d < time.Hour:
		return c.F("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return c.F("%d h ago", int(d.Hours()))
	}
	return c.F("%d days ago", int(d.Hours()/24))
}

// Bytes is a size in words.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d kB", (n+999)/1000)
}
