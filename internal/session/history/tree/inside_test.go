package tree

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gofer/internal/session/history"
	"gofer/internal/session/history/gitindex"
)

// A file that was changed in the tick of the clock in which it was looked at may change again without looking different. Its content decides
// then, not its looks.
func TestLooksAreNotTrustedWithinATick(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	store := history.Open(filepath.Join(t.TempDir(), "s"), history.Options{})
	w := New(store, Options{Dirs: func() []string { return []string{dir} }})
	defer w.Close()
	for _, recent := range []bool{true, false} {
		os.WriteFile(path, []byte("one"), 0o644)
		store.Begin(time.Now().String())
		after, err := w.Before(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(path, []byte("two"), 0o644)
		l := w.loose[realPath(t, path)]
		l.stat, _ = lstat(realPath(t, path)) // as a coarse clock would have it
		l.seen = time.Unix(0, max(l.stat.mtime, l.stat.ctime)).Add(time.Hour)
		if recent {
			l.seen = time.Unix(0, max(l.stat.mtime, l.stat.ctime)).Add(time.Millisecond)
		}
		before, _ := store.Messages()
		if err := after(t.Context()); err != nil {
			t.Fatal(err)
		}
		if messages, _ := store.Messages(); (len(messages) > len(before)) != recent {
			t.Errorf("recent %v: the messages with changes are %v", recent, messages)
		}
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// The same with files that git knows: what is as young as the index is not trusted.
func TestAFileAsYoungAsTheIndexIsNotClean(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index")
	file := filepath.Join(filepath.Dir(path), "a")
	os.WriteFile(file, []byte("x"), 0o644)
	s, _ := lstat(file)
	for offset, want := range map[time.Duration]bool{0: false, -time.Second: false, time.Millisecond: true, time.Second: true} {
		dir := t.TempDir()
		written := time.Unix(0, s.mtime).Add(offset)
		name := filepath.Join(dir, "index")
		if err := os.WriteFile(name, oneEntry(s), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, written, written); err != nil {
			t.Fatal(err)
		}
		x, err := gitindex.Repo{Root: dir, GitDir: dir}.Read()
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Clean(0, s.forGit()); got != want {
			t.Errorf("an index written %v after the file: clean is %v", offset, got)
		}
	}
}

// oneEntry is an index with one file that looks like s.
func oneEntry(s stat) []byte {
	g := s.forGit()
	data := append([]byte("DIRC"), 0, 0, 0, 2, 0, 0, 0, 1)
	for _, n := range []uint32{g.CtimeSec, g.CtimeNsec, g.MtimeSec, g.MtimeNsec, 0, g.Inode, 0o100644, 0, 0, g.Size} {
		data = append(data, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	data = append(data, make([]byte, 20)...)
	data = append(data, 0, 1, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for (len(data)-12)%8 != 0 {
		data = append(data, 0)
	}
	return append(data[:12+72], make([]byte, 20)...)
}
