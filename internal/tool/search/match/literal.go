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
}

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
		return insight{need: i.best()}
	case syntax.OpQuest:
		i := inspect(re.Sub[0])
		if !i.exact || len(i.whole.list) >= maxSpread {
			return insight{}
		}
		i.whole.list = append(slices.Clone(i.whole.list), "")
		i.need = words{}
		return i
	case syntax.OpConcat:
		return inspectConcat(re)
	case syntax.OpAlternate:
		return inspectAlternate(re)
	}
	return insight{}
}

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
			s.add(insight{})
		}
	}
	return s.insight()
}

func exactly(w words) insight { return insight{whole: w, exact: true, precise: true} }

func inspectClass(re *syntax.Regexp) insight {
	i := insight{exact: true, precise: true}
	for k := 0; k+1 < len(re.Rune); k += 2 {
		for r := re.Rune[k]; r <= re.Rune[k+1]; r++ {
			if len(i.whole.list) == maxWords {
				return insight{}
			}
			i.whole.list = append(i.whole.list, string(r))
		}
	}
	return i
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
	open insight // what the last parts spell
	need words
	cut  bool
}

func newSequence() *sequence { return &sequence{open: nothing()} }

func (s *sequence) add(next insight) {
	if joined, ok := join(s.open, next); ok {
		s.open = joined
		return
	}
	s.cut = true
	s.need = better(s.need, s.open.whole)
	if next.exact {
		s.open = next
		return
	}
	s.need = better(s.need, next.need)
	s.open = nothing()
}

func (s *sequence) insight() insight {
	if !s.cut {
		return s.open
	}
	return insight{need: better(s.need, s.open.whole)}
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
		whole: folded(words{both, a.whole.fold || b.whole.fold}),
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
		all.exact = all.exact && i.exact
		all.precise = all.precise && i.precise && (k == 0 || i.whole.fold == all.whole.fold)
		all.whole = folded(words{append(all.whole.list, i.whole.list...), all.whole.fold || i.whole.fold})
		best := i.best()
		lacking = lacking || best.cost() >= unusable
		need = folded(words{append(need.list, best.list...), need.fold || best.fold})
	}
	switch {
	case all.exact && len(all.whole.list) <= maxSpread:
		return all
	case lacking:
		return insight{}
	}
	return insight{need: need}
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

// cost estimates how much work a search for w is, from how often its bytes occur in text: lower is better.
func (w words) cost() float64 {
	if len(w.list) == 0 || len(w.list) > maxWords {
		return unusable
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
		sum += first/4 + first*second
	}
	return sum
}

const (
	unusable  = 100.0
	usefulMax = 0.012 // above that the automaton alone is quicker
)
