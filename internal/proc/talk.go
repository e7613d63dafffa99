package proc

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// A Talk is a command that is spoken to through pipes, such as a server on its standard input and output.
type Talk struct {
	*Process
	In     *os.File // what the command reads
	Out    *os.File // what it writes
	Stderr *Tail    // the end of what it complains about

	drained chan struct{} // closed when all of standard error was read
}

// Talk starts a command with pipes as its standard files, whatever c says of them.
func (r *Runner) Talk(ctx context.Context, c Cmd) (*Talk, error) {
	var theirs, ours [3]*os.File
	closeAll := func(list [3]*os.File) {
		for _, f := range list {
			f.Close() // closing no file is an error that does no harm
		}
	}
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(theirs)
			closeAll(ours)
			return nil, err
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	c.Stdin, c.Stdout, c.Stderr = theirs[0], theirs[1], theirs[2]
	process, err := r.Start(ctx, c)
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	t := &Talk{Process: process, In: ours[0], Out: ours[1], Stderr: &Tail{}, drained: make(chan struct{})}
	go func() {
		defer close(t.drained)
		defer ours[2].Close()
		io.Copy(t.Stderr, ours[2])
	}()
	return t, nil
}

// Drained waits until all of standard error was read, for at most a time: a process that was left behind may hold it open.
func (t *Talk) Drained(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-t.drained:
	case <-timer.C:
	}
}

// A Tail keeps the end of what is written to it. It may be used by several goroutines.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailLen = 2000

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n > tailLen {
		p = p[n-tailLen:]
	}
	t.kept = append(t.kept, p...)
	if len(t.kept) > tailLen {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailLen:]...)
	}
	return n, nil
}

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.kept)), "")
}
