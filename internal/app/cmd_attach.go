package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"gofer/internal/guard"
	"gofer/internal/session"
	"gofer/internal/ui/plain"
	"gofer/internal/ui/remote"
)

// errDetached ends a command that was told to leave a session which goes on.
var errDetached = errors.New("left the session")

// stopWord is the line by which a person stops the turn that runs.
const stopWord = "/stop"

// runAttach is gofer attach: it shows a session as it goes on, and takes prompts and answers.
func runAttach(ctx context.Context, w World, args []string) error {
	var f struct {
		Help bool `flag:"help,h" help:"print this"`
	}
	p, id, err := named(w, args, "gofer attach ID", &f, &f.Help)
	if err != nil || id == "" {
		return err
	}
	e, err := p.running(id)
	if err != nil {
		return err
	}
	c, err := reach(ctx, e)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	a := &attachment{client: c, id: e.ID, note: w.Stderr, answered: make(chan answered)}
	fmt.Fprintf(w.Stderr, "Session %s in %s. Type a prompt; %s stops what it does; Ctrl-C leaves it running.\n", shortID(e.ID), oneLine(e.Cwd, 200), stopWord)
	plain.Show(w.Stdout, a.follow(ctx, readTyped(w.Stdin)), style(w.Stdout))
	if ctx.Err() != nil {
		fmt.Fprintf(w.Stderr, "\nSession %s goes on. gofer attach %s comes back.\n", shortID(e.ID), shortID(e.ID))
		return errDetached
	}
	return a.err
}

// readTyped reads lines in the background: a terminal cannot be told to stop waiting.
func readTyped(in *os.File) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if line = strings.TrimRight(line, "\r\n"); line != "" || err == nil {
				lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// An attachment is one watcher who may also speak. All fields belong to the goroutine of follow.
type attachment struct {
	client   *remote.Client
	id       string
	note     io.Writer
	err      error
	asked    []*asking // the first one is being asked, the others wait
	answered chan answered

	working  bool
	prompted bool     // the turn that runs has shown a prompt
	sent     []string // prompts that have not been taken up yet
	ended    bool     // nothing more will be typed
}

// An asking is a question of the session to this person. What is typed goes to the dialog through a pipe, so that a question can be
// withdrawn while the dialog waits.
type asking struct {
	id      string
	request guard.Request
	typed   *io.PipeWriter // nil: its turn has not come
}

type answered struct {
	id     string
	answer guard.Answer
	err    error
}

type incoming struct {
	line remote.Line
	err  error
}

// follow is the life of the attachment: one goroutine for what comes from the session, what is typed, and what is answered.
func (a *attachment) follow(ctx context.Context, typed <-chan string) iter.Seq[session.Record] {
	return func(yield func(session.Record) bool) {
		ctx, leave := context.WithCancel(ctx)
		defer leave()
		lines := make(chan incoming)
		go func() {
			for {
				line, err := a.client.Next()
				select {
				case lines <- incoming{line, err}:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		}()
		var ready <-chan string // nothing is sent before it is clear what was there already
		for !a.over() {
			select {
			case in := <-lines:
				if in.err != nil {
					a.lost(ctx, in.err)
					return
				}
				for _, e := range in.line.Events() {
					if in.line.Type != "control_request" && !yield(session.Record{Event: e}) {
						return
					}
				}
				a.line(ctx, in.line)
				if in.line.ReplayEnd() {
					ready = typed
				}
			case text, ok := <-ready:
				if !ok {
					ready, a.ended = nil, true
				} else if err := a.typed(text); err != nil {
					a.lost(ctx, err)
					return
				}
			case done := <-a.answered:
				a.answer(ctx, done)
			case <-ctx.Done():
				return
			}
		}
	}
}

// lost tells why the session no longer speaks.
func (a *attachment) lost(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, io.EOF):
		fmt.Fprintf(a.note, "\nThe session has ended.\n")
	default:
		a.err = err
	}
}

// over reports whether there is nothing left to wait for: nothing more is typed and all of it is answered.
func (a *attachment) over() bool {
	if a.ended && len(a.asked) > 0 {
		a.err = fmt.Errorf("the session asks something, and nobody is here to answer: gofer attach %s", shortID(a.id))
		return true
	}
	return a.ended && !a.working && len(a.sent) == 0
}

// line takes note of what comes from the session.
func (a *attachment) line(ctx context.Context, l remote.Line) {
	switch {
	case l.ReplayEnd():
		noteMissing(a.note, l, a.id)
	case l.Type == "system" && l.Subtype == "init":
		a.working, a.prompted = true, false
	case l.Type == "user" && l.IsReplay:
		a.prompted = true
		a.sent = slices.DeleteFunc(a.sent, func(id string) bool { return id == l.UUID })
	case l.Type == "result":
		if !a.prompted && len(a.sent) > 0 {
			a.sent = a.sent[1:] // gofer itself answered it, a command for example
		}
		a.working = false
	case l.Type == "control_request":
		a.ask(ctx, l)
	case l.Type == "control_cancel_request":
		a.withdraw(ctx, l.RequestID)
	case l.Type == "control_response" && l.Response.Subtype == "error":
		fmt.Fprintln(a.note, l.Response.Error)
	}
}

// typed sends a line where it belongs: to the question that is open, or to the model.
func (a *attachment) typed(text string) error {
	if len(a.asked) > 0 && a.asked[0].typed != nil {
		io.WriteString(a.asked[0].typed, text+"\n") // fails if the dialog has just got its answer; then nothing is missing
		return nil
	}
	switch strings.TrimSpace(text) {
	case "":
		return nil
	case stopWord:
		return a.client.Request(uuid.NewString(), "interrupt")
	}
	id := uuid.NewString()
	a.sent = append(a.sent, id)
	return a.client.Prompt(id, text)
}

// ask takes up a question.
func (a *attachment) ask(ctx context.Context, l remote.Line) {
	var q struct {
		Subtype     string          `json:"subtype"`
		Tool        string          `json:"tool_name"`
		Input       json.RawMessage `json:"input"`
		Description string          `json:"description"`
		Reason      string          `json:"decision_reason"`
		Suggestions []guard.Update  `json:"permission_suggestions"`
		CallID      string          `json:"tool_use_id"`
		AgentID     string          `json:"agent_id"`
	}
	if json.Unmarshal(l.Request, &q) != nil || q.Subtype != "can_use_tool" {
		return // for a program, not for a person; another watcher may answer it
	}
	a.asked = append(a.asked, &asking{id: l.RequestID, request: guard.Request{
		ID: q.CallID, Tool: q.Tool, Input: q.Input, Title: q.Description, Decision: guard.Decision{Reason: q.Reason}, Suggestions: q.Suggestions, AgentID: q.AgentID,
	}})
	a.askNext(ctx)
}

// askNext puts the first question to the person.
func (a *attachment) askNext(ctx context.Context) {
	if len(a.asked) == 0 || a.asked[0].typed != nil {
		return
	}
	q := a.asked[0]
	var r *io.PipeReader
	r, q.typed = io.Pipe()
	d := &dialog{out: cleaned{a.note}, lines: bufio.NewReader(r)}
	go func() {
		answer, err := d.permission(ctx, q.request)
		r.Close()
		select {
		case a.answered <- answered{q.id, answer, err}:
		case <-ctx.Done():
		}
	}()
}

// withdraw drops a question that somebody else has answered, or that came to nothing.
func (a *attachment) withdraw(ctx context.Context, id string) {
	i := slices.IndexFunc(a.asked, func(q *asking) bool { return q.id == id })
	if i < 0 {
		return
	}
	q := a.asked[i]
	a.asked = slices.Delete(a.asked, i, i+1)
	if q.typed != nil {
		q.typed.Close()
		fmt.Fprintln(a.note, "\n(The question is settled.)")
	}
	a.askNext(ctx)
}

// answer sends what the person said, unless the question was withdrawn meanwhile.
func (a *attachment) answer(ctx context.Context, done answered) {
	if len(a.asked) == 0 || a.asked[0].id != done.id {
		return
	}
	q := a.asked[0]
	a.asked = a.asked[1:]
	if done.err != nil {
		a.err = done.err
	} else if err := a.client.Answer(done.id, answerBody(q.request, done.answer)); err != nil {
		a.err = err
	}
	a.askNext(ctx)
}

// answerBody is an answer in the words of the protocol.
func answerBody(r guard.Request, answer guard.Answer) map[string]any {
	if !answer.Allow {
		return map[string]any{"behavior": "deny", "message": answer.Message, "interrupt": answer.Interrupt}
	}
	body := map[string]any{"behavior": "allow", "updatedInput": r.Input}
	if answer.UpdatedInput != nil {
		body["updatedInput"] = answer.UpdatedInput
	}
	if len(answer.Updates) > 0 {
		body["updatedPermissions"] = answer.Updates
	}
	return body
}

// cleaned takes control characters out of a question: the model wrote part of it.
type cleaned struct{ out io.Writer }

func (c cleaned) Write(p []byte) (int, error) {
	text := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, string(p))
	if _, err := io.WriteString(c.out, text); err != nil {
		return 0, err
	}
	return len(p), nil
}
