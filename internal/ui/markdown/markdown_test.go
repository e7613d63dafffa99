package markdown

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

var update = flag.Bool("update", false, "write the golden files")

func canvas(width int, profile colorprofile.Profile) screen.Canvas {
	return screen.Canvas{Width: width, Height: 24, Theme: theme.New("dark", profile)}
}

func sample(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/sample.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 140} {
		got := strings.Join(Render(canvas(width, colorprofile.NoTTY), sample(t)), "\n") + "\n"
		name := filepath.Join("testdata", fmt.Sprintf("sample.%d.txt", width))
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("width %d:\n%s", width, got)
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	c := canvas(80, colorprofile.TrueColor)
	th := c.Theme
	for _, test := range []struct{ text, want string }{
		{"a **b** c", "a " + th.Strong.Paint("b") + " c"},
		{"*i* and ~~s~~", th.Italic.Paint("i") + " and " + th.Strike.Paint("s")},
		{"`x := 1`", th.Code.Paint("x := 1")},
		{"## H", th.Heading.Paint("H")},
		{"[t](https://x.org)", "\x1b]8;;https://x.org\x1b\\" + th.Link.Paint("t") + "\x1b]8;;\x1b\\"},
		{"[t](javascript:x)", th.Link.Paint("t") + th.Faint.Paint(" (javascript:x)")},
		{"[a.go](src/a.go)", th.Link.Paint("a.go") + th.Faint.Paint(" (src/a.go)")},
		{"```go\nreturn 1\n```", "  " + th.Keyword.Paint("return") + " " + th.Number.Paint("1")},
		{"see http://x.org/a.", "see \x1b]8;;http://x.org/a\x1b\\" + th.Link.Paint("http://x.org/a") + "\x1b]8;;\x1b\\."},
		{"at https://x.org/a_b*c_d.", "at \x1b]8;;https://x.org/a_b*c_d\x1b\\" + th.Link.Paint("https://x.org/a_b*c_d") + "\x1b]8;;\x1b\\."},
		{"snake_case_name and 2*3*4", "snake_case_name and 2" + th.Italic.Paint("3") + "4"},
		{"**注意：**请看**文件**。", th.Strong.Paint("注意：") + "请看" + th.Strong.Paint("文件") + "。"},
		{"1. a\n  - b\n1. c", th.Faint.Paint("1. ") + "a\n  " + th.Faint.Paint("• ") + "b\n" + th.Faint.Paint("2. ") + "c"},
		{"Intro\nmore:\n|a|b|\n|-|-|\n|1|2|", "Intro\nmore:\n" + th.Strong.Paint("a") + " " + th.Border.Paint("│") + " " + th.Strong.Paint("b") + "\n" + th.Border.Paint("──┼──") + "\n1 " + th.Border.Paint("│") + " 2"},
		{"&#27;[31m &#x202e;x", "[31m x"},
		{"\x1b[31mred\x1b]0;t\x07", "red"},
	} {
		if got := strings.Join(Render(c, test.text), "\n"); got != test.want {
			t.Errorf("%q\ngot  %q\nwant %q", test.text, got, test.want)
		}
	}
}

// pieces are what Markdown can be made of, well and badly.
var pieces = []string{"a", "word ", "**", "*", "_", "`", "```", "```go\n", "\n", "\n\n", "\n", "- ", "1. ", "2) ", "  ", "    ", "> ", "# ", "---", "===", "|", "|---|---|\n", "| a | b |\n", "[", "](", "http://x.org", ")", "!", "~~", "\\",
	"&amp;", "&#27;", "<b>", "<!--", "你好", "👨‍👩‍👧", "\x1b[31m", "\x1b]8;;x\x07", "\u202e", "\r", "\r\n", "\t", "\x00", "\xff", "[ ] ", "[x] ", "long text that goes on and on ", "+ ", "~~~\n", "<br>", "\x9b"}

func anything(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func check(t *testing.T, what string, lines []string, width int) {
	t.Helper()
	for _, line := range lines {
		if w := screen.Width(line); w > width {
			t.Fatalf("%s: %q is %d wide, the canvas %d", what, line, w, width)
		}
		if plain := ansi.Strip(line); screen.Clean(plain) != plain || strings.Contains(plain, "\n") {
			t.Fatalf("%s: %q steers", what, line)
		}
	}
}

func TestAStreamIsTheWholeText(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 300 {
		text := anything(r, r.IntN(80))
		if i == 0 {
			text = sample(t)
		} else if i%100 == 0 {
			text = strings.Repeat(anything(r, 40), 20)
		}
		c := canvas(1+r.IntN(100), colorprofile.TrueColor)
		whole := Render(c, text)
		check(t, fmt.Sprintf("%q", text), whole, c.Width)
		var s Stream
		var got []string
		for rest := text; rest != ""; {
			n := 1 + r.IntN(min(len(rest), 60))
			s.Write(rest[:n])
			rest = rest[n:]
			if r.IntN(3) == 0 {
				got = append(got, s.Stable(c)...)
				check(t, fmt.Sprintf("tail of %q", text), s.Tail(c), c.Width)
			}
		}
		got = append(got, s.Stable(c)...)
		s.Close()
		got = append(got, s.Stable(c)...)
		if strings.Join(got, "\n") != strings.Join(whole, "\n") {
			t.Fatalf("%q at width %d:\nstream %q\nwhole  %q", text, c.Width, got, whole)
		}
		if tail := s.Tail(c); len(tail) > 0 {
			t.Fatalf("a closed stream has a tail: %q", tail)
		}
	}
}

func TestFinishedPartsAreHandedOutAtOnce(t *testing.T) {
	t.Parallel()
	c := canvas(80, colorprofile.NoTTY)
	var s Stream
	for _, step := range []struct{ write, stable, tail string }{
		{"Hello **wor", "", "Hello wor"},
		{"ld**.", "", "Hello world."},
		{"\n\n", "Hello world.", ""},
		{"```go\nfunc a", "(empty)", "  func a"},
		{"() {}\n", "  func a() {}", ""},
		{"```\n- one\n", "", "(empty)|• one"},
		{"- two\n", "(empty)|• one", "• two"},
		{"  more\n\n-", "", "• two|  more"},
		{" x\n# H\n", "• two|  more|(empty)|• x|(empty)|H", ""},
	} {
		s.Write(step.write)
		if got := shown(s.Stable(c)); got != step.stable {
			t.Errorf("after %q stable is %q, want %q", step.write, got, step.stable)
		}
		if got := shown(s.Tail(c)); got != step.tail {
			t.Errorf("after %q the tail is %q, want %q", step.write, got, step.tail)
		}
	}
}

func TestPartsAreTheText(t *testing.T) {
	t.Parallel()
	text := document(50_000) + "```go\n\n\n" + strings.Repeat("x\n\n", 5000) + "```\n\nend"
	parts := Split(text, 4000)
	if strings.Join(parts, "") != text || len(parts) < 8 {
		t.Errorf("%d parts", len(parts))
	}
	c := canvas(80, colorprofile.NoTTY)
	var lines []string
	for _, p := range parts {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, Render(c, p)...)
	}
	if got, want := strings.Join(lines, "\n"), strings.Join(Render(c, text), "\n"); got != want {
		t.Errorf("the parts are drawn differently (%d and %d bytes)", len(got), len(want))
	}
	if got := Split("", 10); len(got) != 1 || got[0] != "" {
		t.Errorf("nothing became %q", got)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("# a\n\n- b\n  c\n\n```go\nx\n", 40)
	f.Add("| a | b |\n|---|:-:|\n| c | d |", 12)
	f.Fuzz(func(t *testing.T, text string, width int) {
		c := canvas(1+max(width, -width)%200, colorprofile.TrueColor)
		whole := Render(c, text)
		check(t, fmt.Sprintf("%q", text), whole, c.Width)
		var s Stream
		var got []string
		for i := range len(text) {
			s.Write(text[i : i+1])
			got = append(got, s.Stable(c)...)
		}
		s.Close()
		if got = append(got, s.Stable(c)...); strings.Join(got, "\n") != strings.Join(whole, "\n") {
			t.Errorf("%q at width %d:\nstream %q\nwhole  %q", text, c.Width, got, whole)
		}
	})
}

func shown(lines []string) string {
	all := make([]string, len(lines))
	for i, line := range lines {
		if all[i] = line; line == "" {
			all[i] = "(empty)"
		}
	}
	return strings.Join(all, "|")
}

// None of these may take long, be it drawn at once or streamed.
func TestHostileTextsAreBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"quotes":      strings.Repeat(">", 100_000) + " deep",
		"quote lines": strings.Repeat("> > > > > > > > > > x\n", 500),
		"lists":       strings.Repeat("- ", 10_000),
		"mixed lists": strings.Repeat("- * + ", 2_000),
		"numbers":     strings.Repeat("1. ", 5_000),
		"indents":     nestedList(150),
		"brackets":    strings.Repeat("[", 5_000),
		"links":       strings.Repeat("[a](", 1_500),
		"images":      strings.Repeat("![", 5_000),
		"stars":       strings.Repeat("*a ", 5_000),
		"marks":       strings.Repeat("*_", 5_000),
		"backticks":   backticks(600),
		"paragraph":   strings.Repeat("word ", 10_000),
		"word":        strings.Repeat("w", 1<<17),
		"fence":       "```go\n" + strings.Repeat("return 1 // x\n", 3_000),
		"fence line":  "```go\n" + strings.Repeat("x", 1<<17),
		"table":       "|a|b|\n|-|-|\n" + strings.Repeat("|x|y|\n", 5_500),
		"wide table":  "|" + strings.Repeat("a|", 39) + "\n|" + strings.Repeat("-|", 39) + "\n" + strings.Repeat("|"+strings.Repeat("b|", 39)+"\n", 50),
		"entities":    strings.Repeat("&", 20_000),
		"item":        "- " + strings.Repeat("text\n  ", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := canvas(80, colorprofile.TrueColor)
			start := time.Now()
			lines := Render(c, text)
			check(t, name, lines[:min(len(lines), 200)], 80)
			var s Stream
			for rest := text; rest != ""; {
				n := min(len(rest), 8_000)
				s.Write(rest[:n])
				rest = rest[n:]
				s.Stable(c)
				s.Tail(c)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			} else {
				t.Logf("took %v", took)
			}
		})
	}
}

func nestedList(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return b.String()
}

func backticks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("a " + strings.Repeat("`", i%60+1) + " ")
	}
	return b.String()
}

// document is Markdown as models write it.
func document(size int) string {
	part := "## Section\n\nThe **parser** reads `tokens` one by one and keeps a [state](https://example.com) between lines, which is what makes it *quick* enough.\n\n" +
		"- first point with some text\n- second point with `code` in it\n\n```go\nfunc read(line string) (int, error) {\n\treturn len(line), nil // nothing else\n}\n```\n\n" +
		"| a | b |\n|---|---|\n| one | two |\n\nAnother paragraph of plain words that is long enough to be wrapped at least once on a terminal of the usual width.\n\n"
	return strings.Repeat(part, size/len(part)+1)[:size]
}

func BenchmarkRender100KB(b *testing.B) {
	c, text := canvas(100, colorprofile.TrueColor), document(100_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Render(c, text)
	}
}

func BenchmarkStream10KBIn40Bytes(b *testing.B) { benchStream(b, document(10_000)) }

func BenchmarkStream5000WordsOneParagraph(b *testing.B) {
	benchStream(b, strings.Repeat("word ", 5000))
}

func benchStream(b *testing.B, text string) {
	c := canvas(100, colorprofile.TrueColor)
	for b.Loop() {
		var s Stream
		for rest := text; rest != ""; {
			n := min(40, len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
			s.Stable(c)
			s.Tail(c)
		}
	}
}
