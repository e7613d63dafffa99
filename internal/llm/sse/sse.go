// Package sse reads server-sent events, the framing that all streaming model APIs share.
//
// It promises to read any stream in memory bounded by MaxEvent, to give every event that arrived whole, in order, and
// to tell a stream that ended (io.EOF) from one that broke (any other error). It takes LF and CRLF line ends, comments,
// data of several lines and a byte order mark. It is for one goroutine.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEvent is the size over which a line, or the data of one event, is refused.
const MaxEvent = 64 << 20

// ErrTooLarge says that an event was larger than MaxEvent.
var ErrTooLarge = fmt.Errorf("an event of the stream is larger than %d MB", MaxEvent>>20)

// An Event is one event. Data is valid until the next call of Next.
type Event struct {
	Name string // of the event field, "" if there was none
	Data []byte // the data lines, joined by line feeds
}

// A Reader reads events.
type Reader struct {
	in    *bufio.Reader
	max   int
	name  string
	data  []byte
	long  []byte // a line that does not fit into the buffer of in
	begun bool
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 32<<10), max: MaxEvent}
}

// Next returns the next event that has data. At the end of the stream an event that lacks only the closing empty line
// still counts: some servers forget it after the last one.
func (r *Reader) Next() (Event, error) {
	r.data = r.data[:0]
	name, hasData := "", false
	for {
		line, err := r.line()
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			if errors.Is(err, io.EOF) && hasData {
				return Event{Name: name, Data: r.data}, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if hasData {
				return Event{Name: name, Data: r.data}, nil
			}
			name = ""
			continue
		}
		field, value := split(line)
		switch string(field) { // the compiler does not allocate here
		case "data":
			if hasData {
				r.data = append(r.data, '\n')
			}
			hasData = true
			if len(r.data)+len(value) > r.max {
				return Event{}, ErrTooLarge
			}
			r.data = append(r.data, value...)
		case "event":
			name = r.intern(value)
		}
	}
}

// split cuts a line into field and value. A comment has an empty field.
func split(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return field, value
}

// intern returns the name as a string, without a new one when it is that of the last event: most events of a stream
// have the same.
func (r *Reader) intern(name []byte) string {
	if string(name) != r.name {
		r.name = string(name)
	}
	return r.name
}

// line returns the next line without its end. A last line that has no end comes together with io.EOF.
func (r *Reader) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.longLine(line)
	}
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), err
}

func (r *Reader) longLine(start []byte) ([]byte, error) {
	r.long = append(r.long[:0], start...)
	for {
		part, err := r.in.ReadSlice('\n')
		r.long = append(r.long, part...)
		if len(r.long) > r.max {
			return nil, ErrTooLarge
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return r.long, err
		}
	}
}
