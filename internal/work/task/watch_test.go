package task

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watching starts a watch and returns what it sees, each time as one line.
func watching(t testing.TB, b *Board) <-chan string {
	seen := make(chan string, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- b.Watch(ctx, func(tasks []Task) {
			var line []string
			for _, task := range tasks {
				line = append(line, task.ID+task.Status[:1]+strings.Join(task.BlockedBy, ","))
			}
			seen <- strings.Join(line, " ")
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return seen
}

func await(t testing.TB, seen <-chan string, want string) {
	t.Helper()
	limit := time.After(patience)
	last := "nothing"
	for {
		select {
		case last = <-seen:
			if last == want {
				return
			}
		case <-limit:
			t.Fatalf("the watcher saw %q last, never %q", last, want)
		}
	}
}

func TestAWatcherIsToldOfEveryChange(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "not", "yet")
	seen := watching(t, Open(root, "list")) // before there is a list
	await(t, seen, "")
	b := Open(root, "list")
	add(t, b, "a")
	await(t, seen, "1p")
	add(t, b, "b")
	change(t, b, "2", Change{AddBlockedBy: []string{"1"}})
	await(t, seen, "1p 2p1")
	if _, err := b.ClaimNext(t.Context(), "ann", false); err != nil {
		t.Fatal(err)
	}
	await(t, seen, "1i 2p1")
	change(t, b, "1", Change{Status: ptr(Deleted)})
	await(t, seen, "2p")
	if err := os.RemoveAll(b.Dir()); err != nil {
		t.Fatal(err)
	}
	await(t, seen, "")
	add(t, Open(root, "list"), "anew")
	await(t, seen, "1p")
	os.WriteFile(filepath.Join(b.Dir(), "1.json"), []byte(`{"subject":"by hand","status":"completed"}`), 0o600)
	await(t, seen, "1c")
}

func BenchmarkChangeToWatcher(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n, "tasks"), func(b *testing.B) {
			board := testBoard(b)
			for range n {
				add(b, board, "x")
			}
			seen := make(chan struct{}, 100)
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error)
			go func() {
				done <- Open(filepath.Dir(board.Dir()), "list").Watch(ctx, func([]Task) { seen <- struct{}{} })
			}()
			<-seen
			var worst, all time.Duration
			for i := 0; b.Loop(); i++ {
				begin := time.Now()
				change(b, board, "1", Change{Subject: ptr(fmt.Sprint(i))})
				<-seen
				took := time.Since(begin)
				worst, all = max(worst, took), all+took
			}
			b.ReportMetric(float64(worst.Microseconds()), "worst-µs")
			b.ReportMetric(float64(all.Microseconds())/float64(b.N), "latency-µs")
			cancel()
			<-done
		})
	}
}
