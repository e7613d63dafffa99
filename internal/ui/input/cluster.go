package input

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"gofer/internal/ui/screen"
)

// What a person takes for one character is a grapheme cluster: a letter with its accents, an emoji with its joiners.
const (
	longestCluster = 512  // bytes; what is longer is taken apart
	lookBehind     = 4096 // bytes that are looked through to find where a cluster begins
	tabWidth       = 4
)

// nextCluster is the end of the cluster that begins at pos.
func nextCluster(text string, pos int) int {
	if pos >= len(text) {
		return len(text)
	}
	if text[pos] < utf8.RuneSelf && (pos+1 == len(text) || text[pos+1] < utf8.RuneSelf) {
		return pos + 1
	}
	window := text[pos:min(len(text), pos+longestCluster)]
	for len(window) > 0 && pos+len(window) < len(text) && !utf8.RuneStart(text[pos+len(window)]) {
		window = window[:len(window)-1]
	}
	it := graphemes.FromString(window)
	if !it.Next() || len(it.Value()) == 0 {
		return pos + 1
	}
	return pos + len(it.Value())
}

// previousCluster is the beginning of the cluster that ends at pos.
func previousCluster(text string, pos int) int {
	if pos <= 0 {
		return 0
	}
	if text[pos-1] < utf8.RuneSelf && (pos == 1 || text[pos-2] < utf8.RuneSelf) {
		return pos - 1
	}
	// Between two ASCII characters there is always a boundary: a place to begin counting from.
	from := pos - 1
	for limit := max(0, pos-lookBehind); from > limit; from-- {
		if text[from] < utf8.RuneSelf && text[from-1] < utf8.RuneSelf {
			break
		}
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for {
		next := nextCluster(text, from)
		if next >= pos {
			return from
		}
		from = next
	}
}

// clusterWidth is how many columns a cluster takes in the box.
func clusterWidth(cluster string) int {
	if len(cluster) == 1 {
		if cluster[0] == '\t' {
			return tabWidth
		}
		return 1
	}
	return ansi.StringWidth(cluster)
}

// maxMarks is how many accents in a row one character may have; the Unicode standard calls such text stream-safe.
const maxMarks = 30

// Clean makes a foreign text fit for the box: escape sequences, control characters, characters that turn the direction of
// writing and invisible ones that could hide something are taken out; line ends are one form; broken UTF-8 becomes the sign
// for it. Tabs stay: in some files they mean something.
func Clean(s string) string {
	if !strings.ContainsFunc(s, foreign) && utf8.ValidString(s) {
		return s
	}
	pieces := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\t")
	for i, piece := range pieces {
		pieces[i] = screen.Clean(piece)
	}
	s = strings.Join(pieces, "\t")
	var b strings.Builder
	b.Grow(len(s))
	marks, last := 0, rune(0)
	for _, r := range s {
		switch {
		case invisible(r), r >= 0xE0000 && r <= 0xE007F && last != 0x1F3F4:
			continue
		case isMark(r):
			if marks++; marks > maxMarks {
				continue
			}
		default:
			marks = 0
		}
		if r < 0xE0000 || r > 0xE007F {
			last = r // the tags that make a flag of a region follow a black flag
		}
		b.WriteRune(r)
	}
	return b.String()
}

// foreign reports whether a text with this character needs a closer look.
func foreign(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || isMark(r) || steers(r)
}

// isMark reports whether a character joins the one before it. Most are told apart without a table.
func isMark(r rune) bool {
	if r < 0x300 || r >= 0x3100 && r < 0xa66f || r >= 0xac00 && r < 0xd7b0 {
		return false
	}
	return unicode.In(r, unicode.Mn, unicode.Me)
}

// steers reports whether a character must not stand in the box.
func steers(r rune) bool {
	if r >= 0xa0 && (r < 0x61c || r > 0x61c && r < 0x200b || r > 0x206f && r != 0xfeff) {
		return r >= 0xE0000 && r <= 0xE007F
	}
	return invisible(r) || r != '\n' && r != '\t' && screen.Clean(string(r)) != string(r)
}

// invisible are characters without width that do nothing but hide, or break words in two.
func invisible(r rune) bool { return r == 0x200b || r == 0x2060 || r == 0xfeff }

// shown is a piece of text as it is drawn: tabs as blanks, nothing that steers.
func shown(s string) string {
	return screen.Clean(strings.ReplaceAll(s, "\t", strings.Repeat(" ", tabWidth)))
}

// isWordRune reports whether a character belongs to a word for the moves by words.
func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}
