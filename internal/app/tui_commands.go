package app

import (
	"context"

	"gofer/internal/ui/tui"
)

// dress gives the host its commands, and what the keys open.
func (t *terminalUI) dress(h *tui.Host, e *engine, d tui.Desk, end func()) {
	u := &uiDesk{e: e, desk: d, keys: t.keys, open: t.open, close: end}
	h.Rewind, h.Tasks = u.rewind, u.tasks
	h.Commands = u.commands
	if e.flags.NoSlash {
		h.Commands = func() []tui.Command { return nil }
	}
}

// pickSession lets the person choose a session to go on with. It returns nothing if they want none.
func pickSession(ctx context.Context, d tui.Desk, p place) (string, error) {
	picker := sessionPicker(p, "")
	if err := d.Ask(ctx, picker); err != nil || picker.Chosen == nil {
		return "", err
	}
	return picker.Chosen.Path, nil
}
