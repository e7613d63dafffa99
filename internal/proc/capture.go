package proc

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// pipeWait is how long Capture waits for the end of a command's output after the command has ended: a process that could not be
// killed may still hold the pipe.
const pipeWait = 2 * time.Second

// Captured is what came of a command that was run to its end.
type Captured struct {
	Exit           Exit
	Stdout, Stderr []byte // at most the limit given to Capture; more is read and thrown away
}

// Capture runs c to its end with input at its standard input, and keeps up to limit bytes of each output. c's own
// standard files are not used. When ctx ends first, the tree is killed, and the error is the cause; what was captured
// until then is returned too.
func (r *Runner) Capture(ctx context.Context, c Cmd, input io.Reader, limit int) (Captured, error) {
	var got Captured
	var pipes []*os.File // our ends
	defer func() {
		for _, f := range pipes {
			f.Close()
		}
	}()
	var theirs []*os.File
	closeTheirs := func() {
		for _, f := range theirs {
			f.Close()
		}
	}
	for range 3 {
		rd, wr, err := os.Pipe()
		if err != nil {
			closeTheirs()
			return got, err
		}
		if len(theirs) == 0 {
			rd, wr = wr, rd // standard input goes the other way
		}
		pipes, theirs = append(pipes, rd), append(theirs, wr)
	}
	c.Stdin, c.Stdout, c.Stderr = theirs[0], theirs[1], theirs[2]
	p, err := r.Start(ctx, c)
	closeTheirs()
	if err != nil {
		return got, err
	}
	var reading sync.WaitGroup
	reading.Go(func() { got.Stdout = readUpTo(pipes[1], limit) })
	reading.Go(func() { got.Stderr = readUpTo(pipes[2], limit) })
	go func() {
		if input != nil {
			io.Copy(pipes[0], input)
		}
		pipes[0].Close()
	}()
	got.Exit = p.Wait()
	for _, f := range pipes {
		f.SetDeadline(time.Now().Add(pipeWait))
	}
	reading.Wait()
	if ctx.Err() != nil {
		return got, context.Cause(ctx)
	}
	return got, nil
}

// readUpTo reads f to its end and keeps the first limit bytes.
func readUpTo(f *os.File, limit int) []byte {
	var kept bytes.Buffer
	io.Copy(&kept, io.LimitReader(f, int64(limit)))
	io.Copy(io.Discard, f)
	return kept.Bytes()
}
