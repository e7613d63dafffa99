package agents_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"gofer/internal/agents"
	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/session/transcript"
	"gofer/internal/tool"
	"gofer/internal/tool/files"
	"gofer/internal/tool/search"
	"gofer/internal/tool/team"
	"gofer/internal/work/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type tariff struct{}

func (tariff) Cost(_ string, u llm.Usage) float64 { return float64(u.Prompt()+u.Output) / 1e6 }
func (tariff) Limits(string) (int, int)           { return 200_000, 64_000 }

// A rig is a main agent with a crew: the real loop, gate, hooks, file tools and transcripts, and a scripted model.
type rig struct {
	t      *testing.T
	dir    string // the project
	config string // where transcripts go
	script *script.Model
	crew   *agents.Crew
	jobs   *job.Registry
	ledger *session.Ledger
	policy *guard.Live
	log    *session.Log
	loop   loop.Loop
	hold   chan struct{} // what the tool Hold waits for
	holds  chan string   // told the id of each agent that calls Hold

	mu     sync.Mutex
	events []event.Event
}

type setup struct {
	model   llm.Model // nil: the script in process
	limits  agents.Limits
	forking bool
	oneShot bool
	after   time.Duration
	defs    map[string]string // definitions by file name
	hooks   []hook.Group
	rules   []guard.Rule
	mode    guard.Mode
	unkept  bool
	config  string
	words   bool
	compact loop.Compactor
}

func newRig(t *testing.T, src string, s setup) *rig {
	t.Helper()
	parsed, err := script.Parse(t.Name(), []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: t.TempDir(), config: s.config, script: script.NewModel(parsed), hold: make(chan struct{}), holds: make(chan string, 300)}
	if r.config == "" {
		r.config = t.TempDir()
	}
	model := s.model
	if model == nil {
		model = r.script
	}
	r.jobs = job.New(filepath.Join(r.config, "tasks"), 0, time.Now)
	t.Cleanup(r.jobs.Watch(func(j job.Job) {
		if !j.State.Ended() {
			r.emit(event.TaskStarted{TaskID: j.ID, ToolUseID: j.CallID, Description: j.Description, TaskType: string(j.Kind)})
		}
	}))
	r.ledger = session.NewLedger(tariff{})
	r.policy = guard.NewLive(guard.Base{Rules: s.rules, Policy: guard.Policy{Mode: s.mode, Dir: r.dir, Home: r.config, Disk: guard.Real{}}})
	for name, text := range s.defs {
		r.write(filepath.Join(".claude", "agents", name), text)
	}
	defs := agents.Load(agents.Source{Origin: agents.Project, Dir: filepath.Join(r.dir, ".claude", "agents")})
	facts := func() hook.Facts { return hook.Facts{SessionID: "s", Cwd: r.dir, ProjectDir: r.dir} }
	hooks := hook.New(hook.Options{Groups: s.hooks, Facts: facts, Emit: r.emit})
	t.Cleanup(func() { hooks.Close(context.Background()) })
	denials := guard.NewLedger()
	gate := func(p agents.Post) tool.Middleware {
		return guard.Gate(guard.Options{Policy: p.Policy, Dir: p.Cwd, AgentID: p.ID, Ledger: denials})
	}
	options := agents.Options{
		Definitions: func() *agents.Definitions { return defs }, Limits: func() agents.Limits { return s.limits },
		Model: model, Request: request, Window: window, Ledger: r.ledger, Price: tariff{}.Cost,
		Gate: gate, Facts: facts, Jobs: r.jobs, TaskDir: filepath.Join(r.config, "tasks"), Emit: r.emit, Spill: noSpill,
		System: func(prompt string, _ agents.Post) []llm.SystemBlock {
			return []llm.SystemBlock{{Text: prompt, Mark: true}}
		},
		Small:   func(string) string { return "little" },
		Forking: s.forking, Foreground: s.oneShot, AutoBackground: s.after, ForwardText: func() bool { return s.words },
	}
	if s.compact != nil {
		options.Compact = func(agents.Post, func() llm.Request, func(string, llm.Usage, time.Duration)) (loop.Compactor, llm.Model) {
			return s.compact, model
		}
	}
	if !s.unkept {
		options.Keep = keeper{filepath.Join(r.config, "projects"), r.dir}
	}
	r.crew = agents.New(context.Background(), options)
	t.Cleanup(r.crew.Close)
	r.log = session.NewLog(nil, nil)
	main := bench{r: r, seen: files.NewSeen(), cwd: r.dir, team: r.crew.Main(), forking: s.forking}
	tools := tool.NewSet(main.Tools()...)
	begin := func() llm.Request {
		req := request("claude-opus-4-8", "")
		req.System, req.Tools = []llm.SystemBlock{{Text: strings.Repeat("You are the main agent. ", 400), Mark: true}}, tools.Defs()
		return req
	}
	r.crew.Main().Take(agents.Seat{Bench: main, Request: begin, Tools: func() *tool.Set { return tools }, Policy: r.policy.Policy, Hooks: hooks, Log: r.log})
	parallel := max(10, s.limits.MaxParallel)
	r.loop = loop.Loop{
		Model: model, Request: begin, Tools: func() *tool.Set { return tools }, Log: r.log, Ledger: r.ledger, Emit: r.emit, Window: window,
		Handle: tool.Chain(tool.Run, hook.Wrap(hooks, nil), gate(agents.Post{Policy: r.policy.Policy, Cwd: func() string { return r.dir }})),
		Spill:  noSpill, NewID: uuid.NewString, Limits: loop.Limits{Parallel: parallel},
		Inbox: func() []loop.Entry {
			var entries []loop.Entry
			for _, n := range r.jobs.TakeNotices("") {
				entries = append(entries, loop.Entry{UUID: uuid.NewString(), Kind: loop.Note, Message: llm.UserText(n.Text())})
			}
			return entries
		},
	}
	return r
}

func request(model, effort string) llm.Request {
	return llm.Request{Model: model, MaxTokens: 1000, Effort: effort}
}
func window(string) loop.Window              { return loop.Window{Tokens: 200_000, MaxOutput: 64_000} }
func noSpill(string, string) (string, error) { return "/dev/null", nil }
func (r *rig) path(name string) string       { return filepath.Join(r.dir, name) }
func (r *rig) exists(name string) bool       { _, err := os.Stat(r.path(name)); return err == nil }
func (r *rig) requests() []llm.Request       { return r.script.Requests() }
func (r *rig) last() llm.Request             { all := r.requests(); return all[len(all)-1] }
func (r *rig) say(ctx context.Context, s string) loop.End {
	r.t.Helper()
	if err := r.log.Append(ctx, loop.Entry{Kind: loop.Prompt, Message: llm.UserText(s)}); err != nil {
		r.t.Fatal(err)
	}
	return r.loop.Run(ctx)
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	path := r.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) emit(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *rig) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(r.path(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// result is the result of call i of the main agent's last reply with calls.
func (r *rig) result(i int) string {
	r.t.Helper()
	view := r.log.View()
	for n := len(view) - 1; n >= 0; n-- {
		if list := resultsOf(llm.Request{Messages: view[:n+1]}); len(list) > 0 {
			return list[i]
		}
	}
	r.t.Fatal("there are no results")
	return ""
}

// seen returns the events that f picks, each as one line.
func (r *rig) seen(f func(event.Event) string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, e := range r.events {
		if text := f(e); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// resultsOf returns the texts of the results in the last message of a request.
func resultsOf(req llm.Request) []string {
	var list []string
	for _, b := range req.Messages[len(req.Messages)-1].Blocks {
		if b.Kind == llm.ToolResult {
			list = append(list, b.Result.Text())
		}
	}
	return list
}

// sentTo returns the requests whose first or last user text holds a text.
func (r *rig) sentTo(text string) []llm.Request {
	var list []llm.Request
	for _, req := range r.requests() {
		if strings.Contains(req.Messages[0].Text(), text) {
			list = append(list, req)
		}
	}
	return list
}

// A bench is what an agent of a rig has: the real file tools, and Hold, which waits for the test.
type bench struct {
	r       *rig
	id, cwd string
	seen    *files.Seen
	team    team.Agents
	forking bool
}

type holdIn struct {
	Note string `json:"note,omitempty"`
}

func (b bench) Cwd() string { return b.cwd }

func (b bench) Own() []*tool.Tool { return nil }

func (b bench) Branch(d agents.Desk) agents.Bench {
	seen := files.NewSeen()
	if d.Fork {
		seen.Restore(b.seen.Entries())
	}
	return bench{r: b.r, id: d.ID, cwd: d.Cwd, seen: seen, team: d.Team, forking: b.forking}
}

func (b bench) Tools() []*tool.Tool {
	list := files.Tools(files.Env{Cwd: b.Cwd, Seen: b.seen})
	list = append(list, search.Tools(search.Env{Cwd: b.Cwd})...)
	list = append(list, tool.Define(tool.Spec[holdIn]{Name: "Hold", Doc: "Waits.", Traits: func(holdIn) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Run: func(ctx context.Context, _ holdIn, _ tool.Call) (tool.Result, error) {
			b.r.holds <- b.id
			select {
			case <-b.r.hold:
				return tool.Text("held"), nil
			case <-ctx.Done():
				return tool.Result{}, context.Cause(ctx)
			}
		}}))
	return append(list, team.Tools(b.team, b.forking)...)
}

// A keeper keeps transcripts in the form that sessions have.
type keeper struct{ dir, cwd string }

func (k keeper) meta() transcript.Meta {
	return transcript.Meta{Cwd: func() string { return k.cwd }, Version: "1", NoSync: true}
}

func (k keeper) Path(id string) string { return transcript.AgentPath(k.dir, "s", id) }

func (k keeper) Create(id string, i agents.Info) (agents.Store, error) {
	return transcript.CreateAgent(k.dir, "s", id, transcript.AgentInfo{Type: i.Type, Description: i.Description, CallID: i.CallID, Depth: i.Depth}, k.meta())
}

func (k keeper) Open(id string) (agents.Store, agents.Saved, error) {
	w, state, err := transcript.Open(k.Path(id), "", k.meta())
	if err != nil {
		return nil, agents.Saved{}, err
	}
	var info transcript.AgentInfo
	data, err := os.ReadFile(strings.TrimSuffix(k.Path(id), ".jsonl") + ".meta.json")
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	return w, agents.Saved{Info: agents.Info{Type: info.Type, Description: info.Description}, Messages: state.Messages, Cwd: state.Cwd}, err
}

// names lists the tools of a request.
func names(req llm.Request) string {
	var list []string
	for _, t := range req.Tools {
		list = append(list, t.Name)
	}
	return strings.Join(list, " ")
}

func must(t *testing.T, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
}
