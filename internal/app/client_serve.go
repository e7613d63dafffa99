package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"time"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session/live"
	"gofer/internal/session/transcript"
	"gofer/internal/ui/control"
	"gofer/internal/ui/headless"
)

const (
	// firstLineWait is how long the first line of a client is waited for before the session is prepared without knowing what it wants. A client
	// that announces itself writes it at once.
	firstLineWait = time.Second
	// stuckLimit is how long a program that was told to end waits for a client that does not read.
	stuckLimit = 2 * time.Second
)

// serveClient talks to a program over standard input and output.
func serveClient(ctx context.Context, w World, f Flags, p place) error {
	conn := control.NewConn(w.Stdout)
	if w.alone() {
		defer handlePipes()()
	}
	defer abandonStuck(ctx, conn)()
	in, err := f.takeWishes(ctx, w.Stdin)
	if err != nil {
		return err
	}
	e, plate, err := newClientEngine(ctx, w, f, p, conn)
	if err != nil {
		return err
	}
	defer e.close()
	defer f.wishes.close()
	e.announce(plate)
	s := e.session
	records := e.forClient(s.Watch(context.WithoutCancel(ctx), 0))
	served := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { served <- s.Serve(ctx) }()
	broken := make(chan error, 1)
	go func() {
		err := conn.Serve(ctx, in, control.Options{Handlers: e.handlers(conn), Slow: e.slowHandlers(), User: e.userLine})
		if err != nil {
			cancel(err)
		}
		s.Finish(ctx)
		broken <- err
	}()
	result, err := headless.Write(conn, s.ID, records, headless.Options{Format: headless.StreamJSON, Verbose: true, Partial: f.Partial, Hooks: f.HookEvents})
	if err != nil {
		cancel(err) // nobody reads any more: what runs for it is ended
	}
	<-served
	cancel(errOver) // the client may have asked for the end, and still be there
	inputErr := <-broken
	switch {
	case err != nil:
		return err
	case inputErr != nil && !errors.Is(inputErr, errOver):
		return inputErr
	case result == nil:
		return nil // the client said nothing
	}
	return outcome(result, nil)
}

// errOver is why nothing more is read from a client whose session has ended.
var errOver = errors.New("the session is over")

// newClientEngine makes the engine of a session that a program drives.
func newClientEngine(ctx context.Context, w World, f Flags, p place, conn *control.Conn) (e *engine, plate *nameplate, err error) {
	who := people{client: conn}
	if f.PromptTool == "stdio" && f.Prompts != "none" {
		who.asker = guard.AskFunc(func(ctx context.Context, r guard.Request) (guard.Answer, error) {
			e.tellState(waitsForClient)
			defer e.tellState(running)
			return clientAsker{conn}.Ask(ctx, r)
		})
	}
	if f.Mirror {
		f.wishes.mirror = mirrorTo(conn)
	}
	plate = ordinary(p, f, live.Client, "")
	who.asker = plate.asks(who.asker)
	e, err = newEngine(ctx, w, f, p, who)
	return e, plate, err
}

// handlePipes lets a write to a client that is gone fail, as any other write may, and not end the program at once. Commands that gofer starts
// are not touched by it, as they would be if the signal were ignored.
func handlePipes() (undo func()) {
	ch := make(chan os.Signal, 1)
	notifyBrokenPipes(ch)
	return func() { signal.Stop(ch) }
}

// abandonStuck ends the program when it was told to end and the client neither reads nor leaves: whatever is still to be written would
// never arrive. What was recorded is on disk, and commands die with the program.
func abandonStuck(ctx context.Context, conn *control.Conn) (undo func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		tick := time.NewTicker(stuckLimit / 10)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			var sig errSignal
			if conn.Stuck() > stuckLimit && errors.As(context.Cause(ctx), &sig) {
				os.Exit(signalCode(sig.signal))
			}
		}
	})
	return func() {
		stop()
		close(done)
	}
}

// takeWishes looks at the first line of the client. What it asks for there decides how the session is prepared: the line itself is read again
// and answered when the session is ready.
func (f *Flags) takeWishes(ctx context.Context, in io.Reader) (io.Reader, error) {
	wait := firstLineWait
	if f.Await || f.Agent != "" {
		wait = 0 // without limit: without the line it is not known what the session is
	}
	line, in, err := control.First(ctx, in, wait)
	if err != nil || line == nil {
		return in, err
	}
	var m struct {
		Type    string `json:"type"`
		Request struct {
			Subtype string          `json:"subtype"`
			Agents  json.RawMessage `json:"agents"`
			Schema  json.RawMessage `json:"jsonSchema"`
			Plugins []clientPlugin  `json:"plugins"`
		} `json:"request"`
	}
	if json.Unmarshal(line, &m) != nil || m.Type != "control_request" || m.Request.Subtype != "initialize" {
		return in, nil // whatever it is, it is dealt with in its place
	}
	r := m.Request
	if f.Agents == "" && isObject(r.Agents) {
		f.Agents = string(r.Agents)
	}
	if f.Schema == "" && isObject(r.Schema) {
		f.Schema = string(r.Schema)
	}
	if f.Await {
		f.addPlugins(r.Plugins)
	}
	return in, nil
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }

// mirrorTo sends what is written to transcripts to the client, which keeps a copy of its own.
func mirrorTo(conn *control.Conn) transcript.Mirror {
	return func(path string, records []json.RawMessage) {
		line, err := llm.Marshal(map[string]any{"type": "transcript_mirror", "filePath": path, "entries": records})
		if err == nil {
			conn.Write(append(line, '\n')) // a client that is gone is noticed by whoever writes next
		}
	}
}

// failedStart tells a program that reads a stream of a session that is not there: its result is what it waits for.
func failedStart(w World, f Flags, p place, err error) error {
	if f.Output != headless.StreamJSON || !errors.Is(err, transcript.ErrNotFound) {
		return err
	}
	line, encodeErr := event.Encode(event.Result{Subtype: event.ErrorExecution, IsError: true, Errors: []string{err.Error()}, TerminalReason: string(loop.ModelError),
		ModelUsage: map[string]event.ModelUsage{}, PermissionDenials: []event.Denied{}, FastModeState: "off"}, p.session, newID())
	if encodeErr != nil {
		return encodeErr
	}
	if _, writeErr := w.Stdout.Write(append(line, '\n')); writeErr != nil {
		return writeErr
	}
	return err
}
