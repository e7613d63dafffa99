package input

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// recall is the walk through earlier prompts with Up and Down.
type recall struct {
	entries []Entry // newest first
	at      int     // 0: the draft; n: the n-th entry
	draft   state
	next    int64 // where older entries are, -1: not read yet
	read    bool
	reading bool
	owed    int // steps back that wait for entries
}

// A state is what is in the box, to be put back.
type state struct {
	mode     Mode
	text     string
	attached []attachment
}

func (b *Box) state() state { return state{b.mode, b.text, b.attached} }

func (b *Box) restore(s state) {
	b.mode, b.attached = s.mode, s.attached
	b.reset(s.text)
}

// entriesMsg brings entries that were read from the file.
type entriesMsg struct {
	page page
	err  error
}

const pageSize = 100

// readHistory reads the next older entries.
func (b *Box) readHistory() tea.Cmd {
	r := &b.recall
	if r.reading || r.read && r.next == 0 || b.History == nil {
		return nil
	}
	r.reading = true
	from, history := r.next, b.History
	if !r.read {
		from = -1
	}
	return func() tea.Msg {
		p, err := history.older(context.Background(), from, pageSize, OfProject, "")
		return entriesMsg{p, err}
	}
}

func (b *Box) gotEntries(msg entriesMsg) tea.Cmd {
	r := &b.recall
	r.reading, r.read, r.next = false, true, msg.page.next
	for _, e := range msg.page.entries {
		if n := len(r.entries); n == 0 || r.entries[n-1].Display != e.Display {
			r.entries = append(r.entries, e)
		}
	}
	steps := r.owed
	r.owed = 0
	var cmd tea.Cmd
	for range steps {
		cmd = b.back()
	}
	return cmd
}

// back shows the entry before.
func (b *Box) back() tea.Cmd {
	r := &b.recall
	if r.at == len(r.entries) {
		cmd := b.readHistory()
		if cmd != nil || r.reading {
			r.owed++
		}
		return cmd
	}
	if r.at == 0 {
		r.draft = b.state()
	}
	r.at++
	b.load(r.entries[r.at-1])
	if r.at == len(r.entries) {
		return b.readHistory()
	}
	return nil
}

// forth shows the entry behind; behind the newest is the draft.
func (b *Box) forth() {
	r := &b.recall
	switch r.at {
	case 0:
		return
	case 1:
		r.at = 0
		b.restore(r.draft)
		r.draft = state{}
	default:
		r.at--
		b.load(r.entries[r.at-1])
	}
}

// load puts an earlier prompt into the box, with its pastes.
func (b *Box) load(e Entry) {
	b.attached = nil
	for _, p := range e.Pastes {
		b.attached = append(b.attached, attachment{id: p.ID, mark: pasteMark(p.ID, p.Text), text: p.Text})
		b.lastID = max(b.lastID, p.ID)
	}
	b.SetText(e.Display)
}

// remember adds what was sent.
func (b *Box) remember(m Message) tea.Cmd {
	r := &b.recall
	r.at, r.draft, r.owed = 0, state{}, 0
	if len(r.entries) == 0 || r.entries[0].Display != m.Display {
		r.entries = append([]Entry{{Display: m.Display, Pastes: m.Pastes}}, r.entries...)
	}
	if b.History == nil {
		return nil
	}
	history := b.History
	return func() tea.Msg {
		if err := history.Append(m.Display, m.Pastes); err != nil {
			return noticeMsg(err.Error())
		}
		return nil
	}
}
