package input

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/keys"
)

// searching is the search through earlier prompts, which shows the newest that contains what was typed.
type searching struct {
	query   string
	scope   Scope
	found   []Entry
	at      int
	next    int64
	asked   int // which question the answer must belong to
	reading bool
	step    bool // go on as soon as more is found
	end     context.CancelFunc
}

// searchMsg brings matches.
type searchMsg struct {
	asked int
	page  page
	err   error
}

const searchPage = 20

func (b *Box) startSearch() tea.Cmd {
	if b.History == nil {
		return nil
	}
	b.popup = popup{}
	b.search = &searching{end: func() {}}
	return b.searchFor("")
}

// searchFor asks for the newest prompts that contain a text.
func (b *Box) searchFor(query string) tea.Cmd {
	s := b.search
	s.query, s.found, s.at, s.next, s.step = query, nil, 0, -1, false
	return b.searchOn()
}

// searchOn reads the next matches. A question that still runs is ended.
func (b *Box) searchOn() tea.Cmd {
	s := b.search
	s.end()
	ctx, cancel := context.WithCancel(context.Background())
	s.end, s.reading = cancel, true
	s.asked++
	asked, from, scope, query, history := s.asked, s.next, s.scope, s.query, b.History
	return func() tea.Msg {
		defer cancel()
		p, err := history.older(ctx, from, searchPage, scope, query)
		return searchMsg{asked, p, err}
	}
}

func (b *Box) gotSearch(msg searchMsg) {
	s := b.search
	if s == nil || s.asked != msg.asked || msg.err != nil {
		return
	}
	s.reading, s.next = false, msg.page.next
	for _, e := range msg.page.entries {
		if !slices.ContainsFunc(s.found, func(f Entry) bool { return f.Display == e.Display }) {
			s.found = append(s.found, e)
		}
	}
	if s.step && s.at+1 < len(s.found) {
		s.at++
	}
	s.step = false
}

// match is the entry that is shown.
func (s *searching) match() (Entry, bool) {
	if s.at < len(s.found) {
		return s.found[s.at], true
	}
	return Entry{}, false
}

func (b *Box) actInSearch(action keys.Action) (Event, tea.Cmd) {
	s := b.search
	switch action {
	case keys.SearchNext:
		switch {
		case s.at+1 < len(s.found):
			s.at++
		case s.next > 0 && !s.reading:
			s.step = true
			return Event{}, b.searchOn()
		}
		return Event{}, nil
	case keys.SearchScope:
		s.scope = (s.scope + 1) % 3
		return Event{}, b.searchFor(s.query)
	case keys.SearchCancel:
		b.endSearch(false)
		return Event{}, nil
	case keys.SearchAccept:
		b.endSearch(true)
		return Event{}, nil
	case keys.SearchExecute:
		if _, ok := s.match(); !ok {
			b.endSearch(false)
			return Event{}, nil
		}
		b.endSearch(true)
		return b.submit()
	case keys.DeleteLeft:
		if s.query == "" {
			b.endSearch(false)
			return Event{}, nil
		}
		return Event{}, b.searchFor(s.query[:previousCluster(s.query, len(s.query))])
	case keys.KillToStart, keys.DeleteWordLeft:
		return Event{}, b.searchFor("")
	}
	b.endSearch(true)
	return b.Act(action, "")
}

// endSearch closes the search; what is shown goes into the box when it is wanted.
func (b *Box) endSearch(take bool) {
	s := b.search
	s.end()
	b.search = nil
	if e, ok := s.match(); ok && take {
		b.load(e)
	}
}
