package control

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// First waits for the first line of in that is not blank, and returns it together with a reader that gives everything again, this line included.
// The line is nil when the input ended, was not there within limit (0: without limit), or is longer than a line may be.
func First(ctx context.Context, in io.Reader, limit time.Duration) ([]byte, io.Reader, error) {
	type got struct {
		line []byte
		err  error
	}
	r := bufio.NewReaderSize(in, 64<<10)
	first := make(chan got, 1)
	go func() {
		line, err := firstLine(r)
		first <- got{line, err}
	}()
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case g := <-first:
		return bytes.TrimSpace(g.line), io.MultiReader(bytes.NewReader(g.line), failing{g.err}, r), nil
	case <-late:
		return nil, &lateReader{wait: func() io.Reader {
			g := <-first
			return io.MultiReader(bytes.NewReader(g.line), failing{g.err}, r)
		}}, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// firstLine reads up to the end of the first line that is not blank.
func firstLine(r *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := r.ReadSlice('\n')
		all = append(all, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(all) <= maxLine:
		case err == io.EOF, errors.Is(err, bufio.ErrBufferFull):
			return all, nil
		case err != nil:
			return all, fmt.Errorf("reading standard input: %w", err)
		case len(bytes.TrimSpace(all)) > 0:
			return all, nil
		}
	}
}

// failing ends a reader with an error, or at once.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// A lateReader reads from a reader that is not there yet.
type lateReader struct {
	wait func() io.Reader
	in   io.Reader
}

func (l *lateReader) Read(p []byte) (int, error) {
	if l.in == nil {
		l.in = l.wait()
	}
	return l.in.Read(p)
}
