package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"

	"gofer/internal/ui/screen"
)

// A piece is a part of a text that is final, and can be drawn without what follows.
type piece struct {
	kind    kind
	lines   []string
	gap     bool // an empty line stood before it
	number  int  // of an item of a numbered list
	indent  int  // columns that it stands in from the left
	content int  // of an item: where its text begins
	open    string
	size    int
}

type kind uint8

const (
	nothing   kind = iota
	paragraph      // also tables and headings with a line below
	heading
	rule
	quote
	indented  // program text that is marked by four blanks
	item      // of a list
	rest      // of an item that was too long
	fenceOpen // lines[0] is what stands behind the fence
	fenceLine
	fenceEnd
)

// The limits make every step cheap, whatever the text is. A line or paragraph beyond them goes on as another one.
const (
	maxLine      = 4096
	maxParagraph = 4096
	maxItem      = 16 << 10
	maxTable     = 32 << 10
)

// A scanner cuts a text into pieces. It looks at each line once.
type scanner struct {
	ready   []piece
	partial string // the last line, which has no end yet
	going   bool   // partial goes on with a line whose beginning was cut off because it was too long
	now     piece  // still grows
	gap     bool   // an empty line stands before what comes next
	blank   bool   // the last line of an item was empty

	fence       string // the marks of the open fence
	fenceIndent int

	number, written int // of the last item of the running list; 0: none
}

func (s *scanner) write(delta string) {
	text := s.partial + delta
	for {
		end := strings.IndexByte(text[:min(len(text), maxLine)], '\n')
		switch {
		case end >= 0:
			s.line(text[:end], s.going)
			s.going = false
			text = text[end+1:]
		case len(text) >= maxLine:
			end = cutAt(text[:maxLine])
			s.line(text[:end], s.going)
			s.going = true
			text = text[end:]
		default:
			s.partial = text
			return
		}
	}
}

// cutAt finds a place to cut a line that is too long: a blank, or else the end of a character.
func cutAt(text string) int {
	if blank := strings.LastIndexByte(text, ' '); blank > len(text)/2 {
		return blank + 1
	}
	end := len(text)
	for i := 1; i < utf8.UTFMax && i <= end; i++ {
		if utf8.RuneStart(text[end-i]) {
			if !utf8.FullRuneInString(text[end-i:]) {
				return end - i
			}
			break
		}
	}
	return end
}

func (s *scanner) close() {
	if s.partial != "" {
		s.line(s.partial, s.going)
		s.partial = ""
	}
	s.finish()
	if s.fence != "" {
		s.fence = ""
		s.emit(piece{kind: fenceEnd})
	}
}

func (s *scanner) emit(p piece) { s.ready = append(s.ready, p) }

// finish ends the piece that grows.
func (s *scanner) finish() {
	if s.now.kind == nothing {
		return
	}
	for n := len(s.now.lines); n > 0 && s.now.lines[n-1] == ""; n-- {
		s.now.lines = s.now.lines[:n-1]
	}
	if len(s.now.lines) > 0 || s.now.kind == rule {
		s.emit(s.now)
	}
	s.now = piece{}
	if s.blank {
		s.gap, s.blank = true, false
	}
}

// line takes one line of the text. One that goes on a line that was cut begins nothing new.
func (s *scanner) line(raw string, goes bool) {
	text := screen.Clean(strings.ReplaceAll(strings.TrimSuffix(raw, "\r"), "\r", " "))
	if s.fence != "" {
		s.inFence(text, goes)
		return
	}
	text = strings.TrimRight(text, " ") + hardBreak(text)
	if strings.TrimSpace(text) == "" {
		s.empty()
		return
	}
	text = shallow(text)
	if goes {
		if s.now.kind == nothing {
			s.begin(paragraph)
		}
		s.add(text)
		return
	}
	indent := indentOf(text)
	if s.goesOn(text, indent) {
		s.add(text)
		return
	}
	s.finish()
	s.start(text, indent)
}

// hardBreak keeps the two blanks by which a line says that it ends where it ends.
func hardBreak(text string) string {
	if strings.HasSuffix(text, "  ") {
		return "  "
	}
	return ""
}

func (s *scanner) inFence(text string, goes bool) {
	bare := strings.TrimSpace(text)
	if !goes && strings.HasPrefix(bare, s.fence) && strings.Trim(bare, s.fence[:1]) == "" && indentOf(text) < 4 {
		s.fence = ""
		s.emit(piece{kind: fenceEnd})
		return
	}
	s.emit(piece{kind: fenceLine, lines: []string{unindent(text, s.fenceIndent)}})
}

func (s *scanner) empty() {
	switch s.now.kind {
	case nothing:
		s.gap = true
	case item, rest:
		s.blank = true
		if n := len(s.now.lines); n > 0 && s.now.lines[n-1] != "" || s.now.open != "" {
			s.now.lines = append(s.now.lines, "")
		}
	default:
		s.finish()
		s.gap = true
	}
}

// goesOn reports whether a line belongs to the piece that grows.
func (s *scanner) goesOn(text string, indent int) bool {
	bare := text[indent:]
	switch s.now.kind {
	case nothing:
		return false
	case indented:
		return indent >= 4
	case item, rest:
		if indent >= s.now.content {
			return true
		}
		if _, isItem := marker(bare); isItem && indent < 4 {
			return false
		}
		return !s.blank && !interrupts(bare) && s.now.open == ""
	case quote:
		if strings.HasPrefix(bare, ">") {
			return true
		}
		_, isItem := marker(bare)
		return !interrupts(bare) && !isItem
	}
	if indent >= 4 {
		return true
	}
	if isUnderline(bare) { // it makes a heading of the paragraph
		return true
	}
	m, isItem := marker(bare)
	if isItem && !m.empty && (m.number == 0 || m.number == 1) {
		return false
	}
	return !interrupts(bare)
}

// start begins what a line begins.
func (s *scanner) start(text string, indent int) {
	bare := text[indent:]
	m, isItem := marker(bare)
	if !isItem {
		s.number = 0
	}
	switch {
	case indent >= 4:
		s.begin(indented)
	case isHeading(bare):
		s.begin(heading)
		s.add(text)
		s.finish()
		return
	case fenceMarks(bare) != "":
		s.fence, s.fenceIndent = fenceMarks(bare), indent
		s.emit(piece{kind: fenceOpen, lines: []string{strings.TrimLeft(bare, s.fence[:1])}, gap: s.gap})
		s.gap = false
		return
	case isRule(bare):
		s.begin(rule)
		s.finish()
		return
	case isItem:
		s.beginItem(m, indent)
	case strings.HasPrefix(bare, ">"):
		s.begin(quote)
	default:
		s.begin(paragraph)
	}
	s.add(text)
}

func (s *scanner) begin(k kind) {
	s.now = piece{kind: k, gap: s.gap}
	s.gap, s.blank = false, false
}

// beginItem counts the items of a list. Writers often number all of them 1.
func (s *scanner) beginItem(m mark, indent int) {
	s.begin(item)
	s.now.content, s.now.indent = indent+m.width, indent
	if m.number == 0 && indent > 0 { // a bullet below an item, written with too few blanks: the list goes on behind it
		return
	}
	if s.number > 0 && m.number == s.written {
		s.now.number = s.number + 1
	} else {
		s.now.number = m.number
	}
	s.number, s.written = s.now.number, m.number
}

// add takes a line into the piece that grows, and ends the piece where it is too long.
func (s *scanner) add(text string) {
	p := &s.now
	if p.kind == item || p.kind == rest {
		s.blank = false
		if marks := fenceMarks(strings.TrimSpace(text)); marks != "" && (p.open == "" || strings.HasPrefix(marks, fenceMarks(strings.TrimSpace(p.open)))) {
			if p.open == "" {
				p.open = text
			} else {
				p.open = ""
			}
		}
	}
	if n := len(p.lines); p.kind == paragraph && n > 1 && !isTable(p.lines) && isTable([]string{p.lines[n-1], text}) { // a table right below its introduction
		head := p.lines[n-1]
		p.lines = p.lines[:n-1]
		s.finish()
		s.begin(paragraph)
		p.lines = append(p.lines, head)
	}
	p.lines = append(p.lines, text)
	p.size += len(text) + 1
	switch {
	case (p.kind == item || p.kind == rest) && p.size >= maxItem:
		s.splitItem()
	case p.kind == paragraph && isTable(p.lines):
		if p.size >= maxTable {
			head := slices.Clone(p.lines[:2])
			s.finish()
			s.begin(paragraph)
			s.now.lines = head
		}
	case p.kind != item && p.kind != rest && p.size >= maxParagraph:
		k := p.kind
		s.finish()
		s.begin(k)
	}
}

// splitItem goes on with an item in a piece of its own, at the same place.
func (s *scanner) splitItem() {
	old := s.now
	s.finish()
	s.begin(rest)
	s.now.content, s.now.indent = old.content, old.content
	if s.now.open = old.open; old.open != "" {
		s.now.lines = append(s.now.lines, old.open)
	}
}

// A mark is what begins an item.
type mark struct {
	width  int // up to the text
	number int // 0: a bullet
	empty  bool
}

func marker(bare string) (mark, bool) {
	digits := 0
	for digits < len(bare) && digits < 9 && bare[digits] >= '0' && bare[digits] <= '9' {
		digits++
	}
	m := mark{width: 1}
	switch {
	case digits > 0 && digits < len(bare) && (bare[digits] == '.' || bare[digits] == ')'):
		for _, d := range bare[:digits] {
			m.number = m.number*10 + int(d-'0')
		}
		m.width = digits + 1
	case digits == 0 && strings.IndexByte("-*+", bare[0]) >= 0 && !isRule(bare):
	default:
		return m, false
	}
	after := bare[m.width:]
	if after == "" {
		m.empty = true
		m.width++
		return m, true
	}
	blanks := indentOf(after)
	if blanks == 0 {
		return m, false
	}
	if blanks > 4 {
		blanks = 1
	}
	m.width += blanks
	return m, true
}

// maxNested is how deep quotes and lists may stand in each other on one line. Nobody writes deeper ones, and each level costs.
const maxNested = 12

// shallow takes the marks beyond maxNested off the beginning of a line.
func shallow(text string) string {
	at := indentOf(text)
	if at == len(text) || isRule(text[at:]) {
		return text
	}
	for count := 0; at < len(text); count++ {
		width := 1
		if text[at] != '>' {
			m, isItem := marker(text[at:])
			if !isItem {
				return text
			}
			width = m.width
		}
		if count == maxNested {
			return text[:at] + strings.TrimLeft(text[at:], ">-*+.)0123456789 ")
		}
		at = min(at+width, len(text))
		at += indentOf(text[at:])
	}
	return text
}

func indentOf(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

func unindent(text string, columns int) string { return text[min(columns, indentOf(text)):] }

// interrupts tells the lines that end a paragraph without an empty line between.
func interrupts(bare string) bool {
	return isHeading(bare) || fenceMarks(bare) != "" || isRule(bare) || strings.HasPrefix(bare, ">")
}

func isHeading(bare string) bool {
	marks := len(bare) - len(strings.TrimLeft(bare, "#"))
	return marks > 0 && marks <= 6 && (len(bare) == marks || bare[marks] == ' ')
}

// fenceMarks are the marks that open a fence, or nothing.
func fenceMarks(bare string) string {
	if !strings.HasPrefix(bare, "```") && !strings.HasPrefix(bare, "~~~") {
		return ""
	}
	info := strings.TrimLeft(bare, bare[:1])
	if bare[0] == '`' && strings.Contains(info, "`") {
		return ""
	}
	return bare[:len(bare)-len(info)]
}

func isRule(bare string) bool {
	c := bare[0]
	if c != '-' && c != '*' && c != '_' {
		return false
	}
	return strings.Count(bare, bare[:1]) >= 3 && strings.Trim(bare, string(c)+" ") == ""
}

// isUnderline tells the line that makes a heading of what stands above it.
func isUnderline(bare string) bool {
	bare = strings.TrimRight(bare, " ")
	return strings.Trim(bare, "=") == "" || strings.Trim(bare, "-") == ""
}
