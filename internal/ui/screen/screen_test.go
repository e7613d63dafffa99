package screen

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestWrapBreaksAtBlanks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"the quick brown fox", 10, "the quick|brown fox"},
		{"the quick brown fox", 9, "the quick|brown fox"},
		{"one\n\ntwo", 10, "one||two"},
		{"  indented text here", 12, "  indented|text here"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaa bb", 10, "aaaaaaaaaa|aaaaaaaaaa|aaaaa bb"},
		{"see aaaaaaaaaaaaaaaaaaaa", 10, "see aaaaaa|aaaaaaaaaa|aaaa"},
		{"你好世界，再见", 8, "你好世|界，再见"},
		{"中文English文", 8, "中文|English|文"},
		{"ends with blanks   ", 20, "ends with blanks   "},
		{"👨‍👩‍👧 family", 6, "👨‍👩‍👧|family"},
		{"", 5, ""},
	} {
		if got := strings.Join(Wrap(test.text, test.width), "|"); got != test.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestBreakKeepsEveryBlank(t *testing.T) {
	t.Parallel()
	text := "a    b  \x1b[1mc      ddddddddd\x1b[m  e"
	var plain string
	for _, line := range Break(text, 5) {
		if w := Width(line); w > 5 {
			t.Errorf("%q is %d wide", line, w)
		}
		plain += ansi.Strip(line)
	}
	if plain != ansi.Strip(text) {
		t.Errorf("%q became %q", ansi.Strip(text), plain)
	}
}

func TestEachWrappedLineIsCompleteInItself(t *testing.T) {
	t.Parallel()
	red, bold, reset := "\x1b[31m", "\x1b[1m", "\x1b[m"
	link := "\x1b]8;;https://example.com\x1b\\"
	got := Wrap("plain "+red+"red words "+bold+"and bold"+reset+" end "+link+"a link here"+endLink+".", 10)
	want := []string{
		"plain " + red + "red" + reset,
		red + "words " + bold + "and" + reset,
		red + bold + "bold" + reset + " end " + link + "a" + endLink,
		link + "link here" + endLink + ".",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestCleanLeavesNothingThatSteers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"plain äöü 你好", "plain äöü 你好"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b]0;title\x07text", "text"},
		{"\x1b]0;never ends and hides nothing", "]0;never ends and hides nothing"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"a\tb", "a    b"},
		{"one\r\ntwo\rthree", "one\ntwo\nthree"},
		{"raw \x9b31m byte", "raw \ufffd31m byte"},
		{"\u009b31m", "31m"},
		{"a\u202eb\u2066c\u200fd", "abcd"},
		{"bell\a\b\x00\x7f", "bell"},
		{"\x1b[12", "[12"},
		{"\x1b", ""},
		{"\x1b(Bok", "ok"},
	} {
		if got := Clean(test.in); got != test.want {
			t.Errorf("Clean(%q) = %q, want %q", test.in, got, test.want)
		}
	}
	if got := OneLine("a\r\nb\n\nc"); got != "a b c" {
		t.Errorf("OneLine gave %q", got)
	}
}

// hostile makes texts out of pieces that are trouble for whoever measures text.
func hostile(r *rand.Rand, pieces int) string {
	parts := []string{"a", "word ", " ", "  ", "你", "，", "é", "e\u0301", "👨‍👩‍👧", "🇩🇪", "\x1b[1m", "\x1b[31m", "\x1b[m", "\x1b", "\x1b]8;;http://x\x1b\\", "\x1b]8;;\x1b\\",
		"\n", "\r", "\t", "\x9b", "\u202e", "longlonglonglong", "\xff", "한국어", "\u200b", "\u0300", ")"}
	var b strings.Builder
	for range pieces {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

func TestNoLineIsWiderAndNothingIsLost(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		text := hostile(r, r.IntN(40))
		width := 1 + r.IntN(20)
		clean := Clean(text)
		if strings.ContainsFunc(clean, func(c rune) bool { return c != '\n' && steers(c) }) || !utf8.ValidString(clean) {
			t.Fatalf("Clean(%q) = %q", text, clean)
		}
		for name, lines := range map[string][]string{"Wrap": Wrap(clean, width), "Break": Break(clean, width)} {
			for _, line := range lines {
				if w := Width(line); w > width {
					t.Fatalf("%s(%q, %d): %q is %d wide", name, clean, width, line, w)
				}
			}
			bare := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
			if got := bare(ansi.Strip(strings.Join(lines, ""))); width > 1 && got != bare(clean) {
				t.Fatalf("%s(%q, %d) lost something: %q", name, clean, width, lines)
			}
		}
	}
}

func TestStyledLinesStayClosed(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		text := strings.NewReplacer("\r", "", "\t", "", "\x9b", "", "\xff", "").Replace(hostile(r, r.IntN(40)))
		for _, line := range Wrap(text, 1+r.IntN(20)) {
			var p pen
			for rest := line; rest != ""; {
				seq, _, n, _ := ansi.DecodeSequence(rest, ansi.NormalState, nil)
				if rest[0] == 0x1b {
					p = p.take(seq)
				}
				rest = rest[max(n, 1):]
			}
			if p.on != "" || p.link != "" {
				t.Fatalf("Wrap(%q): %q leaves %q open", text, line, p)
			}
		}
	}
}

func TestCursorMovesWithItsDrawing(t *testing.T) {
	t.Parallel()
	d := Drawing{Lines: []string{"a", "b"}}.Below(Drawing{Lines: []string{"c"}, Cursor: &Cursor{X: 3}})
	if d.Cursor == nil || *d.Cursor != (Cursor{X: 3, Y: 2}) || len(d.Lines) != 3 {
		t.Errorf("got %+v", d)
	}
}

func BenchmarkWrap(b *testing.B) {
	text := strings.Repeat("the quick \x1b[1mbrown\x1b[m fox jumps over it ", 2500)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Wrap(text, 80)
	}
}
