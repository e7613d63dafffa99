package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/dialog"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/verbose"
)

// typingFor is how long after a key the person counts as typing: a dialog that comes by itself does not take the next one.
const typingFor = time.Second

// A modal is a dialog that has the keyboard, or waits for it.
type modal struct {
	dialog screen.Dialog
	quiet  *dialog.Quiet  // around dialog, for one that came by itself
	asked  *asking        // who waits for it; nil: nobody
	then   func() tea.Cmd // what happens when it is done
}

// full reports whether the dialog wants the whole screen.
func (d *modal) full() bool {
	f, ok := d.dialog.(interface{ FullScreen() bool })
	return ok && f.FullScreen()
}

// contexts are those whose keys count in the dialog.
func (d *modal) contexts() []keys.Context {
	switch d.dialog.(type) {
	case *verbose.View:
		return []keys.Context{keys.Transcript, keys.Scroll}
	case *dialog.View:
		return []keys.Context{keys.Tabs, keys.Scroll}
	case *dialog.Permission, *dialog.Plan, *dialog.Trust, *dialog.Form:
		return []keys.Context{keys.Confirmation}
	case *dialog.Questions:
		return []keys.Context{keys.Tabs, keys.Confirmation}
	case *dialog.Rewind:
		return []keys.Context{keys.MessageSelector, keys.Select}
	case *dialog.Picker:
		return []keys.Context{keys.ModelPicker, keys.Select}
	case *dialog.Manager:
		return []keys.Context{keys.Tabs, keys.Select}
	}
	return []keys.Context{keys.Select}
}

func (d *modal) update(msg tea.Msg) tea.Cmd {
	if d.quiet != nil {
		return d.quiet.Update(msg)
	}
	return d.dialog.Update(msg)
}

func (d *modal) view(c screen.Canvas) screen.Drawing {
	if d.quiet != nil {
		return d.quiet.View(c)
	}
	return d.dialog.View(c)
}

// top is the dialog that has the keyboard; nil: the prompt box has it.
func (m *model) top() *modal {
	if len(m.modals) == 0 {
		return nil
	}
	return m.modals[0]
}

// ask takes up a question from outside. It waits behind others.
func (m *model) ask(a *asking) tea.Cmd {
	d := &modal{dialog: a.dialog, asked: a}
	var cmd tea.Cmd
	d.quiet, cmd = dialog.Hush(a.dialog, time.Since(m.lastKey) < typingFor)
	m.modals = append(m.modals, d)
	return tea.Batch(cmd, m.settle())
}

// unask takes a question away that nobody waits for any more.
func (m *model) unask(a *asking) tea.Cmd {
	m.modals = slices.DeleteFunc(m.modals, func(d *modal) bool {
		if d.asked != a {
			return false
		}
		m.giveBack(d)
		return true
	})
	select {
	case a.done <- false:
	default:
	}
	return nil
}

// open gives a dialog the keyboard: before questions that wait, since the person asked for it just now.
func (m *model) open(d screen.Dialog, then func() tea.Cmd) tea.Cmd {
	m.modals = append([]*modal{{dialog: d, then: then}}, m.modals...)
	var cmd tea.Cmd
	if s, ok := d.(interface{ Init() tea.Cmd }); ok {
		cmd = s.Init()
	}
	return tea.Batch(cmd, m.settle())
}

// settle takes leave of dialogs that are done.
func (m *model) settle() tea.Cmd {
	var cmds []tea.Cmd
	for i := 0; i < len(m.modals); {
		d := m.modals[i]
		if !d.dialog.Done() {
			i++
			continue
		}
		m.modals = slices.Delete(m.modals, i, i+1)
		m.giveBack(d)
		if d.asked != nil {
			d.asked.done <- true
		}
		if d.then != nil {
			cmds = append(cmds, d.then())
		}
	}
	return tea.Batch(cmds...)
}

// giveBack hands keys to the prompt box that were typed while a dialog came up and were not meant for it.
func (m *model) giveBack(d *modal) {
	if d.quiet == nil {
		return
	}
	for _, msg := range d.quiet.Missed() {
		m.box.Update(msg)
	}
}
