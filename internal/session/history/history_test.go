package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// change saves path and gives it a new content, as a tool does.
func change(t *testing.T, s *Store, path, content string) {
	t.Helper()
	if err := s.Save(t.Context(), path, hash(content)); err != nil {
		t.Fatal(err)
	}
	write(t, path, content)
}

func copies(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*@v*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLastGoesBackChangeByChange(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "a")
	s := Open(dir, Options{})
	if _, _, err := s.Last(path); err == nil {
		t.Fatal("a file nobody changed has a last change")
	}
	s.Begin("m1")
	change(t, s, path, "one")
	change(t, s, path, "two")

	before, after, err := s.Last(path)
	if err != nil || mustRead(t, before) != "one" || after != hash("two") {
		t.Fatalf("got %q %q %v", before, after, err)
	}
	change(t, s, path, "one") // the tool takes it back
	if err := s.Undone(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	s = Open(dir, Options{}) // all of it survives the process
	before, after, err = s.Last(path)
	if err != nil || before != "" || after != hash("one") {
		t.Fatalf("got %q %q %v, want the creation", before, after, err)
	}
}

func TestAContentIsKeptOnce(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "a")
	s := Open(dir, Options{})
	write(t, path, "x")
	for range 5 {
		change(t, s, path, "y")
		change(t, s, path, "x")
	}
	if got := copies(t, dir); len(got) != 2 {
		t.Errorf("kept %v", got)
	}
	info, err := os.Stat(copies(t, dir)[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestSinceListsWhatIsToBeRestored(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	a, b, c := filepath.Join(files, "a"), filepath.Join(files, "b"), filepath.Join(files, "c")
	s := Open(t.TempDir(), Options{})
	write(t, a, "a0")
	write(t, b, "b0")
	s.Begin("m1")
	change(t, s, a, "a1")
	s.Begin("m2")
	change(t, s, b, "b1")
	change(t, s, a, "a2")
	s.Begin("m3")
	change(t, s, a, "a3")
	change(t, s, c, "c1")

	got, err := s.Since("m2")
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, f := range got {
		content := "(none)"
		if f.Before.Existed() {
			file, err := s.Open(f.Before)
			if err != nil {
				t.Fatal(err)
			}
			content = mustRead(t, file.Name())
			file.Close()
		}
		text = append(text, filepath.Base(f.Path)+"="+content+">"+f.After[:4])
	}
	want := fmt.Sprintf("b=b0>%s a=a1>%s c=(none)>%s", hash("b1")[:4], hash("a3")[:4], hash("c1")[:4])
	if strings.Join(text, " ") != want {
		t.Errorf("got %v, want %s", text, want)
	}
	if _, err := s.Since("other"); err == nil {
		t.Error("an unknown message has changes")
	}
	if got, _ := s.Messages(); strings.Join(got, " ") != "m1 m2 m3" {
		t.Errorf("messages %v", got)
	}
}

func TestOnlyTheLastSnapshotsAreKept(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "a")
	s := Open(dir, Options{Snapshots: 3})
	for i := range 10 {
		s.Begin(fmt.Sprint("m", i))
		change(t, s, path, fmt.Sprint("content ", i))
	}
	for range 2 { // as it was, and as it is read again
		if got, _ := s.Messages(); strings.Join(got, " ") != "m7 m8 m9" {
			t.Errorf("messages %v", got)
		}
		if got := copies(t, dir); len(got) != 3 {
			t.Errorf("copies %v", got)
		}
		s = Open(dir, Options{Snapshots: 3})
	}
}

func TestSizesAreBounded(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "a")
	s := Open(dir, Options{FileLimit: 1000, SizeLimit: 2500})
	for i := range 10 {
		write(t, path, strings.Repeat(fmt.Sprint(i), 900))
		s.Begin(fmt.Sprint("m", i))
		change(t, s, path, "small")
	}
	if got := copies(t, dir); len(got) > 3 {
		t.Errorf("%d copies of 900 bytes with a limit of 2500", len(got))
	}
	write(t, path, strings.Repeat("x", 1001))
	change(t, s, path, "small")
	if _, _, err := s.Last(path); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

func TestATornIndexLosesOnlyItsLastLine(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "a")
	s := Open(dir, Options{})
	write(t, path, "one")
	change(t, s, path, "two")
	index := filepath.Join(dir, indexName)
	whole := mustRead(t, index)
	for cut := range len(whole) {
		write(t, index, whole+whole[:cut])
		before, _, err := Open(dir, Options{}).Last(path)
		if err != nil || mustRead(t, before) != "one" {
			t.Fatalf("cut at %d: %q %v", cut, before, err)
		}
	}
	write(t, index, whole+whole[:20])
	s = Open(dir, Options{})
	change(t, s, path, "three")
	before, _, err := Open(dir, Options{}).Last(path)
	if err != nil || mustRead(t, before) != "two" {
		t.Fatalf("after a torn line: %q %v", before, err)
	}
}

func TestTwoStoresOfOneSessionDoNotHarmEachOther(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), t.TempDir()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			s := Open(dir, Options{})
			for i := range 10 {
				path := filepath.Join(files, fmt.Sprint(i))
				if err := s.Save(context.Background(), path, "x"); err != nil {
					t.Error(err)
				}
				os.WriteFile(path+fmt.Sprint(w), []byte(fmt.Sprint(w, i)), 0o600)
				os.Rename(path+fmt.Sprint(w), path)
			}
		})
	}
	wg.Wait()
	s := Open(dir, Options{})
	if err := s.load(); err != nil || len(s.changes) != 40 {
		t.Fatalf("%d changes, %v", len(s.changes), err)
	}
	for _, c := range s.changes {
		if c.Before.File != "" && hash(mustRead(t, filepath.Join(dir, c.Before.File))) != c.Before.Hash {
			t.Errorf("%s does not hold what the index says", c.Before.File)
		}
	}
}

func TestNothingIsSavedIfTheStoreCannotBeWritten(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "file")
	write(t, blocked, "")
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "x")
	if err := Open(filepath.Join(blocked, "store"), Options{}).Save(t.Context(), path, "y"); err == nil {
		t.Error("saved below a file")
	}
}

func TestSweepRemovesOldSessionsOnly(t *testing.T) {
	t.Parallel()
	root, path := t.TempDir(), filepath.Join(t.TempDir(), "a")
	for _, name := range []string{"old", "new", "mine"} {
		s := Open(filepath.Join(root, name), Options{})
		change(t, s, path, name)
	}
	os.Mkdir(filepath.Join(root, "foreign"), 0o700)
	past := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"old", "mine"} {
		os.Chtimes(filepath.Join(root, name, indexName), past, past)
	}
	if err := Sweep(root, 24*time.Hour, 0, "mine"); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(root)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != "foreign mine new" {
		t.Errorf("left %v", names)
	}
}
