package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/screen"
)

// mostTyped bounds what a field takes: a paste of megabytes is nothing that belongs into one.
const mostTyped = 64 << 10

// A Field is a line of text that is typed. Line ends can be pasted into it; they are shown as ⏎.
type Field struct {
	Placeholder string
	Secret      bool // shown as dots

	clusters []string
	at       int // the cluster that the caret stands before
	size     int
}

// Text is what was typed.
func (f *Field) Text() string { return strings.Join(f.clusters, "") }

// Set replaces the text and puts the caret behind it.
func (f *Field) Set(text string) {
	f.clusters, f.at, f.size = nil, 0, 0
	f.insert(text)
}

// Update takes a key or a paste, and reports whether it was one for the field.
func (f *Field) Update(msg tea.Msg) bool {
	switch m := msg.(type) {
	case tea.PasteMsg:
		f.insert(m.Content)
		return true
	case tea.KeyPressMsg:
		if m.Text != "" && m.Mod&^tea.ModShift == 0 {
			f.insert(m.Text)
			return true
		}
		return f.edit(m.Keystroke())
	}
	return false
}

func (f *Field) edit(k string) bool {
	switch k {
	case "left", "ctrl+b":
		f.at = max(f.at-1, 0)
	case "right", "ctrl+f":
		f.at = min(f.at+1, len(f.clusters))
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.clusters)
	case "backspace", "ctrl+h":
		f.remove(f.at-1, f.at)
	case "delete", "ctrl+d":
		f.remove(f.at, f.at+1)
	case "ctrl+u":
		f.remove(0, f.at)
	case "ctrl+k":
		f.remove(f.at, len(f.clusters))
	case "ctrl+w", "alt+backspace":
		f.remove(f.wordStart(), f.at)
	case "alt+left", "ctrl+left", "alt+b":
		f.at = f.wordStart()
	case "alt+right", "ctrl+right", "alt+f":
		f.at = f.wordEnd()
	default:
		return false
	}
	return true
}

func (f *Field) wordStart() int {
	i := f.at
	for i > 0 && f.clusters[i-1] == " " {
		i--
	}
	for i > 0 && f.clusters[i-1] != " " {
		i--
	}
	return i
}

func (f *Field) wordEnd() int {
	i := f.at
	for i < len(f.clusters) && f.clusters[i] == " " {
		i++
	}
	for i < len(f.clusters) && f.clusters[i] != " " {
		i++
	}
	return i
}

func (f *Field) remove(from, to int) {
	from, to = max(from, 0), min(to, len(f.clusters))
	if from >= to {
		return
	}
	for _, c := range f.clusters[from:to] {
		f.size -= len(c)
	}
	f.clusters = append(f.clusters[:from:from], f.clusters[to:]...)
	f.at = from
}

// insert puts text before the caret. The clusters around it are found anew, because what is typed may join the one before: a
// joiner, a tone mark, the second half of a flag.
func (f *Field) insert(text string) {
	text = screen.Clean(strings.ReplaceAll(text, "\r", "\n"))
	if f.size+len(text) > mostTyped {
		text = strings.ToValidUTF8(text[:max(mostTyped-f.size, 0)], "")
	}
	before := strings.Join(f.clusters[:f.at], "") + text
	after := f.clusters[f.at:]
	clusters := split(before)
	f.at = len(clusters)
	f.clusters = append(clusters, after...)
	f.size += len(text)
}

func split(s string) []string {
	var out []string
	for s != "" {
		cluster, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		if cluster == "" {
			break
		}
		out = append(out, cluster)
		s = s[len(cluster):]
	}
	return out
}

// draw shows the part of the text around the caret, and tells in which column the caret is.
func (f *Field) draw(c screen.Canvas, width int) (line string, caret int) {
	if len(f.clusters) == 0 {
		return c.Theme.Faint.Paint(screen.Cut(f.Placeholder, width-1, "")), 0
	}
	shown := func(i int) string {
		switch {
		case f.Secret:
			return "•"
		case f.clusters[i] == "\n":
			return "⏎"
		}
		return f.clusters[i]
	}
	// The caret needs a column of its own at the end.
	start, used := f.at, 1
	for start > 0 && used+screen.Width(shown(start-1)) <= width {
		start--
		used += screen.Width(shown(start))
	}
	var b strings.Builder
	for i := start; i < f.at; i++ {
		b.WriteString(shown(i))
	}
	caret = screen.Width(b.String())
	room := width - caret
	for i := f.at; i < len(f.clusters); i++ {
		if room -= screen.Width(shown(i)); room < 0 {
			break
		}
		b.WriteString(shown(i))
	}
	return b.String(), caret
}
