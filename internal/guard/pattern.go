package guard

import (
	"path"
	"strings"

	"gofer/internal/guard/shellsyntax"
)

// A pathPattern is the pattern of one rule for files, made absolute. It fits a path if it fits the path itself or a
// folder above it, as in .gitignore.
type pathPattern struct {
	rule     *Rule
	elements []string // of the path; "**" is any number of them
	anywhere bool     // a bare name such as .env, at any depth
	literal  bool     // no element has a wild character
	folder   string   // the literal beginning of an anchored pattern
}

// places is where patterns are anchored.
type places struct {
	dir, home string
	fold      bool // file names differ only by more than their case
}

func (p places) lower(s string) string {
	if p.fold {
		return strings.ToLower(s)
	}
	return s
}

func (p places) compile(r *Rule) pathPattern {
	text := r.Content
	pp := pathPattern{rule: r}
	root := r.Root
	if root == "" {
		root = p.dir
	}
	switch {
	case strings.HasPrefix(text, "//"):
		text = text[1:]
	case text == "~" || strings.HasPrefix(text, "~/"):
		text = p.home + text[1:]
	case strings.HasPrefix(text, "/"):
		text = root + text
	default:
		for strings.HasPrefix(text, "./") {
			text = strings.TrimLeft(text[2:], "/")
		}
		bare := strings.TrimSuffix(strings.TrimSuffix(text, "/**"), "/")
		switch {
		case text == "" || text == ".":
			text = p.dir
		case text == "**":
			text = p.dir + "/**"
		case strings.HasPrefix(text, "**/"):
			pp.anywhere = true
		case !strings.Contains(text, "/") || strings.HasSuffix(text, "/") && !strings.Contains(bare, "/"):
			pp.anywhere = true
			text = "**/" + bare
		default:
			text = p.dir + "/" + text
		}
	}
	text = strings.TrimSuffix(p.lower(text), "/")
	for strings.HasSuffix(text, "/**") { // what is below a folder, and the folder itself
		text = strings.TrimSuffix(text, "/**")
	}
	if !pp.anywhere {
		text = path.Clean("/" + text)
	}
	for e := range strings.SplitSeq(strings.Trim(text, "/"), "/") {
		if e != "" {
			pp.elements = append(pp.elements, e)
		}
	}
	if pp.anywhere && r.Behavior == Allow { // what is denied is denied everywhere; what is allowed is allowed here
		pp.anywhere = false
		pp.elements = append(split(p.lower(p.dir)), pp.elements...)
	}
	pp.literal = !strings.ContainsAny(strings.Join(pp.elements, "/"), `*?[\`)
	if !pp.anywhere {
		n := 0
		for n < len(pp.elements) && !strings.ContainsAny(pp.elements[n], `*?[\`) {
			n++
		}
		pp.folder = "/" + strings.Join(pp.elements[:n], "/")
	}
	return pp
}

// fits reports whether the pattern fits the elements of a path.
func (pp *pathPattern) fits(elements []string) bool {
	return fitElements(pp.elements, elements, fitName)
}

// mayFit reports whether some path that the wild elements stand for fits.
func (pp *pathPattern) mayFit(elements []string) bool {
	return overlapElements(pp.elements, elements)
}

func fitElements(pattern, elements []string, fit func(pattern, name string) bool) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := 0; i <= len(elements); i++ {
				if fitElements(pattern[1:], elements[i:], fit) {
					return true
				}
			}
			return false
		}
		if len(elements) == 0 || !fit(pattern[0], elements[0]) {
			return false
		}
		pattern, elements = pattern[1:], elements[1:]
	}
	return true // the rest of the path is below
}

// fitName is a glob over one name: * and ? and [a-z]. A backslash makes the next character literal. A star that proves
// too short is tried again one character longer, and only the last one, so that the time is bounded.
func fitName(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, mark = p, n
				p++
				continue
			}
			if size, ok := fitChar(pattern[p:], name[n:]); ok {
				p += size
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// fitChar compares the first character of a glob with the first byte of name, and returns the length of the former.
func fitChar(pattern, name string) (size int, ok bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		if end, in := class(pattern, name); end >= 0 {
			return end + 1, in
		}
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == name[0]
		}
	}
	return 1, pattern[0] == name[0]
}

// class reads [abc] at the beginning of pattern, and reports where it ends and whether the first byte of name is in it.
func class(pattern, name string) (end int, in bool) {
	end = strings.IndexByte(pattern[1:], ']')
	if end == 0 {
		if next := strings.IndexByte(pattern[2:], ']'); next >= 0 {
			end = next + 1
		} else {
			end = -1
		}
	}
	if end < 0 {
		return -1, false
	}
	end++
	if name == "" {
		return end, false
	}
	set := pattern[1:end]
	not := strings.HasPrefix(set, "!") || strings.HasPrefix(set, "^")
	if not {
		set = set[1:]
	}
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			in = in || set[i] <= name[0] && name[0] <= set[i+2]
			i += 2
			continue
		}
		in = in || set[i] == name[0]
	}
	return end, in != not
}

// overlapElements reports whether a path exists that both the pattern and the wild elements describe.
func overlapElements(pattern, elements []string) bool {
	o := overlaps{seen: make([]bool, (len(pattern)+1)*(len(elements)+1)), width: len(elements) + 1}
	return o.elements(pattern, elements)
}

// overlaps remembers which pairs of ends were tried in vain, which bounds the search.
type overlaps struct {
	seen  []bool
	width int
}

func (o *overlaps) tried(pattern, rest int) bool {
	at := pattern*o.width + rest
	before := o.seen[at]
	o.seen[at] = true
	return before
}

func (o *overlaps) elements(pattern, elements []string) bool {
	if len(pattern) == 0 {
		return true
	}
	if o.tried(len(pattern), len(elements)) {
		return false
	}
	if pattern[0] == "**" {
		return o.elements(pattern[1:], elements) || len(elements) > 0 && (o.elements(pattern, elements[1:]) || endless(elements[0]) && o.elements(pattern[1:], elements))
	}
	if len(elements) == 0 {
		return false
	}
	if endless(elements[0]) && (o.elements(pattern[1:], elements) || o.elements(pattern, elements[1:])) {
		return true
	}
	return overlapNames(pattern[0], elements[0]) && o.elements(pattern[1:], elements[1:])
}

// endless reports whether an element of a path may stand for several.
func endless(e string) bool {
	return strings.IndexByte(e, shellsyntax.AnyText) >= 0 || strings.IndexByte(e, shellsyntax.AnyPath) >= 0
}

// overlapNames reports whether a name exists that both the glob of a rule and the wild name describe. The star of a shell
// does not stand for a dot at the beginning.
func overlapNames(rule, name string) bool {
	if !strings.ContainsAny(name, shellsyntax.Wild) {
		return fitName(rule, name)
	}
	if (name[0] == shellsyntax.AnyName || name[0] == shellsyntax.AnyChar) && strings.HasPrefix(rule, ".") {
		return false
	}
	return overlapText(rule, name)
}

// overlapText is overlapNames without the rule about dots: for the text of commands.
func overlapText(rule, name string) bool {
	if len(rule)*len(name) > 1<<20 {
		return true
	}
	o := overlaps{seen: make([]bool, (len(rule)+1)*(len(name)+1)), width: len(name) + 1}
	return o.text(rule, name)
}

func (o *overlaps) text(rule, name string) bool {
	if rule == "" && name == "" {
		return true
	}
	if o.tried(len(rule), len(name)) {
		return false
	}
	switch {
	case name != "" && wildRun(name[0]):
		return o.text(rule, name[1:]) || rule != "" && o.text(rule[ruleChar(rule):], name)
	case rule != "" && rule[0] == '*':
		return o.text(rule[1:], name) || name != "" && o.text(rule, name[1:])
	case rule == "" || name == "":
		return false
	case name[0] == shellsyntax.AnyChar:
		return o.text(rule[ruleChar(rule):], name[1:])
	}
	size, ok := fitChar(rule, name)
	return ok && o.text(rule[size:], name[1:])
}

// wildRun reports whether the byte stands for any number of characters.
func wildRun(b byte) bool {
	return b == shellsyntax.AnyName || b == shellsyntax.AnyText || b == shellsyntax.AnyPath
}

// ruleChar is the length of the first character of a glob: one byte, a class, or a backslash with what follows.
func ruleChar(rule string) int {
	switch {
	case rule[0] == '\\' && len(rule) > 1:
		return 2
	case rule[0] == '[':
		if end, _ := class(rule, ""); end > 0 {
			return end + 1
		}
	}
	return 1
}
