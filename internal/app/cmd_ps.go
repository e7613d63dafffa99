package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"gofer/internal/cli"
	"gofer/internal/session"
	"gofer/internal/session/live"
	"gofer/internal/session/transcript"
	"gofer/internal/ui/plain"
	"gofer/internal/ui/remote"
)

// runPs is gofer ps: the sessions of this user that run now, in the background and elsewhere.
func runPs(_ context.Context, w World, args []string) error {
	var f struct {
		JSON bool `flag:"json" help:"for programs"`
		Help bool `flag:"help,h" help:"print this"`
	}
	words, err := cli.Parse(args, &f, nil)
	switch {
	case err != nil:
		return err
	case f.Help:
		_, err := fmt.Fprintf(w.Stdout, "Usage: gofer ps\n\nOptions:\n%s", cli.Help(&f))
		return err
	case len(words) > 0:
		return usage("gofer ps takes no argument, but got %q", words[0])
	}
	if err := canDetach(); err != nil {
		return err
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	running, lost, err := p.live().List()
	if err != nil {
		return err
	}
	for _, l := range lost {
		fmt.Fprintf(w.Stderr, "Session %s in %s ended without a word. gofer --resume %s goes on with it.\n", l.ID, oneLine(l.Cwd, 200), l.ID)
		if l.Words != "" {
			fmt.Fprintln(w.Stderr, "  Its process said: "+oneLine(l.Words, 300))
		}
	}
	if f.JSON {
		e := json.NewEncoder(w.Stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(append([]live.Entry{}, running...))
	}
	return listRunning(w.Stdout, running, p.home)
}

func listRunning(out io.Writer, running []live.Entry, home string) error {
	if len(running) == 0 {
		_, err := fmt.Fprintln(out, `No session runs. gofer --bg "what to do" starts one.`)
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tKIND\tSTATE\tMODEL\tCOST\tAGE\tFOLDER\tLAST")
	for _, e := range running {
		folder := e.Cwd
		if rest, ok := strings.CutPrefix(folder, home+"/"); ok {
			folder = "~/" + rest
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t$%.4f\t%s\t%s\t%s\n", shortID(e.ID), oneLine(e.Kind, 12), oneLine(e.State, 30), oneLine(e.Model, 30), e.CostUSD, time.Since(e.Started).Round(time.Second), oneLine(folder, 60), oneLine(cmp.Or(e.Last, e.Title), 80))
	}
	return t.Flush()
}

// named reads the options of a command about one running session, and finds it.
func named(w World, args []string, form string, flags any, help *bool) (place, string, error) {
	words, err := cli.Parse(args, flags, nil)
	switch {
	case err != nil:
		return place{}, "", err
	case *help:
		fmt.Fprintf(w.Stdout, "Usage: %s\n\nID is the id of a session, or its beginning; gofer ps lists them.\n\nOptions:\n%s", form, cli.Help(flags))
		return place{}, "", nil
	case len(words) != 1:
		return place{}, "", usage("usage: %s", form)
	}
	if err := canDetach(); err != nil {
		return place{}, "", err
	}
	p, err := newPlace(w, Flags{})
	return p, words[0], err
}

// running is a session that runs.
func (p place) running(id string) (live.Entry, error) {
	e, err := p.live().Find(id)
	if errors.Is(err, live.ErrNotRunning) {
		err = fmt.Errorf("%w. gofer ps lists those that run, gofer sessions list those that have ended", err)
	}
	return e, err
}

// runLogs is gofer logs: what a session said and did, as far as it is still held; the transcript of one that has ended.
func runLogs(ctx context.Context, w World, args []string) error {
	var f struct {
		Follow bool `flag:"follow,f" help:"go on until the session ends"`
		Help   bool `flag:"help,h" help:"print this"`
	}
	p, id, err := named(w, args, "gofer logs ID [-f]", &f, &f.Help)
	if err != nil || id == "" {
		return err
	}
	e, err := p.live().Find(id)
	if errors.Is(err, live.ErrNotRunning) {
		if exportNamed(w, p, id) == nil {
			return nil
		}
		return fmt.Errorf("%w, and none that has ended either. gofer ps and gofer sessions list --all list them", err)
	}
	if err != nil {
		return err
	}
	if e.Socket == "" && !f.Follow {
		return exportNamed(w, p, e.ID)
	}
	c, err := reach(ctx, e)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	plain.Show(w.Stdout, lines(c, w.Stderr, e.ID, f.Follow, &err), style(w.Stdout))
	if ctx.Err() != nil {
		return errDetached
	}
	return err
}

// exportNamed shows the transcript of a session.
func exportNamed(w World, p place, id string) error {
	s, err := transcript.Root(p.config).Find(p.projectDir(), id)
	if err != nil {
		return err
	}
	return transcript.Export(w.Stdout, s.Path, transcript.Text)
}

// reach connects to a session in the background.
func reach(ctx context.Context, e live.Entry) (*remote.Client, error) {
	if e.Socket == "" {
		return nil, fmt.Errorf("session %s is not in the background: it belongs to the terminal or the program that started it (process %d)", e.ID, e.PID)
	}
	return remote.Dial(ctx, e.Socket)
}

// lines are the records of a session in another process: those that were, and if follow is set those that come.
func lines(c *remote.Client, note io.Writer, id string, follow bool, err *error) iter.Seq[session.Record] {
	return func(yield func(session.Record) bool) {
		for {
			line, nextErr := c.Next()
			switch {
			case errors.Is(nextErr, io.EOF):
				return
			case nextErr != nil:
				*err = nextErr
				return
			case line.ReplayEnd():
				noteMissing(note, line, id)
				if !follow {
					return
				}
			}
			for _, e := range line.Events() {
				if !yield(session.Record{Event: e}) {
					return
				}
			}
		}
	}
}

func noteMissing(note io.Writer, line remote.Line, id string) {
	if line.Missing > 0 {
		fmt.Fprintf(note, "(%d older lines are no longer held here: gofer sessions show %s has all)\n", line.Missing, id)
	}
}

// endPatience is how long a session may take to end in good order.
const endPatience = 15 * time.Second

// runKill is gofer kill: it stops what a session does, lets it write its result, and ends it.
func runKill(ctx context.Context, w World, args []string) error {
	var f struct {
		Force bool `flag:"force" help:"end it at once, without a last word"`
		Help  bool `flag:"help,h" help:"print this"`
	}
	p, id, err := named(w, args, "gofer kill ID [--force]", &f, &f.Help)
	if err != nil || id == "" {
		return err
	}
	e, err := p.running(id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, endPatience, fmt.Errorf("session %s has not ended within %v: gofer kill --force %s ends it at once", e.ID, endPatience, shortID(e.ID)))
	defer cancel()
	if f.Force {
		err = endProcess(e.PID, true)
	} else if err = askToEnd(ctx, e); err != nil {
		err = endProcess(e.PID, false) // it cannot be reached, but may still hear a signal
	}
	if err != nil && e.Alive() {
		return fmt.Errorf("ending process %d: %w", e.PID, err)
	}
	if err := gone(ctx, e); err != nil {
		return err
	}
	if _, _, err := p.live().List(); err != nil { // takes away what a killed one has left
		return err
	}
	fmt.Fprintf(w.Stdout, "Session %s has ended. gofer --resume %s goes on with it.\n", e.ID, e.ID)
	return nil
}

// askToEnd tells a session to end and reads until it has said its last word.
func askToEnd(ctx context.Context, e live.Entry) error {
	c, err := reach(ctx, e)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	if err := c.Request(uuid.NewString(), "end_session"); err != nil {
		return err
	}
	for {
		if _, err := c.Next(); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || !e.Alive() {
				return nil
			}
			return err
		}
	}
}

// gone waits until a process is no more. It is nobody's child here, so there is nothing to wait on but the list of processes.
func gone(ctx context.Context, e live.Entry) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for e.Alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
