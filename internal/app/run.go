package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/session/live"
	"gofer/internal/ui/headless"
	"gofer/internal/ui/plain"
	"gofer/internal/ui/stdin"
)

// run answers a prompt, or serves a client.
func run(ctx context.Context, w World, args []string) (err error) {
	f, words, err := parseFlags(args)
	if err == nil && f.TmuxChild != "" {
		f, words, err = takeTmuxOrder(f.TmuxChild)
		defer func() { keepWindow(w, err) }()
	}
	switch {
	case err != nil:
		return err
	case f.Help:
		fmt.Fprint(w.Stdout, help())
		return nil
	case f.Version:
		fmt.Fprintln(w.Stdout, Version+" (gofer)")
		return nil
	}
	p, err := newPlace(w, f)
	if err != nil {
		return err
	}
	if f.Tmux {
		return runInTmux(ctx, w, f, p, args)
	}
	if f.Background && f.BackgroundLog == "" {
		return startBackground(ctx, w, p, words, args)
	}
	ui := wantsUI(w, f)
	if ui && !wantsLines(w, f) && f.Resume.Set && f.Resume.Value == "" {
		return runUI(ctx, w, f, p, words) // the person picks the session
	}
	if err := p.resolveSession(f); err != nil {
		return failedStart(w, f, p, err)
	}
	if f.Rewind != "" {
		return rewindFiles(ctx, w, f, p)
	}
	if f.Input == headless.StreamJSON {
		return serveClient(ctx, w, f, p)
	}
	terminal := isTerminal(w.Stdin) && isTerminal(w.Stdout)
	if ui && wantsLines(w, f) {
		return runLinear(ctx, w, f, p, words)
	}
	if ui {
		return runUI(ctx, w, f, p, words)
	}
	if words == "" && terminal && !f.Print {
		fmt.Fprint(w.Stdout, help())
		return nil
	}
	in, err := stdin.Read(ctx, w.Stdin, words != "")
	if err != nil {
		return fmt.Errorf("reading standard input: %w", err)
	}
	text := join(words, in.Text)
	if strings.TrimSpace(text) == "" {
		//lint:ignore ST1005 programs and scripts look for this very text
		return errors.New("Input must be provided either through stdin or as a prompt argument when using --print")
	}
	if f.Background {
		return serveBackground(ctx, w, f, p, text)
	}
	return answerPrompt(ctx, w, f, p, text, in.Late, terminal && !f.Print)
}

// join makes one prompt of the argument and what was piped.
func join(words, piped string) string {
	if words == "" || piped == "" {
		return words + piped
	}
	return words + "\n" + piped
}

// answerPrompt runs one prompt to its result.
func answerPrompt(ctx context.Context, w World, f Flags, p place, text string, late <-chan string, watch bool) error {
	var who people
	if watch {
		who = terminalPeople(w)
	}
	plate := ordinary(p, f, live.Prompt, text)
	who.asker = plate.asks(who.asker)
	e, err := newEngine(ctx, w, f, p, who)
	if err != nil {
		return err
	}
	defer e.close()
	e.announce(plate)
	s := e.session
	records := e.forClient(s.Watch(context.WithoutCancel(ctx), 0))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	go func() {
		s.Submit(ctx, session.Input{Blocks: []llm.Block{llm.TextBlock(text)}})
		if late != nil {
			forwardLate(ctx, s, late)
		} else {
			s.Finish(ctx)
		}
	}()
	result, err := show(w.Stdout, s.ID, f, watch, records, func() {
		if late != nil {
			s.Finish(ctx)
		}
	})
	<-served
	return outcome(result, err)
}

// forwardLate lets what still comes from standard input join the turn that runs.
func forwardLate(ctx context.Context, s *session.Session, late <-chan string) {
	select {
	case text, ok := <-late:
		if ok {
			s.Submit(ctx, session.Input{Blocks: []llm.Block{llm.TextBlock("This came from standard input:\n" + text)}})
		}
	case <-ctx.Done():
	}
}

// show writes what the session says, in the form that was asked for. first is called after the first result.
func show(out io.Writer, id string, f Flags, watch bool, records func(func(session.Record) bool), first func()) (*event.Result, error) {
	seen := false
	tapped := func(yield func(session.Record) bool) {
		records(func(r session.Record) bool {
			ok := yield(r)
			if _, isResult := r.Event.(event.Result); isResult && !seen {
				seen = true
				go first()
			}
			return ok
		})
	}
	if watch {
		return plain.Show(out, tapped, style(out)), nil
	}
	return headless.Write(out, id, tapped, headless.Options{Format: f.Output, Verbose: f.Verbose, Partial: f.Partial, Hooks: f.HookEvents})
}

func style(out io.Writer) plain.Style {
	if f, ok := out.(*os.File); ok && isTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		return plain.ANSI
	}
	return plain.Style{}
}

// outcome turns the last result into the error of the run.
func outcome(r *event.Result, err error) error {
	switch {
	case err != nil:
		return err
	case r == nil:
		return errors.New("the run ended without a result")
	case r.IsError:
		return errResult
	}
	return nil
}
