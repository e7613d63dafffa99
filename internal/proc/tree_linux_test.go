package proc

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// escapes are ways in which processes try to outlive their command. %s is an argument of sleep that no one else uses.
var escapes = []string{
	"sleep %s & true",
	"setsid sleep %s & true",
	"nohup sleep %s >/dev/null 2>&1 & true",
	"(sleep %s & ) ; true",
	"(setsid sh -c 'sleep %s & sleep %[1]s & wait' & )",
	"trap '' TERM HUP INT; (trap '' TERM; sleep %s) & true",
	"env -i setsid sleep %s & true",
	"setsid sh -c 'env -i setsid sleep %s & sleep %[1]s' & true",
	"sh -c 'sleep %s & wait' & true",
}

// newToken returns a time to sleep that is long and in no other command line.
func newToken() string { return fmt.Sprintf("1000.%012d", rand.Int64N(1e12)) }

// withToken lists the processes whose command line holds token, without those that have ended.
func withToken(token string) []string {
	var found []string
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, n := range names {
		pid, _ := strconv.Atoi(filepath.Base(n))
		line, err := os.ReadFile(n + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(token)) && pid != os.Getpid() && !isZombie(pid) {
			found = append(found, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return found
}

// mustVanish waits up to the 3 s that the issue allows.
func mustVanish(t *testing.T, token string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if left = withToken(token); len(left) == 0 {
			return
		}
	}
	t.Errorf("still alive: %s", strings.Join(left, "; "))
}

func mustAppear(t *testing.T, token string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if len(withToken(token)) > 0 {
			return
		}
	}
	t.Fatal("the command never ran")
}

func TestNothingOutlivesItsCommand(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for _, script := range escapes {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			token := newToken()
			p, err := r.Start(t.Context(), sh(fmt.Sprintf(script, token)))
			if err != nil {
				t.Fatal(err)
			}
			if e := p.Wait(); e.Code != 0 {
				t.Errorf("got %+v", e)
			}
			mustVanish(t, token)
		})
	}
}

func TestLeftOversAreNamed(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	if e := capture(t, r, "sleep "+newToken()+" & until grep -q sleep /proc/$!/comm; do :; done").Exit; strings.Join(e.LeftOver, " ") != "sleep" {
		t.Errorf("got %+v", e)
	}
	// One that ends by itself in time is not killed: its last words are not lost.
	got, err := r.Capture(t.Context(), Cmd{Argv: []string{"bash", "-c", "echo slow > >(sleep 0.01; cat)"}}, nil, 100)
	if err != nil || string(got.Stdout) != "slow\n" || got.Exit.LeftOver != nil {
		t.Errorf("got %q, %+v, %v", got.Stdout, got.Exit, err)
	}
}

func TestAnOrphanOfOneCommandLeavesAnotherAlone(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	stays, goes := newToken(), newToken()
	p, err := r.Start(t.Context(), sh("setsid sleep "+stays+" & wait"))
	if err != nil {
		t.Fatal(err)
	}
	mustAppear(t, stays)
	capture(t, r, "setsid sleep "+goes+" & true")
	mustVanish(t, goes)
	if len(withToken(stays)) == 0 {
		t.Error("the running command lost its process")
	}
	p.Kill(0)
	mustVanish(t, stays)
}

func TestAKilledSupervisorIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	token := newToken()
	other, err := r.Start(t.Context(), sh("setsid sleep "+token+" & env -i setsid sleep "+token+" & wait"))
	if err != nil {
		t.Fatal(err)
	}
	mustAppear(t, token)
	p, err := r.Start(t.Context(), sh("nohup setsid sleep "+token+" >/dev/null & kill -9 $PPID; sleep "+token))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Process{p, other} {
		if e := p.Wait(); !e.Lost || e.Signal != "SIGKILL" {
			t.Errorf("got %+v", e)
		}
	}
	mustVanish(t, token)
	if got := capture(t, r, "echo again"); string(got.Stdout) != "again\n" || got.Exit.Lost {
		t.Errorf("got %+v", got)
	}
}

func TestTheSupervisorIgnoresWhatCommandsSendIt(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	got := capture(t, r, "for s in INT TERM HUP QUIT USR1 USR2 PIPE; do kill -$s $PPID; done; tr '\\0' ' ' </proc/$PPID/cmdline; cat /proc/$PPID/comm")
	if want := keeperName + " " + superviseArg + " " + keeperName + "\n"; got.Exit.Code != 0 || string(got.Stdout) != want {
		t.Errorf("got %+v %q, want %q", got.Exit, got.Stdout, want)
	}
}

func TestAStoppedSupervisorIsWoken(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	token := newToken()
	p, err := r.Start(t.Context(), sh("kill -STOP $PPID; sleep "+token))
	if err != nil {
		t.Fatal(err)
	}
	mustAppear(t, "sleep\x00"+token)
	p.Kill(0)
	if e := p.Wait(); e.Lost || e.Signal != "SIGKILL" {
		t.Errorf("got %+v", e)
	}
	mustVanish(t, token)
}

// Signals that the supervisor catches must reach a command as they do in any shell.
func TestCommandsHaveDefaultSignals(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	// Only the first 31 signals: those above belong to the C library, and whoever started the tests may ignore them.
	got := capture(t, r, "grep -E 'Sig(Ign|Blk)' /proc/self/status | sed 's/[0-9a-f]\\{8\\}\\([0-9a-f]\\{8\\}\\)$/\\1/; s/[89a-f]\\([0-9a-f]\\{7\\}\\)$/0\\1/' | tr -d '\\n\\t '; readlink /proc/self/fd/* | grep -c socket")
	if want := "SigBlk:00000000SigIgn:000000000\n"; string(got.Stdout) != want {
		t.Errorf("got %q, want %q", got.Stdout, want)
	}
}

// victim is a program that runs eight commands at a time until it is killed.
func victim() {
	r := New(Self())
	token := os.Getenv("GOFER_PROC_TOKEN")
	for i := range 8 {
		go func() {
			for n := i; ; n++ {
				script := fmt.Sprintf(escapes[n%len(escapes)], token)
				if n%2 == 0 {
					script += "; sleep 0.003"
				} else {
					script += "; sleep " + token
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+n%20)*time.Millisecond)
				if p, err := r.Start(ctx, sh(script)); err == nil {
					if n < 8 {
						fmt.Println("up")
					}
					p.Wait()
				}
				cancel()
			}
		}()
	}
	select {}
}

func TestNothingOutlivesAKilledProgram(t *testing.T) {
	t.Parallel()
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv("GOFER_KILL_ROUNDS")); err == nil {
		rounds = n
	}
	if testing.Short() {
		rounds = 3
	}
	for i := range rounds {
		token := newToken()
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), "GOFER_PROC_TEST=victim", "GOFER_PROC_TOKEN="+token)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if i%5 != 0 { // now and then it is killed before the first command is there
			out.Read(make([]byte, 3))
		}
		time.Sleep(rand.N(30 * time.Millisecond)) // the random moment is the subject of the test
		c.Process.Kill()
		c.Wait()
		mustVanish(t, token)
	}
}

func TestArgumentsAreHidden(t *testing.T) {
	t.Parallel()
	c := exec.Command("/proc/self/exe", "-p", "the secret prompt")
	c.Args[0] = "harness"
	c.Env = append(os.Environ(), "GOFER_PROC_TEST=hide")
	out, err := c.Output()
	if err != nil || string(out) != "harness\n-p the secret prompt\n" {
		t.Errorf("got %q, %v", out, err)
	}
}
