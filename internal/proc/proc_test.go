//go:build unix

package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be its own supervisor and the programs that the tests kill.
func TestMain(m *testing.M) {
	if IsSupervisor(os.Args) {
		os.Exit(Supervise())
	}
	switch os.Getenv("GOFER_PROC_TEST") {
	case "victim":
		victim()
	case "hide":
		HideArgs()
		line, _ := os.ReadFile("/proc/self/cmdline")
		fmt.Printf("%s\n%s\n", strings.Trim(strings.ReplaceAll(string(line), "\x00", " "), " "), strings.Join(os.Args[1:], " "))
		os.Exit(0)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would hold every supervisor for a second
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func newRunner(t testing.TB) *Runner {
	r := New(Self())
	t.Cleanup(r.Close)
	return r
}

func sh(script string) Cmd { return Cmd{Argv: []string{"sh", "-c", script}} }

func capture(t *testing.T, r *Runner, script string) Captured {
	t.Helper()
	got, err := r.Capture(t.Context(), sh(script), nil, 1<<20)
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return got
}

func TestCommandRunsAndReportsHowItEnded(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for script, want := range map[string]Exit{
		"exit 0":        {},
		"exit 3":        {Code: 3},
		"kill -TERM $$": {Code: 143, Signal: "SIGTERM"},
		"kill -KILL $$": {Code: 137, Signal: "SIGKILL"},
	} {
		got := capture(t, r, script).Exit
		if got.Code != want.Code || got.Signal != want.Signal || got.Lost || got.LeftOver != nil {
			t.Errorf("%s: got %+v, want %+v", script, got, want)
		}
	}
	if e := capture(t, r, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done").Exit; e.User+e.System <= 0 || e.MaxRSS < 100<<10 {
		t.Errorf("no usage in %+v", e)
	}
}

func TestFilesEnvironmentAndFolderArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	dir := t.TempDir()
	c := sh(`printf '%s|' "$LATIN" "$TWICE" "$(pwd)"; cat; echo err >&2; echo extra >&3`)
	c.Dir = dir
	c.Env = append(os.Environ(), "LATIN=caf\xe9", "TWICE=a", "TWICE=b")
	rd, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Extra = []*os.File{wr}
	got, err := r.Capture(t.Context(), c, strings.NewReader("in"), 1000)
	wr.Close()
	if err != nil {
		t.Fatal(err)
	}
	extra, _ := io.ReadAll(rd)
	if want := "caf\xe9|b|" + dir + "|in"; string(got.Stdout) != want || string(got.Stderr) != "err\n" || string(extra) != "extra\n" {
		t.Errorf("got %q, %q, %q; want %q", got.Stdout, got.Stderr, extra, want)
	}
}

func TestWrapIsPutBefore(t *testing.T) {
	t.Parallel()
	got, err := newRunner(t).Capture(t.Context(), Cmd{Wrap: []string{"env", "A=wrapped"}, Argv: []string{"sh", "-c", "echo $A"}}, nil, 100)
	if err != nil || string(got.Stdout) != "wrapped\n" {
		t.Errorf("got %q, %v", got.Stdout, err)
	}
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	if _, err := r.Start(t.Context(), Cmd{Argv: []string{"no-such-program-here"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing program: %v", err)
	}
	c := sh("true")
	c.Dir = "/no/such/folder"
	if _, err := r.Start(t.Context(), c); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	if _, err := r.Start(t.Context(), Cmd{Argv: []string{"/etc/passwd"}}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("not a program: %v", err)
	}
	if _, err := r.Start(t.Context(), sh("echo \x00")); err == nil {
		t.Error("NUL was taken")
	}
	if got := capture(t, r, "echo still"); string(got.Stdout) != "still\n" {
		t.Errorf("after failures: %q", got.Stdout)
	}
}

func TestParallelCommandsKeepApart(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			got, err := r.Capture(t.Context(), sh(fmt.Sprintf("echo %d; exit %d", i, i)), nil, 100)
			if err != nil || string(got.Stdout) != fmt.Sprintf("%d\n", i) || got.Exit.Code != i {
				t.Errorf("%d: got %q, %+v, %v", i, got.Stdout, got.Exit, err)
			}
		})
	}
	all.Wait()
}

func TestKillIsPoliteFirst(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	rd, wr, _ := os.Pipe()
	c := sh("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
	c.Stdout = wr
	p, err := r.Start(t.Context(), c)
	wr.Close()
	if err != nil {
		t.Fatal(err)
	}
	rd.Read(make([]byte, 6))
	p.Kill(10 * time.Second)
	out, _ := io.ReadAll(rd)
	if e := p.Wait(); e.Code != 7 || string(out) != "bye\n" {
		t.Errorf("got %+v, %q", e, out)
	}
}

func TestContextEndsTheTree(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	token := newToken()
	ctx, cancel := context.WithCancelCause(t.Context())
	rd, wr, _ := os.Pipe()
	c := sh("trap '' TERM; sleep " + token + " & setsid sleep " + token + " & echo ready; wait")
	c.Stdout, c.Grace = wr, 20*time.Millisecond
	p, err := r.Start(ctx, c)
	wr.Close()
	if err != nil {
		t.Fatal(err)
	}
	rd.Read(make([]byte, 6))
	cancel(errors.New("enough"))
	if e := p.Wait(); e.Signal != "SIGKILL" {
		t.Errorf("got %+v", e)
	}
	mustVanish(t, token)
}

func TestAProgramThatIsNoSupervisorIsDoneWithout(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	r := New([]string{path})
	defer r.Close()
	token := newToken()
	got, err := r.Capture(t.Context(), sh("sleep "+token+" & echo here; exit 4"), nil, 100)
	if err != nil || string(got.Stdout) != "here\n" || got.Exit.Code != 4 {
		t.Errorf("got %q, %+v, %v", got.Stdout, got.Exit, err)
	}
	mustVanish(t, token)
}

func TestNothingStartsAfterClose(t *testing.T) {
	t.Parallel()
	r := New(Self())
	token := newToken()
	p, err := r.Start(context.Background(), sh("nohup setsid sleep "+token+" >/dev/null 2>&1 & sleep "+token))
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if e := p.Wait(); e.Code != 137 {
		t.Errorf("got %+v", e)
	}
	mustVanish(t, token)
	if _, err := r.Start(context.Background(), sh("true")); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkCommand(b *testing.B) {
	r := newRunner(b)
	for b.Loop() {
		p, err := r.Start(context.Background(), Cmd{Argv: []string{"/bin/true"}})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait()
	}
}

func BenchmarkPlainExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
