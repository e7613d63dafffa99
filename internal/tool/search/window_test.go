package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// naive is grep with context, written the simple way.
func naive(text string, re *regexp.Regexp, before, after int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	show := make([]int, len(lines)) // 1 context, 2 match
	for i, l := range lines {
		if re.MatchString(l) {
			for k := max(0, i-before); k <= min(len(lines)-1, i+after); k++ {
				show[k] = max(show[k], 1)
			}
			show[i] = 2
		}
	}
	var out []string
	last := -1
	for i, s := range show {
		if s == 0 {
			continue
		}
		if last >= 0 && last != i-1 && before+after > 0 {
			out = append(out, "--")
		}
		last = i
		out = append(out, fmt.Sprintf("%d%s%s", i+1, map[int]string{1: "-", 2: ":"}[s], lines[i]))
	}
	return strings.Join(out, "\n")
}

// Files larger than a window give what a search of the whole would.
func TestWindowsDoNotShow(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	p := newProject(t)
	for round := range 3 {
		var text strings.Builder
		for text.Len() < 700<<10 {
			switch n := random.IntN(1000); {
			case n == 0:
				text.WriteString(strings.Repeat("long ", 20+random.IntN(70)))
			case n < 5:
				text.WriteString("the needle is here")
			case n < 400:
			default:
				text.WriteString(strings.Repeat("straw ", random.IntN(20)))
			}
			text.WriteByte('\n')
		}
		if round%2 == 0 {
			text.WriteString("needle without an end")
		}
		p.write("f", text.String())
		before, after := random.IntN(5), random.IntN(5)
		for _, expr := range []string{`needle`, `needle|ng $`, `[n]eedl[e]\b.*`} {
			got := p.grep(expr, in{"path": "f", "output_mode": "content", "head_limit": 0, "-B": before, "-A": after})
			want := naive(text.String(), regexp.MustCompile(expr), before, after)
			if got != want {
				t.Fatalf("round %d, %s -B %d -A %d: %s", round, expr, before, after, firstDifference(got, want))
			}
			multi := p.grep(expr, in{"path": "f", "output_mode": "content", "head_limit": 0, "-B": before, "-A": after, "multiline": true})
			if !strings.Contains(expr, "*") && multi != want {
				t.Fatalf("round %d, %s -B %d -A %d over lines: %s", round, expr, before, after, firstDifference(multi, want))
			}
		}
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: got %.100q, want %.100q", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(a), len(b))
}

// A large file takes no more memory than a window. The test is not parallel: it looks at the memory of the process.
func TestALargeFileIsNotLoaded(t *testing.T) {
	p := newProject(t)
	f, err := os.Create(p.path("big"))
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte("some text of an ordinary line that is not looked for\n"), 20_000)
	for range 100 { // 106 MB
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteString("the needle\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got := p.grep("needle|[q]x", in{"output_mode": "content", "-B": 1})
	runtime.ReadMemStats(&after)
	contains(t, "found", got, "big:2000001:the needle", "big-2000000-some text")
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated for it", used)
	}
}

func TestANulByteEndsTheText(t *testing.T) {
	t.Parallel()
	p := newProject(t, "late", "needle 1\n"+strings.Repeat("text\n", 100_000)+"\x00\nneedle 2\n", "early", "needle\x00\n")
	same(t, "late", p.grep("needle", in{"output_mode": "content"}), "late:1:needle 1")
}
