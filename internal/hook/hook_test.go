package hook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofer/internal/event"
	"gofer/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A rig is an engine, a tool with a real side effect behind Wrap, and all that was reported.
type rig struct {
	t      *testing.T
	dir    string
	engine *Engine
	late   chan Outcome

	mu     sync.Mutex
	events []event.Event
}

func newRig(t *testing.T, o Options, groups ...Group) *rig {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are for sh")
	}
	r := &rig{t: t, dir: t.TempDir(), late: make(chan Outcome, 10)}
	o.Groups = append(o.Groups, groups...)
	o.Facts = func() Facts {
		return Facts{SessionID: "s1", TranscriptPath: "/t.jsonl", Cwd: r.dir, ProjectDir: r.dir, PermissionMode: "default"}
	}
	o.Emit = func(e event.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	}
	o.Late = func(out Outcome) { r.late <- out }
	r.engine = New(o)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		r.engine.Close(ended)
	})
	return r
}

type touchInput struct {
	Path string `json:"path" minlen:"1"`
}

// touch is a tool that makes a file, so that a test sees on disk whether it ran.
func (r *rig) touch() *tool.Tool {
	return tool.Define(tool.Spec[touchInput]{Name: "Touch", Aliases: []string{"OldTouch"}, Run: func(_ context.Context, in touchInput, _ tool.Call) (tool.Result, error) {
		if err := os.WriteFile(filepath.Join(r.dir, in.Path), nil, 0o600); err != nil {
			return tool.Result{}, err
		}
		return tool.Text("made " + in.Path), nil
	}})
}

func (r *rig) call(input string) tool.Call {
	r.t.Helper()
	c, err := r.touch().Bind("toolu_1", json.RawMessage(input))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// run sends a call through the chain.
func (r *rig) run(input string, inner ...tool.Middleware) (tool.Result, error) {
	r.t.Helper()
	h := tool.Chain(tool.Run, append([]tool.Middleware{Wrap(r.engine, nil)}, inner...)...)
	return h(r.t.Context(), r.call(input))
}

func (r *rig) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(r.dir, name))
	return err == nil
}

func (r *rig) read(name string) string {
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Helper()
		r.t.Fatal(err)
	}
	return string(data)
}

// warnings returns all warnings so far.
func (r *rig) warnings() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.events {
		if info, ok := e.(event.Info); ok && info.Level == "warning" {
			all = append(all, info.Content)
		}
	}
	return strings.Join(all, "\n")
}

// responses returns what was reported of each hook that ended.
func (r *rig) responses() []event.HookResponse {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []event.HookResponse
	for _, e := range r.events {
		if resp, ok := e.(event.HookResponse); ok {
			all = append(all, resp)
		}
	}
	return all
}

func on(e Event, matcher string, hooks ...Hook) Group {
	return Group{Event: e, Matcher: matcher, Hooks: hooks, Source: Source{Name: "settings.json"}}
}

func command(text string) Hook { return Hook{Type: "command", Command: text} }

func printJSON(text string) Hook {
	return Hook{Type: "command", Command: "printf", Args: []string{"%s", text}}
}

// take waits for what came of a hook in the background.
func (r *rig) take() Outcome {
	r.t.Helper()
	select {
	case o := <-r.late:
		return o
	case <-time.After(20 * time.Second):
		r.t.Fatal("nothing came of the hook in the background")
		return Outcome{}
	}
}
