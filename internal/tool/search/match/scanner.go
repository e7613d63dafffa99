package match

import (
	"bytes"
	"unicode/utf8"
)

// A Scanner searches texts for one pattern. It keeps what it learns about the pattern from text to text.
type Scanner struct {
	p      *Pattern
	search *search

	text    []byte
	blind   bool // the strings of the finder say nothing about this text
	invalid triState
	engines [2]engines // for text that is UTF-8, and for text that is not

	rejected int  // strings found that did not belong to a match
	passed   int  // bytes passed to find these
	common   bool // the strings are so common that the automaton alone is quicker
}

type triState int8

const (
	unknown triState = iota
	no
	yes
)

// engines are the automata of a pattern: whether and where a match ends, and from there back to its start.
type engines struct {
	forward, anchored, backward *dfa
	useless                     bool
}

// NewScanner returns a scanner of p for one goroutine.
func (p *Pattern) NewScanner() *Scanner {
	s := &Scanner{p: p}
	if p.finder != nil {
		s.search = newSearch(p.finder)
	}
	return s
}

// Start sets the text. It must begin at the start of a line, unless p.Multiline, and must not change while it is searched.
func (s *Scanner) Start(text []byte) {
	s.text = text
	s.invalid = unknown
	s.blind = s.search == nil
	if s.search != nil {
		s.search.start(text)
		s.blind = !s.p.finder.usable(text)
	}
}

// NextLine returns the first line at or after from, which must be the start of a line, that matches. The line ends before
// its line break. ok is false when there is none.
func (s *Scanner) NextLine(from int) (start, end int, ok bool) {
	for next := from; next < len(s.text); {
		if s.blind || s.common && !s.p.exact {
			start, _ = s.lineAround(next, from)
			return s.nextByAutomaton(start)
		}
		at := s.search.find(next)
		if at < 0 {
			break
		}
		after, ok := at, true
		if !s.p.exact {
			after, ok = s.judge(at, from)
		}
		if ok {
			start, end = s.lineAround(at, from)
			return start, end, true
		}
		s.rejected++
		s.passed += after - next
		s.common = s.rejected > 400 && s.passed < s.rejected*s.p.finder.patience()
		next = after
	}
	return 0, 0, false
}

// judge decides whether the string found at position at belongs to a match, and if not where to look on. When it is known
// how far into a match the string stands, a few bytes are enough; else the line is searched.
func (s *Scanner) judge(at, from int) (after int, ok bool) {
	if offset := s.p.finder.at; offset != anywhere {
		e := s.automata()
		if at-offset < from {
			return at + 1, false
		}
		if !e.useless {
			found := e.anchored.forward(s.text, at-offset, true)
			if !e.anchored.broken {
				return at + 1, found >= 0
			}
			e.useless = true
		}
	}
	start, end := s.lineAround(at, from)
	return end + 1, s.matches(start, end)
}

// lineAround returns the line around position at; no line before floor is looked at.
func (s *Scanner) lineAround(at, floor int) (start, end int) {
	start = floor + bytes.LastIndexByte(s.text[floor:at], '\n') + 1
	end = bytes.IndexByte(s.text[at:], '\n')
	if end < 0 {
		return start, len(s.text)
	}
	return start, at + end
}

func (s *Scanner) nextByAutomaton(from int) (start, end int, ok bool) {
	e := s.automata()
	if e.useless {
		return s.nextByRegexp(from)
	}
	at := e.forward.forward(s.text, from, true)
	if e.forward.broken {
		e.useless = true
		return s.nextByRegexp(from)
	}
	// The empty text behind the last line break is no line.
	if at < 0 || at == len(s.text) && at > 0 && s.text[at-1] == '\n' {
		return 0, 0, false
	}
	start, end = s.lineAround(at, from)
	return start, end, true
}

// nextByRegexp is for patterns that make the automaton grow without end.
func (s *Scanner) nextByRegexp(from int) (start, end int, ok bool) {
	for from < len(s.text) {
		end = bytes.IndexByte(s.text[from:], '\n')
		if end < 0 {
			end = len(s.text) - from
		}
		if s.p.std().Match(s.text[from : from+end]) {
			return from, from + end, true
		}
		from += end + 1
	}
	return 0, 0, false
}

func (s *Scanner) matches(start, end int) bool {
	line := s.text[start:end]
	e := s.automata()
	if !e.useless {
		at := e.forward.forward(line, 0, true)
		if !e.forward.broken {
			return at >= 0
		}
		e.useless = true
	}
	return s.p.std().Match(line)
}

// NextSpan returns the leftmost match of the text that starts at or after from; ok is false when there is none.
func (s *Scanner) NextSpan(from int) (start, end int, ok bool) {
	if !s.blind && s.search.find(from) < 0 {
		return 0, 0, false
	}
	return s.SpanIn(s.text, from)
}

// SpanIn is NextSpan for a line of the text, or for all of it. What is before from counts for the assertions of the
// pattern.
func (s *Scanner) SpanIn(b []byte, from int) (start, end int, ok bool) {
	e := s.automata()
	if e.backward == nil && !e.useless {
		e.backward = s.newBackward(e)
	}
	if e.useless {
		return s.spanByRegexp(b, from)
	}
	end = e.forward.forward(b, from, false)
	if end < 0 && !e.forward.broken {
		return 0, 0, false
	}
	if !e.forward.broken {
		start = e.backward.backward(b, from, end)
	}
	if e.forward.broken || e.backward.broken || start < 0 {
		e.useless = true
		return s.spanByRegexp(b, from)
	}
	return start, end, true
}

// spanByRegexp gives package regexp the character before from as well, because assertions may look at it.
func (s *Scanner) spanByRegexp(b []byte, from int) (start, end int, ok bool) {
	if from == 0 {
		loc := s.p.std().FindIndex(b)
		if loc == nil {
			return 0, 0, false
		}
		return loc[0], loc[1], true
	}
	_, size := utf8.DecodeLastRune(b[:from])
	loc := s.p.later().FindSubmatchIndex(b[from-size:])
	if loc == nil {
		return 0, 0, false
	}
	return from - size + loc[2], from - size + loc[3], true
}

// automata returns the automata for the text. Only when the pattern has a class that a stray byte may match does it
// matter whether the text is UTF-8.
func (s *Scanner) automata() *engines {
	kind := 0
	if s.p.wide {
		if s.invalid == unknown {
			s.invalid = no
			if !utf8.Valid(s.text) {
				s.invalid = yes
			}
		}
		if s.invalid == yes {
			kind = 1
		}
	}
	e := &s.engines[kind]
	if e.forward == nil && !e.useless {
		compile := s.p.strict
		if kind == 1 {
			compile = s.p.lax
		}
		if prog := compile(); prog != nil {
			e.forward, e.anchored = newDFA(prog, prog.loop, false), newDFA(prog, prog.start, false)
		} else {
			e.useless = true
		}
	}
	return e
}

func (s *Scanner) newBackward(e *engines) *dfa {
	compile := s.p.reverseStrict
	if e == &s.engines[1] {
		compile = s.p.reverseLax
	}
	prog := compile()
	if prog == nil {
		e.useless = true
		return nil
	}
	return newDFA(prog, prog.start, true)
}
