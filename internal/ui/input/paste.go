package input

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"gofer/internal/llm"
)

// A paste is folded when it has more lines or more characters than that.
const (
	foldLines = 3
	foldChars = 800
)

// An attachment is something that stands in the text as a mark. The mark moves and goes as one character.
type attachment struct {
	id    int
	mark  string
	text  string    // of a paste
	image llm.Block // of an image
}

func (a *attachment) isImage() bool { return a.image.Media != nil }

func pasteMark(id int, text string) string {
	lines := strings.Count(text, "\n")
	if lines == 0 {
		return fmt.Sprintf("[Pasted text #%d]", id)
	}
	return fmt.Sprintf("[Pasted text #%d +%d lines]", id, lines)
}

func tooLong(text string) bool {
	return strings.Count(text, "\n") >= foldLines || len(text) > foldChars && utf8.RuneCountInString(text) > foldChars
}

// paste takes a text from outside: long ones are folded.
func (b *Box) paste(text string) {
	text = Clean(text)
	if text == "" {
		return
	}
	b.begin()
	if tooLong(text) {
		text = b.attachText(text)
	}
	b.replace(b.cursor, b.cursor, text)
	b.rejoin()
	b.begin()
}

func (b *Box) attachText(text string) string {
	b.lastID++
	a := attachment{id: b.lastID, mark: pasteMark(b.lastID, text), text: text}
	b.attached = append(b.attached, a)
	return a.mark
}

// attachImage puts a mark for an image at the cursor.
func (b *Box) attachImage(image llm.Block) {
	b.lastID++
	a := attachment{id: b.lastID, mark: fmt.Sprintf("[Image #%d]", b.lastID), image: image}
	b.attached = append(b.attached, a)
	b.begin()
	b.replace(b.cursor, b.cursor, a.mark)
	b.begin()
}

// markAt is the mark that begins at a place, markBefore the one that ends there.
func (b *Box) markAt(pos int) *attachment {
	if pos < len(b.text) && b.text[pos] == '[' {
		for i := range b.attached {
			if strings.HasPrefix(b.text[pos:], b.attached[i].mark) {
				return &b.attached[i]
			}
		}
	}
	return nil
}

func (b *Box) markBefore(pos int) *attachment {
	if pos > 0 && b.text[pos-1] == ']' {
		for i := range b.attached {
			if strings.HasSuffix(b.text[:pos], b.attached[i].mark) {
				return &b.attached[i]
			}
		}
	}
	return nil
}

// snap is the beginning of the mark that a place is inside of, or the place itself.
func (b *Box) snap(pos int) int {
	for i := range b.attached {
		mark := b.attached[i].mark
		from := max(0, pos-len(mark)+1)
		if at := strings.Index(b.text[from:min(len(b.text), pos+len(mark)-1)], mark); at >= 0 && from+at < pos {
			return from + at
		}
	}
	return pos
}

// expand puts the pastes into a text in the place of their marks, each once and in one pass, so that a mark inside of a paste
// stays a text.
func (b *Box) expand(text string) (whole string, used []attachment) {
	if len(b.attached) == 0 {
		return text, nil
	}
	var out strings.Builder
	for {
		open := strings.IndexByte(text, '[')
		if open < 0 {
			out.WriteString(text)
			return out.String(), used
		}
		out.WriteString(text[:open])
		text = text[open:]
		i := slices.IndexFunc(b.attached, func(a attachment) bool { return strings.HasPrefix(text, a.mark) })
		if i < 0 {
			out.WriteByte('[')
			text = text[1:]
			continue
		}
		a := b.attached[i]
		if a.isImage() {
			out.WriteString(a.mark)
		} else {
			out.WriteString(a.text)
		}
		if !slices.ContainsFunc(used, func(u attachment) bool { return u.id == a.id }) {
			used = append(used, a)
		}
		text = text[len(a.mark):]
	}
}

// fold puts marks in the place of pastes that a text still holds whole, as after an editor.
func (b *Box) fold(text string) string {
	for _, a := range b.attached {
		if !a.isImage() && a.text != "" {
			text = strings.Replace(text, a.text, a.mark, 1)
		}
	}
	return text
}

// pastedFiles reads a paste as what terminals send when files are dropped on them: paths, quoted or with backslashes, one or
// several. It is nil when it is anything else.
func pastedFiles(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 16<<10 || strings.ContainsRune(text, '\n') {
		return nil
	}
	var files []string
	for text != "" {
		word, rest, ok := dropped(text)
		if !ok {
			return nil
		}
		word = strings.TrimPrefix(word, "file://")
		if !strings.HasPrefix(word, "~/") && !filepath.IsAbs(word) || !isImageName(word) {
			return nil
		}
		files = append(files, word)
		text = strings.TrimLeft(rest, " ")
	}
	return files
}

// dropped takes one word off, with the quotes and backslashes of a shell.
func dropped(text string) (word, rest string, ok bool) {
	if quote := text[0]; quote == '\'' || quote == '"' {
		word, rest, ok = strings.Cut(text[1:], text[:1])
		return word, rest, ok
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && filepath.Separator != '\\':
			i++
			b.WriteByte(text[i])
		case text[i] == ' ':
			return b.String(), text[i:], true
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), "", true
}

func isImageName(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp":
		return true
	}
	return false
}
