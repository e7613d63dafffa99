package keys

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// Translate serves parts of the UI that know the keys of the table as they are without a file: a key that the user has bound to an action
// becomes the key that does that action by default. given is false when the part must not see the key: the user took it away, or it
// belongs to a sequence. action is what the key stands for, for those that are not the part's own.
func (r *Reader) Translate(m *Map, key tea.KeyPressMsg, contexts ...Context) (action Action, out tea.KeyPressMsg, given bool) {
	stroke := Stroke(key)
	inSequence := r.pending != ""
	action, used := r.Press(m, key, contexts...)
	if !used {
		return "", key, !m.taken(stroke, contexts)
	}
	if action == "" {
		return "", key, false
	}
	for _, e := range table() {
		if e.action != action || e.context != Global && !slices.Contains(contexts, e.context) {
			continue
		}
		if e.context == Global || !inSequence && slices.ContainsFunc(e.keys, func(k string) bool { s, _ := parseSequence(k); return s == stroke }) {
			return action, key, true
		}
		for _, k := range e.keys {
			if s, _ := parseSequence(k); !strings.Contains(s, " ") {
				return action, pressed(s), true
			}
		}
	}
	return action, key, false
}

// taken reports whether the user took a key away.
func (m *Map) taken(stroke string, contexts []Context) bool {
	for _, c := range contexts {
		if a, ok := m.bound[c][stroke]; ok {
			return a == ""
		}
	}
	return false
}

// pressed is the key press of a stroke.
func pressed(stroke string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	for {
		mod, rest, ok := strings.Cut(stroke, "+")
		if !ok || rest == "" {
			break
		}
		switch mod {
		case "ctrl":
			k.Mod |= tea.ModCtrl
		case "alt":
			k.Mod |= tea.ModAlt
		case "shift":
			k.Mod |= tea.ModShift
		case "super":
			k.Mod |= tea.ModSuper
		}
		stroke = rest
	}
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "space": tea.KeySpace, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
		"insert": tea.KeyInsert, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	}
	if code, ok := codes[stroke]; ok {
		k.Code = code
		if code == tea.KeySpace && k.Mod == 0 {
			k.Text = " "
		}
		return k
	}
	k.Code, _ = utf8.DecodeRuneInString(stroke)
	if k.Mod&^tea.ModShift == 0 {
		k.Text = stroke
		if k.Mod != 0 {
			k.ShiftedCode = unicode.ToUpper(k.Code)
			k.Text = string(k.ShiftedCode)
		}
	}
	return k
}
