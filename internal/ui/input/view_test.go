package input

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/ui/keys"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/words"
)

var update = flag.Bool("update", false, "write the golden files anew")

// screenOf is a drawing with a bar where the cursor is.
func screenOf(d screen.Drawing) string {
	var out strings.Builder
	for y, line := range d.Lines {
		if d.Cursor != nil && d.Cursor.Y == y {
			left := screen.Cut(line, d.Cursor.X, "")
			line = screen.Pad(left, d.Cursor.X) + "▏" + strings.TrimPrefix(line, left)
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}

func TestViews(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, keys string }{
		{"empty", ""},
		{"line", "fix the bug"},
		{"wrapped", "The quick brown fox jumps over the lazy dog and then goes home to sleep for a very long time indeed"},
		{"long word", "https://example.org/" + strings.Repeat("abcdefghij", 12)},
		{"wide", "你好，世界！请帮我修复这个程序里的错误，谢谢你的帮助，我们明天再见。 한국어 문장도 있습니다 👨\u200d👩\u200d👧 e\u0301<left><left>"},
		{"lines", "one<ctrl+j><ctrl+j>three<up>"},
		{"scrolled", strings.Repeat("line<ctrl+j>", 20) + "end<up><up>"},
		{"pasted", "see <paste:a\nb\nc\nd\ne> please"},
		{"shell", "!ls -l"},
		{"memory", "#"},
		{"commands", "/c"},
		{"files", "see @box"},
		{"chord", "x<ctrl+x>"},
		{"tabs", "<paste:a\tb\tc>"},
	}
	for _, width := range []int{20, 40, 80} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			for _, c := range cases {
				b := withSources(t, "internal/box.go", "internal/boxes.go", "docs/a long folder name/inner/box notes.txt")
				b.Placeholder = "Try “explain this project”"
				b.View(canvas(width, 24))
				typeKeys(b, "@box<ctrl+u>")
				typeKeys(b, c.keys)
				d := b.View(canvas(width, 24))
				check(t, b, d, width)
				fmt.Fprintf(&out, "== %s\n%s", c.name, screenOf(d))
			}
			golden(t, fmt.Sprintf("views-%d.txt", width), out.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the change. Now:\n%s", path, got)
	}
}

// check holds what must be true of every drawing.
func check(t *testing.T, b *Box, d screen.Drawing, width int) {
	t.Helper()
	for _, line := range d.Lines {
		if w := screen.Width(line); w > width {
			t.Fatalf("a line of %d columns on %d: %q", w, width, line)
		}
		if strings.ContainsAny(line, "\n\t\r\x00") {
			t.Fatalf("a line with control characters: %q", line)
		}
	}
	if d.Cursor == nil || d.Cursor.X < 0 || d.Cursor.X >= max(width, 1) || d.Cursor.Y < 0 || d.Cursor.Y >= len(d.Lines) {
		t.Fatalf("the cursor is at %v of %d lines, width %d", d.Cursor, len(d.Lines), width)
	}
	if b.search != nil {
		return
	}
	// What stands left of the cursor in its row is exactly the text before it.
	row := b.lay.row(b.cursor)
	left := shown(b.text[b.lay.rows[row]:b.cursor])
	if line := d.Lines[d.Cursor.Y]; width >= 8 && (!strings.HasPrefix(line[signWidth:], left) || d.Cursor.X != signWidth+screen.Width(left)) {
		t.Fatalf("the cursor is at %d of %q, the text before it is %q", d.Cursor.X, line, left)
	}
}

func TestHeightIsAThird(t *testing.T) {
	t.Parallel()
	b := New(keys.Default())
	typeKeys(b, strings.Repeat("x<ctrl+j>", 100))
	if n := len(b.View(canvas(80, 60)).Lines); n != 22 {
		t.Errorf("%d lines of 60", n)
	}
	if n := len(b.View(canvas(80, 5)).Lines); n != 5 {
		t.Errorf("%d lines of 5", n)
	}
}

func TestChinese(t *testing.T) {
	t.Parallel()
	w := words.In("zh")
	for _, b := range keys.Default().List() {
		if w.T(b.Help) == b.Help {
			t.Errorf("no Chinese text for %q", b.Help)
		}
	}
	b := New(keys.Default())
	c := canvas(60, 24)
	c.Words = w
	typeKeys(b, "!")
	if text := strings.Join(b.View(c).Lines, "\n"); !strings.Contains(text, "终端命令") {
		t.Errorf("not Chinese:\n%s", text)
	}
}
