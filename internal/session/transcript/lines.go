package transcript

import (
	"bytes"
	"errors"
	"io"
)

const (
	firstChunk = 64 << 10
	chunk      = 512 << 10
	// maxLine bounds the memory that one line may cost. No provider takes a request half as large, so a longer line is not a
	// record that anyone could use.
	maxLine = 64 << 20
)

// A backReader gives the lines of a file from the last to the first. A line is valid until the next call.
type backReader struct {
	file io.ReaderAt
	pos  int64   // where buf begins in the file
	buf  []byte  // what was read and not given yet
	ends []int64 // where the line ends in buf stand in the file, in order
	room []byte  // the array that buf ends
	skip bool    // inside a line that is too long
	done bool
	next int64 // how much to read at once
	most int   // bytes that a line may have
}

func newBackReader(f io.ReaderAt, size int64) *backReader {
	return &backReader{file: f, pos: size, next: firstChunk, most: maxLine}
}

// prev returns the line before the last one given, without its line end, and where it stands. A line that is too long comes
// back as nil. At the beginning of the file the error is io.EOF.
func (r *backReader) prev() (line []byte, at int64, err error) {
	if r.done {
		return nil, 0, io.EOF
	}
	for len(r.ends) == 0 && r.pos > 0 {
		if len(r.buf) > r.most {
			r.skip, r.buf = true, r.buf[:0]
		}
		if err := r.fill(); err != nil {
			return nil, 0, err
		}
	}
	if n := len(r.ends); n > 0 {
		i := r.ends[n-1] - r.pos
		line, at = r.buf[i+1:], r.pos+i+1
		r.buf, r.ends = r.buf[:i], r.ends[:n-1]
	} else {
		r.done = true
		line = r.buf
	}
	if r.skip {
		line, r.skip = nil, false
	}
	return line, at, nil
}

// fill reads what stands before buf, which has no line end left.
func (r *backReader) fill() error {
	n := min(r.next, r.pos)
	r.next = min(max(chunk, int64(len(r.buf))), maxLine) // long lines are read in ever larger pieces
	need := int(n) + len(r.buf)
	if need > len(r.room) {
		r.room = make([]byte, max(need, 2*firstChunk))
	}
	buf := r.room[len(r.room)-need:]
	copy(buf[n:], r.buf)
	if _, err := r.file.ReadAt(buf[:n], r.pos-n); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r.pos -= n
	r.buf = buf
	// Looking forwards is several times faster than looking backwards.
	for i := 0; ; i++ {
		k := bytes.IndexByte(buf[i:n], '\n')
		if k < 0 {
			return nil
		}
		i += k
		r.ends = append(r.ends, r.pos+int64(i))
	}
}

// eachLine gives all lines of a file in order, the last one also if its end is missing (whole is false then). A line is valid
// until visit returns; one that is too long is nil.
func eachLine(r io.Reader, visit func(at int64, line []byte, whole bool) error) error {
	buf := make([]byte, 0, chunk)
	var at int64
	skip := false
	for {
		if len(buf) == cap(buf) {
			if len(buf) > maxLine {
				at, buf, skip = at+int64(len(buf)), buf[:0], true
			} else {
				buf = append(make([]byte, 0, 2*cap(buf)), buf...)
			}
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		fresh := len(buf)
		buf = buf[:fresh+n]
		start := 0
		for {
			i := bytes.IndexByte(buf[max(start, fresh):], '\n')
			if i < 0 {
				break
			}
			end := max(start, fresh) + i
			line := buf[start:end]
			if skip {
				line, skip = nil, false
			}
			if err := visit(at+int64(start), line, true); err != nil {
				return err
			}
			start = end + 1
		}
		at += int64(start)
		buf = buf[:copy(buf, buf[start:])]
		if errors.Is(err, io.EOF) {
			if len(buf) > 0 || skip {
				if skip {
					buf = nil
				}
				return visit(at, buf, false)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}
