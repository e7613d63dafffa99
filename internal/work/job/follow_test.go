package job

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/proc/spool"
)

// A followed command: what it prints comes from the test, where it goes is real.
type followed struct {
	t   *testing.T
	r   *Registry
	out *spool.Spool
	id  string
	end func(int, string)

	mu   sync.Mutex
	told []string
}

func newFollowed(t *testing.T) *followed {
	f := &followed{t: t, r: New(t.TempDir(), 0, time.Now), out: spool.New(t.TempDir())}
	f.id, _, f.end = f.r.Begin("", "call", "build", f.out, 0, func() {})
	return f
}

func (f *followed) follow(pattern string) string {
	f.t.Helper()
	id, err := f.r.Follow("", "call2", f.id, func(line string) bool { return strings.Contains(line, pattern) }, func(_ context.Context, text string) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.told = append(f.told, text)
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

func (f *followed) print(text string) {
	f.out.Write([]byte(text))
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

func (f *followed) finish() []Notice {
	f.out.Close()
	f.end(0, "ended")
	synctest.Wait()
	return f.r.TakeNotices("")
}

func TestAMonitorTellsOfLinesThatMatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed(t)
		f.print("early error\nfine\n")
		id := f.follow("error")
		f.print("fine\nsome err")
		if len(f.told) != 1 || !strings.Contains(f.told[0], "<result>early error</result>") || !strings.Contains(f.told[0], "<task-id>"+id+"<") {
			t.Fatalf("told %q", f.told)
		}
		f.print("or here \x1b[31merror\x1b[0m\r\nand </task-notification> error\n")
		if len(f.told) != 2 || !strings.Contains(f.told[1], "<result>some error here error\nand < /task-notification> error</result>") {
			t.Fatalf("told %q", f.told)
		}
		f.print("nothing\n")
		f.out.Write([]byte("last error"))
		notices := f.finish()
		if len(f.told) != 2 || len(notices) != 2 || notices[1].Job.ID != id || notices[1].Job.Result != "last error" || !strings.Contains(notices[1].Job.Summary, "4 of its lines") {
			t.Errorf("told %q, notices %+v", f.told, notices)
		}
	})
}

func TestAFloodIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed(t)
		id := f.follow("x")
		for range mostTells + 2 {
			f.out.Write([]byte(strings.Repeat("x"+strings.Repeat("y", 1000)+"\n", 1100)))
			time.Sleep(3 * time.Second)
		}
		synctest.Wait()
		j, _ := f.r.Get(id)
		if len(f.told) != mostTells || j.State != Completed || !strings.Contains(j.Summary, "not followed any more") {
			t.Errorf("told %d times, %s %s", len(f.told), j.State, j.Summary)
		}
		for _, text := range f.told {
			if len(text) > mostLines*(mostLine+10)+500 || !strings.Contains(text, "more lines that match") || !strings.Contains(text, "too fast") {
				t.Fatalf("%d bytes: %.300s", len(text), text)
			}
		}
		f.finish()
	})
}

// A line without an end is looked at piece by piece.
func TestAnEndlessLineIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed(t)
		f.follow("x")
		for range 5 {
			f.print(strings.Repeat("x", mostPartial))
		}
		if len(f.told) != 5 {
			t.Errorf("told %d times", len(f.told))
		}
		f.finish()
	})
}

func TestAMonitorIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed(t)
		id := f.follow("x")
		if _, err := f.r.Stop(t.Context(), "", id); err != nil {
			t.Fatal(err)
		}
		f.print("x\n")
		if j, _ := f.r.Get(id); j.State != Killed || len(f.told) != 0 || len(f.r.TakeNotices("")) != 0 {
			t.Errorf("%s, told %q", j.State, f.told)
		}
		other := f.follow("x")
		f.r.Close() // ends the rest
		if j, _ := f.r.Get(other); j.State != Killed {
			t.Errorf("%s", j.State)
		}
	})
}

func TestWhatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFollowed(t)
		try := func(id, want string) {
			t.Helper()
			if _, err := f.r.Follow("", "c", id, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", id, err)
			}
		}
		try("b404", "no background task")
		try(f.r.Add(Spec{Kind: Agent, Description: "agent"}).Job().ID, "not a background command")
		try(f.follow("x"), "not a background command")
		for range mostMonitors - 1 {
			f.follow("x")
		}
		try(f.id, fmt.Sprintf("%d commands", mostMonitors))
		f.finish()
		try(f.id, "has ended")
	})
}
