package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// A body is the content of a file at one moment, readable at any place: from memory if it is small, else from disk.
type body struct {
	io.ReaderAt
	path    string
	size    int64
	info    fs.FileInfo
	content []byte // all of it, if it is small
	file    *os.File
	*survey // nil if the file is large and was not surveyed
	opened  time.Time
}

// openBody opens a regular file. It does not block, whatever path is.
func openBody(path string) (*body, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	opened := time.Now()
	file, err := openNonBlocking(path)
	if err != nil {
		return nil, err
	}
	b := &body{path: path, file: file, ReaderAt: file, opened: opened}
	if b.info, err = file.Stat(); err == nil {
		err = regular(path, b.info) // it may have been replaced since
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	b.size = b.info.Size()
	if b.size <= inMemory {
		err = b.readAll()
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return b, nil
}

// readAll takes a small file into memory. Files of the system (as in /proc) say that they are empty but are not.
func (b *body) readAll() error {
	b.file.SetReadDeadline(time.Now().Add(10 * time.Second)) // for the few files of the system that wait for news; others ignore it
	buf := bytes.NewBuffer(make([]byte, 0, b.size+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(b.file, inMemory+1)); err != nil {
		return err
	}
	if buf.Len() > inMemory {
		b.size = int64(max(buf.Len(), int(b.size)))
		if b.info.Size() == 0 {
			return errors.New("it has no fixed size and does not end; read it with Bash and head")
		}
		return nil // it grew past the limit in this moment: leave it on disk
	}
	b.content, b.size = buf.Bytes(), int64(buf.Len())
	b.ReaderAt = bytes.NewReader(b.content)
	b.survey = surveyOf(b.content)
	return nil
}

func (b *body) close() { b.file.Close() }

// surveyAll reads the whole file once, if that was not done yet.
func (b *body) surveyAll(ctx context.Context) error {
	if b.survey != nil && (b.content != nil || b.sum != nil) {
		return nil
	}
	s := newSurvey(true)
	if err := copyContext(ctx, s, io.NewSectionReader(b.ReaderAt, 0, b.size)); err != nil {
		return fmt.Errorf("reading %s: %w", b.path, err)
	}
	b.survey = s
	return nil
}

// entry is what Seen is to know of the body.
func (b *body) entry() Entry {
	hash := ""
	if b.survey != nil {
		hash = b.hash()
	}
	// Clocks of file systems tick every few milliseconds, and those of others every two seconds.
	return entryOf(b.path, b.info, hash, b.opened.Sub(b.info.ModTime()) > 3*time.Second)
}

// keepable is the content if it is small enough to be kept.
func (b *body) keepable() []byte {
	if len(b.content) > keepOriginal {
		return nil
	}
	return b.content
}

// text is the whole content as text, if it is small enough for a structured result; else nil.
func (b *body) text() *string {
	if b.content == nil || len(b.content) > keepOriginal {
		return nil
	}
	c := b.charset()
	s := c.decode(b.content[c.mark:])
	return &s
}

// slice reads the bytes from start to end, as far as there are any.
func (b *body) slice(start, end int64) ([]byte, error) {
	start, end = max(0, start), min(end, b.size)
	if start >= end {
		return nil, nil
	}
	if b.content != nil {
		return b.content[start:end], nil
	}
	buf := make([]byte, end-start)
	n, err := b.ReadAt(buf, start)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

// regular refuses everything that is not a regular file, and says what it is.
func regular(path string, info fs.FileInfo) error {
	mode := info.Mode()
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a folder. List it with Glob (pattern \"*\") or Bash (ls), then give a file", path)
	case mode&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%s is a named pipe, which may never deliver anything; the file tools take regular files only", path)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket; the file tools take regular files only", path)
	case mode&fs.ModeDevice != 0:
		return fmt.Errorf("%s is a device; the file tools take regular files only", path)
	}
	return fmt.Errorf("%s is not a regular file", path)
}

// copyContext copies until the end of r or of ctx.
func copyContext(ctx context.Context, w io.Writer, r io.Reader) error {
	buf := make([]byte, 256<<10)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
