package keys

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// Stroke is the name of a key press as the table writes it: modifiers in the order ctrl, alt, shift, super, and the key. A
// letter that was typed with Shift is "shift+a"; a sign that needs Shift on some keyboards is the sign itself.
func Stroke(key tea.KeyPressMsg) string {
	const quiet = tea.ModCapsLock | tea.ModNumLock | tea.ModScrollLock
	mod := key.Mod &^ quiet
	if key.Text != "" && mod&^tea.ModShift == 0 {
		return printable(key.Text)
	}
	var b strings.Builder
	if mod.Contains(tea.ModCtrl) {
		b.WriteString("ctrl+")
	}
	if mod.Contains(tea.ModAlt) || mod.Contains(tea.ModMeta) {
		b.WriteString("alt+")
	}
	code := key.Code
	if code > unicode.MaxASCII && unicode.IsLetter(code) && key.BaseCode != 0 {
		code = key.BaseCode // Ctrl and a Cyrillic letter is the key at that place
	}
	if mod.Contains(tea.ModShift) || unicode.IsUpper(code) {
		b.WriteString("shift+")
	}
	if mod.Contains(tea.ModSuper) || mod.Contains(tea.ModHyper) {
		b.WriteString("super+")
	}
	if !unicode.IsUpper(code) && !unicode.IsLower(code) {
		key.Mod, key.Text, key.BaseCode = 0, "", 0
		return b.String() + key.Keystroke()
	}
	b.WriteRune(unicode.ToLower(code))
	return b.String()
}

func printable(text string) string {
	if text == " " {
		return "space"
	}
	r, n := utf8.DecodeRuneInString(text)
	if n == len(text) && unicode.IsUpper(r) {
		return "shift+" + string(unicode.ToLower(r))
	}
	return text
}

// named are the keys with names, by all the names that a file may use.
func named(name string) (string, bool) {
	switch name {
	case "escape", "esc":
		return "esc", true
	case "enter", "return":
		return "enter", true
	case "pageup", "pgup":
		return "pgup", true
	case "pagedown", "pgdown", "pgdn":
		return "pgdown", true
	case "del", "delete":
		return "delete", true
	case "tab", "space", "up", "down", "left", "right", "backspace", "home", "end", "insert":
		return name, true
	}
	var n int
	if _, err := fmt.Sscanf(name, "f%d", &n); err == nil && n >= 1 && n <= 24 && name == fmt.Sprintf("f%d", n) {
		return name, true
	}
	return "", false
}

// parseSequence reads strokes that are divided by blanks, and gives them in the form of Stroke.
func parseSequence(text string) (string, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return "", fmt.Errorf("a key has no name")
	}
	for i, f := range fields {
		stroke, err := parseStroke(f)
		if err != nil {
			return "", err
		}
		fields[i] = stroke
	}
	return strings.Join(fields, " "), nil
}

func parseStroke(text string) (string, error) {
	var ctrl, alt, shift, super bool
	name := text
	for {
		before, after, ok := strings.Cut(name, "+")
		if !ok || after == "" {
			break // "+" itself is a key
		}
		switch strings.ToLower(before) {
		case "ctrl", "control":
			ctrl = true
		case "alt", "opt", "option", "meta":
			alt = true
		case "shift":
			shift = true
		case "cmd", "command", "super", "win":
			super = true
		default:
			return "", fmt.Errorf("%q is no modifier: there are ctrl, alt (opt, option, meta), shift and cmd (command, super, win)", before)
		}
		name = after
	}
	r, n := utf8.DecodeRuneInString(name)
	switch special, ok := named(strings.ToLower(name)); {
	case ok:
		name = special
	case n != len(name) || n == 0 || r == utf8.RuneError:
		return "", fmt.Errorf("%q is no key: write one character or esc, enter, tab, space, backspace, delete, insert, up, down, left, right, home, end, pageup, pagedown, f1 to f24", name)
	case unicode.IsUpper(r):
		// A capital letter by itself means Shift; behind Ctrl or Alt it is only a way of writing.
		shift = shift || !ctrl && !alt && !super
		name = string(unicode.ToLower(r))
	}
	out := ""
	for _, m := range []struct {
		on   bool
		name string
	}{{ctrl, "ctrl+"}, {alt, "alt+"}, {shift, "shift+"}, {super, "super+"}} {
		if m.on {
			out += m.name
		}
	}
	return out + name, nil
}

// Show writes a sequence for people: "ctrl+x ctrl+e" is "Ctrl+X Ctrl+E".
func Show(sequence string) string {
	strokes := strings.Fields(sequence)
	for i, s := range strokes {
		plus := strings.HasSuffix(s, "+")
		parts := strings.Split(strings.TrimSuffix(s, "+"), "+")
		if plus {
			parts = append(parts[:len(parts)-1], "+")
		}
		for j, p := range parts {
			switch p {
			case "up":
				p = "↑"
			case "down":
				p = "↓"
			case "left":
				p = "←"
			case "right":
				p = "→"
			case "pgup":
				p = "PageUp"
			case "pgdown":
				p = "PageDown"
			default:
				r, n := utf8.DecodeRuneInString(p)
				if len(parts) > 1 || n < len(p) {
					p = string(unicode.ToUpper(r)) + p[n:]
				}
			}
			parts[j] = p
		}
		strokes[i] = strings.Join(parts, "+")
	}
	return strings.Join(strokes, " ")
}
