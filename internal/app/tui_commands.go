package app

import (
	"context"

	"gofer/internal/ui/tui"
)

// dress gives the host its commands, and what the keys open.
func (t *terminalUI) dress(h *tui.Host, e *engine, d tui.Desk) {
	h.Commands = func() []tui.Command {
		if e.flags.NoSlash {
			return nil
		}
		var list []tui.Command
		for _, c := range e.slashCommands() {
			list = append(list, tui.Command{Name: c.name, Help: c.help, Hint: c.hint})
		}
		return append(list, tui.Command{Name: "exit", Help: "leave", Aliases: []string{"quit"}, Busy: true, Run: func(context.Context, string) tui.Action { return tui.Action{Quit: true} }})
	}
}

// pickSession lets the person choose a session to go on with.
func pickSession(context.Context, tui.Desk, place) (string, error) {
	return "", usage("--resume needs to know which session: an id, a file or words of its title. gofer sessions list shows them")
}
