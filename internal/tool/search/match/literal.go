package match

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// words is a set of strings. With fold they are in lower case and ASCII letters match in both cases.
type words struct {
	list []string
	fold bool
	at   int // how many bytes into a match they stand, or anywhere
}

const anywhere = -1

const (
	maxWords  = 4 // more strings than that are no quicker to find than the automaton runs
	maxWord   = 64
	maxSpread = 16 // strings kept while they may still be joined
)

// insight is what is known about the matches of an expression.
type insight struct {
	whole   words // every match is one of these, if exact
	exact   bool
	precise bool  // and every one of these is a match, wherever it stands
	need    words // every match contains one of these, if there are any
	width   int   // bytes of every match, or anywhere if they differ
}

// nothing is what is known about the empty expression.
func nothing() insight { return exactly(words{list: []string{""}}) }

// inspect finds strings that matches of re must contain.
func inspect(re *syntax.Regexp) insight {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return nothing()
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		i := nothing()
		i.precise = false
		return i
	case syntax.OpLiteral:
		return inspectLiteral(re)
	case syntax.OpCharClass:
		return inspectClass(re)
	case syntax.OpCapture:
		return inspect(re.Sub[0])
	case syntax.OpPlus:
		i := inspect(re.Sub[0])
		return insight{need: i.best(), width: anywhere}
	case syntax.OpQuest:
		i := inspect(re.Sub[0])
		if !i.exact || len(i.whole.list) >= maxSpread {
			return unknownInsight
		}
		i.whole.list = append(slices.Clone(i.whole.list), "")
		i.width = anywhere
		return i
	case syntax.OpConcat:
		return inspectConcat(re)
	case syntax.OpAlternate:
		return inspectAlternate(re)
	}
	return unknownInsight
}

var unknownInsight = insight{width: anywhere}

func inspectLiteral(re *syntax.Regexp) insight {
	if re.Flags&syntax.FoldCase == 0 {
		return exactly(words{list: []string{string(re.Rune)}})
	}
	// Letters outside ASCII fold in ways that a search by bytes does not follow: they cut the string.
	s := newSequence()
	for _, r := range re.Rune {
		if r < utf8.RuneSelf {
			s.add(exactly(words{list: []string{lowerASCII(string(r))}, fold: true}))
		} else {
			s.add(unknownInsight)
		}
	}
	return s.insight()
}

// exactly is the insight that matches are the words of w.
func exactly(w words) insight {
	i := insight{whole: w, exact: true, precise: true, width: len(w.list[0])}
	for _, s := range w.list {
		// The letters k and s are also folded to by longer characters.
		if len(s) != i.width || w.fold && strings.ContainsAny(s, "ks") {
			i.width = anywhere
		}
	}
	return i
}

func inspectClass(re *syntax.Regexp) insight {
	var list []string
	for k := 0; k+1 < len(re.Rune); k += 2 {
		for r := re.Rune[k]; r <= re.Rune[k+1] && len(list) <= maxWords; r++ {
			list = append(list, string(r))
		}
	}
	if len(list) > 0 && len(list) <= maxWords {
		return exactly(words{list: list})
	}
	if n := len(re.Rune); n > 0 && re.Rune[n-1] < utf8.RuneSelf {
		return insight{width: 1}
	}
	return unknownInsight
}

func inspectConcat(re *syntax.Regexp) insight {
	s := newSequence()
	for _, sub := range re.Sub {
		s.add(inspect(sub))
	}
	return s.insight()
}

// A sequence joins the insights of parts that follow each other. As long as parts are exact their strings grow
// together; a part that is not cuts them, and the best piece is kept.
type sequence struct {
	open   insight // what the last parts spell
	openAt int     // how far into the match that begins
	width  int     // of all parts so far
	need   words
	cut    bool
}

func newSequence() *sequence { return &sequence{open: nothing()} }

func (s *sequence) add(next insight) {
	before := s.width
	s.width = plus(s.width, next.width)
	if joined, ok := join(s.open, next); ok {
		s.open = joined
		return
	}
	s.cut = true
	s.need = better(s.need, s.open.whole.moved(s.openAt))
	s.open, s.openAt = next, before
	if !next.exact {
		s.need = better(s.need, next.need.moved(before))
		s.open, s.openAt = nothing(), s.width
	}
}

func (s *sequence) insight() insight {
	if !s.cut {
		s.open.width = s.width
		return s.open
	}
	return insight{need: better(s.need, s.open.whole.moved(s.openAt)), width: s.width}
}

// moved returns w as part of a match that has n bytes before it.
func (w words) moved(n int) words {
	w.at = plus(w.at, n)
	return w
}

// plus adds widths, of which one may be unknown.
func plus(a, b int) int {
	if a == anywhere || b == anywhere {
		return anywhere
	}
	return a + b
}

// join spells a and then b, if both are exact and the result stays small.
func join(a, b insight) (insight, bool) {
	if !a.exact || !b.exact || len(a.whole.list)*len(b.whole.list) > maxSpread {
		return insight{}, false
	}
	var both []string
	for _, x := range a.whole.list {
		for _, y := range b.whole.list {
			if len(x)+len(y) > maxWord {
				return insight{}, false
			}
			both = append(both, x+y)
		}
	}
	// Where only one of the two ignores case, the joined strings ignore it too and so promise too much.
	sameCase := a.whole.fold == b.whole.fold || a.whole.blank() || b.whole.blank()
	return insight{
		whole: folded(words{list: both, fold: a.whole.fold || b.whole.fold}),
		exact: true, precise: a.precise && b.precise && sameCase,
	}, true
}

// blank reports whether w is the empty string only.
func (w words) blank() bool { return len(w.list) == 1 && w.list[0] == "" }

func inspectAlternate(re *syntax.Regexp) insight {
	all := insight{exact: true, precise: true}
	var need words
	lacking := false // some alternative needs nothing
	for k, sub := range re.Sub {
		i := inspect(sub)
		best := i.best()
		if k == 0 {
			all.width, need.at = i.width, best.at
		}
		if i.width != all.width {
			all.width = anywhere
		}
		if best.at != need.at {
			need.at = anywhere
		}
		all.exact = all.exact && i.exact
		all.precise = all.precise && i.precise && (k == 0 || i.whole.fold == all.whole.fold)
		all.whole = folded(words{list: append(all.whole.list, i.whole.list...), fold: all.whole.fold || i.whole.fold})
		lacking = lacking || best.cost() >= unusable
		need = folded(words{list: append(need.list, best.list...), fold: need.fold || best.fold, at: need.at})
	}
	switch {
	case all.exact && len(all.whole.list) <= maxSpread:
		return all
	case lacking:
		return insight{width: all.width}
	}
	return insight{need: need, width: all.width}
}

// best returns the strings of i that are worth looking for.
func (i insight) best() words {
	if i.exact {
		return better(i.need, i.whole)
	}
	return i.need
}

func folded(w words) words {
	if w.fold {
		for i := range w.list {
			w.list[i] = lowerASCII(w.list[i])
		}
	}
	return w
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func better(a, b words) words {
	if b.cost() < a.cost() {
		return b
	}
	return a
}

// cost estimates the nanoseconds that a search for w takes for each byte of text, from how often its bytes occur: to scan
// for the rarest byte, to stop where it stands, and to judge what looks like the word.
func (w words) cost() float64 {
	if len(w.list) == 0 || len(w.list) > maxWords {
		return unusable
	}
	const scan, stop = 0.05, 6.0
	judge := 100.0 // the line must be searched
	if w.at != anywhere {
		judge = 15 // a few bytes are enough
	}
	sum := 0.0
	for _, s := range w.list {
		if s == "" {
			return unusable
		}
		first, second := 1.0, 1.0
		for i := range len(s) {
			f := frequency(s[i], w.fold)
			if f < first {
				first, second = f, first
			} else if f < second {
				second = f
			}
		}
		sum += scan + stop*first + judge*first*second
	}
	return sum
}

const (
	unusable  = 100.0
	usefulMax = 1.5 // the automaton alone takes about 2
)
