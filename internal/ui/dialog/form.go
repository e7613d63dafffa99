package dialog

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/screen"
)

// A Form asks for several values at once, for a server that wants to know something from the person.
type Form struct {
	Title   string
	Message string
	Link    string // a page to look at, for a server that asks for nothing here
	Entries []Entry
	Waiting func() int // further requests behind this one; nil: none

	Action string         // when done: accept, decline or cancel
	Values map[string]any // with accept

	at    int // len(Entries) is Send, +1 Decline
	wrong map[int]error
	ready bool
}

// An Entry is one value of a form.
type Entry struct {
	Name, Title, About string
	Kind               string // string, number, integer, boolean, choice or choices
	Required           bool
	Options            []string // of a choice: what is sent
	Labels             []string // … and what is shown, if it is something else
	Check              func(text string) error

	field  Field
	chosen []bool // of options; of a boolean the first is yes
}

// Preset puts a value in before the person sees the form.
func (e *Entry) Preset(v any) {
	e.begin()
	switch v := v.(type) {
	case bool:
		e.chosen[0] = v
	case []any:
		for _, item := range v {
			if i := slices.Index(e.Options, fmt.Sprint(item)); i >= 0 {
				e.chosen[i] = true
			}
		}
	case nil:
	default:
		text := fmt.Sprint(v)
		if i := slices.Index(e.Options, text); i >= 0 {
			e.chosen[i] = true
			return
		}
		e.field.Set(text)
	}
}

func (e *Entry) begin() {
	if e.chosen == nil {
		e.chosen = make([]bool, max(len(e.Options), 1))
	}
}

func (e *Entry) label(i int) string {
	if i < len(e.Labels) && e.Labels[i] != "" {
		return e.Labels[i]
	}
	return e.Options[i]
}

// picks reports whether the value is chosen and not typed.
func (e *Entry) picks() bool { return e.Kind == "choice" || e.Kind == "choices" || e.Kind == "boolean" }

// Done reports whether the form was sent or refused.
func (f *Form) Done() bool { return f.Action != "" }

func (f *Form) begin() {
	if f.ready {
		return
	}
	f.ready, f.wrong = true, map[int]error{}
	for i := range f.Entries {
		f.Entries[i].begin()
	}
}

// Update takes a key.
func (f *Form) Update(msg tea.Msg) tea.Cmd {
	f.begin()
	k := key(msg)
	rows := len(f.Entries) + 2
	switch {
	case isQuit(k):
		f.Action = "cancel"
	case k == "tab" || k == "down":
		f.at = (f.at + 1) % rows
	case k == "shift+tab" || k == "up":
		f.at = (f.at + rows - 1) % rows
	case k == "enter":
		f.enter()
	case f.at < len(f.Entries):
		f.edit(msg, k)
	}
	return nil
}

func (f *Form) enter() {
	switch {
	case f.at < len(f.Entries):
		if _, err := f.Entries[f.at].value(); err != nil {
			f.wrong[f.at] = err
			return
		}
		delete(f.wrong, f.at)
		f.at++
	case f.at == len(f.Entries):
		f.send()
	default:
		f.Action = "decline"
	}
}

// send takes all values, or goes to the first one that is wrong.
func (f *Form) send() {
	values := map[string]any{}
	clear(f.wrong)
	for i := range f.Entries {
		v, err := f.Entries[i].value()
		if err != nil {
			f.wrong[i] = err
			continue
		}
		if v != nil {
			values[f.Entries[i].Name] = v
		}
	}
	for i := range f.Entries {
		if f.wrong[i] != nil {
			f.at = i
			return
		}
	}
	f.Action, f.Values = "accept", values
}

func (f *Form) edit(msg tea.Msg, k string) {
	e := &f.Entries[f.at]
	delete(f.wrong, f.at)
	if !e.picks() {
		e.field.Update(msg)
		return
	}
	n := len(e.chosen)
	switch e.Kind {
	case "boolean":
		switch k {
		case "space", "left", "right":
			e.chosen[0] = !e.chosen[0]
		case "y", "n":
			e.chosen[0] = k == "y"
		}
	case "choice":
		at := slices.Index(e.chosen, true)
		switch k {
		case "right", "space":
			at = (at + 1) % n
		case "left":
			at = (max(at, 0) + n - 1) % n
		default:
			return
		}
		clear(e.chosen)
		e.chosen[at] = true
	case "choices":
		if len(k) == 1 && k[0] >= '1' && int(k[0]-'1') < n {
			e.chosen[k[0]-'1'] = !e.chosen[k[0]-'1']
		}
	}
}

// View draws the fields.
func (f *Form) View(c screen.Canvas) screen.Drawing {
	f.begin()
	title := f.Title
	title += waiting(c, f.Waiting)
	s := newSheet(c, title, c.Theme.Info)
	s.hint = c.T("Tab next · ←→ Space choose · Enter go on · Esc leave")
	s.add(screen.Wrap(screen.Clean(f.Message), c.Width-1)...)
	if f.Link != "" {
		s.add(c.Theme.Link.Paint(oneLine(f.Link)))
	}
	s.add("")
	heights := 3
	first := f.at
	if first >= len(f.Entries) {
		first = len(f.Entries) - 1
	}
	// As many entries as fit, the chosen one among them.
	fits := max(s.room(heights)/3, 1)
	from := max(min(first-fits+1, len(f.Entries)-fits), 0)
	for i := from; i < len(f.Entries) && i < from+fits; i++ {
		f.draw(s, i)
	}
	for i, text := range []string{c.T("Send"), c.T("Decline")} {
		if f.at == len(f.Entries)+i {
			s.add(c.Theme.Selected.Paint("❯ " + text))
		} else {
			s.add("  " + text)
		}
	}
	return s.end()
}

func (f *Form) draw(s *sheet, i int) {
	c, e := s.c, &f.Entries[i]
	name := oneLine(firstText(e.Title, e.Name))
	if e.Required {
		name += " *"
	}
	mark := "  "
	if i == f.at {
		mark = "❯ "
		name = c.Theme.Selected.Paint(name)
	}
	label := mark + name + ": "
	switch {
	case e.picks():
		s.add(label + e.drawChosen(c))
	case i == f.at:
		s.field(label, &e.field)
	default:
		line, _ := e.field.draw(c, c.Width-1-screen.Width(label))
		s.add(label + line)
	}
	switch {
	case f.wrong[i] != nil:
		s.add("    " + c.Theme.Bad.Paint(oneLine(f.wrong[i].Error())))
	case e.About != "" && i == f.at:
		s.add("    " + c.Theme.Faint.Paint(oneLine(e.About)))
	}
}

func (e *Entry) drawChosen(c screen.Canvas) string {
	switch e.Kind {
	case "boolean":
		if e.chosen[0] {
			return c.T("yes")
		}
		return c.T("no")
	case "choices":
		var parts []string
		for i := range e.Options {
			box := "[ ] "
			if e.chosen[i] {
				box = "[x] "
			}
			parts = append(parts, fmt.Sprintf("%d %s%s", i+1, box, oneLine(e.label(i))))
		}
		return strings.Join(parts, "  ")
	}
	if at := slices.Index(e.chosen, true); at >= 0 {
		return "‹ " + oneLine(e.label(at)) + " ›"
	}
	return c.Theme.Faint.Paint(c.T("‹ choose ›"))
}
