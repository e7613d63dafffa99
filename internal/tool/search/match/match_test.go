package match

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// reference returns the lines of text that package regexp finds, as offsets.
func reference(p *Pattern, text []byte) []int {
	re := p.std()
	var lines []int
	for from := 0; from < len(text); {
		end := bytes.IndexByte(text[from:], '\n')
		if end < 0 {
			end = len(text) - from
		}
		if re.Match(text[from : from+end]) {
			lines = append(lines, from)
		}
		from += end + 1
	}
	return lines
}

func found(s *Scanner, text []byte) []int {
	var lines []int
	s.Start(text)
	for from := 0; ; {
		start, end, ok := s.NextLine(from)
		if !ok {
			return lines
		}
		lines = append(lines, start)
		from = end + 1
	}
}

func spans(s *Scanner, text []byte) [][]int {
	var all [][]int
	s.Start(text)
	for from := 0; from <= len(text); {
		start, end, ok := s.NextSpan(from)
		if !ok {
			return all
		}
		all = append(all, []int{start, end})
		from = end
		if start == end {
			_, size := utf8.DecodeRune(text[end:])
			from += max(size, 1)
		}
	}
	return all
}

// referenceSpans is FindAllIndex, but with empty matches right behind another match, which the scanner reports.
func referenceSpans(p *Pattern, text []byte) [][]int {
	var all [][]int
	for from := 0; from <= len(text); {
		start, end, ok := (&Scanner{p: p}).spanByRegexp(text, from)
		if !ok {
			return all
		}
		all = append(all, []int{start, end})
		from = end
		if start == end {
			_, size := utf8.DecodeRune(text[end:])
			from += max(size, 1)
		}
	}
	return all
}

var corpus = strings.Join([]string{
	"func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {",
	"	return nil, err", "	return x,err", "", "foo_1234 abc_0000 ab_1", "über Straße Ünï ſtraße Kelvin \u212aelvin",
	"a\r", "foo\r", "color colour COLOUR", "aaa bbb aab", "x := interface{}{}", "the end", "日本語 テキスト", "return",
	"barfoo foobar fo", "-- --", "0x1F 0xdeadBEEF", "key: value", "SESSIONS sessions", "tab\tseparated\tvalues", "last line",
}, "\n")

var patterns = []string{
	`ServeHTTP`, `func\s\(\w+\s\*\w+\)\sServeHTTP\(`, `return\s+\w+,\s*err`, `[a-z]{3}_[0-9]{4}`, `^$`, `^`, `$`, `foo$`, `^foo`, `\bfoo\b`,
	`\Bfoo`, `colou?r`, `(?i)COLOUR`, `(?i)straße`, `(?i)kelvin`, `(?i)sessions`, `a*`, `a+b*`, `(a|ab)(c|bcd)?`, `(|a)*`, `(|a)+`, `a??`, `(?:a*)*`,
	`[^a]`, `.`, `.*`, `.+e`, `[\s\S]+`, `日本`, `[^\x00-\x7F]+`, `\p{Greek}|\p{Han}`, `foo|bar|baz|qux|quux`, `(foo|bar)+`, `x{2,5}`, `\d+`, `0x[0-9a-fA-F]+`,
	`interface\{\}`, `e\b`, `\b`, `\B`, `(?i)s`, `k`, `(?i:foo)bar`, `[Ff]oo`, `ret(urn|ain)`, `\w+:\s`, `^\s*return`, `\Aa`, `e\z`, `$^`, `\b^foo`, `z`, `a$|a`, `(a|b)*?c|\Bb`,
}

func TestLinesAreThoseOfPackageRegexp(t *testing.T) {
	t.Parallel()
	for _, expr := range patterns {
		for _, fold := range []bool{false, true} {
			for _, text := range []string{corpus, corpus + "\n", "", "\n", "foo", "\n\nfoo\n\n"} {
				p, err := Compile(expr, Options{IgnoreCase: fold})
				if err != nil {
					t.Fatal(err)
				}
				if p.Multiline {
					t.Fatalf("%s is taken for a pattern of several lines", expr)
				}
				got, want := found(p.NewScanner(), []byte(text)), reference(p, []byte(text))
				if !slices.Equal(got, want) {
					t.Errorf("%s (fold %v) in %.40q: got lines at %v, want %v", expr, fold, text, got, want)
				}
			}
		}
	}
}

func TestSpansAreThoseOfPackageRegexp(t *testing.T) {
	t.Parallel()
	for _, expr := range append(patterns, `foo\r?\n`, `(?s)a.*b`, `e\nthe|the\n`, `\n\n`) {
		p, err := Compile(expr, Options{Multiline: true})
		if err != nil {
			t.Fatal(err)
		}
		got, want := spans(p.NewScanner(), []byte(corpus)), referenceSpans(p, []byte(corpus))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %s", expr, difference(got, want))
		}
	}
}

// FuzzAgainstRegexp compares lines and spans of random patterns in random texts.
func FuzzAgainstRegexp(f *testing.F) {
	for _, expr := range patterns {
		f.Add(expr, corpus, false)
		f.Add(expr, corpus, true)
	}
	f.Fuzz(func(t *testing.T, expr, text string, fold bool) {
		if len(expr) > 60 || len(text) > 3000 {
			return
		}
		p, err := Compile(expr, Options{IgnoreCase: fold})
		if err != nil {
			return
		}
		s := p.NewScanner()
		if !utf8.ValidString(text) { // bytes that are not UTF-8 have no meaning in common with package regexp
			found(s, []byte(text))
			spans(s, []byte(text))
			return
		}
		if !p.Multiline {
			if got, want := found(s, []byte(text)), reference(p, []byte(text)); !slices.Equal(got, want) {
				t.Errorf("%q in %q: got lines at %v, want %v", expr, text, got, want)
			}
		}
		if got, want := spans(s, []byte(text)), referenceSpans(p, []byte(text)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q in %q: %s", expr, text, difference(got, want))
		}
	})
}

// Random patterns from a small grammar reach corners that mutation of bytes seldom does.
func TestRandomPatternsAgreeWithRegexp(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		expr := randomPattern(random, 3)
		text := randomText(random)
		p, err := Compile(expr, Options{IgnoreCase: random.IntN(3) == 0})
		if err != nil {
			continue
		}
		if got, want := found(p.NewScanner(), text), reference(p, text); !p.Multiline && !slices.Equal(got, want) {
			t.Fatalf("%q in %q: got lines at %v, want %v", expr, text, got, want)
		}
		if got, want := spans(p.NewScanner(), text), referenceSpans(p, text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q in %q: got %v, want %v", expr, text, got, want)
		}
	}
}

func randomPattern(random *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "ab", "k", "s", "é", ".", `\w`, `\s`, "[^a]", "[a-c]", "^", "$", `\b`, `\B`, "", "_1", `\W`, "ß"}
	if depth == 0 {
		return atoms[random.IntN(len(atoms))]
	}
	sub := func() string { return randomPattern(random, depth-1) }
	switch random.IntN(6) {
	case 0:
		return "(?:" + sub() + "|" + sub() + ")"
	case 1:
		return "(?:" + sub() + ")" + []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}"}[random.IntN(8)]
	default:
		return sub() + sub()
	}
}

func randomText(random *rand.Rand) []byte {
	parts := []string{"a", "b", "c", "k", "K", "s", "S", "é", "É", "\n", " ", "_1", "ab", "ß", "\u212a", "\u017f", "\r\n", "A", "B"}
	var text []byte
	for range random.IntN(30) {
		text = append(text, parts[random.IntN(len(parts))]...)
	}
	return text
}

func difference(got, want [][]int) string {
	i := 0
	for i < len(got) && i < len(want) && slices.Equal(got[i], want[i]) {
		i++
	}
	return fmt.Sprintf("match %d: got %v, want %v", i, got[i:min(i+2, len(got))], want[i:min(i+2, len(want))])
}

// Patterns for which the automaton would grow without end are searched all the same.
func TestWhatIsTooMuchForTheAutomaton(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	var text []byte
	for i := range 60_000 {
		text = append(text, "ab"[random.IntN(2)])
		if i%97 == 0 {
			text = append(text, '\n')
		}
	}
	for _, expr := range []string{`(a|b)*a(a|b){14}b`, `\p{L}{90}`, `a[ab]{12}a[ab]{3}b`} {
		p, err := Compile(expr, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := p.NewScanner()
		if got, want := found(s, text), reference(p, text); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: got %d lines, want %d", expr, len(got), len(want))
		}
		if d := s.engines[0].forward; d != nil && len(d.states) > maxStates {
			t.Errorf("%s: %d states", expr, len(d.states))
		}
	}
}
