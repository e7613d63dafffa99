package match

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// The automaton works on bytes, not on characters: a class of characters becomes the byte sequences of its UTF-8 forms.
// That keeps the inner loop of the search at one table look-up for each byte, and lets it run over text that is not UTF-8.

type opcode uint8

const (
	opByte   opcode = iota // a byte between lo and hi, then out
	opSplit                // out, or with less priority out1
	opAssert               // out, if the assertion holds here
	opMatch
	opFail
)

// Assertions, as bits, so that what is known about a position is a set.
const (
	beginLine uint8 = 1 << iota
	beginText
	endLine
	endText
	wordEdge
	noWordEdge
)

type inst struct {
	op        opcode
	lo, hi    byte
	assert    uint8
	out, out1 int32
}

// program is a compiled expression. Programs are immutable and shared by all scanners.
type program struct {
	insts     []inst
	start     int32      // of an anchored run
	loop      int32      // of a run that may begin anywhere
	classOf   [256]uint8 // bytes of one class are never told apart
	classSize int
	members   [][]byte
	asserts   bool
}

// maxInsts bounds a program. Larger expressions are left to package regexp.
const maxInsts = 60_000

type compiler struct {
	insts   []inst
	reverse bool // read the text from its end
	lax     bool // a character outside ASCII also matches a stray byte
	tooBig  bool
	suffix  map[suffixKey]int32
}

type suffixKey struct {
	lo, hi byte
	next   int32
}

// compileProgram returns nil when re needs too many instructions.
func compileProgram(re *syntax.Regexp, reverse, lax bool) *program {
	c := &compiler{reverse: reverse, lax: lax}
	match := c.add(inst{op: opMatch})
	p := &program{start: c.expr(re, match)}
	// The loop prefers to begin a match here over going on by a byte: that is what "leftmost" means.
	loop := c.add(inst{op: opSplit, out: p.start})
	c.insts[loop].out1 = c.add(inst{op: opByte, lo: 0, hi: 255, out: loop})
	if c.tooBig {
		return nil
	}
	p.loop, p.insts = loop, c.insts
	p.divideBytes()
	return p
}

func (c *compiler) add(i inst) int32 {
	if len(c.insts) >= maxInsts {
		c.tooBig = true
		return 0
	}
	c.insts = append(c.insts, i)
	return int32(len(c.insts) - 1)
}

// split tries first before second.
func (c *compiler) split(first, second int32) int32 {
	return c.add(inst{op: opSplit, out: first, out1: second})
}

// expr compiles re so that it goes on at next, and returns where it begins.
func (c *compiler) expr(re *syntax.Regexp, next int32) int32 {
	if c.tooBig {
		return 0
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpLiteral:
		for i := range re.Rune {
			r := re.Rune[len(re.Rune)-1-i]
			if c.reverse {
				r = re.Rune[i]
			}
			next = c.class(literalClass(r, re.Flags&syntax.FoldCase != 0), next)
		}
		return next
	case syntax.OpCharClass:
		return c.class(re.Rune, next)
	case syntax.OpAnyChar:
		return c.class([]rune{0, unicode.MaxRune}, next)
	case syntax.OpAnyCharNotNL:
		return c.class([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}, next)
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return c.add(inst{op: opAssert, assert: c.assertion(re.Op), out: next})
	case syntax.OpCapture:
		return c.expr(re.Sub[0], next)
	case syntax.OpStar:
		return c.star(re, next)
	case syntax.OpPlus:
		loop := c.split(0, 0)
		body := c.expr(re.Sub[0], loop)
		c.branch(loop, body, next, re)
		return body
	case syntax.OpQuest:
		split := c.split(0, 0)
		c.branch(split, c.expr(re.Sub[0], next), next, re)
		return split
	case syntax.OpConcat:
		for i := range re.Sub {
			sub := re.Sub[len(re.Sub)-1-i]
			if c.reverse {
				sub = re.Sub[i]
			}
			next = c.expr(sub, next)
		}
		return next
	case syntax.OpAlternate:
		first := c.expr(re.Sub[len(re.Sub)-1], next)
		for i := len(re.Sub) - 2; i >= 0; i-- {
			first = c.split(c.expr(re.Sub[i], next), first)
		}
		return first
	}
	return c.add(inst{op: opFail}) // OpNoMatch; Simplify has removed OpRepeat
}

// star compiles x*. When x can be empty it is compiled as (x+)?, which keeps the order of preference of package regexp.
func (c *compiler) star(re *syntax.Regexp, next int32) int32 {
	loop := c.split(0, 0)
	body := c.expr(re.Sub[0], loop)
	c.branch(loop, body, next, re)
	if !nullable(re.Sub[0]) {
		return loop
	}
	quest := c.split(0, 0)
	c.branch(quest, body, next, re)
	return quest
}

func (c *compiler) branch(split, body, next int32, re *syntax.Regexp) {
	if c.tooBig {
		return
	}
	if re.Flags&syntax.NonGreedy != 0 {
		body, next = next, body
	}
	c.insts[split].out, c.insts[split].out1 = body, next
}

func nullable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText,
		syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	case syntax.OpCapture, syntax.OpPlus:
		return nullable(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !nullable(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if nullable(sub) {
				return true
			}
		}
	}
	return false
}

func (c *compiler) assertion(op syntax.Op) uint8 {
	pairs := map[syntax.Op][2]uint8{
		syntax.OpBeginLine:      {beginLine, endLine},
		syntax.OpEndLine:        {endLine, beginLine},
		syntax.OpBeginText:      {beginText, endText},
		syntax.OpEndText:        {endText, beginText},
		syntax.OpWordBoundary:   {wordEdge, wordEdge},
		syntax.OpNoWordBoundary: {noWordEdge, noWordEdge},
	}
	if c.reverse {
		return pairs[op][1]
	}
	return pairs[op][0]
}

func literalClass(r rune, fold bool) []rune {
	class := []rune{r, r}
	if fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			class = append(class, f, f)
		}
	}
	return class
}

// class compiles pairs of runes, each a range.
func (c *compiler) class(pairs []rune, next int32) int32 {
	c.suffix = make(map[suffixKey]int32)
	var starts []int32
	seen := make(map[int32]bool)
	begin := func(pc int32) {
		if !seen[pc] {
			seen[pc] = true
			starts = append(starts, pc)
		}
	}
	stray := false
	for i := 0; i+1 < len(pairs); i += 2 {
		lo, hi := pairs[i], pairs[i+1]
		stray = stray || lo <= utf8.RuneError && utf8.RuneError <= hi
		forUTF8(lo, hi, func(ranges [][2]byte) {
			pc := next
			for j := range ranges {
				r := ranges[len(ranges)-1-j]
				if c.reverse {
					r = ranges[j]
				}
				pc = c.byteRange(r[0], r[1], pc)
			}
			begin(pc)
		})
	}
	if stray && c.lax {
		begin(c.byteRange(0x80, 0xFF, next))
	}
	if len(starts) == 0 {
		return c.add(inst{op: opFail})
	}
	first := starts[len(starts)-1]
	for i := len(starts) - 2; i >= 0; i-- {
		first = c.split(starts[i], first)
	}
	return first
}

// byteRange shares equal tails of the byte sequences of one class.
func (c *compiler) byteRange(lo, hi byte, next int32) int32 {
	key := suffixKey{lo, hi, next}
	if pc, ok := c.suffix[key]; ok {
		return pc
	}
	pc := c.add(inst{op: opByte, lo: lo, hi: hi, out: next})
	c.suffix[key] = pc
	return pc
}

// forUTF8 calls emit with sequences of byte ranges that together are the UTF-8 forms of the runes from lo to hi.
func forUTF8(lo, hi rune, emit func([][2]byte)) {
	if lo > hi {
		return
	}
	const surrogateMin, surrogateMax = 0xD800, 0xDFFF
	if lo <= surrogateMax && hi >= surrogateMin {
		forUTF8(lo, surrogateMin-1, emit)
		forUTF8(surrogateMax+1, hi, emit)
		return
	}
	for _, limit := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if lo <= limit && limit < hi {
			forUTF8(lo, limit, emit)
			forUTF8(limit+1, hi, emit)
			return
		}
	}
	if hi > 0x7F {
		for shift := 6; shift <= 18; shift += 6 {
			mask := rune(1)<<shift - 1
			if lo&^mask == hi&^mask {
				continue
			}
			if lo&mask != 0 {
				forUTF8(lo, lo|mask, emit)
				forUTF8((lo|mask)+1, hi, emit)
				return
			}
			if hi&mask != mask {
				forUTF8(lo, hi&^mask-1, emit)
				forUTF8(hi&^mask, hi, emit)
				return
			}
		}
	}
	var a, b [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	ranges := make([][2]byte, n)
	for i := range ranges {
		ranges[i] = [2]byte{a[i], b[i]}
	}
	emit(ranges)
}

// divideBytes finds the classes of bytes that the program tells apart.
func (p *program) divideBytes() {
	var edge [257]bool // edge[b]: b-1 and b may differ
	cut := func(lo, hi int) { edge[lo], edge[hi+1] = true, true }
	for _, i := range p.insts {
		switch {
		case i.op == opByte:
			cut(int(i.lo), int(i.hi))
		case i.op == opAssert && i.assert&(wordEdge|noWordEdge) != 0:
			p.asserts = true
			for _, r := range []string{"09", "AZ", "__", "az"} {
				cut(int(r[0]), int(r[1]))
			}
		case i.op == opAssert:
			p.asserts = true
			cut('\n', '\n')
		}
	}
	class := 0
	for b := range 256 {
		if b > 0 && edge[b] {
			class++
		}
		p.classOf[b] = uint8(class)
	}
	p.classSize = class + 1
	p.members = make([][]byte, p.classSize)
	for b := range 256 {
		p.members[p.classOf[b]] = append(p.members[p.classOf[b]], byte(b))
	}
}

func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
