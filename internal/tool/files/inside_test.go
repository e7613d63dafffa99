package files

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// However a content is cut into pieces, a survey finds the same.
func TestSurveyDoesNotDependOnPieces(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	for _, content := range []string{
		"plain\ntext\n", "日本語 und ü\n𝄞", "caf\xe9 cr\xe8me", "\xff\xfea\x00\n\x00\n\x00", "\xfe\xff\x00a\x00\n\x00", "\xef\xbb\xbfé",
		"\xe6\x97", "a\xe6\x97b\xe6", "\xf0\x9d\x84\x9e\xf0\x9d\x84", strings.Repeat("日", 300) + "\xe6", "\x80\x81\x82", "",
	} {
		want := surveyOf([]byte(content))
		for range 50 {
			s := newSurvey(true)
			for rest := []byte(content); len(rest) > 0; {
				n := 1 + r.IntN(min(4, len(rest)))
				s.Write(rest[:n])
				rest = rest[n:]
			}
			if s.charset() != want.charset() || s.hash() != want.hash() || s.newlines != want.newlines ||
				want.charset().unit() == 1 && (s.sequences != want.sequences || s.strays+len(s.pending) != want.strays+len(want.pending)) {
				t.Fatalf("%q: %+v %d/%d/%d, whole: %+v %d/%d/%d", content, s.charset(), s.sequences, s.strays, s.newlines,
					want.charset(), want.sequences, want.strays, want.newlines)
			}
		}
	}
}

func TestEveryByteHasALegacyCharacter(t *testing.T) {
	t.Parallel()
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	c := charset{form: legacy}
	back, _, ok := c.encode(c.decode(all))
	if !ok || !bytes.Equal(back, all) {
		t.Errorf("got %q", back)
	}
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b        string
		limit, want int
	}{{"kitten", "sitting", 5, 3}, {"a", "a", 1, 0}, {"abc", "xyz", 2, 3}, {"", "ab", 3, 2}, {"handler.go", "handlr.go", 2, 1}} {
		if got := editDistance([]rune(c.a), []rune(c.b), c.limit); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// A diff applied to the old lines gives the new ones, whatever the texts.
func TestHunksDescribeTheDifference(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 9))
	text := func() string {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(strings.Repeat("x", r.IntN(3)) + "\n")
		}
		if r.IntN(2) == 0 {
			b.WriteString("end")
		}
		return b.String()
	}
	for range 300 {
		old, fresh := text(), text()
		hunks, ok := compare(old, fresh)
		if got := applyHunks(t, strings.SplitAfter(old, "\n"), hunks); !ok || got != fresh {
			t.Fatalf("old %q new %q: got %q by %+v", old, fresh, got, hunks)
		}
	}
}

func applyHunks(t *testing.T, old []string, hunks []hunk) string {
	t.Helper()
	var out []string
	at := 0
	for _, h := range hunks {
		for ; at < h.OldStart-1; at++ {
			out = append(out, old[at])
		}
		if len(out) != h.NewStart-1 {
			t.Fatalf("hunk %+v begins at new line %d", h, len(out)+1)
		}
		for i, line := range h.Lines {
			end := "\n"
			if i+1 < len(h.Lines) && h.Lines[i+1][0] == '\\' {
				end = ""
			}
			switch line[0] {
			case ' ':
				out = append(out, line[1:]+end)
				at++
			case '-':
				at++
			case '+':
				out = append(out, line[1:]+end)
			}
		}
	}
	return strings.Join(out, "") + strings.Join(old[min(at, len(old)):], "")
}
