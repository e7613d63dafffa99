package paint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/vt"

	"gofer/internal/ui/screen"
)

// A glass is a real terminal emulator that a sheet is painted on, with everything that scrolled out of it.
type glass struct {
	*vt.Emulator
	bytes int
	seen  strings.Builder
}

func newGlass(w, h int) *glass {
	return &glass{Emulator: vt.NewEmulator(w, h)}
}

func (g *glass) Write(p []byte) (int, error) {
	g.bytes += len(p)
	g.seen.Write(p)
	return g.Emulator.Write(p)
}

// rows are all rows from the first that scrolled out to the last that is not blank.
func (g *glass) rows() []string {
	var out []string
	for y := range g.ScrollbackLen() {
		var b strings.Builder
		for x := 0; x < g.Width(); {
			c := g.ScrollbackCellAt(x, y)
			x += put(&b, c == nil, func() (string, int) { return c.Content, c.Width })
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	for y := range g.Height() {
		var b strings.Builder
		for x := 0; x < g.Width(); {
			c := g.CellAt(x, y)
			x += put(&b, c == nil, func() (string, int) { return c.Content, c.Width })
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

func put(b *strings.Builder, blank bool, cell func() (string, int)) int {
	if blank {
		b.WriteByte(' ')
		return 1
	}
	text, width := cell()
	if text == "" {
		text = " "
	}
	b.WriteString(text)
	return max(width, 1)
}

// plain is a line as the terminal shows it.
func plain(line string) string { return strings.TrimRight(screen.Clean(line), " ") }

func expect(t *testing.T, g *glass, printed, live []string, c *screen.Cursor) {
	t.Helper()
	var want []string
	for _, l := range append(append([]string(nil), printed...), live...) {
		want = append(want, plain(l))
	}
	top := len(printed)
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	got := g.rows()
	if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != len(want) {
		t.Fatalf("the terminal shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c != nil {
		at := g.CursorPosition()
		if y := at.Y + g.ScrollbackLen() - top; at.X != c.X || y != c.Y {
			t.Fatalf("the cursor is at column %d of live line %d, want %d of %d", at.X, y, c.X, c.Y)
		}
	}
}

func TestPaintsWhatIsAsked(t *testing.T) {
	t.Parallel()
	words := []string{"a", "word", "你好", "한국어", "👩‍👩‍👧", "\x1b[1mbold\x1b[m", "\x1b[31mred \x1b[4mline\x1b[m", "é", " ", "──", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			w, h := 20+r.IntN(40), 5+r.IntN(12)
			g := newGlass(w, h)
			s := &sheet{width: w, height: h}
			line := func() string {
				var b strings.Builder
				for range r.IntN(7) {
					word := words[r.IntN(len(words))]
					if screen.Width(b.String()+word) <= w {
						b.WriteString(word)
					}
				}
				return b.String()
			}
			var printed, live []string
			for range 60 {
				var prints []string
				if r.IntN(3) == 0 {
					for range 1 + r.IntN(3) {
						prints = append(prints, line()+"x")
						prints[len(prints)-1] = screen.Cut(prints[len(prints)-1], w, "")
					}
				}
				if r.IntN(4) == 0 && len(live) > 1 { // a live line becomes final, as it is
					prints = append([]string{live[0]}, prints...)
					live = live[1:]
				}
				if r.IntN(30) == 0 {
					for range 3 * h {
						prints = append(prints, screen.Cut("much "+line(), w, ""))
					}
				}
				live = append([]string(nil), live...)
				switch r.IntN(5) {
				case 0:
					live = nil
				case 1:
					live = append(live, line())
				case 2:
					if len(live) > 0 {
						i := r.IntN(len(live))
						live = append(live[:i], live[i+1:]...)
					}
				case 3:
					i := r.IntN(len(live) + 1)
					live = append(live[:i], append([]string{line()}, live[i:]...)...)
				case 4:
					if len(live) > 0 {
						i := r.IntN(len(live))
						live[i] = screen.Cut(live[i]+words[r.IntN(len(words))], w, "")
					}
				}
				if len(live) > h-1 {
					live = live[:h-1]
				}
				shown := live
				if len(shown) == 0 {
					shown = []string{""}
				}
				c := &screen.Cursor{X: r.IntN(w), Y: r.IntN(len(shown))}
				g.Write(s.frame(prints, live, c, r.IntN(40) == 0))
				printed = append(printed, prints...)
				expect(t, g, printed, live, c)
			}
			if n := len(s.frame(nil, live, nil, false)); n != len("\x1b[?25l") {
				t.Errorf("hiding the cursor costs %d bytes", n)
			}
			if n := len(s.frame(nil, live, nil, false)); n != 0 {
				t.Errorf("a frame that changes nothing costs %d bytes", n)
			}
			if out := g.seen.String(); strings.Contains(out, "\x1b[2J") || strings.Contains(out, "\x1b[3J") {
				t.Error("the screen was cleared")
			}
		})
	}
}

// A text that streams in costs little more than itself, also above a prompt box.
func TestStreamedTextIsCheap(t *testing.T) {
	t.Parallel()
	const w, h = 120, 30
	g := newGlass(w, h)
	s := &sheet{width: w, height: h}
	box := []string{"", "✻ Working… 3s", "╭" + strings.Repeat("─", w-2) + "╮", "│ >" + strings.Repeat(" ", w-4) + "│", "╰" + strings.Repeat("─", w-2) + "╯", "  ~/project"}
	var printed []string
	text, line := 0, ""
	for i := range 600 {
		word := fmt.Sprintf("word%d ", i%97)
		text += len(word)
		var prints []string
		if screen.Width(line+word) > w {
			prints, line = []string{line}, ""
		}
		line += word
		g.Write(s.frame(prints, append([]string{line}, box...), &screen.Cursor{X: 4, Y: 4}, false))
		printed = append(printed, prints...)
	}
	expect(t, g, printed, append([]string{line}, box...), &screen.Cursor{X: 4, Y: 4})
	if g.bytes > 4*text { // here every word is a frame of its own, which the painter's rate forbids
		t.Errorf("%d bytes of text cost %d", text, g.bytes)
	}
}

func TestResize(t *testing.T) {
	t.Parallel()
	g := newGlass(40, 10)
	s := &sheet{width: 40, height: 10}
	live := []string{strings.Repeat("─", 40), "> hello", strings.Repeat("─", 40)}
	g.Write(s.frame([]string{"one", "two"}, live, &screen.Cursor{X: 7, Y: 1}, false))
	// The emulator cuts lines instead of wrapping them.
	g.Resize(25, 10)
	s.out = s.out[:0]
	s.resize(25, 10)
	g.Write(s.out)
	live = []string{strings.Repeat("─", 25), "> hello", strings.Repeat("─", 25)}
	g.Write(s.frame(nil, live, &screen.Cursor{X: 7, Y: 1}, false))
	expect(t, g, []string{"one", "two"}, live, &screen.Cursor{X: 7, Y: 1})
	// A terminal that wraps: what the old live part takes there is gone as well.
	g = newGlass(20, 10)
	g.Write([]byte("one\r\n" + strings.Repeat("─", 40) + "\r\n> hello\r\n" + strings.Repeat("─", 40) + "\x1b[2A\x1b[8G"))
	s = &sheet{width: 40, height: 10, reflows: true, begun: true, row: 1, col: 7, live: []string{strings.Repeat("─", 40), "> hello", strings.Repeat("─", 40)}}
	s.resize(20, 10)
	g.Write(s.out)
	live = []string{strings.Repeat("─", 20), "> hello", strings.Repeat("─", 20)}
	g.Write(s.frame([]string{"two"}, live, &screen.Cursor{X: 7, Y: 1}, false))
	expect(t, g, []string{"one", "two"}, live, &screen.Cursor{X: 7, Y: 1})
}

type sink struct {
	sync.Mutex
	writes []time.Duration
	begun  time.Time
	data   strings.Builder
}

func (s *sink) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	s.writes = append(s.writes, time.Since(s.begun))
	return s.data.Write(p)
}

// times tells when frames were written.
func (s *sink) times() []time.Duration {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.writes)
}

func TestRateAndOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &sink{begun: time.Now()}
		p := New(Options{Out: out, Size: func() (int, int) { return 80, 24 }})
		for i := range 300 {
			p.Post(Frame{Print: []string{fmt.Sprintf("line %d", i)}, Live: []string{fmt.Sprint("live ", i)}, Cursor: &screen.Cursor{}})
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if n := len(out.times()); n > 11 {
			t.Errorf("%d frames in 300 ms", n)
		}
		if out.times()[0] != 0 {
			t.Errorf("the first frame came after %v", out.times()[0])
		}
		time.Sleep(time.Second)
		before := len(out.times())
		asked := time.Since(out.begun)
		p.Post(Frame{Live: []string{"key"}, Cursor: &screen.Cursor{X: 3}, Urgent: true})
		synctest.Wait()
		if len(out.times()) != before+1 || out.times()[before]-asked > urgentGap {
			t.Errorf("a key was not painted at once: %v", out.times()[before:])
		}
		time.Sleep(time.Hour)
		if len(out.times()) != before+1 {
			t.Error("something was written while nothing happened")
		}
		p.Post(Frame{Full: true, Live: []string{"whole screen"}, Print: []string{"printed meanwhile"}})
		time.Sleep(time.Second)
		p.Post(Frame{Live: []string{"back"}, Cursor: &screen.Cursor{}})
		time.Sleep(time.Second)
		p.Close()
		g := newGlass(80, 24)
		g.SetScrollbackSize(2000)
		g.Write([]byte(out.data.String()))
		var want []string
		for i := range 300 {
			want = append(want, fmt.Sprintf("line %d", i))
		}
		expect(t, g, append(want, "printed meanwhile"), nil, &screen.Cursor{})
		if g.IsAltScreen() {
			t.Error("the alternate screen was not left")
		}
	})
}

func TestALineEndInsideALineMakesTwoRows(t *testing.T) {
	t.Parallel()
	got := rows([]string{"one", "two\nthree\r", "four"})
	if want := []string{"one", "two", "three", "four"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
