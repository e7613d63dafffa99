package app

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/session/live"
	"gofer/internal/ui/plain"
)

// runLinear is the session for screen readers: lines go in and lines come out, nothing is drawn, moved or painted again.
func runLinear(ctx context.Context, w World, f Flags, p place, prompt string) error {
	d := &dialog{out: w.Stdout, lines: bufio.NewReader(w.Stdin), dir: p.cwd}
	who := people{watched: true, stays: true, askTrust: d.trust, asker: guard.AskFunc(d.permission)}
	plate := ordinary(p, f, live.Person, prompt)
	who.asker = plate.asks(who.asker)
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	e, err := newEngine(ctx, w, f, p, who)
	if err != nil {
		return err
	}
	defer e.close()
	d.plan = e.plan.Read
	e.announce(plate)
	records := e.session.Watch(context.WithoutCancel(ctx), 0)
	served, shown := make(chan struct{}), make(chan struct{})
	answered := make(chan struct{}, 1)
	go func() {
		defer close(served)
		e.session.Serve(ctx)
	}()
	go func() {
		defer close(shown)
		plain.Show(w.Stdout, func(yield func(session.Record) bool) {
			for r := range records {
				if u, ok := r.Event.(event.User); ok && u.Prompt {
					continue // it was typed just above
				}
				if !yield(r) {
					return
				}
				if _, ok := r.Event.(event.Result); ok {
					select {
					case answered <- struct{}{}:
					default:
					}
				}
			}
		}, plain.Style{})
	}()
	fmt.Fprintf(w.Stdout, "gofer %s, model %s. Type a prompt and press Enter. /exit leaves.\n", Version, e.brain.info().ID)
	for {
		if prompt == "" {
			fmt.Fprint(w.Stdout, "\nPrompt: ")
			if prompt, err = d.read(); err != nil && prompt == "" {
				break
			}
		}
		text := strings.TrimSpace(prompt)
		prompt = ""
		if text == "/exit" || text == "/quit" {
			break
		}
		if text == "" {
			continue
		}
		if e.session.Submit(ctx, session.Input{Blocks: []llm.Block{llm.TextBlock(text)}}) != nil {
			break
		}
		select {
		case <-answered: // questions are asked and answered before it
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	leave(errLeft)
	<-served
	<-shown
	return nil
}
