package tui

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// errOver is what a question gets that is asked after the UI has gone.
var errOver = errors.New("the terminal UI has ended")

// desk is the Desk: it sends to the model and waits.
type desk struct {
	send func(tea.Msg)
	over <-chan struct{} // closed when the UI has ended
}

type (
	askMsg     struct{ *asking }
	unaskMsg   struct{ *asking }
	noteMsg    struct{ level, text string }
	refreshMsg struct{}
)

// An asking is a dialog that somebody waits for.
type asking struct {
	dialog screen.Dialog
	done   chan bool // gets one value: whether the dialog has its answer
}

// Ask implements Desk.
func (d desk) Ask(ctx context.Context, dialog screen.Dialog) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a := &asking{dialog, make(chan bool, 1)}
	d.send(askMsg{a})
	select {
	case <-a.done:
		return nil
	case <-d.over:
		return errOver
	case <-ctx.Done():
	}
	// The dialog is the UI's until it lets go of it; it may have got its answer at the same moment.
	d.send(unaskMsg{a})
	select {
	case <-a.done:
	case <-d.over:
	}
	return context.Cause(ctx)
}

// Note implements Desk.
func (d desk) Note(level, text string) { d.send(noteMsg{level, text}) }

// Refresh implements Desk.
func (d desk) Refresh() { d.send(refreshMsg{}) }
