package tui

import (
	"gofer/internal/ui/input"
	"gofer/internal/ui/keys"
)

// newBox prepares the prompt box.
func (m *model) newBox() {
	if m.Keys == nil {
		m.Keys = keys.Default()
	}
	m.box = m.Box
	if m.box == nil {
		m.box = input.New(m.Keys)
	}
	m.box.Keys = m.Keys
	m.box.Sources.Commands = m.suggested
	if m.Look.Vim != nil {
		m.box.SetVim(*m.Look.Vim)
	}
}

// suggested are the commands that the box completes.
func (m *model) suggested() []input.Command {
	list := make([]input.Command, len(m.commands))
	for i, c := range m.commands {
		list[i] = input.Command{Name: c.Name, Aliases: c.Aliases, Hint: c.Hint, Help: m.words.T(c.Help)}
	}
	return list
}
