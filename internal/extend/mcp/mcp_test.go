//go:build unix

package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/extend/mcp"
	"gofer/internal/llm"
	"gofer/internal/proc"
	"gofer/internal/tool"
)

// A rig is a hub with real servers.
type rig struct {
	*mcp.Hub
	t       *testing.T
	dir     string
	changed chan string
}

func newRig(t *testing.T, change func(*mcp.Options)) *rig {
	t.Helper()
	t.Parallel()
	r := &rig{t: t, dir: t.TempDir(), changed: make(chan string, 1000)}
	runner := proc.New(proc.Self())
	o := mcp.Options{Runner: runner, Dir: r.dir, FileDir: filepath.Join(r.dir, "files"), CacheDir: filepath.Join(r.dir, "cache"), Roots: func() []string { return []string{r.dir} },
		Changed: func(name string) { r.changed <- name }}
	if change != nil {
		change(&o)
	}
	r.Hub = mcp.New(t.Context(), o)
	t.Cleanup(func() {
		r.Close()
		runner.Close()
	})
	return r
}

// local describes a server of the test binary.
func (r *rig) local(name, sort string) mcp.Config {
	return mcp.Config{Name: name, Command: os.Args[0], Env: map[string]string{serverVar: sort, "STARTS": filepath.Join(r.dir, name+".starts"), "PIDS": filepath.Join(r.dir, "pids")}}
}

func (r *rig) starts(name string) int { return starts(r.t, filepath.Join(r.dir, name+".starts")) }

func (r *rig) settle() {
	r.t.Helper()
	r.Settle(r.t.Context(), 20*time.Second, true)
}

func (r *rig) bind(name, input string) tool.Call {
	r.t.Helper()
	t, err := tool.NewSet(append(r.Tools(), r.ResourceTools()...)...).WithLate(r.Late).Find(name)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := t.Bind("call-1", json.RawMessage(input))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) call(name, input string) (tool.Result, error) {
	r.t.Helper()
	return tool.Run(r.t.Context(), r.bind(name, input))
}

func (r *rig) want(name, input, text string) {
	r.t.Helper()
	res, err := r.call(name, input)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	if res.Text() != text {
		r.t.Fatalf("%s answered %q, want %q", name, res.Text(), text)
	}
}

func (r *rig) status(name string) mcp.Status {
	r.t.Helper()
	all := r.Status()
	i := slices.IndexFunc(all, func(s mcp.Status) bool { return s.Name == name })
	if i < 0 {
		r.t.Fatalf("there is no server %s", name)
	}
	return all[i]
}

func (r *rig) wantFailure(name, input string, parts ...string) {
	r.t.Helper()
	_, err := r.call(name, input)
	if err == nil {
		r.t.Fatalf("%s did not fail", name)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			r.t.Errorf("%s failed with %q, which does not say %q", name, err, p)
		}
	}
}

func TestToolsOfALocalServer(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("every thing", "plain"))
	r.settle()
	st := r.status("every thing")
	if st.State != mcp.Connected || st.Info == nil || st.Info.Version != "1.2" || st.Instructions != "Ask me anything." || !st.Resources {
		t.Fatalf("status %+v", st)
	}
	r.want("mcp__every_thing__echo", `{"text":"hi"}`, "echo: hi")
	c := r.bind("mcp__every_thing__echo", `{"text":"hi"}`)
	if !c.Traits.Parallel || !c.Traits.ReadOnly || c.Title != "every thing: Echo" || len([]rune(c.Tool.Doc)) != 2049 {
		t.Errorf("traits %+v, title %q, %d characters", c.Traits, c.Title, len([]rune(c.Tool.Doc)))
	}
	if c = r.bind("mcp__every_thing__die", `{}`); c.Traits != (tool.Traits{}) {
		t.Errorf("a tool without hints has %+v", c.Traits)
	}
	r.want("mcp__every_thing__structured", `{}`, `{"answer":42}`)
	r.want("mcp__every_thing__roots", `{}`, "file://"+r.dir)
	res, err := r.call("mcp__every_thing__fail", `{}`)
	if err != nil || !res.IsError || res.Text() != "it went wrong" {
		t.Errorf("failing: %+v, %v", res, err)
	}
	if res, err = r.call("mcp__every_thing__echo", `{"txt":1}`); err != nil || !res.IsError || !strings.Contains(res.Text(), "txt") {
		t.Errorf("wrong input: %+v, %v", res, err)
	}
}

func TestResultsOfAllKinds(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "plain"))
	r.settle()
	res, err := r.call("mcp__s__mixed", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Content) != 5 || res.Content[1].Kind != llm.Image {
		t.Fatalf("content %+v", res.Content)
	}
	data, _ := base64.StdEncoding.DecodeString(res.Content[1].Media.Data)
	if size, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || size.Width != 1568 {
		t.Errorf("the picture was not scaled: %+v, %v", size, err)
	}
	sound := filepath.Join(r.dir, "files", "mcp-call-1-1.wav")
	for _, want := range []string{"words", sound, "Resource why (x:y)", "embedded"} {
		if !strings.Contains(res.Text(), want) {
			t.Errorf("%q is not in %q", want, res.Text())
		}
	}
	if data, err := os.ReadFile(sound); err != nil || string(data) != "RIFF" {
		t.Errorf("the sound is %q, %v", data, err)
	}
	r.want("ReadMcpResource", `{"server":"s","uri":"note:1"}`, "Resource note:1:\nremember the milk")
	if res, err = r.call("ListMcpResources", `{}`); err != nil || !strings.Contains(res.Text(), `"uri":"note:1"`) {
		t.Errorf("listed %q, %v", res.Text(), err)
	}
	r.wantFailure("ReadMcpResource", `{"server":"x","uri":"note:1"}`, "no MCP server", "s")
	commands := r.Commands()
	if len(commands) != 1 || commands[0].Name != "mcp__s__review" || commands[0].Hint() != "<file> [how]" {
		t.Fatalf("commands %+v", commands)
	}
	blocks, err := r.RunCommand(t.Context(), commands[0], []string{"a.go", "with", "care"})
	if err != nil || len(blocks) != 1 || blocks[0].Text != "Review a.go with care" {
		t.Errorf("the prompt is %+v, %v", blocks, err)
	}
	if _, err := r.RunCommand(t.Context(), commands[0], nil); err == nil || !strings.Contains(err.Error(), "<file> [how]") {
		t.Errorf("without arguments: %v", err)
	}
}

func TestAKnownServerStartsOnItsFirstUse(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "plain"))
	r.settle()
	r.Close()
	if r.starts("s") != 1 {
		t.Fatalf("started %d times", r.starts("s"))
	}
	again := mcp.New(t.Context(), mcp.Options{Runner: newRunner(t), Dir: r.dir, CacheDir: filepath.Join(r.dir, "cache")})
	t.Cleanup(again.Close)
	again.Add(r.local("s", "plain"))
	again.Settle(t.Context(), 10*time.Second, true)
	if len(again.Tools()) < 5 || r.starts("s") != 1 || again.Status()[0].State != mcp.Pending {
		t.Fatalf("%d tools, %d starts, %+v", len(again.Tools()), r.starts("s"), again.Status()[0].State)
	}
	r.Hub = again
	r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi")
	if r.starts("s") != 2 {
		t.Errorf("started %d times", r.starts("s"))
	}
	info, err := os.Stat(filepath.Join(r.dir, "cache"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the cache: %v, %v", info.Mode(), err)
	}
}

func newRunner(t *testing.T) *proc.Runner {
	runner := proc.New(proc.Self())
	t.Cleanup(func() { runner.Close() })
	return runner
}

func TestACallWaitsForAServerThatNobodyKnowsYet(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "plain"))
	r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi") // not settled
	r.Add(r.local("s2", "plain"))
	r.wantFailure("mcp__s2__nothing", `{}`, "has no tool mcp__s2__nothing", "mcp__s2__echo")
	if r.Late("mcp__other__x") != nil {
		t.Error("a server that is not there has a tool")
	}
}

func TestServersThatDoNotWork(t *testing.T) {
	r := newRig(t, func(o *mcp.Options) { o.ConnectTimeout = time.Second })
	r.Add(r.local("crash", "crash"), r.local("hang", "hang"), mcp.Config{Name: "nowhere", Command: "/no/such/program"}, mcp.Config{Name: "wrong", Problem: "no"})
	begun := time.Now()
	r.wantFailure("mcp__crash__x", `{}`, "the MCP server crash cannot be used", "exited with code 3", "the database is missing")
	r.wantFailure("mcp__hang__x", `{}`, "hang", "did not answer in time (1s")
	r.wantFailure("mcp__nowhere__x", `{}`, "cannot be started", "/no/such/program")
	r.wantFailure("mcp__wrong__x", `{}`, "wrong", "no")
	if d := time.Since(begun); d > 8*time.Second {
		t.Errorf("it took %v", d)
	}
	for _, name := range []string{"crash", "hang", "nowhere", "wrong"} {
		if st := r.status(name); st.State != mcp.Failed && st.State != mcp.Pending {
			t.Errorf("%s is %s", name, st.State)
		}
	}
}

func TestASlowServerIsWaitedForOnlyOnce(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "hang"))
	r.Settle(t.Context(), 10*time.Millisecond, false)
	r.Close()
	again := mcp.New(t.Context(), mcp.Options{Runner: newRunner(t), Dir: r.dir, CacheDir: filepath.Join(r.dir, "cache")})
	t.Cleanup(again.Close)
	again.Add(r.local("s", "hang"))
	begun := time.Now()
	again.Settle(t.Context(), time.Minute, false)
	if d := time.Since(begun); d > time.Second {
		t.Errorf("waited %v for a server that was slow before", d)
	}
}

func TestNoiseAndFloodsDoNoHarm(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("noise", "noise"), r.local("flood", "flood"))
	r.settle()
	r.want("mcp__noise__echo", `{"text":"hi"}`, "echo: hi")
	r.want("mcp__flood__echo", `{"text":"hi"}`, "echo: hi")
}

func TestAServerThatLeavesComesBackWithTheNextCall(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "once"))
	r.settle()
	for i := range 3 {
		r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi")
		for r.status("s").State == mcp.Connected { // until it has left
			<-r.changed
		}
		if r.starts("s") != i+1 {
			t.Fatalf("started %d times", r.starts("s"))
		}
	}
}

func TestDeathDuringACallIsOneClearError(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "plain"))
	r.settle()
	r.wantFailure("mcp__s__die", `{}`, "broke during the call of die", "exited with code 4", "cannot go on")
	if r.starts("s") != 1 {
		t.Errorf("the call was sent again: %d starts", r.starts("s"))
	}
	r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi")
}

func TestTimeLimitAndCancel(t *testing.T) {
	r := newRig(t, func(o *mcp.Options) { o.CallTimeout = 300 * time.Millisecond })
	r.Add(r.local("s", "plain"))
	r.settle()
	r.wantFailure("mcp__s__wait", `{}`, "did not answer the call of wait within 300ms", "MCP_TOOL_TIMEOUT")
	c := r.bind("mcp__s__wait", `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	told := ""
	c.Progress = func(p tool.Progress) {
		told = p.Text
		cancel()
	}
	if _, err := tool.Run(ctx, c); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if told != "1 of 2 waiting\n" {
		t.Errorf("progress %q", told)
	}
	r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi") // the connection is still good
}

func TestListChangesAreFollowed(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "plain"))
	r.settle()
	before := len(r.Tools())
	r.want("mcp__s__grow", `{}`, "grew")
	for len(r.Tools()) != before+1 {
		select {
		case <-r.changed:
		case <-time.After(10 * time.Second):
			t.Fatal("the new tool did not come")
		}
	}
	r.want("mcp__s__grown", `{}`, "new")
}

func TestElicitation(t *testing.T) {
	r := newRig(t, func(o *mcp.Options) {
		o.Elicit = func(_ context.Context, q mcp.Elicitation) (mcp.Answer, error) {
			if q.Server != "s" || q.Message != "Which colour?" || q.Mode != "form" || !strings.Contains(string(q.Schema), "colour") {
				t.Errorf("asked %+v", q)
			}
			return mcp.Answer{Action: "accept", Content: map[string]any{"colour": "green"}}, nil
		}
	})
	r.Add(r.local("s", "plain"))
	r.settle()
	r.want("mcp__s__ask", `{}`, "accept green")
}

func TestNothingIsLeftOfAStubbornServer(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "stubborn"))
	r.settle()
	r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi")
	data, err := os.ReadFile(filepath.Join(r.dir, "pids"))
	for err != nil || !strings.HasSuffix(string(data), "\n") { // its child writes the file in its own time
		data, err = os.ReadFile(filepath.Join(r.dir, "pids"))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	r.Close()
	if d := time.Since(begun); d > 2*time.Second {
		t.Errorf("ending took %v", d)
	}
	for deadline := time.Now().Add(3 * time.Second); syscall.Kill(pid, 0) == nil; {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is left", pid)
		}
	}
}

func TestToggleReconnectAndRemove(t *testing.T) {
	r := newRig(t, nil)
	r.Add(r.local("s", "plain"))
	r.settle()
	late := r.bind("mcp__s__echo", `{"text":"hi"}`)
	if err := r.Toggle("s", false); err != nil || r.status("s").State != mcp.Disabled || len(r.Tools()) != 0 {
		t.Fatalf("%v, %+v", err, r.status("s"))
	}
	if _, err := tool.Run(t.Context(), late); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("a call of a server that is off: %v", err)
	}
	if err := r.Toggle("s", true); err != nil {
		t.Fatal(err)
	}
	r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi")
	if err := r.Reconnect(t.Context(), "s", 20*time.Second); err != nil || r.starts("s") != 3 {
		t.Errorf("reconnect: %v, %d starts", err, r.starts("s"))
	}
	if err := r.Reconnect(t.Context(), "x", time.Second); err == nil || err.Error() != "Server not found: x" {
		t.Errorf("reconnect of nothing: %v", err)
	}
	r.Remove("s")
	if len(r.Names()) != 0 {
		t.Errorf("left %v", r.Names())
	}
}

func TestRemoteServers(t *testing.T) {
	for kind, handler := range map[string]http.Handler{
		"http": sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil),
		"sse":  sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return newServer() }, nil),
	} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, nil)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.Header.Get("Authorization") != "Bearer x" {
					http.Error(w, "who are you?", http.StatusUnauthorized)
					return
				}
				handler.ServeHTTP(w, req)
			}))
			t.Cleanup(func() {
				srv.CloseClientConnections()
				srv.Close()
			})
			c := mcp.Config{Name: "s", Type: kind, URL: srv.URL, Headers: map[string]string{"Authorization": "Bearer x"}}
			helped := mcp.Config{Name: "helped", Type: kind, URL: srv.URL, HeadersHelper: `echo '{"Authorization":"Bearer x"}'`}
			r.Add(c, helped, mcp.Config{Name: "stranger", Type: kind, URL: srv.URL})
			r.settle()
			r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi")
			r.want("mcp__helped__echo", `{"text":"hi"}`, "echo: hi")
			if st := r.status("stranger"); st.State != mcp.NeedsAuth {
				t.Errorf("without a log-in: %+v", st)
			}
			r.wantFailure("mcp__stranger__echo", `{}`, "log-in")
			r.Close()
		})
	}
}

func TestARemoteServerThatComesUpLateIsFound(t *testing.T) {
	r := newRig(t, nil)
	up := make(chan struct{})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-up:
			handler.ServeHTTP(w, req)
		default:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	r.Add(mcp.Config{Name: "s", URL: srv.URL})
	r.wantFailure("mcp__s__echo", `{}`, "the MCP server s cannot be used")
	close(up)
	r.want("mcp__s__echo", `{"text":"hi"}`, "echo: hi")
	r.Close()
}
