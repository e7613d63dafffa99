package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/keys"
)

// takenBackMsg says whether a queued message could be taken back.
type takenBackMsg struct {
	host *Host
	uuid string
	ok   bool
}

// wantsQueued reports whether a key asks for the message that was queued last, to change it.
func (m *model) wantsQueued(msg tea.KeyPressMsg) bool {
	if len(m.queue) == 0 || !m.queue[len(m.queue)-1].waits || !m.box.Empty() || m.host == nil || m.host.TakeBack == nil {
		return false
	}
	var r keys.Reader
	action, _ := r.Press(m.Keys, msg, m.box.Contexts()...)
	return action == keys.HistoryPrevious
}

// takeBack gets the message that was queued last back into the box, unless the model has got it meanwhile.
func (m *model) takeBack() tea.Cmd {
	ctx, host, uuid := m.ctx, m.host, m.queue[len(m.queue)-1].uuid
	return func() tea.Msg {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return takenBackMsg{host, uuid, host.TakeBack(ctx, uuid)}
	}
}

func (m *model) takenBack(msg takenBackMsg) tea.Cmd {
	if msg.host != m.host || !msg.ok {
		return nil
	}
	if back, ok := m.joined(msg.uuid); ok {
		if m.box.Empty() {
			m.box.SetMessage(back)
		} else {
			m.box.Insert(back.Text) // something was typed in between
		}
	}
	return nil
}
