package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/theme"
)

// Wrap breaks a text into lines of at most a width: at blanks where it can, inside words where it must. Between wide characters
// (Chinese, Japanese) a line may always end, but none begins with a mark that closes what stands before it.
//
// Each line is complete in itself: styles and links that are open at a break are closed there and opened again on the next line. So
// a line can be painted, moved or left out without its neighbours.
func Wrap(s string, width int) []string {
	w := wrapper{width: max(width, 1)}
	return w.run(s)
}

// Break breaks a text into lines of at most a width as a terminal would: where the width ends, with every blank kept. It is for
// program text and output, in which blanks have a meaning. Its lines are complete in themselves, as those of Wrap.
func Break(s string, width int) []string {
	w := wrapper{width: max(width, 1), hard: true}
	return w.run(s)
}

// A wrapper walks over a text once. A word is kept apart until its end is known, and the blanks before it with it.
type wrapper struct {
	width int
	hard  bool

	lines []string
	line  strings.Builder // what is certain to be on this line
	used  int             // its columns
	bare  bool            // the line holds nothing but sequences that open what was open before
	style pen             // as it is at the end of line

	blanks int // wait before the word
	word   strings.Builder
	wide   int  // the columns of the word
	now    pen  // as it is at the end of the word
	long   bool // it is a word that no line can hold, and its beginning is on the lines already
	broad  bool // the last character was a wide one, after which a line may end
}

// A pen is what is switched on at a place: the sequences since the last reset, and the link.
type pen struct{ on, link string }

func (p pen) open() string { return p.link + p.on }

func (p pen) close() string {
	end := ""
	if p.on != "" {
		end = theme.Reset
	}
	if p.link != "" {
		end += endLink
	}
	return end
}

const endLink = "\x1b]8;;\x1b\\"

// maxOpen bounds what is opened again on each line. Our own styles are far shorter; a text that opens styles and never ends
// them must not make each line longer than the one before.
const maxOpen = 256

func (p pen) take(sequence string) pen {
	switch {
	case sequence == theme.Reset || sequence == "\x1b[0m":
		p.on = ""
	case strings.HasPrefix(sequence, "\x1b]8;"):
		p.link = sequence
		if isEndOfLink(sequence) {
			p.link = ""
		}
	case strings.HasPrefix(sequence, "\x1b[") && strings.HasSuffix(sequence, "m"):
		if len(p.on)+len(sequence) > maxOpen {
			p.on = ""
		}
		p.on += sequence
	}
	return p
}

// isEndOfLink tells the sequence that ends a link: one whose address is empty.
func isEndOfLink(sequence string) bool {
	body := strings.TrimPrefix(sequence, "\x1b]8;")
	_, address, _ := strings.Cut(body, ";")
	return strings.TrimRight(address, "\x07\x1b\\") == ""
}

func (w *wrapper) run(s string) []string {
	w.bare = true
	for len(s) > 0 {
		switch c := s[0]; {
		case c == '\n':
			w.endWord()
			w.endBlanks()
			w.endLine()
			s = s[1:]
		case c == ' ':
			w.endWord()
			w.blanks++
			s = s[1:]
		case c > ' ' && c < 0x7f && (len(s) == 1 || s[1] < utf8.RuneSelf):
			w.glyph(s[:1], 1)
			s = s[1:]
		default:
			cluster, columns, n, _ := ansi.DecodeSequence(s, ansi.NormalState, nil)
			if n == 0 {
				n = 1
			}
			if c == 0x1b || columns == 0 && c < 0x20 {
				w.sequence(cluster)
			} else {
				w.glyph(cluster, columns)
			}
			s = s[n:]
		}
	}
	w.endWord()
	w.endBlanks()
	w.endLine()
	return w.lines
}

func (w *wrapper) sequence(sequence string) {
	if len(sequence) < 3 { // a lone escape or control character steers nothing that we know
		return
	}
	w.word.WriteString(sequence)
	w.now = w.now.take(sequence)
}

func (w *wrapper) glyph(cluster string, columns int) {
	if columns > w.width { // nothing can show it
		cluster, columns = "?", 1
	}
	if (columns > 1 || w.broad) && !w.hard && !closes(cluster) {
		w.endWord()
	}
	if !w.hard && !w.long && w.wide+columns > w.width {
		w.spill()
	}
	if w.hard || w.long {
		w.endBlanks()
		if w.used+w.wide+columns > w.width {
			w.flush()
			w.endLine()
		}
	}
	w.broad = columns > 1
	w.word.WriteString(cluster)
	w.wide += columns
}

// closes tells the marks that do not begin a line.
func closes(cluster string) bool {
	return strings.Contains("，。、；：？！）》」』】〉…,.;:!?)]}", cluster)
}

// spill lets go of a word that is longer than any line: it goes on from where the line is.
func (w *wrapper) spill() {
	if w.used > 0 && w.used+w.blanks < w.width {
		w.put(strings.Repeat(" ", w.blanks), w.blanks)
	} else if w.used > 0 {
		w.endLine()
	}
	w.blanks, w.long = 0, true
	text := w.word.String()
	now := w.now
	w.word.Reset()
	w.wide = 0
	w.now = w.style
	for len(text) > 0 {
		cluster, columns, n, _ := ansi.DecodeSequence(text, ansi.NormalState, nil)
		n = max(n, 1)
		if text[0] == 0x1b {
			w.put(cluster, 0)
			w.style = w.style.take(cluster)
		} else {
			if w.used+columns > w.width {
				w.endLine()
			}
			w.put(cluster, columns)
		}
		text = text[n:]
	}
	w.style, w.now = now, now
}

// endWord puts the word on the line, or on the next one where it does not fit.
func (w *wrapper) endWord() {
	if w.word.Len() == 0 {
		return
	}
	if w.hard {
		w.endBlanks()
	}
	switch room := w.width - w.used - w.blanks; {
	case w.wide == 0: // only sequences: they need no room, and are no reason for a new line
		if room >= 0 {
			w.put(strings.Repeat(" ", w.blanks), w.blanks)
		}
	case room >= w.wide:
		w.put(strings.Repeat(" ", w.blanks), w.blanks)
	case w.used > 0 || w.blanks >= w.width:
		w.endLine()
	default: // an indent with a long word: what room there is goes to the word
		indent := max(w.width-w.wide, 0)
		w.put(strings.Repeat(" ", indent), indent)
	}
	w.blanks, w.long = 0, false
	w.flush()
}

// flush puts the word where the line is.
func (w *wrapper) flush() {
	w.put(w.word.String(), w.wide)
	w.word.Reset()
	w.wide = 0
	w.style = w.now
}

// endBlanks puts blanks on the line that no word follows.
func (w *wrapper) endBlanks() {
	for w.blanks > 0 {
		room := min(w.blanks, w.width-w.used)
		w.put(strings.Repeat(" ", room), room)
		w.blanks -= room
		if !w.hard {
			w.blanks = 0 // blanks at the end of a line need no line of their own
		} else if w.blanks > 0 {
			w.endLine()
		}
	}
}

func (w *wrapper) put(text string, columns int) {
	if text == "" {
		return
	}
	if w.bare {
		w.line.WriteString(w.style.open())
		w.bare = false
	}
	w.line.WriteString(text)
	w.used += columns
}

func (w *wrapper) endLine() {
	if !w.bare {
		w.line.WriteString(w.style.close())
	}
	w.lines = append(w.lines, w.line.String())
	w.line.Reset()
	w.used, w.bare, w.broad = 0, true, false
}
