package ignore

import "strings"

// wildmatch reports whether text matches a pattern of git: * and ? stop at slashes, ** between slashes goes over
// them. It works on bytes, as git does. The work is bounded by the product of the lengths: of several single stars only the
// last is retried, and a double star remembers where it failed.
func wildmatch(p string, t []byte) bool {
	m := matcher{pattern: p, text: t}
	return m.from(0, 0)
}

type matcher struct {
	pattern string
	text    []byte
	failed  map[[2]int]bool // pairs behind a double star that cannot match
}

func (m *matcher) from(pi, ti int) bool {
	star, starText := -1, 0 // where to go on when the last single star takes one byte more
	p, t := m.pattern, m.text
	for {
		if pi == len(p) {
			if ti == len(t) {
				return true
			}
		} else {
			switch c := p[pi]; c {
			case '*':
				if strings.HasPrefix(p[pi:], "**") {
					end := pi + 2
					for end < len(p) && p[end] == '*' {
						end++
					}
					if (pi == 0 || p[pi-1] == '/') && (end == len(p) || p[end] == '/') {
						// Single stars before it cannot help: a slash lies between, and they stop there.
						return m.doubleStar(end, ti)
					}
					pi = end - 1
				}
				star, starText = pi+1, ti
				pi++
				continue
			default:
				if ti < len(t) {
					if next, ok := one(p, pi, t[ti]); ok {
						pi, ti = next, ti+1
						continue
					}
				}
			}
		}
		if star < 0 || starText >= len(t) || t[starText] == '/' {
			return false
		}
		starText++
		pi, ti = star, starText
	}
}

// doubleStar matches what follows ** at end: nothing more, or a slash and the rest in any folder below ti.
func (m *matcher) doubleStar(end, ti int) bool {
	if end == len(m.pattern) {
		return true
	}
	for {
		key := [2]int{end + 1, ti}
		if !m.failed[key] {
			if m.from(end+1, ti) {
				return true
			}
			if m.failed == nil {
				m.failed = make(map[[2]int]bool)
			}
			m.failed[key] = true
		}
		slash := indexSlash(m.text, ti)
		if slash < 0 {
			return false
		}
		ti = slash + 1
	}
}

func indexSlash(t []byte, from int) int {
	for i := from; i < len(t); i++ {
		if t[i] == '/' {
			return i
		}
	}
	return -1
}

// one matches a single byte against the part of p at pi, and returns where the next part begins.
func one(p string, pi int, c byte) (next int, ok bool) {
	switch p[pi] {
	case '?':
		return pi + 1, c != '/'
	case '[':
		return class(p, pi, c)
	case '\\':
		if pi+1 == len(p) {
			return 0, false // git: a pattern with a stray backslash at its end never matches
		}
		return pi + 2, p[pi+1] == c
	}
	return pi + 1, p[pi] == c
}

// class matches c against the bracket expression at pi. One that is not closed never matches.
func class(p string, pi int, c byte) (next int, ok bool) {
	i := pi + 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	found := false
	for first := true; ; first = false {
		if i >= len(p) {
			return 0, false
		}
		if p[i] == ']' && !first {
			break
		}
		if strings.HasPrefix(p[i:], "[:") {
			if end := strings.Index(p[i+2:], ":]"); end >= 0 {
				in, known := posix(p[i+2:i+2+end], c)
				if !known {
					return 0, false
				}
				found = found || in
				i += end + 4
				continue
			}
		}
		lo, after, ok := classByte(p, i)
		if !ok {
			return 0, false
		}
		hi := lo
		if after+1 < len(p) && p[after] == '-' && p[after+1] != ']' {
			if hi, after, ok = classByte(p, after+1); !ok {
				return 0, false
			}
		}
		found = found || c == lo || lo <= c && c <= hi // git: also for a range that is upside down
		i = after
	}
	return i + 1, found != negated && c != '/'
}

func classByte(p string, i int) (b byte, next int, ok bool) {
	if p[i] == '\\' {
		i++
		if i == len(p) {
			return 0, 0, false
		}
	}
	return p[i], i + 1, true
}

func posix(name string, c byte) (in, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < ' ' || c == 127, true
	case "digit":
		return digit, true
	case "graph":
		return c > ' ' && c < 127, true
	case "lower":
		return lower, true
	case "print":
		return c >= ' ' && c < 127, true
	case "punct":
		return c > ' ' && c < 127 && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
