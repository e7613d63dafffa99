//go:build unix

package gofer_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gofer/internal/llm/script"
)

// A yard is a folder in which sessions run in the background. Whatever still runs at the end of the test is ended.
type yard struct {
	t        *testing.T
	template *exec.Cmd
}

func newYard(t *testing.T, src string) *yard {
	y := &yard{t, goferCommand(t, script.Serve(t, src))}
	y.template.Env = append(y.template.Env, "GORACE="+quickExit)
	t.Cleanup(func() {
		for _, s := range y.running() {
			y.command("kill", "--force", s.ID).Run()
		}
	})
	return y
}

func (y *yard) command(args ...string) *exec.Cmd {
	cmd := exec.Command(y.template.Path, args...)
	cmd.Dir, cmd.Env = y.template.Dir, y.template.Env
	return cmd
}

func (y *yard) path(name ...string) string {
	return filepath.Join(append([]string{y.template.Dir}, name...)...)
}

// do runs gofer to its end and returns what it wrote.
func (y *yard) do(args ...string) (out string, code int) {
	y.t.Helper()
	raw, err := y.command(args...).CombinedOutput()
	return string(raw), exitCode(err)
}

// start starts a session in the background and returns its id.
func (y *yard) start(args ...string) string {
	y.t.Helper()
	out, code := y.do(append([]string{"--bg"}, args...)...)
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(out)
	if code != 0 || id == "" {
		y.t.Fatalf("--bg: %d %s", code, out)
	}
	return id
}

type runningSession struct {
	ID, Kind, State, Cwd, Last, Title, Model, Socket string
	PID                                              int
	CostUSD                                          float64 `json:"cost_usd"`
}

func (y *yard) running() []runningSession {
	out, err := y.command("ps", "--json").Output()
	var list []runningSession
	if err := json.Unmarshal(out, &list); err != nil {
		y.t.Errorf("ps: %q: %v", out, err)
	}
	if err != nil {
		y.t.Errorf("ps: %v", err)
	}
	return list
}

// until looks at the register until the session is in the state.
func (y *yard) until(id, state string) runningSession {
	y.t.Helper()
	var list []runningSession
	for begun := time.Now(); time.Since(begun) < 30*time.Second; {
		list = y.running()
		for _, s := range list {
			if s.ID == id && s.State == state {
				return s
			}
		}
	}
	y.t.Fatalf("session %s never was %s: %+v", id, state, list)
	return runningSession{}
}

// A talk is a command that goes on, whose output and input the test holds.
type talk struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	seen  strings.Builder
}

func (y *yard) talk(args ...string) *talk {
	y.t.Helper()
	k := &talk{t: y.t, cmd: y.command(args...), lines: make(chan string)}
	var err error
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		y.t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		y.t.Fatal(err)
	}
	k.cmd.Stdout, k.cmd.Stderr = w, w
	if err := k.cmd.Start(); err != nil {
		y.t.Fatal(err)
	}
	w.Close()
	go func() {
		defer close(k.lines)
		defer r.Close()
		// A question ends without a line end, so pieces are handed on as they come.
		in, buf := bufio.NewReader(r), make([]byte, 4096)
		for {
			n, err := in.Read(buf)
			if n > 0 {
				k.lines <- string(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return k
}

// hear waits until the command has written the text.
func (k *talk) hear(text string) {
	k.t.Helper()
	timeout := time.After(30 * time.Second)
	for !strings.Contains(k.seen.String(), text) {
		select {
		case piece, ok := <-k.lines:
			if !ok {
				k.t.Fatalf("it ended and never wrote %q but: %s", text, k.seen.String())
			}
			k.seen.WriteString(piece)
		case <-timeout:
			k.cmd.Process.Kill()
			k.t.Fatalf("it never wrote %q but: %s", text, k.seen.String())
		}
	}
}

func (k *talk) say(line string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Fatal(err)
	}
}

// end waits until the command has ended, and returns its exit code.
func (k *talk) end() int {
	k.t.Helper()
	k.in.Close()
	timeout := time.AfterFunc(30*time.Second, func() { k.cmd.Process.Kill() })
	defer timeout.Stop()
	for piece := range k.lines {
		k.seen.WriteString(piece)
	}
	return exitCode(k.cmd.Wait())
}

// nothingLeft fails if a session has left anything but its transcript.
func (y *yard) nothingLeft(pids ...int) {
	y.t.Helper()
	if list := y.running(); len(list) > 0 {
		y.t.Errorf("ps still lists %+v", list)
	}
	left, err := filepath.Glob(y.path("home", ".claude", "run", "*"))
	if err != nil || len(left) > 0 {
		y.t.Errorf("left behind: %q %v", left, err)
	}
	for _, pid := range pids {
		waitDead(y.t, pid)
	}
}

// waitDead waits until a process is gone, or only waits for its parent to take notice.
func waitDead(t *testing.T, pid int) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		if out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output(); err != nil || strings.HasPrefix(string(out), "Z") {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestASessionInTheBackground(t *testing.T) {
	t.Parallel()
	y := newYard(t, `
turn
  text The first answer.
turn
  text I make a file.
  call Bash {"command":"touch made && echo it is made"}
turn
  text The second answer.
`)
	id := y.start("begin with this")
	s := y.until(id, "idle")
	if s.Last != "The first answer." || s.Title != "begin with this" || s.Cwd != y.path() || s.CostUSD <= 0 || s.Model == "" {
		t.Errorf("ps: %+v", s)
	}
	if out, code := y.do("ps"); code != 0 || !strings.Contains(out, id[:8]) || !strings.Contains(out, "idle") || !strings.Contains(out, "The first answer.") {
		t.Errorf("ps: %d %s", code, out)
	}
	if out, code := y.do("logs", id[:8]); code != 0 || !strings.Contains(out, "> begin with this") || !strings.Contains(out, "The first answer.") {
		t.Errorf("logs: %d %s", code, out)
	}
	for _, f := range []struct {
		path string
		mode os.FileMode
	}{{s.Socket, 0o600}, {filepath.Dir(s.Socket), 0o700}, {y.path("home", ".claude", "run", id+".json"), 0o600}} {
		if info, err := os.Stat(f.path); err != nil || info.Mode().Perm() != f.mode {
			t.Errorf("%s: %v %v", f.path, info.Mode(), err)
		}
	}

	follower := y.talk("logs", "-f", id)
	follower.hear("The first answer.")
	person := y.talk("attach", id)
	person.hear("The first answer.") // what was before
	person.say("go on")
	person.hear("[y] once")
	follower.hear("It waits for permission: Bash")
	y.until(id, "waiting for permission")
	if _, err := os.Stat(y.path("made")); err == nil {
		t.Error("the command ran before it was allowed")
	}
	person.say("y")
	person.hear("The second answer.")
	if code := person.end(); code != 0 {
		t.Errorf("attach ended with %d: %s", code, person.seen.String())
	}
	if _, err := os.Stat(y.path("made")); err != nil {
		t.Error(err)
	}
	follower.hear("it is made")

	if out, code := y.do("kill", id); code != 0 || !strings.Contains(out, "has ended") {
		t.Errorf("kill: %d %s", code, out)
	}
	if code := follower.end(); code != 0 {
		t.Errorf("logs -f ended with %d: %s", code, follower.seen.String())
	}
	y.nothingLeft(s.PID)
	if out, code := y.do("logs", id); code != 0 || !strings.Contains(out, "The second answer.") {
		t.Errorf("logs of a session that has ended: %d %s", code, out)
	}
	if out, code := y.do("kill", id); code != 1 || !strings.Contains(out, "no running session") {
		t.Errorf("a second kill: %d %s", code, out)
	}
}

func TestTheFirstAnswerOfSeveralWatchersCounts(t *testing.T) {
	t.Parallel()
	y := newYard(t, "turn\ncall Bash {\"command\":\"touch one\"}\nturn\ntext All is done.\n")
	id := y.start("go")
	s := y.until(id, "waiting for permission") // nobody watches yet, and still it waits
	if err := syscall.Kill(s.PID, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	a, b := y.talk("attach", id), y.talk("attach", id)
	a.hear("[y] once")
	b.hear("[y] once")
	b.say("not like this")
	a.hear("The question is settled")
	a.hear("All is done.")
	b.hear("All is done.")
	if err := a.cmd.Process.Signal(os.Interrupt); err != nil { // leaves, and the session goes on
		t.Fatal(err)
	}
	a.hear("goes on")
	if code := a.end(); code != 0 {
		t.Errorf("Ctrl-C ended attach with %d: %s", code, a.seen.String())
	}
	if code := b.end(); code != 0 {
		t.Errorf("attach ended with %d: %s", code, b.seen.String())
	}
	if _, err := os.Stat(y.path("one")); err == nil {
		t.Error("the command ran though the first answer was no")
	}
	y.until(id, "idle")
}

func TestKillEndsATurnWithItsResult(t *testing.T) {
	t.Parallel()
	y := newYard(t, "turn\ncall Bash {\"command\":\"echo $$ > pid; sleep 1000\"}\n")
	id := y.start("go", "--allowedTools", "Bash")
	follower := y.talk("logs", "-f", id)
	follower.hear("go")
	child := y.childPID()
	s := y.until(id, "working")
	if out, code := y.do("kill", id[:6]); code != 0 {
		t.Errorf("kill: %d %s", code, out)
	}
	follower.hear("the session was ended by gofer kill")
	if code := follower.end(); code != 0 {
		t.Errorf("logs -f ended with %d: %s", code, follower.seen.String())
	}
	y.nothingLeft(s.PID, child)
}

func TestAPersonStopsATurnAndGoesOn(t *testing.T) {
	t.Parallel()
	y := newYard(t, "turn\ncall Bash {\"command\":\"echo $$ > pid; sleep 1000\"}\nturn\ntext Then something else.\n")
	id := y.start("go", "--allowedTools", "Bash")
	child := y.childPID()
	person := y.talk("attach", id)
	person.hear("> go")
	person.say("/stop")
	person.hear("The turn was interrupted")
	waitDead(t, child)
	person.say("do something else")
	person.hear("Then something else.")
	if code := person.end(); code != 0 {
		t.Errorf("attach ended with %d: %s", code, person.seen.String())
	}
	y.until(id, "idle")
}

func TestAScriptIsToldThatItIsAsked(t *testing.T) {
	t.Parallel()
	y := newYard(t, "turn\ntext Ready.\nturn\ncall Bash {\"command\":\"touch it\"}\n")
	id := y.start("go")
	y.until(id, "idle")
	cmd := y.command("attach", id)
	cmd.Stdin = strings.NewReader("make it\n")
	out, err := cmd.CombinedOutput()
	if exitCode(err) != 1 || !strings.Contains(string(out), "nobody is here to answer") {
		t.Errorf("%v %s", err, out)
	}
	y.until(id, "waiting for permission") // for somebody who can
}

// childPID waits for the command to tell its process.
func (y *yard) childPID() int {
	y.t.Helper()
	for begun := time.Now(); time.Since(begun) < 30*time.Second; {
		raw, _ := os.ReadFile(y.path("pid"))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
			return pid
		}
	}
	y.t.Fatal("the command never began")
	return 0
}

func TestASessionThatWasKilledIsSweptAway(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"SIGKILL", "gofer kill --force"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, "turn\ncall Bash {\"command\":\"echo $$ > pid; sleep 1000\"}\n")
			id := y.start("go", "--allowedTools", "Bash")
			s := y.until(id, "working")
			child := y.childPID()
			if how == "SIGKILL" {
				if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				waitDead(t, s.PID)
				if out, code := y.do("ps"); code != 0 || !strings.Contains(out, id+" in "+y.path()+" ended without a word") {
					t.Errorf("ps: %d %s", code, out)
				}
			} else if out, code := y.do("kill", "--force", id); code != 0 {
				t.Errorf("kill --force: %d %s", code, out)
			}
			y.nothingLeft(s.PID, child)
		})
	}
}

func TestOrdinarySessionsAreListedAndCanBeEnded(t *testing.T) {
	t.Parallel()
	y := newYard(t, "turn\ncall Bash {\"command\":\"echo $$ > pid; sleep 1000\"}\n")
	run := y.talk("-p", "go", "--allowedTools", "Bash", "--output-format", "json")
	child := y.childPID()
	list := y.running()
	if len(list) != 1 || list[0].Kind != "prompt" || list[0].State != "working" || list[0].PID != run.cmd.Process.Pid || !strings.HasPrefix(list[0].Last, "Bash: ") {
		t.Fatalf("ps: %+v", list)
	}
	if out, code := y.do("attach", list[0].ID); code != 1 || !strings.Contains(out, "not in the background") {
		t.Errorf("attach: %d %s", code, out)
	}
	if out, code := y.do("logs", list[0].ID); code != 0 || !strings.Contains(out, "go") {
		t.Errorf("logs: %d %s", code, out)
	}
	ended := make(chan int, 1)
	go func() { ended <- run.end() }()
	if out, code := y.do("kill", list[0].ID); code != 0 {
		t.Errorf("kill: %d %s", code, out)
	}
	if code := <-ended; code != 143 || !strings.Contains(run.seen.String(), `"terminal_reason":"aborted_tools"`) {
		t.Errorf("the run ended with %d: %s", code, run.seen.String())
	}
	y.nothingLeft(child)
}

func TestWhatCannotRunInTheBackgroundIsRefused(t *testing.T) {
	t.Parallel()
	y := newYard(t, "turn\ntext Heard: {{last_user}}\nturn\ntext again\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--bg"}, "--bg needs a prompt"},
		{[]string{"--bg", "-p", "go"}, "does not go with -p"},
		{[]string{"--bg", "--resume", "nosuch", "go"}, "could not begin"},
		{[]string{"--bg", "go", "--tools", "Nosuch"}, "--tools"},
		{[]string{"attach", "nosuch"}, "no running session"},
		{[]string{"kill"}, "usage: gofer kill ID"},
	} {
		if out, code := y.do(c.args...); code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%q: %d %s", c.args, code, out)
		}
	}
	y.nothingLeft()

	cmd := y.command("--bg", "look at this", "--session-id", "00000000-0000-4000-8000-000000000001")
	cmd.Stdin = strings.NewReader("it was piped")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	id := "00000000-0000-4000-8000-000000000001"
	y.until(id, "idle")
	if out, _ := y.do("logs", id); !strings.Contains(out, "look at this") || !strings.Contains(out, "it was piped") {
		t.Errorf("what was piped is missing: %s", out)
	}
	if out, code := y.do("--bg", "--resume", id, "more"); code != 1 || !strings.Contains(out, "runs already") {
		t.Errorf("the same session twice: %d %s", code, out)
	}
	s := y.until(id, "idle") // and the first one was not disturbed

	// A program may watch too, but bring nothing along that would be missing when it leaves.
	c, err := net.Dial("unix", s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, `{"type":"control_request","request_id":"plain","request":{"subtype":"initialize"}}
{"type":"control_request","request_id":"laden","request":{"subtype":"initialize","hooks":{"PreToolUse":[{"hookCallbackIds":["x"]}]}}}
{"type":"control_request","request_id":"end","request":{"subtype":"end_session"}}
`)
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	said, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	outcomes := map[string]string{}
	for line := range strings.Lines(string(said)) {
		var l struct {
			Response struct {
				RequestID string `json:"request_id"`
				Subtype   string
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		outcomes[l.Response.RequestID] = l.Response.Subtype
	}
	if outcomes["plain"] != "success" || outcomes["laden"] != "error" {
		t.Errorf("%v in %s", outcomes, said)
	}
	waitDead(t, s.PID)
	y.nothingLeft()
}
