package tree_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A large project with a huge file that nobody tracks: edits and commands stay quick, and the store stays small. The whole size, 50,000
// files and 2 GB, is for GOFER_TEST_FULL=1.
func TestALargeProjectCostsLittle(t *testing.T) {
	t.Parallel()
	count, huge, most := 2000, int64(256<<20), 500*time.Millisecond
	if os.Getenv("GOFER_TEST_FULL") != "" {
		count, huge, most = 50_000, 2<<30, 50*time.Millisecond
	}
	d := newDesk(t, treeOptions())
	fillProject(t, d, count, huge)
	d.git("init", "-q")
	d.git("add", "d*")
	d.git("commit", "-qm", "all")

	times := map[string][]time.Duration{}
	measure := func(what string, f func()) {
		t.Helper()
		begun := time.Now()
		f()
		times[what] = append(times[what], time.Since(begun))
	}
	for i := range 20 {
		d.store.Begin(fmt.Sprint("m", i))
		name := fmt.Sprintf("d%d/f%d", i, i)
		measure("edit", func() {
			if err := d.store.Save(t.Context(), d.path(name), "x"); err != nil {
				t.Fatal(err)
			}
		})
		var after func() error
		measure("before a command", func() {
			end, err := d.watch.Before(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			after = func() error { return end(t.Context()) }
		})
		d.write(fmt.Sprintf("d%d/f%d", i, i+1), "by a command\n")
		d.write(fmt.Sprintf("new%d", i), "by a command\n")
		measure("after a command", func() {
			if err := after(); err != nil {
				t.Fatal(err)
			}
		})
	}
	for what, list := range times {
		slices.Sort(list)
		t.Logf("%s, %d files: median %v, most %v", what, count, list[len(list)/2], list[len(list)-1])
	}
	if median := times["edit"][10]; median > most {
		t.Errorf("an edit takes %v", median)
	}
	size := int64(0)
	filepath.WalkDir(d.store.Dir(), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	t.Logf("the store has %d bytes", size)
	if size > 20<<20 {
		t.Errorf("the store has %d bytes", size)
	}
	plan, err := d.store.Preview(t.Context(), "m0")
	if err != nil || len(plan.Files) != 40 {
		t.Errorf("%d files would come back, %v", len(plan.Files), err)
	}
}

func fillProject(t testing.TB, d *desk, count int, huge int64) {
	t.Helper()
	const folders = 250
	for i := range folders {
		if err := os.MkdirAll(d.path(fmt.Sprintf("d%d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		if err := os.WriteFile(d.path(fmt.Sprintf("d%d/f%d", i%folders, i)), fmt.Appendf(nil, "old %d\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 21 {
		d.write(fmt.Sprintf("d%d/f%d", i, i+1), "old\n")
	}
	if err := os.WriteFile(d.path("huge"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.path("huge"), huge); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkCommand measures what a command costs more, in a small repository in which a file changes.
func BenchmarkCommand(b *testing.B) {
	d := newDesk(b, treeOptions())
	fillProject(b, d, 300, 1<<20)
	d.git("init", "-q")
	d.git("add", "d*")
	d.git("commit", "-qm", "all")
	for i := 0; b.Loop(); i++ {
		end, err := d.watch.Before(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		d.write("d1/f1", fmt.Sprint(i))
		b.StartTimer()
		if err := end(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
