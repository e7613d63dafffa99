package compact_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"gofer/internal/compact"
	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/loop"
	"gofer/internal/prompt/cachewatch"
	"gofer/internal/session"
	"gofer/internal/tool"
)

// A rig is a conversation with a scripted model, the real loop and the real log.
type rig struct {
	*loop.Loop
	compactor *compact.Compactor
	model     *script.Model
	log       *session.Log
	store     *memoryStore
	window    loop.Window

	mu      sync.Mutex
	events  []event.Event
	refused int      // requests that the service refused as too long
	sent    []string // messages of all requests that it took, as text
	results []compact.Result
	watch   *cachewatch.Watch
}

// A memoryStore stands for the transcript: it keeps all that was ever recorded.
type memoryStore struct {
	entries []loop.Entry
	fail    error
}

func (s *memoryStore) Append(_ context.Context, e ...loop.Entry) error {
	s.entries = append(s.entries, e...)
	return nil
}
func (s *memoryStore) Rewrite(context.Context, []llm.Message, event.Boundary) error { return s.fail }

type freeTariff struct{}

func (freeTariff) Cost(string, llm.Usage) float64 { return 0 }
func (freeTariff) Limits(string) (int, int)       { return 200_000, 64_000 }

type readIn struct {
	Path string `json:"file_path"`
}

// counted watches what reaches the service.
type counted struct {
	llm.Model
	r *rig
}

func (c counted) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range c.Model.Stream(ctx, req) {
			var e *llm.Error
			if errors.As(err, &e) && e.Kind == llm.PromptTooLong {
				c.r.refused++
			}
			if d.Kind == llm.Started {
				c.r.sent = append(c.r.sent, flat(req.Messages))
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// flat is all that the model reads in messages.
func flat(msgs []llm.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, block := range m.Blocks {
			switch block.Kind {
			case llm.ToolUse:
				fmt.Fprintf(&b, "%s %s\n", block.Call.Name, block.Call.Input)
			case llm.ToolResult:
				b.WriteString(block.Result.Text() + "\n")
			default:
				b.WriteString(block.Text + "\n")
			}
		}
	}
	return b.String()
}

const firstPrompt = "Please rename Foo to Bar in all files.\n\n  Keep  the   odd spacing — and <tags> & \"quotes\"."

func newRig(t testing.TB, src string, opts ...func(*rig, *compact.Options)) *rig {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	first := llm.UserText(loop.Reminder("House rules: never use tabs."), firstPrompt)
	r := &rig{model: script.NewModel(s), store: &memoryStore{}, window: loop.Window{Tokens: 20_000, MaxOutput: 8_000}}
	r.log = session.NewLog(r.store, []llm.Message{first})
	read := tool.Define(tool.Spec[readIn]{Name: "Read", Doc: "reads", Traits: func(readIn) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Run: func(_ context.Context, in readIn, _ tool.Call) (tool.Result, error) {
			return tool.Text("begin of " + in.Path + "\n" + strings.Repeat("some line of code\n", 225)), nil
		}})
	tools := tool.NewSet(read)
	o := compact.Options{
		Model:   r.model,
		Request: func() llm.Request { return llm.Request{Model: "m", MaxTokens: 1000, Tools: tools.Defs()} },
		Window:  func(string) loop.Window { return r.window },
		NewID:   uuid.NewString,
		Emit: func(e event.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, e)
		},
		Done: func(res compact.Result) {
			r.results = append(r.results, res)
			r.watch.Expect(res.Kind)
		},
	}
	for _, f := range opts {
		f(r, &o)
	}
	r.compactor = compact.New(o)
	// Between two compactions every request begins with the one before.
	r.watch = cachewatch.New(cachewatch.Options{Report: func(b cachewatch.Break) { t.Errorf("the cache was broken: %s", b) }})
	r.Loop = &loop.Loop{
		Model: r.compactor.Wrap(r.watch.Wrap(counted{r.model, r})), Request: o.Request, Tools: func() *tool.Set { return tools }, Handle: tool.Run,
		Log: r.log, Ledger: session.NewLedger(freeTariff{}), NewID: uuid.NewString, Window: o.Window, Emit: o.Emit, Compact: r.compactor,
		Spill: func(string, string) (string, error) { return "", errors.New("nowhere") },
	}
	return r
}

func (r *rig) kinds() map[string]int {
	n := map[string]int{}
	for _, res := range r.results {
		n[res.Kind]++
	}
	return n
}

func (r *rig) infos() (texts []string) {
	for _, e := range r.events {
		if i, ok := e.(event.Info); ok {
			texts = append(texts, i.Content)
		}
	}
	return texts
}

// prompt adds what a user writes.
func (r *rig) prompt(t *testing.T, text string) {
	t.Helper()
	e := loop.Entry{UUID: uuid.NewString(), Kind: loop.Prompt, Time: time.Now(), Message: llm.UserText(text)}
	if err := r.log.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// round adds a reply with calls of Read and their results.
func round(id string, size int, paths ...string) []llm.Message {
	reply := llm.Message{Role: llm.Assistant, ID: id, Blocks: []llm.Block{{Kind: llm.Thinking, Text: "hm", Signature: "s"}, llm.TextBlock("I read " + id)}}
	answer := llm.Message{Role: llm.User}
	for i, p := range paths {
		call := fmt.Sprintf("%s-%d", id, i)
		reply.Blocks = append(reply.Blocks, llm.Block{Kind: llm.ToolUse, Call: &llm.Call{ID: call, Name: "Read", Input: fmt.Appendf(nil, `{"file_path":%q}`, p)}})
		answer.Blocks = append(answer.Blocks, llm.ResultBlock(call, strings.Repeat("x", size), false))
	}
	return []llm.Message{reply, answer}
}

// checkValid fails if a provider would not take the messages.
func checkValid(t *testing.T, msgs []llm.Message) {
	t.Helper()
	if fixed := loop.Repair(msgs); flat(fixed) != flat(msgs) || len(fixed) != len(msgs) {
		t.Errorf("the view has to be repaired")
	}
	for i, m := range msgs {
		if want := []llm.Role{llm.User, llm.Assistant}[i%2]; m.Role != want {
			t.Errorf("message %d is of %s", i, m.Role)
		}
		thinking := slices.ContainsFunc(m.Blocks, func(b llm.Block) bool { return b.Kind == llm.Thinking })
		if m.Role == llm.Assistant && strings.HasPrefix(m.ID, "r") && !thinking {
			t.Errorf("reply %s lost its thinking", m.ID)
		}
	}
}
