package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/input"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/message"
	"gofer/internal/ui/paint"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
	"gofer/internal/ui/tui/tty"
	"gofer/internal/ui/words"
)

// model is the state of the UI. Only Update changes it.
type model struct {
	Options
	width, height int

	// What commands need. Update itself touches neither terminal nor session.
	ctx      context.Context
	send     func(tea.Msg)
	keyboard keyboard
	terminal *tty.Terminal
	painter  *paint.Painter
	over     chan struct{} // closed when the UI has ended
	outbox   *outbox

	profile   colorprofile.Profile
	themeName string
	dark      bool // the terminal's background
	theme     *theme.Theme
	words     *words.Words
	calm      bool

	reader  keys.Reader
	box     *input.Box
	lastKey time.Time
	lastEsc time.Time
	modals  []*modal
	help    bool   // the keys are shown below the box
	hint    string // what the last key asks for, such as a second one
	hinted  int    // counts hints, so that an old timer does not remove a new one

	host       *Host // nil while none is open
	opening    bool
	early      []input.Message // sent before there was a session
	earlyModes int             // how often the next mode was asked for before there was a session
	commanding bool            // a command runs that may go on with another session
	facts      Facts
	used       int // tokens of the window, as the last reply told
	commands   []Command
	steps      []Step
	noSteps    bool   // the person does not want to see them
	status     string // what the user's command says
	statusOn   statusRun

	flow   flow
	log    message.Log // everything, for the view of the whole conversation
	turn   turn
	unseen map[string]wish // by the id of the call
	wishes int             // of the model so far
	queue  []queued
	jobs   jobs
	shell  *shellRun // nil: no command of the user runs

	ticking  bool
	urgent   bool // the next frame answers a key
	redraw   bool
	leaving  bool
	quitting bool
	failed   error // the session could not be opened
}

func newModel(o Options) *model {
	m := &model{Options: o, over: make(chan struct{}), dark: true, profile: profileOf(o), calm: o.Look.Calm != nil && *o.Look.Calm}
	m.themeName = o.Look.Theme
	m.theme = theme.New(m.resolvedTheme(), m.profile)
	m.words = words.In(o.Look.Language)
	m.newBox()
	m.facts.Cwd = o.Dir
	m.opening = true
	return m
}

// resolvedTheme is the theme that is meant: one by name, or the one that fits the terminal's background.
func (m *model) resolvedTheme() string {
	switch {
	case m.themeName != "" && m.themeName != "auto":
		return m.themeName
	case m.dark:
		return "dark"
	}
	return "light"
}

func (m *model) canvas() screen.Canvas {
	return screen.Canvas{Width: m.width, Height: m.height, Theme: m.theme, Words: m.words}
}

func (m *model) desk() Desk { return desk{m.send, m.over} }

// start gives the model what its commands need.
func (m *model) start(ctx context.Context, p *tea.Program, t *tty.Terminal) {
	m.ctx, m.send, m.terminal = ctx, p.Send, t
	m.keyboard.send = p.Send
	m.outbox = newOutbox(ctx)
}

// stop lets nobody wait for the UI any more.
func (m *model) stop() { close(m.over) }

// closeHosts ends the session. It may take its time: the terminal is given back already.
func (m *model) closeHosts() {
	if m.host != nil && m.host.Close != nil {
		m.host.Close()
	}
}

// Init opens the session, and asks the terminal for its background.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.change(m.Open), m.box.Init()}
	if m.themeName == "" || m.themeName == "auto" {
		out := m.Out
		cmds = append(cmds, func() tea.Msg {
			out.WriteString(ansi.RequestBackgroundColor)
			return nil
		})
	}
	return tea.Batch(cmds...)
}

// View is empty: package paint draws.
func (m *model) View() tea.View { return tea.View{} }

// Update takes a message and paints what has become of it.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	cmd = tea.Batch(cmd, m.settle(), m.tick())
	m.paint(false)
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		m.lastKey, m.urgent = time.Now(), true
		return m.key(msg)
	case tea.PasteMsg:
		m.lastKey, m.urgent = time.Now(), true
		if d := m.top(); d != nil {
			return d.update(msg)
		}
		return m.typed(msg)
	case tea.WindowSizeMsg:
		m.width, m.height, m.urgent = max(msg.Width, 1), max(msg.Height, 1), true
		return nil
	case tea.BackgroundColorMsg:
		if m.dark = msg.IsDark(); m.themeName == "" || m.themeName == "auto" {
			m.theme = theme.New(m.resolvedTheme(), m.profile)
		}
		return nil
	case eventsMsg:
		return m.events(msg)
	case hostMsg:
		return m.opened(msg)
	case actionMsg:
		m.commanding = false
		if msg.host != m.host {
			return nil
		}
		cmd := m.act(msg.Action)
		if m.opening {
			return cmd
		}
		return tea.Batch(cmd, m.sendEarly())
	case releasedMsg:
		if msg.err != nil {
			m.note("error", msg.err.Error())
		}
		return m.act(msg.rest)
	case keyboardLostMsg:
		m.failed = msg.err
		return m.quit()
	case askMsg:
		return m.ask(msg.asking)
	case unaskMsg:
		return m.unask(msg.asking)
	case noteMsg:
		m.note(msg.level, msg.text)
		return nil
	case refreshMsg:
		return m.lookUp()
	case lookedUpMsg:
		return m.lookedUp(msg)
	case statusMsg:
		return m.statusCame(msg)
	case tickMsg:
		m.ticking = false
		return nil
	case hintOverMsg:
		if msg.n == m.hinted {
			m.hint = ""
		}
		return nil
	case takenBackMsg:
		return m.takenBack(msg)
	case shellMsg:
		return m.shellCame(msg)
	case hintMsg:
		return m.showHint(string(msg))
	case editedMsg:
		if msg.err != nil {
			m.note("error", msg.err.Error())
		} else {
			m.box.SetText(msg.text)
		}
		return nil
	}
	// The result of a command that a dialog or the box has returned: each knows its own.
	var cmds []tea.Cmd
	for _, d := range m.modals {
		cmds = append(cmds, d.update(msg))
	}
	cmds = append(cmds, m.typed(msg))
	return tea.Batch(cmds...)
}

// paint posts what the terminal is to show. Printed lines are handed over once.
func (m *model) paint(urgent bool) {
	if m.painter == nil || m.quitting {
		return
	}
	c := m.canvas()
	f := paint.Frame{Urgent: urgent || m.urgent, Redraw: m.redraw}
	m.urgent, m.redraw = false, false
	f.Print = m.flow.printed()
	if d := m.top(); d != nil && d.full() {
		drawn := d.view(c)
		f.Full, f.Live, f.Cursor = true, drawn.Lines, drawn.Cursor
	} else {
		drawn := m.live(c)
		f.Live, f.Cursor = drawn.Lines, drawn.Cursor
	}
	m.painter.Post(f)
}

type (
	tickMsg     struct{}
	hintOverMsg struct{ n int }
)

// tickGap is the time between two pictures of the spinner.
const tickGap = 120 * time.Millisecond

// tick keeps the clock going while something is done that takes time. When nothing is, there is no timer.
func (m *model) tick() tea.Cmd {
	if m.ticking || !m.busy() && m.shell == nil || m.quitting {
		return nil
	}
	m.ticking = true
	gap := tickGap
	if m.calm {
		gap = time.Second
	}
	return tea.Tick(gap, func(time.Time) tea.Msg { return tickMsg{} })
}

// hintFor is how long a second key counts as one.
const hintFor = 1500 * time.Millisecond

// showHint shows what a second key would do, for a while.
func (m *model) showHint(text string) tea.Cmd {
	m.hinted++
	m.hint = text
	n := m.hinted
	return tea.Tick(hintFor, func(time.Time) tea.Msg { return hintOverMsg{n} })
}
