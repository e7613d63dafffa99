package shellsyntax

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxWords bounds what one word may become by braces and by variables with several values.
const maxWords = 64

// words expands w to the lists of arguments that it may become. Most words have one list of one argument; a
// variable with several possible values gives several lists, braces give several arguments.
func (a *analysis) words(w *syntax.Word, sc *scope) [][]Word {
	source := a.text(w)
	if !braced(w) {
		return a.alternatives(w, sc, source)
	}
	unknown := [][]Word{{{Pattern: string(AnyText), Source: source, Many: true}}}
	copied := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
	if escapedBrace(w) {
		return unknown
	}
	if !syntax.SplitBraces(copied) {
		return a.alternatives(w, sc, source)
	}
	lists := [][]Word{nil}
	n := 0
	for one, err := range expand.BracesSeq(nil, copied) {
		if n++; err != nil || n > maxWords {
			return unknown
		}
		next := a.alternatives(one, sc, "")
		if len(next)*len(lists) > maxWords {
			return unknown
		}
		var joined [][]Word
		for _, l := range lists {
			for _, m := range next {
				joined = append(joined, append(l[:len(l):len(l)], m...))
			}
		}
		lists = joined
	}
	return lists
}

func braced(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.Contains(l.Value, "{") {
			return true
		}
	}
	return false
}

// escapedBrace finds the words of which the brace splitter and the shell might think differently.
func escapedBrace(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.Contains(l.Value, "{") && strings.Contains(l.Value, `\`) {
			return true
		}
	}
	return false
}

// A piece collects the value of a word from left to right.
type piece struct {
	text strings.Builder
	many bool
	some bool // a quote stood in it, so that the word exists even when it is empty
}

func (a *analysis) alternatives(w *syntax.Word, sc *scope, source string) [][]Word {
	var p piece
	choices := a.parts(&p, w.Parts, sc, false, 0)
	if choices == 1 {
		return [][]Word{single(&p, source)}
	}
	lists := make([][]Word, 0, choices)
	for choice := range choices {
		var p piece
		a.parts(&p, w.Parts, sc, false, choice)
		lists = append(lists, single(&p, source))
	}
	return lists
}

func single(p *piece, source string) []Word {
	text := p.text.String()
	if text == "" && !p.some {
		return nil
	}
	word := Word{Pattern: text, Many: p.many}
	if strings.ContainsAny(text, Wild) {
		word.Source = source
	}
	return []Word{word}
}

// one is the value of a word that is not split: an assignment, the target of a redirection.
func (a *analysis) one(w *syntax.Word, sc *scope) string {
	if w == nil {
		return ""
	}
	var p piece
	if a.parts(&p, w.Parts, sc, false, 0) > 1 {
		return string(AnyText)
	}
	return p.text.String()
}

// parts appends the value of the parts to p, and returns how many values the variables in it allow. With more
// than one, choice says which one to take.
func (a *analysis) parts(p *piece, parts []syntax.WordPart, sc *scope, quoted bool, choice int) int {
	choices := 1
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			switch {
			case quoted:
				p.text.WriteString(unescapeQuoted(part.Value))
			case i == 0 && strings.HasPrefix(part.Value, "~"):
				p.text.WriteString(a.tilde(part.Value, len(parts) > 1, sc))
			default:
				a.literal(p, part.Value, len(parts) > 1)
			}
		case *syntax.SglQuoted:
			p.some = true
			if part.Dollar {
				p.text.WriteString(ansiC(part.Value))
			} else {
				p.text.WriteString(part.Value)
			}
		case *syntax.DblQuoted:
			p.some = true
			if n := a.parts(p, part.Parts, sc, true, choice); n > 1 {
				choices = max(n, choices)
			}
		case *syntax.ParamExp:
			values, many := a.param(part, sc, quoted)
			p.many = p.many || many
			if len(values) > 1 {
				if choices > 1 && choices != len(values) {
					values = []string{string(AnyText)} // two lists of values: too many to follow
				} else {
					choices = len(values)
				}
			}
			p.text.WriteString(values[min(choice, len(values)-1)])
		case *syntax.ProcSubst:
			p.text.WriteString("/dev/fd/63")
		default: // command substitution, arithmetic, extended globs
			p.text.WriteByte(AnyText)
			p.many = p.many || !quoted
		}
	}
	return choices
}

// literal appends unquoted text: backslashes are resolved and globs become wild bytes.
func (a *analysis) literal(p *piece, s string, more bool) {
	if home, ok := a.assignTilde(s); ok {
		s = home
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i+1 < len(s) {
				i++
				if s[i] != '\n' {
					p.text.WriteByte(s[i])
				}
			}
		case '*':
			p.many = true
			if a.globs {
				p.text.WriteByte(AnyText)
			} else {
				p.text.WriteByte(AnyName)
			}
		case '?':
			p.many = true
			p.text.WriteByte(AnyChar)
		case '[':
			end := strings.IndexByte(s[i+1:], ']')
			if end == 0 || end == 1 && s[i+1] == '!' {
				if next := strings.IndexByte(s[i+2+end:], ']'); next >= 0 {
					end += 1 + next
				} else {
					end = -1
				}
			}
			switch {
			case end >= 0:
				p.many = true
				p.text.WriteByte(AnyChar)
				i += 1 + end
			case more: // the bracket may close in a part that follows
				p.many = true
				p.text.WriteByte(AnyText)
			default:
				p.text.WriteByte(c)
			}
		default:
			p.text.WriteByte(c)
		}
	}
}

// assignTilde expands the ~ of an argument such as of=~/x, as bash does.
func (a *analysis) assignTilde(s string) (string, bool) {
	name, value, ok := strings.Cut(s, "=~")
	if !ok || !isName(name) || value != "" && value[0] != '/' {
		return "", false
	}
	home := a.opts.Home
	if home == "" {
		home = string(AnyText)
	}
	return name + "=" + home + value, true
}

func (a *analysis) tilde(s string, more bool, sc *scope) string {
	var p piece
	user, rest, slash := strings.Cut(s[1:], "/")
	if slash {
		rest = "/" + rest
	}
	switch {
	case more && !slash:
		a.literal(&p, s, more)
		return p.text.String()
	case user == "" && a.opts.Home != "" && !a.assigned("HOME"):
		p.text.WriteString(a.opts.Home)
	case user == "+" && len(sc.dirs) == 1:
		p.text.WriteString(sc.dirs[0])
	default:
		p.text.WriteByte(AnyText)
	}
	a.literal(&p, rest, more)
	return p.text.String()
}

// param returns the values that an expansion may have. At least one is returned.
func (a *analysis) param(e *syntax.ParamExp, sc *scope, quoted bool) (values []string, many bool) {
	unknown := []string{string(AnyText)}
	if e.Param == nil || e.Excl || e.Length || e.Width || e.Index != nil || e.Slice != nil || e.Repl != nil || e.Names != 0 ||
		e.Exp != nil || e.Flags != nil || e.NestedParam != nil || len(e.Modifiers) > 0 {
		return unknown, !quoted
	}
	name := e.Param.Value
	switch {
	case name == "HOME" && a.opts.Home != "" && !a.assigned(name) && !a.wild:
		values = []string{a.opts.Home}
	case name == "PWD" && len(sc.dirs) == 1 && !a.assigned(name) && !a.wild:
		values = []string{sc.dirs[0]}
	case sc.params != nil && len(name) == 1 && name[0] >= '1' && name[0] <= '9':
		i := int(name[0] - '1')
		if i >= len(sc.params) {
			return []string{""}, true
		}
		values = []string{sc.params[i]}
	case name == "@" && len(sc.params) == 1:
		values = []string{sc.params[0]}
	default:
		v := a.vars[name]
		if v == nil || v.unknown || a.wild || !sc.defined[name] || len(v.values) == 0 || len(v.values) > maxWords {
			return unknown, !quoted || name == "@"
		}
		values = v.values
	}
	if quoted {
		return values, false
	}
	for _, v := range values {
		if v == "" || strings.ContainsAny(v, " \t\n*?[\\") || strings.ContainsAny(v, Wild) {
			many = true
		}
		if strings.ContainsAny(v, " \t\n*?[\\") {
			return unknown, true
		}
	}
	return values, many
}

func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansiC resolves $'…'. What would hold a byte that patterns use is unknown text.
func ansiC(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if at := strings.IndexByte(`abeEfnrtv\'"?`, s[i]); at >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[at])
			continue
		}
		digits, base, most := 0, 16, 0
		switch s[i] {
		case 'x':
			most = 2
		case 'u':
			most = 4
		case 'U':
			most = 8
		case 'c':
			return string(AnyText)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			base, most = 8, 3
			i--
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
			continue
		}
		value := 0
		for digits < most && i+1 < len(s) && digit(s[i+1]) < base {
			i++
			digits++
			value = value*base + digit(s[i])
		}
		switch {
		case digits == 0 || value <= AnyPath:
			return string(AnyText)
		case most == 2 || base == 8:
			b.WriteByte(byte(value))
		default:
			b.WriteRune(rune(value))
		}
	}
	return b.String()
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return 99
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// quote writes w as a shell would need it, so that words with blanks in them cannot be taken for two.
func (w Word) quote() string {
	if strings.ContainsAny(w.Pattern, Wild) {
		if w.Source != "" {
			return w.Source
		}
		return strings.NewReplacer("\x00", "$_", "\x01", "*", "\x02", "?", "\x03", "**").Replace(w.Pattern)
	}
	if w.Pattern == "" || strings.ContainsAny(w.Pattern, " \t\n\r'\"\\$`;&|<>(){}[]*?!#~") {
		return "'" + strings.ReplaceAll(w.Pattern, "'", `'\''`) + "'"
	}
	return w.Pattern
}
