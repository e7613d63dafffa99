// Package keys is the one table of the keys of the terminal UI.
//
// A part of the UI never looks at a key itself: it asks which action the key stands for in the contexts that are active, the
// innermost first. So a key can be bound to something else by the user's file, and help can list all keys with what they do.
// A Map does not change once it is made; whoever reloads the file makes another one.
package keys

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A Context is a part of the UI that has keys of its own.
type Context string

// The contexts. Global is behind all others. Edit is a text field: of the prompt box, and of any dialog that has one.
const (
	Global          Context = "Global"
	Chat            Context = "Chat"
	Edit            Context = "Edit"
	Autocomplete    Context = "Autocomplete"
	HistorySearch   Context = "HistorySearch"
	Task            Context = "Task"
	Confirmation    Context = "Confirmation"
	Select          Context = "Select"
	Tabs            Context = "Tabs"
	ModelPicker     Context = "ModelPicker"
	MessageSelector Context = "MessageSelector"
	Scroll          Context = "Scroll"
	Transcript      Context = "Transcript"
)

// An Action is what a key does, as "chat:submit". An action that begins with "command:" runs the slash command of that name.
type Action string

// Command is the slash command that the action runs.
func (a Action) Command() (name string, ok bool) { return strings.CutPrefix(string(a), "command:") }

// A Map says which keys do what.
type Map struct {
	bound    map[Context]map[string]Action // by the sequence of strokes; "" is a key that the user took away
	prefixes map[Context]map[string]bool   // beginnings of sequences of several strokes
	changed  map[Context]map[string]bool   // by the user
}

// Default is the map without a file of the user.
func Default() *Map {
	m := &Map{bound: map[Context]map[string]Action{}, changed: map[Context]map[string]bool{}}
	for _, e := range table() {
		for _, key := range e.keys {
			sequence, err := parseSequence(key)
			if err != nil {
				panic("keys: " + key + ": " + err.Error()) // the table is part of the program; a test reads it
			}
			m.set(e.context, sequence, e.action)
		}
	}
	m.index()
	return m
}

func (m *Map) set(c Context, sequence string, a Action) {
	if m.bound[c] == nil {
		m.bound[c] = map[string]Action{}
	}
	m.bound[c][sequence] = a
}

// index notes which strokes begin a longer sequence.
func (m *Map) index() {
	m.prefixes = map[Context]map[string]bool{}
	for c, bound := range m.bound {
		for sequence, action := range bound {
			for i, r := range sequence {
				if r != ' ' || action == "" {
					continue
				}
				if m.prefixes[c] == nil {
					m.prefixes[c] = map[string]bool{}
				}
				m.prefixes[c][sequence[:i]] = true
			}
		}
	}
}

// find looks a sequence up, innermost context first, Global last.
func (m *Map) find(sequence string, contexts []Context) (a Action, begins bool) {
	for _, c := range contexts {
		begins = begins || m.prefixes[c][sequence]
	}
	if begins = begins || m.prefixes[Global][sequence]; begins {
		return "", true
	}
	for _, c := range contexts {
		if a, ok := m.bound[c][sequence]; ok {
			return a, false
		}
	}
	return m.bound[Global][sequence], false
}

// A Reader turns key presses into actions. It remembers the strokes of a sequence that is not finished. Its zero value is
// ready; there is one for all parts of a UI, so that a sequence is never torn between two of them.
type Reader struct{ pending string }

// Press takes a key. used is false when nothing is bound to it: then its text, if it has one, is typed. used without an
// action is a stroke within a sequence, or one that ended a sequence which means nothing.
func (r *Reader) Press(m *Map, key tea.KeyPressMsg, contexts ...Context) (action Action, used bool) {
	stroke := Stroke(key)
	sequence := stroke
	if r.pending != "" {
		sequence = r.pending + " " + stroke
	}
	action, begins := m.find(sequence, contexts)
	switch {
	case begins:
		r.pending = sequence
		return "", true
	case r.pending != "":
		r.pending = ""
		return action, true
	}
	return action, action != ""
}

// Pending is what was pressed of a sequence so far.
func (r *Reader) Pending() string { return r.pending }

// A Binding is an action with the keys that do it, for lists.
type Binding struct {
	Context Context
	Action  Action
	Help    string // in English, the key of its translation
	Keys    []string
	Changed bool // by the user's file
}

// List is everything that has a name, in the order of the table, with the keys it has now.
func (m *Map) List() []Binding {
	var list []Binding
	at := map[Context]map[Action]int{}
	add := func(c Context, a Action, help string) {
		if at[c] == nil {
			at[c] = map[Action]int{}
		}
		if _, ok := at[c][a]; !ok {
			at[c][a] = len(list)
			list = append(list, Binding{Context: c, Action: a, Help: help})
		}
	}
	order := map[Context]map[string]int{}
	for _, e := range table() {
		add(e.context, e.action, e.help)
		for i, key := range e.keys {
			if order[e.context] == nil {
				order[e.context] = map[string]int{}
			}
			sequence, _ := parseSequence(key)
			order[e.context][sequence] = i - len(e.keys) // the table's own keys come first, in its order
		}
	}
	for _, c := range Contexts() {
		sequences := make([]string, 0, len(m.bound[c]))
		for s := range m.bound[c] {
			sequences = append(sequences, s)
		}
		slices.SortFunc(sequences, func(a, b string) int {
			if d := order[c][a] - order[c][b]; d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		for _, s := range sequences {
			a := m.bound[c][s]
			if a == "" {
				continue
			}
			add(c, a, helpOf(a))
			b := &list[at[c][a]]
			b.Keys = append(b.Keys, s)
			b.Changed = b.Changed || m.changed[c][s]
		}
	}
	return list
}

// Key is the first key of an action, written for people, to be put into hints; empty when it has none.
func (m *Map) Key(a Action) string {
	for _, b := range m.List() {
		if b.Action == a && len(b.Keys) > 0 {
			return Show(b.Keys[0])
		}
	}
	return ""
}
