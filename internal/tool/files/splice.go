package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A splice replaces the bytes from start to end by others. line is the line in which it begins.
type splice struct {
	start, end int64
	with       []byte
	line       int
}

// A replacer turns places where the old text was found into splices. What the old and the new text have in common at
// their beginnings and ends is left out of the splice: those bytes stay, whatever line ends and quotes they have.
type replacer struct {
	body         *body
	charset      charset
	curly        bool
	lead, middle pattern // of the old text: what stays before the change, and what is changed
	with         string  // the new text for the middle, with simple line breaks
	before       rune    // the character before it, 0 if there is none
}

func newReplacer(b *body, c charset, old, new string, curly bool) (*replacer, error) {
	head := commonStart(old, new)
	tail := commonEnd(old[head:], new[head:])
	r := &replacer{body: b, charset: c, curly: curly, with: new[head : len(new)-tail]}
	r.lead, _ = compile(old[:head], c, curly)
	r.middle, _ = compile(old[head:len(old)-tail], c, curly)
	r.before, _ = utf8.DecodeLastRuneInString(new[:head])
	if head == 0 {
		r.before = 0
	}
	return r, r.checkEncodable(old)
}

// checkEncodable refuses new text that the file cannot hold.
func (r *replacer) checkEncodable(old string) error {
	if _, bad, ok := r.charset.encode(r.with); !ok {
		return fmt.Errorf("%s is not UTF-8 (it is %s) and has no place for the character %q (U+%04X). Nothing was changed. Use a character "+
			"that this encoding has, or convert the file first", r.body.path, r.charset.name(), bad, bad)
	}
	if !r.charset.wide {
		return nil
	}
	for _, c := range r.with {
		if c >= utf8.RuneSelf && !strings.ContainsRune(old, c) {
			return fmt.Errorf("%s is not UTF-8 (it is in %s), so it is not known how to write the character %q in it. Nothing was changed. "+
				"Use ASCII only, or convert the file first (with iconv, for example)", r.body.path, r.charset.name(), c)
		}
	}
	return nil
}

func (r *replacer) splice(p place) (splice, error) {
	found, err := r.body.slice(p.start, p.end)
	if err != nil {
		return splice{}, err
	}
	from := r.lead.matchAt(found, 0)
	to := -1
	if from >= 0 {
		to = r.middle.matchAt(found, from)
	}
	if to < 0 {
		return splice{}, errors.New("the file changed while it was being edited; nothing was changed, try again")
	}
	text := r.with
	if r.curly {
		text = curlyLike(text, r.before, r.charset.decode(found))
	}
	if strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, "\n", r.lineEnd(p, found, from, to))
	}
	with, _, _ := r.charset.encode(text)
	line := p.line + countLines(found[:from], r.charset)
	return splice{p.start + int64(from), p.start + int64(to), with, line}, nil
}

// lineEnd is the line end in use at a place: that of the replaced text, else the nearest one in the text that was found, else that of
// the line before, else that of the next. from and to are where the replaced text stands in what was found.
func (r *replacer) lineEnd(p place, found []byte, from, to int) string {
	lf, _, _ := r.charset.encode("\n")
	crlf, _, _ := r.charset.encode("\r\n")
	kind := func(b []byte, at int) string {
		if cr := at - (len(crlf) - len(lf)); cr >= 0 && bytes.HasPrefix(b[cr:], crlf) {
			return "\r\n"
		}
		return "\n"
	}
	if at := indexUnit(found[from:to], lf, len(lf)); at >= 0 {
		return kind(found[from:to], at)
	}
	if at := lastIndexUnit(found[:from], lf); at >= 0 {
		return kind(found, at)
	}
	if at := indexUnit(found[to:], lf, len(lf)); at >= 0 {
		return kind(found[to:], at)
	}
	for _, reach := range []int64{512, 64 << 10} { // most lines are short, and there may be many places
		before, err := r.body.slice(max(int64(r.charset.mark), p.start-reach), p.start)
		if at := lastIndexUnit(before, lf); err == nil && at >= 0 {
			return kind(before, at)
		}
	}
	for _, reach := range []int64{512, 64 << 10} {
		after, err := r.body.slice(p.end, p.end+reach)
		if at := indexUnit(after, lf, len(lf)); err == nil && at >= 0 {
			return kind(after, at)
		}
	}
	return "\n"
}

// indexUnit is bytes.Index for a match at a multiple of unit.
func indexUnit(b, sep []byte, unit int) int {
	for from := 0; ; {
		i := bytes.Index(b[from:], sep)
		if i < 0 {
			return -1
		}
		if i += from; i%unit == 0 {
			return i
		}
		from = i + 1
	}
}

func lastIndexUnit(b, sep []byte) int {
	for end := len(b); ; {
		i := bytes.LastIndex(b[:end], sep)
		if i < 0 || (len(b)-i)%len(sep) == 0 {
			return i
		}
		end = i + len(sep) - 1
	}
}

// commonStart is the length of what a and b begin with, in whole characters.
func commonStart(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	return n
}

// commonEnd is the length of what a and b end with, in whole characters.
func commonEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}

// curlyLike writes the straight quotes of text as curly ones, as far as like has curly ones of the same sort. before is the
// character in front of text, 0 at the start.
func curlyLike(text string, before rune, like string) string {
	double, single := strings.ContainsAny(like, "“”"), strings.ContainsAny(like, "‘’")
	var out strings.Builder
	for _, r := range text {
		opens := before == 0 || unicode.IsSpace(before) || strings.ContainsRune("([{<—–“‘", before)
		switch {
		case r == '"' && double && opens:
			r = '“'
		case r == '"' && double:
			r = '”'
		case r == '\'' && single && opens:
			r = '‘'
		case r == '\'' && single:
			r = '’'
		}
		out.WriteRune(r)
		before = r
	}
	return out.String()
}

// A splicing is a body with splices applied, to be written out as a stream.
type splicing struct {
	body    *body
	splices []splice // in order, not overlapping
}

func (s splicing) writeTo(ctx context.Context, w io.Writer) error {
	in := bufio.NewReaderSize(io.NewSectionReader(s.body, 0, s.body.size), 256<<10)
	at := int64(0)
	for _, p := range s.splices {
		if err := copyBytes(ctx, w, in, p.start-at); err != nil {
			return err
		}
		if _, err := w.Write(p.with); err != nil {
			return err
		}
		if _, err := in.Discard(int(p.end - p.start)); err != nil {
			return err
		}
		at = p.end
	}
	return copyBytes(ctx, w, in, s.body.size-at)
}

// copyBytes copies exactly n bytes, unless ctx ends before.
func copyBytes(ctx context.Context, w io.Writer, r io.Reader, n int64) error {
	for n > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		step := min(n, 4<<20)
		if _, err := io.CopyN(w, r, step); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

// bytes is the new content, if it is small enough to be kept; else nil.
func (s splicing) bytes() []byte {
	if s.body.content == nil {
		return nil
	}
	size := int64(len(s.body.content))
	for _, p := range s.splices {
		size += int64(len(p.with)) - (p.end - p.start)
	}
	if size > keepOriginal {
		return nil
	}
	var out bytes.Buffer
	if s.writeTo(context.Background(), &out) != nil {
		return nil
	}
	return out.Bytes()
}
