package files

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"gofer/internal/llm"
	"gofer/internal/tool"
)

const (
	defaultLines  = 2000
	shownOfLine   = 2000    // characters of a line that are shown
	resultBudget  = 100_000 // bytes of a result, about 25,000 tokens
	longLineBytes = shownOfLine * utf8.UTFMax
)

// readData is the structured result of a read.
type readData struct {
	Type string   `json:"type"`
	File textFile `json:"file"`
}

type textFile struct {
	FilePath   string        `json:"filePath"`
	Content    numberedLines `json:"content"`
	NumLines   int           `json:"numLines"`
	StartLine  int           `json:"startLine"`
	TotalLines int           `json:"totalLines"`
}

// numberedLines are lines as the model sees them. In JSON they have no numbers: the text is shared with the result until then.
type numberedLines string

func (n numberedLines) MarshalJSON() ([]byte, error) {
	var plain strings.Builder
	first := true
	for line := range strings.SplitSeq(string(n), "\n") {
		if !first {
			plain.WriteByte('\n')
		}
		first = false
		_, text, _ := strings.Cut(line, "\t")
		plain.WriteString(text)
	}
	return llm.Marshal(plain.String())
}

var _ json.Marshaler = numberedLines("")

func (k *kit) readText(ctx context.Context, b *body, in readIn) (tool.Result, error) {
	c, total, err := textKind(ctx, b)
	if err != nil {
		return tool.Result{}, err
	}
	offset, limit := in.offset(), in.limit(defaultLines)
	if total > 0 && offset > total {
		return tool.Result{}, fmt.Errorf("offset %d is behind the end: %s has %d lines", offset, b.path, total)
	}
	page, err := readPage(ctx, b, c, offset, limit)
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", b.path, err)
	}
	if page.count == 0 {
		return tool.Result{}, fmt.Errorf("offset %d is behind the end: %s has %d lines", offset, b.path, page.passed)
	}
	if page.atEnd {
		total = offset + page.count - 1
	}
	result := tool.Text(page.text + page.note(c, offset, total))
	result.Data = readData{Type: "text", File: textFile{k.abs(in.Path), numberedLines(page.text), page.count, offset, max(total, offset+page.count-1)}}
	result.Display = tool.Display{Summary: fmt.Sprintf("Read %d lines", page.count)}
	if page.count == 1 {
		result.Display.Summary = "Read 1 line"
	}
	return result, nil
}

// textKind returns the encoding and the number of lines; of a large file the encoding of its beginning and 0.
func textKind(ctx context.Context, b *body) (charset, int, error) {
	if b.size <= hashOnRead {
		if err := b.surveyAll(ctx); err != nil {
			return charset{}, 0, err
		}
		return b.charset(), b.newlines + 1, nil
	}
	head, err := b.slice(0, 1<<20)
	if err != nil {
		return charset{}, 0, fmt.Errorf("reading %s: %w", b.path, err)
	}
	s := newSurvey(false)
	s.Write(head)
	s.pending = nil // the piece may end within a character
	return s.charset(), 0, nil
}

// A page is a run of lines as the model sees them.
type page struct {
	text   string
	count  int  // lines shown
	passed int  // lines there are, if the page lies behind the end
	full   bool // the budget ended it, and not the limit
	atEnd  bool // nothing follows
	cut    bool // a line was cut
}

// note says what the page does not show, and how to see it.
func (p page) note(c charset, offset, total int) string {
	var notes []string
	last := offset + p.count - 1
	if !p.atEnd {
		of := ""
		if total > 0 {
			of = " of " + strconv.Itoa(total)
		}
		why := ""
		if p.full {
			why = " (as much as fits into one result)"
		}
		notes = append(notes, fmt.Sprintf("Lines %d to %d%s%s. To read on: offset=%d.", offset, last, of, why, last+1))
	}
	if p.cut {
		notes = append(notes, "To see all of a line that was cut, use Bash (sed and cut) or Grep with -o.")
	}
	if c.form != utf8Form {
		notes = append(notes, fmt.Sprintf("The file is not UTF-8 but %s; Edit keeps it so.", c.name()))
	}
	if notes == nil {
		return ""
	}
	return "\n\n[" + strings.Join(notes, " ") + "]"
}

// readPage reads lines from offset on, until limit, the end or the budget is reached. Its memory is bounded, however long lines are.
func readPage(ctx context.Context, b *body, c charset, offset, limit int) (page, error) {
	lines := newLineReader(b, c)
	for n := 1; n < offset; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return page{}, context.Cause(ctx)
		}
		if _, err := lines.next(false); err != nil {
			return page{}, err
		}
		if lines.ended {
			return page{passed: n}, nil
		}
	}
	var p page
	var out strings.Builder
	for p.count < limit {
		line, err := lines.next(true)
		if err != nil {
			return page{}, err
		}
		number := strconv.Itoa(offset + p.count)
		if out.Len()+len(number)+len(line)+2 > resultBudget && p.count > 0 {
			p.full = true
			break
		}
		if p.count > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(number)
		out.WriteByte('\t')
		out.WriteString(line)
		p.count++
		p.cut = p.cut || lines.dropped > 0
		if lines.ended {
			p.atEnd = true
			break
		}
	}
	p.text = out.String()
	return p, nil
}

// A lineReader reads text line by line and keeps no more of a line than can be shown. A text has one line more than line breaks: the
// last one is empty if the text ends with a line break.
type lineReader struct {
	in      *bufio.Reader
	legacy  bool
	ended   bool // the last line was the last
	dropped int  // characters of the last line that were not kept
}

func newLineReader(b *body, c charset) *lineReader {
	var in io.Reader = io.NewSectionReader(b, int64(c.mark), b.size-int64(c.mark))
	switch c.form {
	case utf16LE:
		in = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().Reader(in)
	case utf16BE:
		in = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder().Reader(in)
	}
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), legacy: c.form == legacy}
}

// next reads a line. It returns the text only if it is wanted.
func (l *lineReader) next(wanted bool) (string, error) {
	var kept []byte
	l.dropped = 0
	for {
		chunk, err := l.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return "", err
		}
		l.ended = errors.Is(err, io.EOF)
		if wanted {
			chunk = bytes.TrimSuffix(chunk, []byte("\n"))
			take := min(len(chunk), longLineBytes-len(kept))
			kept = append(kept, chunk[:take]...)
			l.dropped += l.characters(chunk[take:])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	if !wanted {
		return "", nil
	}
	if l.dropped == 0 {
		kept = bytes.TrimSuffix(kept, []byte("\r"))
	}
	return l.present(kept), nil
}

func (l *lineReader) characters(b []byte) int {
	if l.legacy {
		return len(b)
	}
	n := 0
	for _, x := range b {
		if utf8.RuneStart(x) {
			n++
		}
	}
	return n
}

// present makes a line presentable: valid UTF-8, without NUL, and cut if it is long.
func (l *lineReader) present(line []byte) string {
	var text string
	if l.legacy {
		text = charset{form: legacy}.decode(line)
	} else if text = string(line); !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "␀")
	}
	if len(text) <= shownOfLine && l.dropped == 0 {
		return text
	}
	n := 0
	for i := range text {
		if n == shownOfLine {
			l.dropped += utf8.RuneCountInString(text[i:])
			text = text[:i]
			break
		}
		n++
	}
	if l.dropped > 0 {
		text += fmt.Sprintf("… [%d more characters]", l.dropped)
	}
	return text
}
