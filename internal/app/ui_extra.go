package app

import "gofer/internal/ui/tui"

// extraCommands are those of parts that a session may not have.
func (u *uiDesk) extraCommands() []tui.Command { return nil }
