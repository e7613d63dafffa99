package match

import (
	"bytes"
	"regexp/syntax"
)

// occurrences is how often each ASCII byte occurs in 100,000 bytes of source code and documentation.
var occurrences = [128]uint16{
	9, 1, 1, 1, 1, 1, 0, 1, 1, 2095, 2959, 1, 1, 1, 0, 1,
	1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1,
	13931, 74, 1072, 216, 19, 58, 98, 252, 898, 899, 519, 88, 1299, 535, 1364, 1143,
	978, 537, 445, 292, 278, 200, 280, 136, 234, 153, 738, 224, 543, 690, 543, 8,
	33, 569, 204, 470, 304, 527, 283, 232, 129, 488, 21, 69, 389, 287, 368, 354,
	372, 24, 450, 537, 589, 190, 183, 107, 125, 71, 22, 184, 110, 184, 8, 1747,
	187, 3920, 879, 2265, 2138, 6891, 1609, 1194, 1351, 3749, 145, 425, 2542, 1472, 3787, 3582,
	1826, 122, 4019, 3820, 5140, 1750, 648, 448, 782, 765, 110, 371, 60, 370, 6, 1,
}

// frequency is the share of b, or with fold of both cases of b, in ordinary text.
func frequency(b byte, fold bool) float64 {
	if b >= 128 {
		return 0.0005
	}
	n := occurrences[b]
	if fold && isLower(b) {
		n += occurrences[b-'a'+'A']
	}
	return float64(n+1) / 100_000
}

func isLower(b byte) bool { return 'a' <= b && b <= 'z' }

// A finder looks for the first of a few strings.
type finder struct {
	needles []needle
	fold    bool
	at      int  // how far into a match the strings stand, or anywhere
	odd     bool // a string holds k or s, which a character outside ASCII folds to
}

// A needle is a string and the place of its rarest byte, which is looked for first.
type needle struct {
	text string
	rare int
	fold bool
}

// newFinder returns nil when matches of re have no string in common that is worth looking for.
func newFinder(re *syntax.Regexp) (f *finder, exact bool) {
	i := inspect(re)
	w := i.best()
	if w.cost() > usefulMax {
		return nil, false
	}
	f = &finder{fold: w.fold, at: w.at}
	for _, s := range w.list {
		n := needle{text: s, fold: w.fold}
		for k := range len(s) {
			if frequency(s[k], w.fold) < frequency(s[n.rare], w.fold) {
				n.rare = k
			}
			f.odd = f.odd || w.fold && (s[k] == 'k' || s[k] == 's')
		}
		f.needles = append(f.needles, n)
	}
	return f, i.exact && i.precise && !f.odd
}

// patience is how many bytes must lie between strings found in vain, on average, for the finder to be of use.
func (f *finder) patience() int {
	if f.at != anywhere {
		return 8
	}
	return 48
}

// usable reports whether every match in b contains one of the strings. Two characters outside ASCII fold to k and s.
func (f *finder) usable(b []byte) bool {
	return !f.odd || !bytes.Contains(b, []byte("\u212a")) && !bytes.Contains(b, []byte("\u017f"))
}

// A search remembers where each needle was found last, so that rare ones are not looked for again and again.
type search struct {
	finder *finder
	next   []int // of each needle, or len(b) if there is no more
	upper  []cursor
	text   []byte
}

// cursor remembers where the two cases of the rarest byte of a needle come next.
type cursor struct{ lower, upper int }

func newSearch(f *finder) *search {
	return &search{finder: f, next: make([]int, len(f.needles)), upper: make([]cursor, len(f.needles))}
}

func (s *search) start(b []byte) {
	s.text = b
	for i := range s.next {
		s.next[i] = -1
		s.upper[i] = cursor{-1, -1}
	}
}

// find returns the first place at or after from where a needle stands, or -1.
func (s *search) find(from int) int {
	first := len(s.text)
	for i := range s.finder.needles {
		if s.next[i] < from {
			n := &s.finder.needles[i]
			if n.fold {
				s.next[i] = n.findFold(s.text, from, &s.upper[i])
			} else {
				s.next[i] = n.find(s.text, from)
			}
		}
		first = min(first, s.next[i])
	}
	if first == len(s.text) {
		return -1
	}
	return first
}

func (n *needle) find(b []byte, from int) int {
	last := len(b) - len(n.text) + n.rare
	rare := n.text[n.rare]
	misses := 0
	for i := from + n.rare; i <= last; i++ {
		j := bytes.IndexByte(b[i:last+1], rare)
		if j < 0 {
			break
		}
		i += j
		if string(b[i-n.rare:i-n.rare+len(n.text)]) == n.text {
			return i - n.rare
		}
		// The rarest byte is common in this text: the general search copes better with that.
		if misses++; misses > 64 && misses*12 > i-from {
			at := i - n.rare + 1
			if j := bytes.Index(b[at:], []byte(n.text)); j >= 0 {
				return at + j
			}
			break
		}
	}
	return len(b)
}

func (n *needle) findFold(b []byte, from int, c *cursor) int {
	last := len(b) - len(n.text) + n.rare
	rare := n.text[n.rare]
	letter := isLower(rare)
	for i := from + n.rare; i <= last; i++ {
		c.lower = advance(b[:last+1], i, c.lower, rare)
		at := c.lower
		if letter {
			c.upper = advance(b[:last+1], i, c.upper, rare-'a'+'A')
			at = min(at, c.upper)
		}
		if at > last {
			break
		}
		i = at
		if equalFold(b[i-n.rare:i-n.rare+len(n.text)], n.text) {
			return i - n.rare
		}
	}
	return len(b)
}

// advance returns where c comes next at or after i, given that it was known to come at known.
func advance(b []byte, i, known int, c byte) int {
	if known >= i {
		return known
	}
	if j := bytes.IndexByte(b[i:], c); j >= 0 {
		return i + j
	}
	return 1 << 62
}

// equalFold compares without regard to the case of ASCII letters; text is in lower case.
func equalFold(b []byte, text string) bool {
	for i := range len(text) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != text[i] {
			return false
		}
	}
	return true
}
