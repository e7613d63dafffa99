package diff

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
	"gofer/internal/ui/words"
)

var update = flag.Bool("update", false, "write the golden files")

const sample = `--- a/src/parse.go
+++ b/src/parse.go
@@ -98,5 +98,6 @@ func read
 func read(line string) error {
-	if len(line) == 0 { return nil }
-	n := count(line)
+	if len(line) < 1 { return nil }
+	n := count(line, limit)
+	log.Printf("read %d words of a line that is rather long for a narrow terminal, so it is broken", n)
 	return nil
 }
--- old.txt
@@ -1 +1,2 @@
-你好，世界
+你好，大世界
+-- not a header
\ No newline at end of file
`

func canvas(width int, profile colorprofile.Profile) screen.Canvas {
	return screen.Canvas{Width: width, Height: 24, Theme: theme.New("dark", profile)}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 140} {
		got := strings.Join(Render(canvas(width, colorprofile.NoTTY), sample, Options{}), "\n") + "\n"
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

func TestChangedWordsStandOut(t *testing.T) {
	t.Parallel()
	show := func(text string, marks [][2]int) string {
		var b strings.Builder
		at := 0
		for _, m := range marks {
			b.WriteString(text[at:m[0]] + "[" + text[m[0]:m[1]] + "]")
			at = m[1]
		}
		return b.String() + text[at:]
	}
	for _, test := range []struct{ before, after, gone, came string }{
		{"return a + b", "return a - b", "return a [+] b", "return a [-] b"},
		{"call(x)", "call(x, y)", "call(x)", "call(x[, y])"},
		{"one two three", "one 2 3 three", "one [two] three", "one [2 3] three"},
		{"nothing alike", "all is changed", "nothing alike", "all is changed"},
		{"same", "same", "same", "same"},
	} {
		gone, came := changes(test.before, test.after)
		if g, c := show(test.before, gone), show(test.after, came); g != test.gone || c != test.came {
			t.Errorf("%q → %q: %q and %q, want %q and %q", test.before, test.after, g, c, test.gone, test.came)
		}
	}
}

func TestColoursLieOverEachOther(t *testing.T) {
	t.Parallel()
	c := canvas(60, colorprofile.TrueColor)
	lines := Render(c, "@@ -1 +1 @@\n-return 1\n+return 2\n", Options{Path: "a.go"})
	th := c.Theme
	want := th.Faint.Paint(" 1 ") + th.Good.With(th.Added).Paint("+ ") + th.Added.With(th.Keyword).Paint("return") + th.Added.Paint(" ") + th.AddedWord.With(th.Number).Paint("2")
	if len(lines) != 2 || lines[1] != want {
		t.Errorf("got  %q\nwant %q", lines, want)
	}
	c = canvas(60, colorprofile.ANSI)
	for _, line := range Render(c, "@@ -1 +1 @@\n-return 1\n+return 2\n", Options{Path: "a.go"}) {
		if strings.Contains(line, c.Theme.Keyword.On()) {
			t.Errorf("16 colours: the language hides the change: %q", line)
		}
	}
}

func TestTheRestIsCounted(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("--- a.txt\n+++ a.txt\n@@ -0,0 +1,1000 @@\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "+line %d\n", i)
	}
	c := canvas(60, colorprofile.NoTTY)
	lines := Render(c, b.String(), Options{Max: 10, More: "Ctrl-O"})
	if len(lines) != 11 || lines[10] != "… 990 lines more (Ctrl-O)" || !strings.HasSuffix(lines[9], "+ line 9") {
		t.Errorf("got %q", lines)
	}
	c.Words = words.In("zh")
	if last := Render(c, b.String(), Options{Max: 10})[10]; strings.Contains(last, "more") || !strings.Contains(last, "990") {
		t.Errorf("in Chinese: %q", last)
	}
	if all := Render(c, b.String(), Options{}); len(all) != 1000 {
		t.Errorf("%d lines", len(all))
	}
}

func TestAnyTextIsDrawnWithoutHarm(t *testing.T) {
	t.Parallel()
	pieces := []string{"\n", "\n+", "\n-", "\n ", "\n@@ -1,3 +1,4 @@", "\n@@ -9999999999999999999999,1 +x @@", "\n--- a/x.go\n", "+++ b/x.go\n", "a", "return ", "\"", "你好", "\x1b[31m", "\u202e", "\t", "\r", "\xff", "\\ No newline", "👨‍👩‍👧", "long long text "}
	r := rand.New(rand.NewPCG(9, 10))
	for range 3000 {
		var text string
		for range r.IntN(30) {
			text += pieces[r.IntN(len(pieces))]
		}
		width := 1 + r.IntN(60)
		for _, line := range Render(canvas(width, colorprofile.TrueColor), text, Options{Max: r.IntN(10)}) {
			if w := screen.Width(line); w > width {
				t.Fatalf("%q: %q is %d wide, the canvas %d", text, line, w, width)
			}
			if plain := ansi.Strip(line); screen.Clean(plain) != plain || strings.Contains(plain, "\n") {
				t.Fatalf("%q: %q steers", text, line)
			}
		}
	}
}

func BenchmarkRender4000Lines(b *testing.B) {
	text := strings.Repeat("-\tif len(line) == 0 { return nil }\n+\tif len(line) < 1 { return nil }\n", 2000)
	c := canvas(100, colorprofile.TrueColor)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Render(c, "@@ -1,2000 +1,2000 @@\n"+text, Options{Path: "a.go"})
	}
}
