// Package match finds the lines of a text that match a regular expression, quickly.
//
// The dialect is that of package regexp with the conveniences of ripgrep: ^ and $ stand for the ends of lines, and unless
// a pattern is compiled for several lines no match goes past the end of a line. A search first looks for a
// string that every match contains, and only then runs an automaton over the lines that have it; a pattern without such
// a string runs the automaton over all of the text. What is found is what package regexp finds: tests compare the two.
//
// A Pattern is immutable. A Scanner belongs to one goroutine.
package match

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
)

// Options say how a pattern is meant.
type Options struct {
	IgnoreCase bool
	Multiline  bool // matches may span lines, and . matches a line break too
}

// A Pattern is a compiled expression.
type Pattern struct {
	// Multiline is true when it was asked for, or when the pattern itself names a line break.
	Multiline bool
	// Notes say what was understood differently from what was written, in sentences for the one who wrote it.
	Notes []string

	tree   *syntax.Regexp
	finder *finder // nil: no string is in every match
	exact  bool    // the strings of finder are all that the pattern matches

	strict, lax, reverseStrict, reverseLax func() *program
	source                                 func() string // the expression for package regexp
	std                                    func() *regexp.Regexp
	later                                  func() *regexp.Regexp // one character, anything, then a match as group 1
	wide                                   bool                  // has a class for which bytes that are not UTF-8 matter
}

// Compile reads a pattern. The error is for whoever wrote it and says what to write instead.
func Compile(expr string, o Options) (*Pattern, error) {
	tree, notes, err := parse(expr, o)
	if err != nil {
		return nil, err
	}
	p := &Pattern{Multiline: o.Multiline, Notes: notes}
	if !p.Multiline && namesLineBreak(tree) {
		p.Multiline = true
	}
	whole := adapt(tree, p.Multiline)
	p.tree = whole.Simplify()
	p.finder, p.exact = newFinder(p.tree)
	p.wide = isWide(p.tree)
	compile := func(reverse, lax bool) func() *program {
		return sync.OnceValue(func() *program {
			if hasInnerEdge(p.tree) {
				return nil
			}
			return compileProgram(p.tree, reverse, lax)
		})
	}
	p.strict, p.lax = compile(false, false), compile(false, true)
	p.reverseStrict, p.reverseLax = compile(true, false), compile(true, true)
	// Writing a tree out as text takes long when it has large classes, so that is done only when package regexp is needed.
	p.source = sync.OnceValue(whole.String)
	p.std = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(p.source()) })
	p.later = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + p.source() + `)`) })
	if p.strict() == nil { // what is not too large for the automaton is not too large for package regexp
		if _, err := regexp.Compile(p.source()); err != nil {
			return nil, explain(expr, err)
		}
	}
	return p, nil
}

// adapt returns re for a search by lines or over lines. By lines, nothing in it matches a line break any more,
// and the ends of the text are the ends of the line. In both, $ also matches before the \r of a line of DOS.
func adapt(re *syntax.Regexp, multiline bool) *syntax.Regexp {
	switch re.Op {
	case syntax.OpEndLine:
		return beforeCR(re)
	case syntax.OpBeginText:
		if !multiline {
			return &syntax.Regexp{Op: syntax.OpBeginLine, Flags: re.Flags}
		}
	case syntax.OpEndText:
		if !multiline {
			return beforeCR(&syntax.Regexp{Op: syntax.OpEndLine, Flags: re.Flags})
		}
	case syntax.OpAnyChar:
		if !multiline {
			return &syntax.Regexp{Op: syntax.OpAnyCharNotNL, Flags: re.Flags}
		}
	case syntax.OpCharClass:
		if !multiline {
			return withoutLineBreak(re)
		}
	}
	n := *re
	n.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		n.Sub[i] = adapt(sub, multiline)
	}
	return &n
}

func beforeCR(end *syntax.Regexp) *syntax.Regexp {
	cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
	quest := &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{quest, end}}
}

func withoutLineBreak(re *syntax.Regexp) *syntax.Regexp {
	n := *re
	n.Rune = nil
	for i := 0; i+1 < len(re.Rune); i += 2 {
		lo, hi := re.Rune[i], re.Rune[i+1]
		if lo > '\n' || hi < '\n' {
			n.Rune = append(n.Rune, lo, hi)
			continue
		}
		if lo < '\n' {
			n.Rune = append(n.Rune, lo, '\n'-1)
		}
		if hi > '\n' {
			n.Rune = append(n.Rune, '\n'+1, hi)
		}
	}
	if n.Rune == nil {
		n.Op = syntax.OpNoMatch
	}
	return &n
}

// namesLineBreak reports whether re asks for a line break itself, not only for a class that happens to hold it.
func namesLineBreak(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	case syntax.OpCharClass:
		named := false
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] != re.Rune[i+1] || re.Rune[i] != '\n' && re.Rune[i] != '\r' {
				return false
			}
			named = named || re.Rune[i] == '\n'
		}
		return named
	}
	for _, sub := range re.Sub {
		if namesLineBreak(sub) {
			return true
		}
	}
	return false
}

// isWide reports whether some class of re holds U+FFFD, for which bytes that are not UTF-8 stand.
func isWide(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\uFFFD' && '\uFFFD' <= re.Rune[i+1] {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if isWide(sub) {
			return true
		}
	}
	return false
}

// hasInnerEdge reports whether re has a \B. It holds between the bytes of a character as well, where nobody wants a match,
// so it is left to package regexp, which works on characters.
func hasInnerEdge(re *syntax.Regexp) bool {
	if re.Op == syntax.OpNoWordBoundary {
		return true
	}
	return slices.ContainsFunc(re.Sub, hasInnerEdge)
}
