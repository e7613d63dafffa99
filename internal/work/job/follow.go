package job

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"gofer/internal/proc/spool"
	"gofer/internal/tool"
)

// Bounds of what a monitor reads and tells. A command that prints without end costs a little time now and then, and a pattern that
// matches everything soon ends its monitor.
const (
	mostMonitors = 16
	gather       = 200 * time.Millisecond // lines that come together are told together
	mostRead     = 1 << 20                // bytes that are looked at after each gathering; what a command prints beyond is passed over
	betweenTells = 2 * time.Second
	mostTells    = 100
	mostLines    = 20 // of one text
	mostLine     = 400
	mostPartial  = 64 << 10 // bytes without a line end that count as a line
)

// Follow begins a monitor: a job that tells of the lines of a background command that match, from those on that owner has not read. It ends with the command,
// and its own notice brings what was not told before. The error is for the model.
func (r *Registry) Follow(owner, callID, id string, match func(line string) bool, tell func(context.Context, string) error) (string, error) {
	e, err := r.find(id)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	of, from, monitors := e.job, e.read[owner], 0
	for _, other := range r.jobs {
		if other.job.Kind == Monitor && !other.job.State.Ended() {
			monitors++
		}
	}
	r.mu.Unlock()
	switch {
	case of.Kind != Bash || e.output == nil:
		return "", fmt.Errorf("%s is not a background command, and only those can be followed; you are told of its end by itself", of.ID)
	case of.State.Ended():
		return "", fmt.Errorf("%s has ended (%s); read what it printed with TaskOutput", of.ID, of.State)
	case monitors >= mostMonitors:
		return "", fmt.Errorf("%d commands are followed already; end one of those with TaskStop first", monitors)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	h := r.Add(Spec{Kind: Monitor, Owner: owner, CallID: callID, Description: "follows " + of.ID + " (" + of.Description + ")", Stop: func() {
		cancel()
		<-ended
	}})
	f := &follower{of: of.ID, id: h.Job().ID, output: e.output, done: e.done, pos: from, seen: from, match: match, tell: tell}
	go func() {
		defer cancel()
		summary := f.run(ctx)
		close(ended)
		h.End(Completed, Outcome{Summary: summary, Result: f.take()})
	}()
	return f.id, nil
}

// A follower reads an output line by line.
type follower struct {
	of, id string
	output *spool.Spool
	done   <-chan struct{} // the command has ended
	pos    int64           // where the first line begins that was not looked at
	seen   int64           // how far the output was read
	match  func(string) bool
	tell   func(context.Context, string) error

	lines   []string // that match and were not told yet
	more    int      // lines beyond those
	passed  int64    // bytes that nobody looked at
	matched int      // lines in all
	tells   int
}

// run follows the output to its end and says how it ended.
func (f *follower) run(ctx context.Context) (summary string) {
	for pause := gather; ; {
		ended := false
		select {
		case <-f.output.Grown(f.seen):
			ended = !f.rest(ctx, pause)
		case <-f.done:
			ended = true
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return "stopped"
		}
		f.read(ended)
		if ended {
			return fmt.Sprintf("%s has ended; %d of its lines matched in all", f.of, f.matched)
		}
		if pause = gather; len(f.lines) == 0 {
			continue
		}
		if f.tells == mostTells {
			return fmt.Sprintf("%s goes on, but is not followed any more: you were told of its lines %d times. Use a pattern that fewer lines match", f.of, f.tells)
		}
		f.tells++
		if f.tell(ctx, f.notice()) != nil {
			return "stopped"
		}
		pause = betweenTells
	}
}

// rest waits for a while, and reports false when the command has ended meanwhile.
func (f *follower) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-f.done:
		return false
	}
	return true
}

// read looks at the lines that are new; at the end also at one that is not whole.
func (f *follower) read(last bool) {
	part := f.output.Since(f.pos, mostRead)
	f.seen = part.End
	f.passed += part.Left
	rest := f.look(part.Head, last || part.Tail != nil)
	if part.Tail != nil {
		tail := part.Tail
		if i := bytes.IndexByte(tail, '\n'); i >= 0 {
			tail = tail[i+1:] // its beginning was passed over
		}
		rest = f.look(tail, last)
	}
	f.pos = part.End - int64(rest)
}

// look goes through the lines of text, and returns how many bytes at its end are no whole line.
func (f *follower) look(text []byte, whole bool) (rest int) {
	for len(text) > 0 {
		line, more, found := bytes.Cut(text, []byte{'\n'})
		if !found && !whole && len(line) < mostPartial {
			return len(line)
		}
		text = more
		if clean := spool.Clean(bytes.TrimSuffix(line, []byte{'\r'})); f.match(clean) {
			f.keep(clean)
		}
	}
	return 0
}

func (f *follower) keep(line string) {
	f.matched++
	if len(f.lines) == mostLines {
		f.more++
		return
	}
	if short := tool.Prefix(line, mostLine); short != line {
		line = short + " …"
	}
	f.lines = append(f.lines, line)
}

// take returns the lines that were not told yet, and forgets them.
func (f *follower) take() string {
	text := strings.Join(f.lines, "\n")
	if f.more > 0 {
		text += fmt.Sprintf("\n[… and %d more lines that match]", f.more)
	}
	if f.passed > 0 {
		text += fmt.Sprintf("\n[… %d bytes came too fast to be looked at]", f.passed)
	}
	f.lines, f.more, f.passed = nil, 0, 0
	return strings.TrimPrefix(text, "\n")
}

// notice is what the model reads when lines match.
func (f *follower) notice() string {
	n := Notice{Job{ID: f.id, Kind: Monitor, State: Running, Outcome: Outcome{Summary: "lines of " + f.of + " match", Result: f.take()}}}
	return n.Text()
}
