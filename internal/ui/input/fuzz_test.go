package input

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"gofer/internal/ui/keys"
)

var fuzzKeys = []string{
	"enter", "esc", "tab", "bs", "del", "left", "right", "up", "down", "home", "end", "space", "shift+enter", "alt+enter", "ctrl+j", "ctrl+a", "ctrl+e", "ctrl+k", "ctrl+u",
	"ctrl+w", "ctrl+y", "ctrl+_", "alt+_", "alt+b", "alt+f", "alt+d", "ctrl+r", "ctrl+s", "ctrl+d", "ctrl+x", "ctrl+p", "ctrl+n", "ctrl+left", "ctrl+right", "ctrl+c",
}

var fuzzTexts = []string{
	"a", "b", " ", "/", "@", "!", "#", "?", "\\", "w", "d", "c", "y", "p", "x", "i", "v", "V", "u", ".", "3", "f", "(", ")", "\"", "g", "G", "J", "~", "r", "o", "0", "$", "你", "好", "한", "👨\u200d👩\u200d👧", "e\u0301",
	"\u0301", "🇩🇪", "\U0001F1E9", "\u200d", "\u200b", "\t", "é", "ß", "[Pasted text #1 +3 lines]", "[",
}

var fuzzPastes = []string{
	"short", "one\ntwo\nthree\nfour\nfive", "\x1b]0;evil\x07text\x1b[2J", "\xff\xfe\x00bad", "a\r\nb\rc", strings.Repeat("x", 1000), "你好\n世界", "\x1b[31m", "\u202eabc", "/tmp/x.png", strings.Repeat("z\u0301\u0302", 400), "\t\ttabs",
}

// play does n random things and checks after each what must always be true.
func play(t *testing.T, seed uint64, n int) {
	r := rand.New(rand.NewPCG(seed, 1))
	b := withHistory(t, "older", "!ls", "multi\nline prompt", "你好")
	b.Sources.Commands = func() []Command { return []Command{{Name: "clear"}, {Name: "compact", Hint: "x"}} }
	b.Sources.Others = func() []Other { return []Other{{Name: "agent-a"}} }
	b.Images = pictures{}
	b.SetVim(seed%2 == 0)
	b.View(canvas(40, 24))
	for range n {
		switch r.IntN(20) {
		case 0:
			send(b, tea.PasteMsg{Content: fuzzPastes[r.IntN(len(fuzzPastes))]}, nil)
		case 1, 2, 3, 4, 5, 6, 7:
			send(b, keyOf(fuzzKeys[r.IntN(len(fuzzKeys))]), nil)
		default:
			s := fuzzTexts[r.IntN(len(fuzzTexts))]
			k := tea.KeyPressMsg{Text: s}
			k.Code, _ = utf8.DecodeRuneInString(s)
			send(b, k, nil)
		}
		if !utf8.ValidString(b.text) || Clean(b.text) != b.text {
			t.Fatalf("seed %d: the text is %q", seed, b.text)
		}
		if b.cursor < 0 || b.cursor > len(b.text) || b.cursor > 0 && nextCluster(b.text, previousCluster(b.text, b.cursor)) > b.cursor {
			t.Fatalf("seed %d: the cursor is inside of a character: %q", seed, withCursor(b))
		}
		width := 1 + r.IntN(60)
		if r.IntN(4) > 0 {
			width = 40
		}
		d := b.View(canvas(width, 24))
		check(t, b, d, width)
		fresh := layout{}
		fresh.fit(b.text, b.textWidth())
		if b.search == nil && !slices.Equal(fresh.rows, b.lay.rows) {
			t.Fatalf("seed %d: laid out as %v, anew as %v: %q", seed, b.lay.rows, fresh.rows, b.text)
		}
	}
	b.search = nil
	end := b.text
	steps := 0
	for b.undo() {
		steps++
	}
	if b.text != "" {
		t.Fatalf("seed %d: everything undone leaves %q", seed, b.text)
	}
	for range steps {
		b.redo()
	}
	if b.text != end {
		t.Fatalf("seed %d: everything done again is %q, not %q", seed, b.text, end)
	}
}

func TestRandomKeys(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		play(t, seed, 120)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { play(t, seed, 300) })
}

// A megabyte can be pasted and typed into without being felt.
func TestMegabyte(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("word ", 200_000)
	lines := strings.Repeat("some words in a line, 你好\n", 40_000)
	for name, text := range map[string]string{"one line": line, "many lines": lines} {
		b := New(keys.Default())
		b.View(canvas(80, 24))
		begun := time.Now()
		send(b, tea.PasteMsg{Content: text}, nil)
		b.View(canvas(80, 24))
		if took := time.Since(begun); took > 5*time.Second { // busy machines and the race detector; the benchmark has the figure
			t.Errorf("%s: pasting took %v", name, took)
		}
		if m := sent(t, b, "<enter>"); m.Text != text {
			t.Errorf("%s: %d bytes were sent", name, len(m.Text))
		}
		b.SetText(text)
		b.View(canvas(80, 24))
		typeKeys(b, "<ctrl+a>")
		begun = time.Now()
		const n = 10
		for range n {
			typeKeys(b, "x")
			b.View(canvas(80, 24))
		}
		if took := time.Since(begun) / n; took > time.Second {
			t.Errorf("%s: a key took %v", name, took)
		}
	}
}

func BenchmarkTypingIntoAMegabyte(b *testing.B) {
	for name, text := range map[string]string{
		"line": strings.Repeat("word ", 200_000), "lines": strings.Repeat("some words\n", 90_000), "wide": strings.Repeat("你好世界", 87_000),
	} {
		b.Run(name, func(b *testing.B) {
			box := New(keys.Default())
			box.SetText(text)
			box.cursor = lineStart(box.text, len(text)/2/12*12)
			box.View(canvas(80, 24))
			for b.Loop() {
				box.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
				box.View(canvas(80, 24))
			}
		})
	}
}

func BenchmarkPasteOfAMegabyte(b *testing.B) {
	text := strings.Repeat("some words\x1b[31m in a line, 你好\n", 30_000)
	for b.Loop() {
		box := New(keys.Default())
		box.Update(tea.PasteMsg{Content: text})
		box.View(canvas(80, 24))
	}
}
