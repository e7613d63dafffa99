package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/ui/control"
	"gofer/internal/ui/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A stage is a server on a real socket.
type stage struct {
	*remote.Server
	t       *testing.T
	socket  string
	prompts chan string
	waiting chan int
	end     func()
}

// watcher speaks the real protocol, and asks in the shortest way that it has.
type watcher struct {
	*control.Conn
	prompts chan string
}

func (w watcher) Serve(ctx context.Context, in io.Reader) error {
	return w.Conn.Serve(ctx, in, control.Options{User: func(_ context.Context, u control.UserMessage) error {
		w.prompts <- string(u.Message)
		return nil
	}})
}

func (w watcher) Ask(ctx context.Context, r guard.Request) (guard.Answer, error) {
	raw, err := w.Request(ctx, map[string]any{"subtype": "can_use_tool", "tool_name": r.Tool, "description": r.Title})
	if err != nil {
		return guard.Answer{}, err
	}
	var answer struct{ Behavior string }
	err = json.Unmarshal(raw, &answer)
	return guard.Answer{Allow: answer.Behavior == "allow"}, err
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, socket: filepath.Join(t.TempDir(), "s"), prompts: make(chan string, 1), waiting: make(chan int, 10)}
	s.Server = &remote.Server{
		SessionID: "one",
		Connect:   func(out io.Writer) remote.Watcher { return watcher{control.NewConn(out), s.prompts} },
		Waiting:   func(n int) { s.waiting <- n },
	}
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background(), l) }()
	s.end = func() {
		s.End()
		l.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	return s
}

func (s *stage) dial() *remote.Client {
	s.t.Helper()
	c, err := remote.Dial(s.t.Context(), s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

func (s *stage) say(text string) {
	s.t.Helper()
	err := s.Add(event.Assistant{Message: event.AssistantMessage{Role: llm.Assistant, Content: []llm.Block{llm.TextBlock(text)}}}, "")
	if err != nil {
		s.t.Error(err)
	}
}

// until reads lines until one holds the text.
func until(t *testing.T, c *remote.Client, text string) remote.Line {
	t.Helper()
	for {
		l, err := c.Next()
		if err != nil {
			t.Fatalf("waiting for %q: %v", text, err)
		}
		if strings.Contains(string(l.Raw), text) {
			return l
		}
	}
}

func TestALateWatcherSeesWhatWasAndThenWhatIs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Add(event.User{Prompt: true, Message: llm.UserText("the prompt")}, "")
	s.say("before")
	c := s.dial()
	for _, want := range []string{"the prompt", "before", "replay_end"} {
		if l, err := c.Next(); err != nil || !strings.Contains(string(l.Raw), want) {
			t.Errorf("not %q but %s %v", want, l.Raw, err)
		}
	}
	s.say("after")
	until(t, c, "after")
	if err := c.Prompt("id", "hello"); err != nil {
		t.Fatal(err)
	}
	if got := <-s.prompts; !strings.Contains(got, "hello") {
		t.Errorf("the prompt came as %s", got)
	}
	s.say("the last word")
	s.end()
	until(t, c, "the last word")
	if _, err := c.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

func TestAWatcherThatSleepsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	defer s.end()
	asleep := s.dial()
	until(t, asleep, "replay_end")
	awake := s.dial()
	until(t, awake, "replay_end")
	big := strings.Repeat("x", 1<<20)
	for i := range 12 { // far more than a socket and the backlog hold
		s.say(fmt.Sprint(i, big))
	}
	s.say("the newest")
	until(t, awake, "the newest")
	late := s.dial()
	if l := until(t, late, "replay_end"); l.Missing < 8 {
		t.Errorf("only %d of 13 lines are said to be missing", l.Missing)
	}
	asleep.Close() // or the end would have to wait for it
}

func TestAQuestionWaitsForTheFirstAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	defer s.end()
	got := make(chan guard.Answer, 1)
	ask := func(ctx context.Context) {
		a, err := s.Ask(ctx, guard.Request{Tool: "Bash", Title: "make it so"})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		got <- a
	}
	go ask(t.Context())
	if n := <-s.waiting; n != 1 {
		t.Errorf("%d questions are open", n)
	}
	leaves := s.dial()
	until(t, leaves, "can_use_tool")
	leaves.Close() // without an answer
	a, b := s.dial(), s.dial()
	until(t, a, "can_use_tool")
	q := until(t, b, "can_use_tool")
	if events := q.Events(); len(events) != 1 || !strings.Contains(events[0].(event.Info).Content, "Bash: make it so") {
		t.Errorf("a follower reads %+v", events)
	}
	if err := b.Answer(q.RequestID, map[string]any{"behavior": "allow"}); err != nil {
		t.Fatal(err)
	}
	if answer := <-got; !answer.Allow {
		t.Error("the answer was lost")
	}
	until(t, a, "control_cancel_request")
	if n := <-s.waiting; n != 0 {
		t.Errorf("%d questions are open", n)
	}

	ctx, cancel := context.WithCancel(t.Context())
	go ask(ctx)
	until(t, a, "can_use_tool")
	cancel() // the turn was interrupted
	until(t, a, "control_cancel_request")
	if answer := <-got; answer.Allow {
		t.Error("a question that was withdrawn was answered")
	}
}

func TestStrangeLinesHarmOnlyWhoSendsThem(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	defer s.end()
	good := s.dial()
	until(t, good, "replay_end")
	c, err := net.Dial("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "this is no JSON\n")
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	said, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(said), "Error parsing streaming input line") {
		t.Errorf("%s %v", said, err)
	}
	s.say("still here")
	until(t, good, "still here")
}
