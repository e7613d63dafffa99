//go:build unix

package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"gofer/internal/llm"
	"gofer/internal/proc"
	"gofer/internal/tool"
	"gofer/internal/work/job"
)

// TestMain lets the test binary be its own supervisor.
func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.Supervise())
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would hold every supervisor for a second
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// bench is an agent's shell in a temporary project.
type bench struct {
	t    testing.TB
	env  Env
	jobs *job.Registry
	dir  string
}

func newBench(t testing.TB, change ...func(*Env)) *bench {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	runner := proc.New(proc.Self())
	t.Cleanup(runner.Close)
	jobs := job.New(filepath.Join(dir, "tasks"), 30_000, time.Now)
	env := Env{
		Runner: runner, Dir: NewCwd(project), KeepCwd: true, Jobs: jobs, OutputDir: filepath.Join(dir, "results"),
		AllowedDirs: func() []string { return []string{project} },
		Getenv:      func(string) string { return "" },
	}
	for _, f := range change {
		f(&env)
	}
	return &bench{t: t, env: env, jobs: jobs, dir: project}
}

func (b *bench) call(ctx context.Context, name, input string) (tool.Result, error) {
	found, err := tool.NewSet(Tools(b.env)...).Find(name)
	if err != nil {
		return tool.Result{}, err
	}
	c, err := found.Bind("call_1", json.RawMessage(input))
	if err != nil {
		return tool.Result{}, err
	}
	if err := c.Check(ctx); err != nil {
		return tool.Result{}, err
	}
	return tool.Run(ctx, c)
}

func (b *bench) bash(command string, more ...string) tool.Result {
	b.t.Helper()
	text, _ := json.Marshal(command)
	input := `{"command":` + string(text) + strings.Join(append([]string{""}, more...), ",") + `}`
	res, err := b.call(b.t.Context(), "Bash", input)
	if err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	return res
}

func wantText(t testing.TB, res tool.Result, want string, isError bool) {
	t.Helper()
	if res.Text() != want || res.IsError != isError {
		t.Errorf("got %q (error %v), want %q (error %v)", res.Text(), res.IsError, want, isError)
	}
}

func TestOutputAndExitCode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		command, want string
		isError       bool
	}{
		{"echo out; echo err >&2; echo out2", "out\nerr\nout2", false},
		{"true", "(no output)", false},
		{"echo half; exit 3", "Exit code 3\nhalf", true},
		{"exit 4", "Exit code 4", true},
		{"kill -SEGV $$", "Exit code 139 (SIGSEGV)", true},
		{"sh -c 'kill -9 $$'; exit 137", "Exit code 137 (SIGKILL)\nbash: line 1: ", true},
		{"grep nothing /etc/hostname", "(no output)\n[exit code 1: nothing matched]", false},
		{"cat /etc/hostname | grep nothing", "(no output)\n[exit code 1: nothing matched]", false},
		{"[[ a = b ]]", "(no output)\n[exit code 1: the condition is false]", false},
		{"echo a > a; echo b > b; cmp -s a b", "(no output)\n[exit code 1: there are differences]", false},
		{"grep x /no/such/file 2>/dev/null", "Exit code 2", true},
		{"grep nothing /etc/hostname; false", "Exit code 1", true},
		{"cat", "(no output)", false}, // standard input is empty
		{"test -t 0 || test -t 1 || echo no terminal", "no terminal", false},
		{"echo $CLAUDECODE $GOFER $GIT_EDITOR $TERM", "1 1 true dumb", false},
		{"cat <<'X'\n$HOME `x`\nX", "$HOME `x`", false},
		{"echo unfinished # comment", "unfinished", false},
		{"printf '\\033[31mred\\033[0m\\n10%%\\r100%%\\n'", "red\n100%", false},
		{"if", "Exit code 2\nbash: eval: line 2: syntax error: unexpected end of file", true},
		{"nosuchcommand", "Exit code 127\nbash: line 1: nosuchcommand: command not found", true},
		{"env | grep -c GOFER_COMMAND", "0\n[exit code 1: nothing matched]", false},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			res := b.bash(c.command)
			got := res.Text()
			if strings.HasSuffix(c.want, ": ") || strings.Contains(c.want, "syntax error") {
				got = got[:min(len(got), len(c.want))]
			}
			if got != c.want || res.IsError != c.isError {
				t.Errorf("got %q (error %v), want %q (error %v)", res.Text(), res.IsError, c.want, c.isError)
			}
		})
	}
}

func TestDataForPrograms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw, _ := json.Marshal(b.bash("echo hi; exit 3").Data)
	var got map[string]any
	json.Unmarshal(raw, &got)
	for key, want := range map[string]any{"stdout": "hi", "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false, "exitCode": 3.0} {
		if got[key] != want {
			t.Errorf("%s: got %v, want %v", key, got[key], want)
		}
	}
	if d := b.bash("mkdir x").Data.(data); !d.NoOutputExpected {
		t.Error("mkdir is silent")
	}
}

func TestCwdIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ command, want string }{
		{"mkdir -p 'a b/c' && cd 'a b'", "a b"},
		{"cd c; false", "a b/c"},
		{"cd ..; exit 3", "a b"},
		{"set -e; cd c; false; echo never", "a b/c"},
		{"trap 'echo mine' EXIT; cd ..", "a b"},
		{"(cd c)", "a b"},
		{"cd c && exec true", "a b"},
		{"exec 3>/dev/null 9>/dev/null; cd c", "a b/c"},
	} {
		b.bash(c.command)
		if got := b.env.Dir.Cwd(); got != filepath.Join(b.dir, c.want) {
			t.Errorf("%s: in %s, want %s", c.command, got, c.want)
		}
	}
	before := b.env.Dir.Cwd()
	res := b.bash("cd /; echo moved")
	wantText(t, res, "moved\n[The working directory was reset to "+before+", because / is outside the allowed folders.]", false)
	wantText(t, b.bash("pwd"), before, false)
	os.RemoveAll(filepath.Join(b.dir, "a b"))
	wantText(t, b.bash("pwd"), b.dir+"\n[The working directory "+before+" is gone; it was reset to "+b.dir+".]", false)
}

func TestSubAgentsBeginInTheSameFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(e *Env) { e.KeepCwd = false })
	res := b.bash("mkdir sub; cd sub; pwd")
	wantText(t, res, b.dir+"/sub\n[The working directory was reset to "+b.dir+": a cd does not hold for the next command.]", false)
	wantText(t, b.bash("pwd"), b.dir, false)
}

func TestShWhereThereIsNoBash(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	got, err := b.env.Runner.Capture(t.Context(), proc.Cmd{
		Argv: []string{"sh", "-c", script([]string{"A", "B"}, false, "", false, false)},
		Env:  []string{"PATH=" + os.Getenv("PATH"), "A=cd " + dir + "; echo", "B= hi; exit 5"}, Extra: []*os.File{null},
	}, nil, 1000)
	if err != nil || string(got.Stdout) != "hi\n" || got.Exit.Code != 5 {
		t.Errorf("got %q, %+v, %v", got.Stdout, got.Exit, err)
	}
}

func TestTimeoutEndsTheTreeAndKeepsTheOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	res := b.bash("echo before; sleep 100 & sleep 100", `"timeout":300`)
	if !res.IsError || !strings.HasPrefix(res.Text(), "Exit code 143 (SIGTERM)\nTimed out after 300ms: ") || !strings.HasSuffix(res.Text(), "\nbefore") {
		t.Errorf("got %q", res.Text())
	}
	for in, want := range map[int]time.Duration{0: 2 * time.Minute, 5: 5 * time.Millisecond, 9_000_000: 10 * time.Minute} {
		if got := (&bash{b.env}).timeLimit(bashIn{Timeout: in}); got != want {
			t.Errorf("%d: %v, want %v", in, got, want)
		}
	}
	b.env.Getenv = func(name string) string {
		return map[string]string{"BASH_DEFAULT_TIMEOUT_MS": "7000", "BASH_MAX_TIMEOUT_MS": "9000", "BASH_MAX_OUTPUT_LENGTH": "50"}[name]
	}
	if a, z := (&bash{b.env}).timeLimit(bashIn{}), (&bash{b.env}).timeLimit(bashIn{Timeout: 10_000}); a != 7*time.Second || z != 9*time.Second {
		t.Errorf("got %v, %v", a, z)
	}
	if got := b.bash("seq 100").Text(); len(got) > 250 || !strings.HasSuffix(got, "\n100") {
		t.Errorf("got %q", got)
	}
}

func TestInterruptKeepsTheOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	ready := filepath.Join(b.dir, "ready")
	done := make(chan tool.Result, 1)
	go func() {
		res, err := b.call(ctx, "Bash", `{"command":"trap '' TERM; echo so far; touch ready; sleep 100"}`)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	waitFor(t, func() bool { _, err := os.Stat(ready); return err == nil })
	cancel(errors.New("the user pressed Esc"))
	res := <-done
	if d := res.Data.(data); !res.IsError || !d.Interrupted || !strings.Contains(res.Text(), "the user pressed Esc") || !strings.HasSuffix(res.Text(), "\nso far") {
		t.Errorf("got %q, %+v", res.Text(), d)
	}
}

// waitFor waits for something that gives no event: a file that another process makes.
func waitFor(t testing.TB, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Fatal("it never happened")
}

func TestHugeOutputsAreCappedAndKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		command string
		size    int64
		end     string
	}{
		{"seq 1 2000000; exit 6", 14888896, "\n2000000"},
		{"head -c 50000000 /dev/zero | tr '\\0' x; exit 6", 50000000, "xxx"},
		{"head -c 3000000 /dev/urandom; echo; echo last; exit 6", 3000006, "\nlast"},
		{`awk 'BEGIN { for (i = 0; i < 3000; i++) printf "\033[3%dm█▓▒░\033[0m%0100d\n", i%8, i }'; exit 6`, 366000, "2999"},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			res := b.bash(c.command)
			text := res.Text()
			if n := utf8.RuneCountInString(text); n > 30_400 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\x00") {
				t.Errorf("%d characters, valid %v", n, utf8.ValidString(text))
			}
			if !res.IsError || !strings.HasPrefix(text, "Exit code 6\n") || !strings.HasSuffix(text, c.end) {
				t.Errorf("begins %.40q and ends %q", text, text[max(0, len(text)-40):])
			}
			path := res.Data.(data).OutputFile
			info, err := os.Stat(path)
			if err != nil || info.Size() != c.size || !strings.Contains(text, "left out; the whole output is in "+path) {
				t.Errorf("%s: %v, %v", path, info, err)
			}
			os.Remove(path)
		})
	}
}

func TestAnImageIsAnImage(t *testing.T) {
	t.Parallel()
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	res := newBench(t).bash("echo 'data:image/png;base64," + png + "'")
	if len(res.Content) != 1 || res.Content[0].Kind != llm.Image || res.Content[0].Media.Data != png || !res.Data.(data).IsImage {
		t.Errorf("got %+v", res)
	}
}

func TestLongCommands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wantText(t, b.bash("printf %s '"+strings.Repeat("é", 150_000)+"' | wc -c"), "300000", false)
	if _, err := b.call(t.Context(), "Bash", `{"command":"`+strings.Repeat("x", maxCommand+1)+`"}`); err == nil || !strings.Contains(err.Error(), "Write the text to a file first") {
		t.Errorf("got %v", err)
	}
	for _, bad := range []string{`{"command":"  "}`, `{"command":"a\u0000b"}`, `{}`, `{"command":"x","dangerouslyDisableSandbox":true}`} {
		if _, err := b.call(t.Context(), "Bash", bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestLeftOversAndSleepGetAHint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	res := b.bash("sleep 100 & until grep -q sleep /proc/$!/comm 2>/dev/null || [ ! -d /proc ]; do :; done; echo started")
	if runtime.GOOS == "linux" && !strings.HasPrefix(res.Text(), "started\n[Still running when the command ended, and ended with it: sleep.") {
		t.Errorf("got %q", res.Text())
	}
	for command, want := range map[string]bool{
		"sleep 5": true, "sleep 30; cat log": true, "sleep 1m && ls": true, "sleep 1": false, "sleep 0.5; ls": false, "ls; sleep 9": false, "sleep 9 &": false, "sleeper 9": false, "sleep": false,
	} {
		if got := sleeps(command); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
	if got := strings.Join(notes(&running{in: bashIn{Command: "sleep 5"}}, "", ""), ""); !strings.Contains(got, "run_in_background") {
		t.Errorf("got %q", got)
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(e *Env) { e.ReadOnly = func(c string) bool { return !strings.Contains(c, "rm") } })
	set := tool.NewSet(Tools(b.env)...)
	bash, _ := set.Find("Bash")
	for input, want := range map[string]tool.Traits{
		`{"command":"ls"}`:                          {ReadOnly: true, Parallel: true},
		`{"command":"cd x && ls"}`:                  {ReadOnly: true},
		`{"command":"(cd x && ls)"}`:                {ReadOnly: true, Parallel: true},
		`{"command":"rm x"}`:                        {},
		`{"command":"ls","run_in_background":true}`: {},
	} {
		c, err := bash.Bind("1", []byte(input))
		if err != nil || c.Traits != want {
			t.Errorf("%s: %+v, %v", input, c.Traits, err)
		}
	}
	c, _ := bash.Bind("1", []byte(`{"command":"make all\nmake test"}`))
	if a := c.Access(); c.Title != "make all" || len(a) != 1 || a[0] != (tool.Access{Verb: tool.Exec, Target: "make all\nmake test"}) {
		t.Errorf("%q, %v", c.Title, a)
	}
	c, _ = bash.Bind("1", []byte(`{"command":"make","description":"Builds it"}`))
	if c.Title != "Builds it" {
		t.Errorf("%q", c.Title)
	}
}

func TestParallelCallsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(e *Env) { e.ReadOnly = func(string) bool { return true } })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			res := b.bash(fmt.Sprintf("mkdir d%d; (cd d%d; pwd); pwd; exit %d", i, i, i))
			want := fmt.Sprintf("%s/d%d\n%[1]s", b.dir, i)
			if got := strings.TrimPrefix(res.Text(), fmt.Sprintf("Exit code %d\n", i)); got != want && i != 1 {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	all.Wait()
	if b.env.Dir.Cwd() != b.dir {
		t.Errorf("moved to %s", b.env.Dir.Cwd())
	}
}

func TestWrapAndExtraEnvironment(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(e *Env) {
		e.Wrap = func(argv []string) ([]string, error) { return append([]string{"env", "BOX=1"}, argv...), nil }
		e.EnvExtra = func() []string { return []string{"PAGER=mine", "HOOK=2"} }
		e.Unsandboxed = true
	})
	wantText(t, b.bash("mkdir -p s; cd s; echo $BOX $PAGER $HOOK"), "1 mine 2", false)
	wantText(t, b.bash("pwd"), b.dir+"/s", false)
	wantText(t, b.bash("echo box$BOX", `"dangerouslyDisableSandbox":true`), "box", false)
	b.env.Wrap = func([]string) ([]string, error) { return nil, errors.New("no landlock") }
	if _, err := b.call(t.Context(), "Bash", `{"command":"touch ran"}`); err == nil || !strings.Contains(err.Error(), "was not run: no landlock") {
		t.Errorf("got %v", err)
	}
}

func TestProgressIsShownWhileItRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bash, _ := tool.NewSet(Tools(b.env)...).Find("Bash")
	c, _ := bash.Bind("1", []byte(`{"command":"printf '\\033[1mfirst\\033[0m\\n'; until [ -e go ]; do sleep 0.01; done; head -c 5000000 /dev/zero | tr '\\0' x"}`))
	var mu sync.Mutex
	var seen strings.Builder
	c.Progress = func(p tool.Progress) {
		mu.Lock()
		defer mu.Unlock()
		seen.WriteString(p.Text)
		os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600)
	}
	if _, err := tool.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.HasPrefix(seen.String(), "first\n") || seen.Len() > 1<<20 {
		t.Errorf("saw %d bytes, %.20q", seen.Len(), seen.String())
	}
}

func TestCommandsCannotKillTheirHarness(t *testing.T) {
	if _, err := exec.LookPath("pkill"); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	b := newBench(t)
	self := filepath.Base(os.Args[0])
	res := b.bash("pkill -f " + self + "; pkill -f no-such-word-anywhere; echo alive")
	if !strings.Contains(res.Text(), "alive") {
		t.Errorf("got %q", res.Text())
	}
	res = b.bash("echo words; kill -9 $PPID; sleep 100")
	if !res.IsError || !strings.Contains(res.Text(), "Exit code 137 (SIGKILL)\nThe process that keeps the commands was killed") {
		t.Errorf("got %q", res.Text())
	}
	wantText(t, b.bash("echo again"), "again", false)
}

func BenchmarkBash(b *testing.B) {
	s := newBench(b)
	for b.Loop() {
		s.bash("true")
	}
}

func BenchmarkPlainBash(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("bash", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
