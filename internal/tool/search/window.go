package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	first   = 64 << 10  // bytes of a file that are read before the first search: most files are smaller, many match early
	chunk   = 256 << 10 // bytes that are searched at a time later, unless a line is longer
	longest = 64 << 20  // a longer line, or a match over more lines, is searched in pieces of this size
	keepBuf = 1 << 20   // buffers above this size are given back after the file
)

// A window holds the part of a file that is being searched. Its memory is reused from file to file.
type window struct {
	ctx    context.Context
	file   fileHandle
	buf    []byte
	end    int  // buf[:end] is text
	eof    bool // there is no more behind it
	begun  bool
	order  binary.ByteOrder // of a file in UTF-16
	raw    []byte           // bytes of such a file that are not decoded yet
	rawLen int
}

func (w *window) reset(file fileHandle) {
	if len(w.buf) > keepBuf || w.buf == nil {
		w.buf = make([]byte, chunk)
	}
	w.file, w.end, w.eof, w.begun, w.order, w.rawLen = file, 0, false, false, nil, 0
}

// drop forgets the first n bytes.
func (w *window) drop(n int) {
	copy(w.buf, w.buf[n:w.end])
	w.end -= n
}

// fill reads until the window holds size bytes, or so many that no further character is sure to fit, or the file ends.
func (w *window) fill(size int) error {
	for !w.eof && w.end+w.slack() < size {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.end+w.slack() >= len(w.buf) {
			bigger := make([]byte, min(max(2*len(w.buf), chunk), size))
			copy(bigger, w.buf[:w.end])
			w.buf = bigger
		}
		n, err := w.read(w.buf[w.end:min(len(w.buf), size)])
		if err != nil {
			return err
		}
		w.end += n
		w.eof = n == 0
		if !w.begun && n > 0 {
			w.begin()
		}
	}
	return nil
}

// slack is the room that a decoded character may need beyond one byte.
func (w *window) slack() int {
	if w.order == nil {
		return 0
	}
	return utf8.UTFMax - 1
}

// begin looks at the first bytes for a mark of the encoding.
func (w *window) begin() {
	w.begun = true
	head := w.buf[:w.end]
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		w.drop(3)
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		w.order = binary.LittleEndian
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		w.order = binary.BigEndian
	}
	if w.order != nil {
		if w.raw == nil {
			w.raw = make([]byte, chunk)
		}
		w.rawLen = copy(w.raw, head[2:])
		w.end = 0
	}
}

// read reads text of the file as UTF-8. It returns 0 at the end.
func (w *window) read(b []byte) (int, error) {
	if w.order == nil {
		return w.file.read(b)
	}
	for {
		if n := w.decode(b); n > 0 {
			return n, nil
		}
		n, err := w.file.read(w.raw[w.rawLen:])
		if err != nil {
			return 0, err
		}
		if n == 0 {
			if w.rawLen == 0 {
				return 0, nil
			}
			w.rawLen = 0 // half of a character at the end
			return copy(b, "\uFFFD"), nil
		}
		w.rawLen += n
	}
}

// decode moves characters from raw to b until either is used up.
func (w *window) decode(b []byte) int {
	n, used := 0, 0
	for used+2 <= w.rawLen && n+utf8.UTFMax <= len(b) {
		r := rune(w.order.Uint16(w.raw[used:]))
		size := 2
		if utf16.IsSurrogate(r) {
			if used+4 > w.rawLen {
				break
			}
			if full := utf16.DecodeRune(r, rune(w.order.Uint16(w.raw[used+2:]))); full != utf8.RuneError {
				r, size = full, 4
			} else {
				r = utf8.RuneError
			}
		}
		n += utf8.EncodeRune(b[n:], r)
		used += size
	}
	copy(w.raw, w.raw[used:w.rawLen])
	w.rawLen -= used
	return n
}
