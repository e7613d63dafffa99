package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/llm"
)

// stream asks a model and returns what it streamed, in short, and how it ended.
func stream(ctx context.Context, m llm.Model, req llm.Request) (string, error) {
	names := map[llm.DeltaKind]string{
		llm.Started: "started", llm.BlockStarted: "block", llm.TextDelta: "text", llm.ThinkingDelta: "thinking", llm.InputDelta: "input",
		llm.BlockDone: "done-block", llm.Stopped: "stopped", llm.Done: "done", llm.Event: "event",
	}
	var b strings.Builder
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return strings.TrimSpace(b.String()), err
		}
		fmt.Fprintf(&b, "%s", names[d.Kind])
		if d.Text != "" {
			fmt.Fprintf(&b, "(%s)", d.Text)
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String()), nil
}

func TestModelPlaysInProcess(t *testing.T) {
	t.Parallel()
	m := NewModel(MustParse("chunk 5\nturn\nthink hm\ntext hello you\ncall Read {\"a\":1}\nturn\nbroken Read {\"a\n"))
	req := llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("hi")}}
	var reply llm.Message
	var usage llm.Usage
	var stop llm.StopReason
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch d.Kind {
		case llm.BlockDone:
			reply.Blocks = append(reply.Blocks, *d.Block)
		case llm.Stopped:
			usage, stop = d.Usage, d.Stop
		}
	}
	if reply.Text() != "hello you" || len(reply.Calls()) != 1 || string(reply.Calls()[0].Input) != `{"a":1}` || stop != llm.StopToolUse || usage.Input != 1 {
		t.Errorf("got %+v, %v, %+v", reply, stop, usage)
	}
	got, err := stream(t.Context(), m, req)
	if want := "started block thinking(hm) done-block block text(hello) text( you) done-block block input input({\"a\":) input(1}) done-block stopped done"; got != want || err != nil {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	reply.Role = llm.Assistant
	req.Messages = append(req.Messages, reply, llm.Message{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock(reply.Calls()[0].ID, "r", false)}})
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Kind == llm.BlockDone && (!d.Block.Call.BadInput || string(d.Block.Call.Input) != `{"a`) {
			t.Errorf("got %+v", d.Block.Call)
		}
	}
	if kept := m.Requests(); len(kept) != 3 || len(kept[0].Messages) != 1 || len(kept[2].Messages) != 3 {
		t.Errorf("kept %d requests", len(kept))
	}
}

func TestModelGivesRawEventsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	m := NewModel(MustParse("turn\nthink a\ntext b"))
	var raw []string
	for d, err := range m.Stream(t.Context(), llm.Request{Model: "m", WantRaw: true, Messages: []llm.Message{llm.UserText("hi")}}) {
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(string(d.Raw), `{"type":"`)
		name, _, _ = strings.Cut(name, `"`)
		raw = append(raw, name)
	}
	if got := strings.Join(raw, " "); got != "message_start content_block_start ping content_block_delta content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop" {
		t.Errorf("got %s", got)
	}
}

func TestModelFailsAsAProviderDoes(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]llm.Error{
		"turn\nerror 429 retry-after=2 x-should-retry=true Slow": {Kind: llm.RateLimit, Status: 429, Message: "Slow", RetryAfter: 2 * time.Second},
		"turn\nerror 529":                       {Kind: llm.Overloaded, Status: 529, Message: "Overloaded"},
		"turn\nerror 401 no":                    {Kind: llm.Authentication, Status: 401, Message: "no"},
		"turn\nerror 404 no":                    {Kind: llm.ModelNotFound, Status: 404, Message: "no"},
		"turn\nerror 400 prompt is too long":    {Kind: llm.PromptTooLong, Status: 400, Message: "prompt is too long"},
		"turn\nerror 400 bad":                   {Kind: llm.InvalidRequest, Status: 400, Message: "bad"},
		"turn\nerror 402 pay":                   {Kind: llm.Billing, Status: 402, Message: "pay"},
		"turn\nerror 502":                       {Kind: llm.ServerError, Status: 502, Message: "Bad Gateway"},
		"turn\ntext a\nafter 1 drop":            {Kind: llm.Connection, Message: "the connection dropped"},
		"turn\ntext a\nclose":                   {Kind: llm.BadStream, Message: "the stream ended before the reply was complete"},
		"turn\nraw \"data: {\"":                 {Kind: llm.BadStream, Message: `the stream could not be understood: "data: {"`},
		"window 1\nturn\ntext a":                {Kind: llm.PromptTooLong, Status: 400, Message: "prompt is too long: 3 tokens > 1 maximum"},
		"turn\ntext a\nafter 1 error 529":       {Kind: llm.Overloaded, Status: 529, Message: "Overloaded"},
		"turn\nexpect last_user ~ bye\ntext a":  {Kind: llm.ServerError, Status: 500, Message: `script script: line 1: turn 1 of section main expects last_user ~ bye, but last_user is "hello there"`},
		"turn\nwhen last_user ~ bye\ntext a":    {Kind: llm.ServerError, Status: 500, Message: "script script: line 1: turn 1 of section main has no reply whose conditions this request meets"},
		"models other\nturn\ntext a":            {Kind: llm.ModelNotFound, Status: 404, Message: "model: m"},
		"turn\nerror 400 image exceeds maximum": {Kind: llm.BadMedia, Status: 400, Message: "image exceeds maximum"},
	} {
		_, err := stream(t.Context(), NewModel(MustParse(script)), llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("hello there")}})
		var got *llm.Error
		if !errors.As(err, &got) || got.Kind != want.Kind || got.Status != want.Status || got.Message != want.Message || got.RetryAfter != want.RetryAfter {
			t.Errorf("%s\ngot  %#v\nwant %#v", script, err, want)
		}
		if got != nil && want.Status == 500 && got.Retryable() {
			t.Errorf("%s: a script without an answer says that trying again helps", script)
		}
	}
}

func TestModelRefusesAnInvalidHistory(t *testing.T) {
	t.Parallel()
	m := NewModel(MustParse("loop\nturn\ntext a"))
	call := llm.Message{Role: llm.Assistant, Blocks: []llm.Block{{Kind: llm.ToolUse, Call: &llm.Call{ID: "1", Name: "T", Input: []byte("{}")}}}}
	_, err := stream(t.Context(), m, llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("hi"), call, llm.UserText("and?")}})
	var got *llm.Error
	if !errors.As(err, &got) || got.Kind != llm.InvalidRequest || !strings.Contains(got.Message, "`tool_use` ids were found without") {
		t.Errorf("got %v", err)
	}
}

func TestModelWaitsAndCanBeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewModel(MustParse("delay 1s\nchunk 1\nturn\nwait 10s\ntext abc\nstall 20s\nturn\nstall forever"))
		req := llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("hi")}}
		start := time.Now()
		if got, err := stream(t.Context(), m, req); err != nil || time.Since(start) != 33*time.Second {
			t.Errorf("took %v: %s, %v", time.Since(start), got, err)
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Blocks: []llm.Block{llm.TextBlock("abc")}}, llm.UserText("on"))
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(cause) })
		if got, err := stream(ctx, m, req); !errors.Is(err, cause) || got != "started" {
			t.Errorf("got %s, %v", got, err)
		}
		for range m.Stream(t.Context(), req) {
			break // leaving is no error and waits for nothing
		}
	})
}

func TestModelCountsTheCache(t *testing.T) {
	t.Parallel()
	m := NewModel(MustParse("loop\nturn\ntext ok"))
	req := llm.Request{Model: "m", System: []llm.SystemBlock{{Text: words(3000), Mark: true}}, Messages: []llm.Message{llm.UserText("hello there")}}
	for i, want := range []llm.Usage{{CacheWrite: 3003, Output: 1}, {CacheRead: 3003, Output: 1}} {
		for d, err := range m.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Kind == llm.Stopped && d.Usage != want {
				t.Errorf("request %d: got %+v, want %+v", i+1, d.Usage, want)
			}
		}
	}
}
