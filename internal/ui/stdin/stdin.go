// Package stdin decides what standard input has to do with a prompt.
//
// A pipe may be the left side of a pipeline, whose data belongs to the prompt, or just something that the program which
// started gofer left open and will never write to. Waiting in the second case would hang, and not waiting in the first would
// lose data, so the package finds out which it is.
package stdin

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// grace is how long an input is awaited that the starting program holds open itself: it may be about to write.
const grace = 250 * time.Millisecond

// patience is how long it is awaited where nothing tells who holds it.
const patience = 3 * time.Second

// An Input is what came from standard input.
type Input struct {
	Text string
	// Late receives what came after it was no longer waited for, at most once. nil if nothing can come any more.
	Late <-chan string
	// GaveUp says that nothing came in time.
	GaveUp bool
}

// Read returns what belongs to the prompt. Without a prompt argument it reads to the end; a terminal is never read.
func Read(ctx context.Context, f *os.File, havePrompt bool) (Input, error) {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice != 0 {
		return Input{}, nil // closed, a terminal, or the null device
	}
	if info.Mode().IsRegular() || !havePrompt {
		data, err := io.ReadAll(f)
		return Input{Text: string(data)}, err
	}
	limit := time.Duration(0) // no limit: the data comes from a pipeline
	switch holder(f) {
	case starter:
		limit = grace
	case unknown:
		limit = patience
	}
	return await(ctx, f, limit)
}

// await reads to the end, but stops waiting when nothing at all has come within the limit.
func await(ctx context.Context, r io.Reader, limit time.Duration) (Input, error) {
	type outcome struct {
		text string
		err  error
	}
	began := make(chan struct{})
	done := make(chan outcome, 1)
	late := make(chan string, 1)
	go func() {
		data, err := io.ReadAll(&firstByte{r: r, began: began})
		if err == nil && len(data) > 0 {
			late <- string(data)
		}
		close(late)
		done <- outcome{string(data), err}
	}()
	var timeout <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-began:
	case o := <-done:
		return Input{Text: o.text}, o.err
	case <-timeout:
		return Input{Late: late, GaveUp: true}, nil
	case <-ctx.Done():
		return Input{}, context.Cause(ctx)
	}
	select {
	case o := <-done:
		return Input{Text: o.text}, o.err
	case <-ctx.Done():
		return Input{}, context.Cause(ctx)
	}
}

// firstByte closes began when the first data comes.
type firstByte struct {
	r     io.Reader
	began chan struct{}
}

func (f *firstByte) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if n > 0 && f.began != nil {
		close(f.began)
		f.began = nil
	}
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Who holds the other end of a pipe.
const (
	unknown = iota
	starter // the program that started gofer, or one that started it
	sibling // some other program: the left side of a pipeline
)
