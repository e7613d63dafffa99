package dialog

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// An Act is something that can be done with an item, or with a whole section.
type Act struct {
	Key  string // the key that does it
	Name string // what it does, in a word or two
	// Text, if it is not empty, says what has to be typed first; Confirm asks whether it is meant.
	Text, Confirm string
	Was           string // what stands in the field before
	// Do does it, outside Update, and says what happened in a line. Leave ends the dialog instead: Manager.Left says how.
	Do    func(text string) (string, error)
	Leave bool
}

// An Item is a row of a manager.
type Item struct {
	ID     string // stays the same when the list is read anew
	Name   string
	Detail string
	State  string
	Tone   Tone
	Acts   []Act
	// Read brings what Enter shows; it runs outside Update. nil: the details are all there is.
	Read func() (Page, error)
	Live bool // what it shows changes by itself
	Tail bool // its details are seen from their end
}

// A Section is a tab of a manager.
type Section struct {
	Name  string
	Intro string
	Items []Item
	Empty string
	Acts  []Act // without an item, such as: add
}

// A Manager lists things, shows each of them, and lets things be done with them.
type Manager struct {
	Title string
	// Load brings the sections; it runs outside Update, at the start, after every act, and while something in them is Live.
	Load func() ([]Section, error)
	Full bool

	// Left says which act ended the dialog, on which item and with which text; "" is none.
	Left, LeftItem, LeftText string

	done     bool
	loaded   bool
	err      error
	said     string
	sections []Section
	tab      int
	list     []cursor
	filter   Field
	finding  bool // the filter is being typed
	page     int
	ticking  bool

	open    string // the id of the item whose details are shown
	detail  Page
	missing error
	scroll  scroll
	height  int

	act     *Act // waits for a text or a yes
	actItem string
	field   Field
	doing   string
}

type (
	sectionsMsg struct {
		of       *Manager
		sections []Section
		err      error
	}
	detailMsg struct {
		of   *Manager
		id   string
		page Page
		err  error
	}
	didMsg struct {
		of   *Manager
		said string
		err  error
	}
	liveMsg struct{ of *Manager }
)

// Done reports whether the manager was left.
func (m *Manager) Done() bool { return m.done }

// FullScreen reports whether the manager wants all of the screen.
func (m *Manager) FullScreen() bool { return m.Full }

// Init is to be run when the manager is opened.
func (m *Manager) Init() tea.Cmd { return m.load }

func (m *Manager) load() tea.Msg {
	sections, err := m.Load()
	return sectionsMsg{m, sections, err}
}

// Update takes a key, or what a command brought.
func (m *Manager) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case sectionsMsg:
		if msg.of == m {
			return m.took(msg)
		}
	case detailMsg:
		if msg.of == m && msg.id == m.open {
			m.detail, m.missing = msg.page, msg.err
		}
	case didMsg:
		if msg.of == m {
			m.doing, m.said, m.err = "", msg.said, msg.err
			return tea.Batch(m.load, m.read())
		}
	case liveMsg:
		if msg.of == m && !m.done {
			m.ticking = false
			return tea.Batch(m.load, m.read())
		}
	case tea.KeyPressMsg, tea.PasteMsg:
		return m.press(msg, key(msg))
	}
	return nil
}

func (m *Manager) took(msg sectionsMsg) tea.Cmd {
	if msg.err != nil {
		m.err = msg.err
	}
	m.sections, m.loaded = msg.sections, true
	for len(m.list) < len(m.sections) {
		m.list = append(m.list, cursor{})
	}
	m.tab = max(min(m.tab, len(m.sections)-1), 0)
	if m.open != "" && m.item(m.open) == nil {
		m.open = ""
	}
	for _, s := range m.sections {
		for _, item := range s.Items {
			if item.Live && !m.ticking {
				m.ticking = true
				return tea.Tick(time.Second, func(time.Time) tea.Msg { return liveMsg{m} })
			}
		}
	}
	return nil
}

func (m *Manager) item(id string) *Item {
	for _, s := range m.sections {
		for i := range s.Items {
			if s.Items[i].ID == id {
				return &s.Items[i]
			}
		}
	}
	return nil
}

// items are those of the section that fit the filter.
func (m *Manager) items() []Item {
	if m.tab >= len(m.sections) {
		return nil
	}
	all := m.sections[m.tab].Items
	words := strings.Fields(strings.ToLower(m.filter.Text()))
	if len(words) == 0 {
		return all
	}
	var out []Item
	for _, it := range all {
		if hasAll(strings.ToLower(it.Name+" "+it.Detail+" "+it.State), words) {
			out = append(out, it)
		}
	}
	return out
}

func (m *Manager) chosen() *Item {
	if m.open != "" {
		return m.item(m.open)
	}
	items := m.items()
	if m.tab >= len(m.list) || len(items) == 0 {
		return nil
	}
	return &items[max(min(m.list[m.tab].at, len(items)-1), 0)]
}

// read brings the details of the item that is shown.
func (m *Manager) read() tea.Cmd {
	it := m.item(m.open)
	if m.open == "" || it == nil || it.Read == nil {
		return nil
	}
	id, read := m.open, it.Read
	return func() tea.Msg {
		page, err := read()
		return detailMsg{m, id, page, err}
	}
}
