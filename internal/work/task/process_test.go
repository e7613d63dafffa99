package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestManyProcesses runs 64 × 50 with GOFER_BOARD_FULL=1.
func TestManyProcessesMakeAndClaimEachTaskOnce(t *testing.T) {
	t.Parallel()
	processes, each := 6, 8
	if os.Getenv("GOFER_BOARD_FULL") != "" {
		processes, each = 64, 50
	}
	root := t.TempDir()
	var children []*child
	for i := range processes {
		children = append(children, start(t, "work", root, fmt.Sprint("agent", i), fmt.Sprint(each)))
	}
	for _, c := range children {
		if got := c.line(t); got != "ready" {
			t.Fatal(got)
		}
	}
	begin := time.Now()
	for _, c := range children {
		c.in.Write([]byte("\n"))
	}
	made, got := map[string]int{}, map[string]string{}
	for i, c := range children {
		for range each {
			made[strings.TrimPrefix(c.line(t), "made ")]++
			id := strings.TrimPrefix(c.line(t), "got ")
			if other := got[id]; other != "" {
				t.Errorf("%s was claimed by %s and agent%d", id, other, i)
			}
			got[id] = fmt.Sprint("agent", i)
		}
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, c.errs)
		}
	}
	t.Logf("%d processes × %d in %v", processes, each, time.Since(begin))
	if len(made) != processes*each || len(got) != processes*each {
		t.Fatalf("%d ids, %d claimed, want %d", len(made), len(got), processes*each)
	}
	tasks := list(t, Open(root, "list"))
	if len(tasks) != processes*each {
		t.Fatalf("%d tasks are on disk", len(tasks))
	}
	for i, task := range tasks {
		if task.ID != fmt.Sprint(i+1) || task.Owner != got[task.ID] || task.Status != InProgress {
			t.Errorf("%+v, but it was claimed by %s", task, got[task.ID])
		}
	}
}

func TestAKilledHolderHoldsNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b := Open(root, "list")
	add(t, b, "before")
	holder := start(t, "hold", root)
	if got := holder.line(t); got != "held" {
		t.Fatal(got)
	}
	impatient := Open(root, "list")
	impatient.wait = 20 * time.Millisecond
	if _, err := impatient.Claim(t.Context(), "1", "bob", false); !errors.Is(err, errBusy) {
		t.Errorf("the lock was not waited for: %v", err)
	}
	if got := list(t, impatient); len(got) != 1 {
		t.Errorf("reading needs no lock: %v", got)
	}
	type outcome struct {
		task Task
		err  error
	}
	done := make(chan outcome)
	go func() {
		task, err := b.Claim(t.Context(), "1", "ann", false)
		done <- outcome{task, err}
	}()
	select {
	case o := <-done:
		t.Fatalf("the claim did not wait: %+v", o)
	default:
	}
	begin := time.Now()
	holder.cmd.Process.Kill()
	if o := <-done; o.err != nil || o.task.Owner != "ann" {
		t.Errorf("got %+v", o)
	}
	t.Logf("claimed %v after the kill", time.Since(begin))
}

func TestKillsLeaveAListThatIsRight(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	made := map[string]bool{}
	for round := range 6 {
		var crew []*child
		for range 2 {
			crew = append(crew, start(t, "churn", root))
		}
		for n, c := range crew {
			for range 3 + 2*round + n {
				line := c.line(t)
				if made[line] {
					t.Errorf("%s twice", line)
				}
				made[line] = true
			}
		}
		for _, c := range crew {
			c.cmd.Process.Kill()
			for c.lines.Scan() {
				if made[c.lines.Text()] {
					t.Errorf("%s twice", c.lines.Text())
				}
				made[c.lines.Text()] = true
			}
			c.cmd.Wait()
		}
		b := Open(root, "list")
		if broken, err := b.Broken(t.Context()); err != nil || len(broken) > 0 {
			t.Fatalf("%v %v", broken, err)
		}
		tasks := list(t, b)
		byID := map[string]Task{}
		for _, task := range tasks {
			byID[task.ID] = task
		}
		for _, task := range tasks {
			for _, id := range task.BlockedBy {
				if !slices.Contains(byID[id].Blocks, task.ID) {
					t.Errorf("%s does not know that it blocks %s", id, task.ID)
				}
			}
		}
		if id := "made " + add(t, b, "after"); made[id] {
			t.Errorf("%s twice", id)
		}
	}
}

func TestAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("no limit on the size of files here")
	}
	root := t.TempDir()
	b := Open(root, "list")
	add(t, b, "before")
	c := start(t, "full", root)
	var said []string
	for c.lines.Scan() {
		said = append(said, c.lines.Text())
	}
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, c.errs)
	}
	if len(said) != 2 || !strings.Contains(said[0], "writing task 2: ") || !strings.Contains(said[1], "writing task 1: ") {
		t.Errorf("got %v", said)
	}
	if got := list(t, Open(root, "list")); len(got) != 1 || got[0].Description != "about before" {
		t.Errorf("got %+v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(b.Dir(), ".tmp*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if got := add(t, b, "after"); got != "2" {
		t.Errorf("the next id is %s", got)
	}
}

func BenchmarkClaim(b *testing.B) {
	board := testBoard(b)
	for range 100 {
		add(b, board, "x")
	}
	for i := 0; b.Loop(); i++ {
		if _, err := board.Claim(b.Context(), fmt.Sprint(i%100+1), "ann", false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClaimNext(b *testing.B) {
	board := testBoard(b)
	const most = 2000
	for range most {
		add(b, board, "x")
	}
	claimed := 0
	for b.Loop() {
		if claimed == most {
			b.StopTimer()
			if _, err := board.Release(b.Context(), "ann"); err != nil {
				b.Fatal(err)
			}
			claimed = 0
			b.StartTimer()
		}
		if _, err := board.ClaimNext(b.Context(), "ann", false); err != nil {
			b.Fatal(err)
		}
		claimed++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}

func BenchmarkCreate(b *testing.B) {
	board := testBoard(b)
	for b.Loop() {
		add(b, board, "x")
	}
}
