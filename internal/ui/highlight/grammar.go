package highlight

import (
	"strings"
	"unicode/utf8"
)

// A grammar is a language of the large family that is made of words, strings, comments and numbers.
type grammar struct {
	keywords, types, constants string // words, apart by blanks
	anyCase                    bool   // of the words

	lines  []string // what begins a comment that ends with the line
	blocks []quote  // comments that end where they say, also on a later line
	nested bool     // comments of the first kind in blocks may hold others

	strings  []quote
	prefixes string // letters that may stand right before a string

	letters string // what words are made of besides letters, digits and the underline
	sigils  string // what begins a name that is painted as a variable: $name, @name
	hash    bool   // a # at the beginning of a line begins a directive
	regexps bool   // a slash where a value is expected begins a regular expression
	tags    bool   // <name begins a tag where a value is expected
	rust    bool   // 'a is a lifetime, name! a macro
	shell   bool   // the first word of a command is one, and no other
	wordy   bool   // a comment begins only where a word could
	upper   bool   // names that begin with a capital letter are types
}

// A quote is a string or a comment: how it begins and ends.
type quote struct {
	open, close string
	escape      byte // takes the meaning from the character that follows
	lines       bool // it goes on in the next line
}

var (
	double = quote{open: `"`, close: `"`, escape: '\\'}
	single = quote{open: "'", close: "'", escape: '\\'}
	back   = quote{open: "`", close: "`", lines: true}
	cBlock = quote{open: "/*", close: "*/", lines: true}
)

// A reader is a grammar made ready: words in one map, quotes sorted by their first byte.
type reader struct {
	grammar
	words map[string]Kind
	byte1 [256]bool // begins a quote or a comment
}

func (g grammar) compile() *reader {
	r := &reader{grammar: g, words: map[string]Kind{}}
	for kind, list := range map[Kind]string{Keyword: g.keywords, Type: g.types, Number: g.constants} {
		for _, w := range strings.Fields(list) {
			r.words[w] = kind
		}
	}
	for _, q := range append(g.blocks[:len(g.blocks):len(g.blocks)], g.strings...) {
		r.byte1[q.open[0]] = true
	}
	for _, c := range g.lines {
		r.byte1[c[0]] = true
	}
	return r
}

// The state of a reader: 0, or the number of the open quote from 1 on, with the depth of nested comments above.
const depthShift = 8

func (r *reader) quote(number State) (quote, Kind) {
	i := int(number&0xff) - 1
	if i < len(r.blocks) {
		return r.blocks[i], Comment
	}
	return r.strings[i-len(r.blocks)], String
}

// read is one pass over the line.
func (r *reader) read(line string, state State) ([]Span, State) {
	p := pass{reader: r, line: line, value: true}
	if state != 0 {
		if p.inside(state); p.state != 0 {
			return p.spans, p.state
		}
	}
	if r.hash && p.at == 0 {
		p.directive()
	}
	for p.at < len(line) && p.state == 0 {
		p.next()
	}
	return p.spans, p.state
}

// A pass is a line while it is read.
type pass struct {
	*reader
	line  string
	at    int
	spans []Span
	state State
	value bool // a value may stand here, and not an operator
	after string
}

func (p *pass) span(start, end int, kind Kind) {
	if kind == Plain || start >= end {
		return
	}
	if n := len(p.spans); n > 0 && p.spans[n-1].End == start && p.spans[n-1].Kind == kind {
		p.spans[n-1].End = end
		return
	}
	p.spans = append(p.spans, Span{start, end, kind})
}

func (p *pass) next() {
	c := p.line[p.at]
	switch {
	case c == ' ':
		p.at++
	case p.byte1[c] && p.quoted():
	case isDigit(c) || c == '.' && p.at+1 < len(p.line) && isDigit(p.line[p.at+1]) && p.value:
		p.number()
	case p.isLetter(c):
		p.word()
	case strings.IndexByte(p.sigils, c) >= 0 && c != 0:
		p.variable()
	case c == '/' && p.regexps && p.value && p.regexp():
	case c == '<' && p.tags && (p.value || strings.HasPrefix(p.line[p.at:], "</")) && p.tag():
	case c == '\'' && p.rust:
		p.lifetime()
	default:
		p.value = c != ')' && c != ']' && c != '}'
		if p.shell {
			p.value = strings.IndexByte("|;&({!`", c) >= 0
		}
		p.at++
	}
}

// quoted reads a comment or a string, if one begins here.
func (p *pass) quoted() bool {
	rest := p.line[p.at:]
	for _, open := range p.lines {
		if strings.HasPrefix(rest, open) && (!p.wordy || p.at == 0 || strings.IndexByte(" ;(|&", p.line[p.at-1]) >= 0) {
			p.span(p.at, len(p.line), Comment)
			p.at = len(p.line)
			return true
		}
	}
	number := State(0)
	for _, list := range [][]quote{p.blocks, p.strings} {
		for _, q := range list {
			number++
			if strings.HasPrefix(rest, q.open) && !(p.rust && q.open == "'" && !isChar(rest)) {
				start := p.at
				p.at += len(q.open)
				p.finish(start, number, 1)
				p.value = false
				return true
			}
		}
	}
	return false
}

// inside goes on with a quote that an earlier line has opened.
func (p *pass) inside(state State) {
	depth := max(int(state>>depthShift), 1)
	p.finish(0, state&0xff, depth)
	p.value = false
}

// finish reads to the end of a quote, or of the line.
func (p *pass) finish(start int, number State, depth int) {
	q, kind := p.quote(number)
	nested := p.nested && kind == Comment && number == 1
	for p.at < len(p.line) {
		rest := p.line[p.at:]
		switch {
		case q.escape != 0 && rest[0] == q.escape:
			p.at += min(2, len(rest))
		case strings.HasPrefix(rest, q.close):
			p.at += len(q.close)
			if depth--; depth == 0 {
				p.span(start, p.at, kind)
				return
			}
		case nested && strings.HasPrefix(rest, q.open):
			p.at += len(q.open)
			depth = min(depth+1, 1<<16)
		default:
			p.at++
		}
	}
	p.span(start, len(p.line), kind)
	if q.lines {
		p.state = number | State(depth)<<depthShift
	}
}

func (p *pass) number() {
	start := p.at
	for p.at++; p.at < len(p.line); p.at++ {
		c := p.line[p.at]
		exponent := (c == '+' || c == '-') && strings.IndexByte("eEpP", p.line[p.at-1]) >= 0 && !strings.HasPrefix(p.line[start:], "0x")
		if !isDigit(c) && !isASCIILetter(c) && c != '.' && c != '_' && !exponent {
			break
		}
		if c == '.' && p.at+1 < len(p.line) && p.line[p.at+1] == '.' {
			break // a range
		}
	}
	p.span(start, p.at, Number)
	p.value = false
}

func (p *pass) word() {
	start := p.at
	for p.at < len(p.line) && (p.isLetter(p.line[p.at]) || isDigit(p.line[p.at])) {
		p.at++
	}
	word := p.line[start:p.at]
	if len(word) <= 3 && p.prefixes != "" && p.at < len(p.line) && (p.line[p.at] == '"' || p.line[p.at] == '\'') && strings.Trim(word, p.prefixes) == "" {
		before := len(p.spans)
		if p.quoted() && len(p.spans) > before {
			p.spans[before].Start = start
		}
		return
	}
	if p.anyCase {
		word = strings.ToLower(word)
	}
	kind, ok := p.words[word]
	if !ok {
		kind = p.guess(word)
	}
	if p.shell {
		kind = p.command(kind, word)
	}
	p.span(start, p.at, kind)
	p.value = kind == Keyword && (!p.shell || strings.Contains(" if then else elif do while until time exec ", " "+word+" "))
	p.after = word
}

// command tells what a word of a shell command is: the first one is the command, and only there most keywords are keywords.
func (p *pass) command(kind Kind, word string) Kind {
	switch {
	case kind == Keyword && (p.value || word == "in" || word == "do" || word == "then"):
		return Keyword
	case p.value && !strings.HasPrefix(p.line[p.at:], "="):
		return Function
	}
	return Plain
}

// guess tells what a name that the language does not know is, by what stands around it.
func (p *pass) guess(word string) Kind {
	rest := p.line[p.at:]
	switch {
	case p.rust && strings.HasPrefix(rest, "!") && !strings.HasPrefix(rest, "!="):
		return Function
	case p.upper && word[0] >= 'A' && word[0] <= 'Z':
		return Type
	case strings.HasPrefix(rest, "("):
		return Function
	case p.after == "function" || p.after == "def" || p.after == "func" || p.after == "fn" || p.after == "fun":
		return Function
	case p.after == "class" || p.after == "struct" || p.after == "interface" || p.after == "enum" || p.after == "trait" || p.after == "type":
		return Type
	}
	return Plain
}

func (p *pass) variable() {
	start := p.at
	p.at++
	if p.at < len(p.line) && p.line[p.at] == '{' {
		if end := strings.IndexByte(p.line[p.at:], '}'); end >= 0 {
			p.at += end + 1
		}
	}
	for p.at < len(p.line) && (p.isLetter(p.line[p.at]) || isDigit(p.line[p.at])) {
		p.at++
	}
	if p.at > start+1 {
		p.span(start, p.at, Type)
	}
	p.value = false
}

// regexp reads a regular expression, if one ends on this line.
func (p *pass) regexp() bool {
	class := false
	for i := p.at + 1; i < len(p.line); i++ {
		switch c := p.line[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class && i > p.at+1:
			for i++; i < len(p.line) && isASCIILetter(p.line[i]); i++ {
			}
			p.span(p.at, i, String)
			p.at, p.value = i, false
			return true
		}
	}
	return false
}

func (p *pass) tag() bool {
	i := p.at + 1
	if i < len(p.line) && p.line[i] == '/' {
		i++
	}
	if i >= len(p.line) || !isASCIILetter(p.line[i]) {
		return false
	}
	for i < len(p.line) && (p.isLetter(p.line[i]) || isDigit(p.line[i]) || p.line[i] == '.' || p.line[i] == '-') {
		i++
	}
	p.span(p.at, i, Type)
	p.at, p.value = i, true
	return true
}

// isChar tells the character 'a' from the lifetime 'a.
func isChar(rest string) bool {
	if len(rest) > 1 && rest[1] == '\\' {
		return true
	}
	_, n := utf8.DecodeRuneInString(rest[1:])
	return len(rest) > 1+n && rest[1+n] == '\''
}

func (p *pass) lifetime() {
	start := p.at
	for p.at++; p.at < len(p.line) && p.isLetter(p.line[p.at]); p.at++ {
	}
	p.span(start, p.at, Type)
	p.value = false
}

// directive reads "#include" and its like.
func (p *pass) directive() {
	i := len(p.line) - len(strings.TrimLeft(p.line, " "))
	if i >= len(p.line) || p.line[i] != '#' {
		return
	}
	start := i
	for i++; i < len(p.line) && (p.line[i] == ' ' || isASCIILetter(p.line[i])); i++ {
		if p.line[i] == ' ' && i > start+1 && p.line[i-1] != ' ' {
			break
		}
	}
	p.span(start, i, Keyword)
	p.at = i
	if rest := strings.TrimSpace(p.line[i:]); strings.HasPrefix(rest, "<") && strings.HasSuffix(rest, ">") {
		p.span(i+1, len(p.line), String)
		p.at = len(p.line)
	}
}

func (p *pass) isLetter(c byte) bool {
	return isASCIILetter(c) || c == '_' || c >= utf8.RuneSelf || strings.IndexByte(p.letters, c) >= 0
}

func isDigit(c byte) bool       { return c >= '0' && c <= '9' }
func isASCIILetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
