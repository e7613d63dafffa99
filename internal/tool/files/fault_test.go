package files_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gofer/internal/session/history"
	"gofer/internal/tool/files"
)

// TestMain lets the test binary be another gofer: with a role in its environment it does that and ends.
func TestMain(m *testing.M) {
	role := roles()[os.Getenv("FILES_TEST_ROLE")]
	if role == nil {
		os.Exit(m.Run())
	}
	d := &desk{t: &roleTB{}, dir: os.Getenv("FILES_TEST_DIR")}
	*d = *deskIn(d.t, d.dir, files.NewLocks(os.Getenv("FILES_TEST_LOCKS")), history.Open(os.Getenv("FILES_TEST_HISTORY"), history.Options{}))
	if err := role(d); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// roleTB is a testing.TB outside of a test: it ends the process.
type roleTB struct{ testing.TB }

func (*roleTB) Helper()                   {}
func (*roleTB) Fatal(a ...any)            { fmt.Println(a...); os.Exit(1) }
func (*roleTB) Fatalf(f string, a ...any) { fmt.Printf(f+"\n", a...); os.Exit(1) }

func roles() map[string]func(*desk) error {
	return map[string]func(*desk) error{
		"append": func(d *desk) error { return appendLines(d, os.Getenv("FILES_TEST_NAME"), 20) },
		"flip":   flipForEver,
		"full":   editOnFullDisk,
	}
}

// asRole starts the test binary as another gofer that works on d.
func (d *desk) asRole(role, name, locks string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FILES_TEST_ROLE="+role, "FILES_TEST_NAME="+name, "FILES_TEST_DIR="+d.dir, "FILES_TEST_LOCKS="+locks,
		"FILES_TEST_HISTORY="+filepath.Join(locks, "history"+name))
	return cmd
}

// appendLines adds lines before the last one, each by an edit, and tries again when somebody else was quicker.
func appendLines(d *desk, name string, n int) error {
	if _, err := d.call("Read", args{"file_path": "shared"}); err != nil {
		return err
	}
	for i := range n {
		line := fmt.Sprintf("%s-%d\n", name, i)
		edit := args{"file_path": "shared", "old_string": "END", "new_string": line + "END"}
		for {
			_, err := d.call("Edit", edit)
			if err == nil {
				break
			}
			if !strings.Contains(err.Error(), "changed by someone else") {
				return err
			}
		}
	}
	return nil
}

func checkLines(t *testing.T, d *desk, names []string, n int) {
	t.Helper()
	content, err := os.ReadFile(d.path("shared"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	count := map[string]int{}
	for _, line := range lines {
		count[line]++
	}
	for _, name := range names {
		for i := range n {
			if line := fmt.Sprintf("%s-%d", name, i); count[line] != 1 {
				t.Errorf("%s is there %d times", line, count[line])
			}
		}
	}
	if want := len(names)*n + 2; len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	d.clean("shared")
}

func TestSixteenAgentsLoseNoEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("shared", []byte("END\n"))
	locks, h := files.NewLocks(t.TempDir()), history.Open(t.TempDir(), history.Options{})
	var wg sync.WaitGroup
	var names []string
	for i := range 16 {
		name := "agent" + strconv.Itoa(i)
		names = append(names, name)
		agent := deskIn(t, d.dir, locks, h)
		wg.Go(func() {
			if err := appendLines(agent, name, 4); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkLines(t, d, names, 4)
}

func TestTwoProcessesLoseNoEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put("shared", []byte("END\n"))
	locks := t.TempDir()
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		wg.Go(func() {
			if out, err := d.asRole("append", name, locks).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	checkLines(t, d, []string{"a", "b"}, 20)
}

const flipSize = 6 << 20

func flipForEver(d *desk) error {
	if _, err := d.call("Read", args{"file_path": "flip", "limit": 1}); err != nil {
		return err
	}
	for from, to := "state A", "state B"; ; from, to = to, from {
		if _, err := d.call("Edit", args{"file_path": "flip", "old_string": from, "new_string": to}); err != nil {
			return err
		}
	}
}

func TestAKillLeavesTheFileWhole(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	content := "state A\n" + strings.Repeat("0123456789abcde\n", flipSize/16)
	d.put("flip", []byte(content))
	locks := t.TempDir()
	left := 0
	for tries := 0; tries < 3 || left == 0 && tries < 30; tries++ {
		cmd := d.asRole("flip", "f", locks)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitForTemp(t, d.dir)
		cmd.Process.Kill()
		cmd.Wait()
		left += len(temps(d.dir))
		got, err := os.ReadFile(d.path("flip"))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != content && string(got) != strings.Replace(content, "A", "B", 1) {
			t.Fatalf("the file is neither old nor new: %d bytes", len(got))
		}
	}
	if left == 0 {
		t.Error("no kill came in the middle of a write")
	}
	next := deskIn(t, d.dir, files.NewLocks(locks), history.Open(t.TempDir(), history.Options{}))
	next.ok("Write", args{"file_path": "other", "content": "x"}) // the next gofer clears up, whatever it writes
	d.clean("flip", "other")
}

func temps(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, ".gofer-*.tmp"))
	return names
}

func waitForTemp(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if len(temps(dir)) > 0 {
			return
		}
	}
	t.Fatal("the other gofer writes nothing")
}

func TestAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	content := "small\n" + strings.Repeat("x", 200<<10)
	d.put("big", []byte(content))
	out, err := d.asRole("full", "f", t.TempDir()).CombinedOutput()
	if strings.Contains(string(out), "not here") {
		t.Skip("needs Linux")
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	contains(t, string(out), "was not changed", "file too large")
	d.holds("big", content)
	d.clean("big")
}
