package match

// A dfa turns a program into a deterministic automaton while it runs: a state is made when the text first leads to it.
// States hold their instructions in order of preference, so that a run finds the same match as package regexp does, in
// one look at each byte. A dfa belongs to one goroutine.
type dfa struct {
	prog    *program
	entry   int32 // prog.loop or prog.start
	longest bool  // find the longest match, not the preferred one

	states map[string]*state
	starts [8]*state
	work   *list
	next   *list
	stack  []int32
	key    []byte

	resets  int
	broken  bool // too many states for this text: the caller must use something else
	visited int  // bytes read since the last reset
}

// maxStates bounds the memory of a dfa: a state takes about 2.5 KB.
const maxStates = 1500

// A state says what may still match. A match flag belongs to the position before the byte that led here, because
// only that byte decides about the assertions there.
type state struct {
	next    [256]*state // nil: not known yet, or in need of attention (a match, or the end)
	byClass []*state    // one for each class, and the last for the end of the text
	insts   []int32
	context uint8 // what is known about the position, where an assertion waits for the next byte
	word    bool  // the byte before is a word's
	match   bool
}

func newDFA(p *program, entry int32, longest bool) *dfa {
	d := &dfa{prog: p, entry: entry, longest: longest, states: make(map[string]*state)}
	d.work, d.next = newList(len(p.insts)), newList(len(p.insts))
	return d
}

// forward runs over b from position from. It returns the end of the match, or of the first thing that is one when
// earliest is set, and -1 when there is none.
func (d *dfa) forward(b []byte, from int, earliest bool) int {
	s := d.begin(from == 0, from == 0 || b[from-1] == '\n', from > 0 && isWord(b[from-1]))
	found := -1
	i := from
	for {
		s, i = run(s, b, i)
		n := d.step(s, b, i)
		if n == nil {
			return -1
		}
		if n.match {
			if found = i; earliest {
				return found
			}
		}
		if i >= len(b) || len(n.insts) == 0 {
			d.visited += i - from
			return found
		}
		s = n
		i++
	}
}

// run follows known transitions as far as they go. This is the loop in which a search spends its time.
func run(s *state, b []byte, i int) (*state, int) {
	for i+4 <= len(b) {
		q := b[i : i+4 : i+4]
		n := s.next[q[0]]
		if n == nil {
			return s, i
		}
		m := n.next[q[1]]
		if m == nil {
			return n, i + 1
		}
		n = m.next[q[2]]
		if n == nil {
			return m, i + 2
		}
		m = n.next[q[3]]
		if m == nil {
			return n, i + 3
		}
		s = m
		i += 4
	}
	for i < len(b) {
		n := s.next[b[i]]
		if n == nil {
			return s, i
		}
		s = n
		i++
	}
	return s, i
}

// backward runs from position to down to floor and returns the smallest start of a match that ends at to, or -1.
func (d *dfa) backward(b []byte, floor, to int) int {
	s := d.begin(to == len(b), to == len(b) || b[to] == '\n', to < len(b) && isWord(b[to]))
	found := -1
	for i := to; ; i-- {
		var n *state
		switch {
		case i > floor:
			n = d.stepClass(s, int(d.prog.classOf[b[i-1]]))
		case i == 0:
			n = d.stepClass(s, d.prog.classSize)
		default: // a match may begin here, but not earlier; the byte before still decides about assertions
			n = d.stepClass(s, int(d.prog.classOf[b[i-1]]))
		}
		if n == nil {
			return -1
		}
		if n.match {
			found = i
		}
		if i <= floor || len(n.insts) == 0 {
			return found
		}
		s = n
	}
}

func (d *dfa) begin(text, line, word bool) *state {
	index, context := 0, uint8(0)
	if text {
		index, context = index|1, context|beginText
	}
	if line {
		index, context = index|2, context|beginLine
	}
	if word {
		index |= 4
	}
	if s := d.starts[index]; s != nil {
		return s
	}
	d.next.clear()
	d.follow(d.next, d.entry, context, false)
	s := d.intern(context, word, false)
	d.starts[index] = s
	return s
}

func (d *dfa) step(s *state, b []byte, i int) *state {
	if i < len(b) {
		return d.stepClass(s, int(d.prog.classOf[b[i]]))
	}
	return d.stepClass(s, d.prog.classSize)
}

func (d *dfa) stepClass(s *state, class int) *state {
	if n := s.byClass[class]; n != nil {
		return n
	}
	if len(d.states) >= maxStates && !d.reset() {
		return nil
	}
	n := d.transition(s, class)
	s.byClass[class] = n
	if class < d.prog.classSize && !n.match && len(n.insts) > 0 {
		for _, b := range d.prog.members[class] {
			s.next[b] = n
		}
	}
	return n
}

// reset forgets all states. A text that makes new states all the time is quicker searched by other means.
func (d *dfa) reset() bool {
	d.resets++
	if d.resets > 4 && d.visited < 64*maxStates*d.resets {
		d.broken = true
		return false
	}
	d.states = make(map[string]*state)
	d.starts = [8]*state{}
	return true
}

func (d *dfa) transition(s *state, class int) *state {
	end := class == d.prog.classSize
	var c byte
	if !end {
		c = d.prog.members[class][0]
	}
	insts := s.insts
	if d.prog.asserts {
		insts = d.settle(s, c, end)
	}
	d.next.clear()
	after := uint8(0)
	if c == '\n' && !end {
		after = beginLine
	}
	matched := false
	for _, pc := range insts {
		in := &d.prog.insts[pc]
		if in.op == opMatch {
			matched = true
			if !d.longest {
				break // what has less preference than a match cannot win any more
			}
		}
		if in.op == opByte && !end && in.lo <= c && c <= in.hi {
			d.follow(d.next, in.out, after, false)
		}
	}
	return d.intern(after, !end && isWord(c), matched)
}

// settle decides the assertions that wait in s, now that the next byte is known.
func (d *dfa) settle(s *state, c byte, end bool) []int32 {
	known := s.context
	if end {
		known |= endText | endLine
	} else if c == '\n' {
		known |= endLine
	}
	if s.word != (!end && isWord(c)) {
		known |= wordEdge
	} else {
		known |= noWordEdge
	}
	d.work.clear()
	for _, pc := range s.insts {
		d.follow(d.work, pc, known, true)
	}
	return d.work.dense
}

// follow adds pc, and all that can be reached from it without reading a byte, to l in order of preference.
func (d *dfa) follow(l *list, pc int32, known uint8, settled bool) {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc = d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if !l.visit(pc) {
			continue
		}
		switch in := &d.prog.insts[pc]; in.op {
		case opSplit:
			d.stack = append(d.stack, in.out1, in.out)
		case opAssert:
			switch {
			case in.assert&known != 0:
				d.stack = append(d.stack, in.out)
			case !settled && in.assert&(beginLine|beginText) == 0:
				l.dense = append(l.dense, pc) // it waits for the next byte
			}
		case opByte, opMatch:
			l.dense = append(l.dense, pc)
		}
	}
}

// intern returns the state of d.next.
func (d *dfa) intern(context uint8, word, match bool) *state {
	waiting := false
	if d.prog.asserts {
		for _, pc := range d.next.dense {
			waiting = waiting || d.prog.insts[pc].op == opAssert
		}
	}
	if !waiting {
		context, word = 0, false
	}
	flags := context
	if word {
		flags |= 1 << 6
	}
	if match {
		flags |= 1 << 7
	}
	key := append(d.key[:0], flags)
	for _, pc := range d.next.dense {
		key = append(key, byte(pc), byte(pc>>8), byte(pc>>16))
	}
	d.key = key
	if s := d.states[string(key)]; s != nil {
		return s
	}
	s := &state{
		insts:   append([]int32(nil), d.next.dense...),
		byClass: make([]*state, d.prog.classSize+1),
		context: context, word: word, match: match,
	}
	d.states[string(key)] = s
	return s
}

// A list is an ordered set of instructions. seen also holds those that only lead to others.
type list struct {
	dense []int32
	seen  []uint32
	round uint32
}

func newList(n int) *list { return &list{seen: make([]uint32, n)} }

func (l *list) clear() {
	l.dense = l.dense[:0]
	l.round++
	if l.round == 0 {
		clear(l.seen)
		l.round = 1
	}
}

func (l *list) visit(pc int32) bool {
	if l.seen[pc] == l.round {
		return false
	}
	l.seen[pc] = l.round
	return true
}
