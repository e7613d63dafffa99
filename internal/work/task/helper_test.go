package task

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The tests start this program again as other processes that use the same list; the variable says what they do.
const roleVariable = "GOFER_TASK_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func play(role, root string, args []string) error {
	b := Open(root, "list")
	ctx := context.Background()
	switch role {
	case "hold": // takes the lock and keeps it
		f, err := acquire(ctx, filepath.Join(b.dir, ".lock"), lockWait)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		return nil
	case "work": // creates and claims as many tasks as args say
		var n int
		fmt.Sscan(args[1], &n)
		fmt.Println("ready")
		bufio.NewReader(os.Stdin).ReadString('\n')
		for i := range n {
			made, err := b.Create(ctx, Draft{Subject: fmt.Sprintf("%s makes %d", args[0], i)}, nil)
			if err != nil {
				return err
			}
			got, err := b.ClaimNext(ctx, args[0], false)
			if err != nil {
				return err
			}
			fmt.Println("made", made.ID)
			fmt.Println("got", got.ID)
		}
		return nil
	case "churn": // changes things until it is killed
		for {
			t, err := b.Create(ctx, Draft{Subject: "churn"}, nil)
			if err != nil {
				return err
			}
			fmt.Println("made", t.ID)
			list, err := b.List(ctx)
			if err != nil {
				return err
			}
			first := list[0].ID
			if first == t.ID {
				continue
			}
			if _, _, err := b.Update(ctx, t.ID, Change{AddBlockedBy: []string{first}}); err != nil && !errors.As(err, new(*Refusal)) {
				return err
			}
			if len(list) > 8 {
				if _, _, err := b.Update(ctx, first, Change{Status: ptr(Deleted)}); err != nil && !errors.As(err, new(*Refusal)) {
					return err
				}
			}
		}
	case "full":
		return onFullDisk(b)
	}
	return fmt.Errorf("no role %q", role)
}

// A child is another process at work on the list.
type child struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	errs  *strings.Builder
}

func start(t *testing.T, role, root string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{root}, args...)...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	c := &child{cmd: cmd, errs: &strings.Builder{}}
	cmd.Stderr = c.errs
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.lines.Scan() {
		c.cmd.Wait()
		t.Fatalf("the other process is gone: %s", c.errs)
	}
	return c.lines.Text()
}

func ptr(s string) *string { return &s }

func testBoard(t testing.TB) *Board { return Open(t.TempDir(), "list") }

func add(t testing.TB, b *Board, subject string, metadata ...string) string {
	t.Helper()
	d := Draft{Subject: subject, Description: "about " + subject}
	if len(metadata) > 0 {
		d.Metadata = map[string]json.RawMessage{"priority": json.RawMessage(metadata[0])}
	}
	task, err := b.Create(t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return task.ID
}

func change(t testing.TB, b *Board, id string, c Change) (Task, Effect) {
	t.Helper()
	task, effect, err := b.Update(t.Context(), id, c)
	if err != nil {
		t.Fatal(err)
	}
	return task, effect
}

func list(t testing.TB, b *Board) []Task {
	t.Helper()
	tasks, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func refused(t testing.TB, err error, want Reason) *Refusal {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	if !strings.HasPrefix(err.Error(), string(want)+": ") {
		t.Errorf("the error does not begin with its reason: %v", err)
	}
	return r
}

const patience = 20 * time.Second // for what must happen at once
