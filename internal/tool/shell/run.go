package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"gofer/internal/proc"
	"gofer/internal/proc/spool"
	"gofer/internal/tool"
)

const (
	timeoutGrace   = 2 * time.Second
	interruptGrace = 300 * time.Millisecond
	stopGrace      = 2 * time.Second
	// pipeWait is how long the end of the output may take after the end of the command: a process that could not be killed may
	// hold the pipe.
	pipeWait = time.Second
)

// A running command. Its fields below finished are valid once that is closed.
type running struct {
	in       bashIn
	dir      string // where it was started
	note     string // what the model must know about the start
	begun    time.Time
	process  *proc.Process
	output   *spool.Spool
	progress *progress
	timedOut atomic.Bool
	sent     bool // the user has sent it to the background

	finished chan struct{}
	exit     proc.Exit
	took     time.Duration
	endDir   string // where the shell was at its end; "" if it did not say
}

func (b *bash) run(ctx context.Context, in bashIn, noSandbox bool, c tool.Call) (tool.Result, error) {
	if err := b.check(in); err != nil {
		return tool.Result{}, err
	}
	r, err := b.start(ctx, in, noSandbox, c.Progress)
	if err != nil {
		return tool.Result{}, err
	}
	if in.Background {
		return b.toBackground(r, c, 0), nil
	}
	limit := b.timeLimit(in)
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	late, stop := b.lateness()
	defer stop()
	var here *wait
	if b.Jobs != nil {
		here = b.Foreground.enter(c.ID)
	}
	defer here.leave()
	interrupted := false
	select {
	case <-r.finished:
	case <-late:
		return b.moved(r, c, limit), nil
	case answer := <-here.asked():
		r.sent = !r.over()
		answer <- r.sent
		if r.sent {
			return b.moved(r, c, limit), nil
		}
	case <-timeout.C:
		r.timedOut.Store(true)
		r.process.Kill(timeoutGrace)
		<-r.finished
	case <-ctx.Done():
		interrupted = true
		r.process.Kill(interruptGrace)
		<-r.finished
	}
	return b.result(ctx, r, limit, interrupted, c.Traits.Parallel), nil
}

// start starts a command and takes care of it until its end.
func (b *bash) start(ctx context.Context, in bashIn, noSandbox bool, report func(tool.Progress)) (*running, error) {
	r := &running{in: in, output: spool.New(b.OutputDir), finished: make(chan struct{})}
	if err := b.chooseDir(r); err != nil {
		return nil, err
	}
	l, err := b.launch(ctx, in.Command)
	if err != nil {
		return nil, err
	}
	if b.Wrap != nil && !noSandbox && (b.Excluded == nil || !b.Excluded(in.Command)) {
		if l.argv, err = b.Wrap(l.argv); err != nil {
			l.started()
			l.close()
			return nil, fmt.Errorf("the sandbox could not be set up, so the command was not run: %w", err)
		}
	}
	rd, wr, err := os.Pipe()
	if err != nil {
		l.started()
		l.close()
		return nil, fmt.Errorf("no pipe for the output: %w", err)
	}
	r.begun = time.Now()
	// The call may end before the command does: it moves to the background then.
	r.process, err = b.Runner.Start(context.WithoutCancel(ctx), proc.Cmd{
		Argv: l.argv, Dir: r.dir, Env: append(l.env, "PWD="+r.dir), Stdout: wr, Stderr: wr, Extra: l.extra,
	})
	wr.Close()
	l.started()
	if err != nil {
		rd.Close()
		l.close()
		return nil, b.startError(err)
	}
	r.progress = newProgress(report)
	go r.follow(rd, l)
	return r, nil
}

func (b *bash) startError(err error) error {
	if errors.Is(err, proc.ErrClosed) {
		return err
	}
	return fmt.Errorf("the command could not be started (%w); the working directory is %s", err, b.Dir.Cwd())
}

// chooseDir finds the folder to start in. One that was removed is replaced by the project's.
func (b *bash) chooseDir(r *running) error {
	r.dir = b.Dir.Cwd()
	info, err := os.Stat(r.dir)
	if err == nil && info.IsDir() {
		return nil
	}
	if b.AllowedDirs != nil {
		for _, dir := range b.AllowedDirs() {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				r.note = fmt.Sprintf("The working directory %s is gone; it was reset to %s.", r.dir, dir)
				r.dir = dir
				if b.KeepCwd {
					b.Dir.SetCwd(dir)
				}
				return nil
			}
		}
	}
	return fmt.Errorf("the working directory %s is gone, so nothing can be run in it", r.dir)
}

// follow reads the output to its end and sees how the command ended.
func (r *running) follow(rd *os.File, l *launch) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(r.output, r.progress)}, struct{ io.Reader }{rd}, make([]byte, 64<<10))
	}()
	r.exit = r.process.Wait()
	rd.SetReadDeadline(time.Now().Add(pipeWait))
	<-read
	rd.Close()
	r.took = time.Since(r.begun)
	r.endDir = l.endDir()
	l.close()
	r.progress.stop()
	r.output.Close()
	close(r.finished)
}

// moved lets a command that was waited for go on in the background. A time limit that nobody asked for is dropped: nobody waits any
// more.
func (b *bash) moved(r *running, c tool.Call, limit time.Duration) tool.Result {
	if r.in.Timeout == 0 {
		limit = 0
	}
	return b.toBackground(r, c, limit)
}

// toBackground registers the command as a job and answers the call. limit is the time the command may take in all, 0 for
// any.
func (b *bash) toBackground(r *running, c tool.Call, limit time.Duration) tool.Result {
	r.progress.stop()
	var soFar spool.Part
	if !r.in.Background {
		soFar = r.output.Since(0, b.outputLimit()*rawFactor)
	}
	stop := func() { r.process.Kill(stopGrace) }
	id, file, end := b.Jobs.Begin(b.Owner, c.ID, title(r.in), r.output, soFar.End, stop)
	var timer *time.Timer
	if limit > 0 {
		timer = time.AfterFunc(max(0, limit-time.Since(r.begun)), func() {
			r.timedOut.Store(true)
			r.process.Kill(timeoutGrace)
		})
	}
	go func() {
		<-r.finished
		if timer != nil {
			timer.Stop()
		}
		end(r.exit.Code, r.summary(limit))
	}()
	return b.backgroundResult(r, soFar.Text(b.outputLimit(), ""), id, file, limit)
}

// summary says in one line how a background command ended.
func (r *running) summary(limit time.Duration) string {
	how := fmt.Sprintf("ended with exit code %d%s", r.exit.Code, signalNote(r.exit.Code))
	switch {
	case r.timedOut.Load():
		how = fmt.Sprintf("was ended after its time limit of %s", limit)
	case r.exit.Lost:
		how = "was killed together with the process that kept it"
	}
	return fmt.Sprintf("Background command %q %s after %s", title(r.in), how, roundTime(r.took))
}

// within reports whether dir is one of roots or below one.
func within(dir string, roots []string) bool {
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// settleDir carries the shell's last folder to the next call, and returns what the model must know of it.
func (b *bash) settleDir(r *running, parallel bool) string {
	if r.endDir == "" || r.endDir == r.dir || parallel {
		return ""
	}
	if real, err := filepath.EvalSymlinks(r.dir); err == nil && real == r.endDir {
		return ""
	}
	switch {
	case !b.KeepCwd:
		return "The working directory was reset to " + r.dir + ": a cd does not hold for the next command."
	case b.AllowedDirs != nil && !within(r.endDir, b.AllowedDirs()):
		return fmt.Sprintf("The working directory was reset to %s, because %s is outside the allowed folders.", r.dir, r.endDir)
	}
	b.Dir.SetCwd(r.endDir)
	return ""
}
