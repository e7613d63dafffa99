package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tell lists what is in a folder.
func tell(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if e.IsDir() {
			lines = append(lines, rel+"/")
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%s %v %q", rel, info.Mode(), mustRead(t, path)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func mustRewind(t *testing.T, s *Store, message string) Done {
	t.Helper()
	done, err := s.Rewind(t.Context(), message)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestRewindToAMessageWithoutChangesOfItsOwn(t *testing.T) {
	t.Parallel()
	dir, files := filepath.Join(t.TempDir(), "s"), t.TempDir()
	path := filepath.Join(files, "a")
	s := Open(dir, Options{})
	write(t, path, "0")
	for _, m := range []string{"m1", "m2", "m3", "m4", "m5"} {
		s.Begin(m)
		if m == "m2" || m == "m4" {
			change(t, s, path, m)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = Open(dir, Options{})
	for _, c := range [][2]string{{"m5", "m4"}, {"m3", "m2"}, {"m4", "m2"}, {"m1", "0"}, {"m5", "m4"}} {
		mustRewind(t, s, c[0])
		if got := mustRead(t, path); got != c[1] {
			t.Errorf("before %s it was %q, not %q", c[0], c[1], got)
		}
	}
	if _, err := s.Rewind(t.Context(), "never"); err == nil {
		t.Error("an unknown message was gone back to")
	}
}

func TestAMessageIsLocatedByItsTime(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	path := filepath.Join(files, "a")
	s := Open(filepath.Join(t.TempDir(), "s"), Options{Snapshots: 3})
	write(t, path, "0")
	early := time.Now()
	s.Begin("m1")
	change(t, s, path, "1")
	joined := time.Now()
	change(t, s, path, "2")
	if !s.Locate("joined", joined) || !s.Locate("last", time.Now()) {
		t.Fatal("the messages were not located")
	}
	if p, err := s.Preview(t.Context(), "last"); err != nil || len(p.Files) != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
	mustRewind(t, s, "joined")
	if got := mustRead(t, path); got != "1" {
		t.Errorf("got %q", got)
	}
	for i := range 5 {
		s.Begin(fmt.Sprint("n", i))
		change(t, s, path, fmt.Sprint("n", i))
	}
	if s.Locate("early", early) {
		t.Error("a message was located whose changes are forgotten")
	}
}

func TestForgottenMessagesAreNotGoneBackTo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	s := Open(filepath.Join(t.TempDir(), "s"), Options{Snapshots: 2})
	for _, m := range []string{"m0", "m1", "m2", "m3"} {
		s.Begin(m + "-empty")
		s.Begin(m)
		change(t, s, path, m)
	}
	for _, m := range []string{"m0-empty", "m0", "m1-empty", "m1"} {
		if _, err := s.Preview(t.Context(), m); err == nil {
			t.Errorf("%s is not forgotten", m)
		}
	}
	mustRewind(t, s, "m2-empty")
	if got := mustRead(t, path); got != "m1" {
		t.Errorf("got %q", got)
	}
}

func TestWhatCannotBeRestoredIsNamed(t *testing.T) {
	t.Parallel()
	dir, files := filepath.Join(t.TempDir(), "s"), t.TempDir()
	at := func(name string) string { return filepath.Join(files, name) }
	s := Open(dir, Options{FileLimit: 100})
	s.Begin("m1")
	for _, name := range []string{"large", "lost", "damaged", "fine", "folder", "sub/x", "locked/y"} {
		os.MkdirAll(filepath.Dir(at(name)), 0o755)
		content := "old " + name
		if name == "large" {
			content = strings.Repeat("x", 101)
		}
		write(t, at(name), content)
		change(t, s, at(name), "new")
	}
	changes := map[string]Change{}
	for _, c := range s.changes {
		changes[filepath.Base(c.Path)] = c
	}
	os.Remove(filepath.Join(dir, changes["lost"].Before.File))
	write(t, filepath.Join(dir, changes["damaged"].Before.File), "something")
	os.Remove(at("folder"))
	os.MkdirAll(at("folder/with"), 0o755)
	write(t, at("folder/with/file"), "x")
	if err := s.Save(t.Context(), at("sub/x"), ""); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(at("sub"))
	if err := os.Symlink(t.TempDir(), at("sub")); err != nil {
		t.Skip(err)
	}
	if os.Geteuid() != 0 {
		os.Chmod(at("locked"), 0o500)
		t.Cleanup(func() { os.Chmod(at("locked"), 0o700) })
	}
	done := mustRewind(t, s, "m1")
	var got []string
	for _, l := range done.Left {
		rel, _ := filepath.Rel(files, l.Path)
		got = append(got, rel+": "+l.Reason)
	}
	want := []string{"damaged: the copy of its old content is damaged", "folder: someone else changed it since",
		"large: its old content is not known: too large to be kept"}
	if os.Geteuid() != 0 {
		want = append(want, "locked/y: its folder may not be written")
	}
	want = append(want, "lost: its old content is no longer in the file history", "sub/x: its folder is gone, and something else stands in that place")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("left\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if mustRead(t, at("fine")) != "old fine" {
		t.Error("what could be restored was not")
	}
}

// A rewind that fails in the middle leaves everything as it was.
func TestAFailedRewindIsTakenBack(t *testing.T) {
	t.Parallel()
	root, files := t.TempDir(), t.TempDir()
	s := Open(filepath.Join(root, "s"), Options{})
	s.Begin("m1")
	for i := range 5 {
		name := filepath.Join(files, fmt.Sprint(i))
		if i%2 == 0 {
			write(t, name, "old")
		}
		change(t, s, name, "new")
	}
	before := tell(t, files)
	steps := 0
	s.step = func(name string) {
		if name == "step" {
			if steps++; steps == 4 {
				// The last file gets in the way: a folder cannot be replaced.
				temps, _ := filepath.Glob(filepath.Join(files, ".gofer-rewind-*"))
				for _, temp := range temps {
					os.Remove(temp)
					os.Mkdir(temp, 0o755)
				}
			}
		}
	}
	if _, err := s.Rewind(t.Context(), "m1"); err == nil || !strings.Contains(err.Error(), "was taken back") {
		t.Fatalf("got %v", err)
	}
	s.step = nil
	if got := tell(t, files); got != before {
		t.Errorf("got\n%s\nwant\n%s", got, before)
	}
	mustRewind(t, s, "m1")
	if got := tell(t, files); strings.Contains(got, "new") || strings.Contains(got, "tmp") {
		t.Errorf("the next one did not succeed: %s", got)
	}
}

func TestARewindThatIsCancelledChangesNothing(t *testing.T) {
	t.Parallel()
	root, files := t.TempDir(), t.TempDir()
	s := Open(filepath.Join(root, "s"), Options{})
	s.Begin("m1")
	for i := range 3 {
		change(t, s, filepath.Join(files, fmt.Sprint(i)), "1")
		change(t, s, filepath.Join(files, fmt.Sprint(i)), "2")
	}
	s.Begin("m2")
	change(t, s, filepath.Join(files, "0"), "3")
	change(t, s, filepath.Join(files, "1"), "3")
	before := tell(t, files)
	ctx, cancel := context.WithCancelCause(t.Context())
	s.step = func(name string) {
		if name == "temp" {
			cancel(errors.New("stop"))
		}
	}
	if _, err := s.Rewind(ctx, "m2"); err == nil {
		t.Fatal("it was not cancelled")
	}
	if got := tell(t, files); got != before {
		t.Errorf("got\n%s\nwant\n%s", got, before)
	}
	if entries, _ := os.ReadDir(filepath.Join(root, journalDir)); len(entries) > 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestPermissionsAndOwnersOfFiles(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	path := filepath.Join(files, "run")
	write(t, path, "old")
	os.Chmod(path, 0o750)
	s := Open(filepath.Join(t.TempDir(), "s"), Options{})
	s.Begin("m1")
	change(t, s, path, "new")
	os.Chmod(path, 0o700) // by the user, who wants it to stay
	mustRewind(t, s, "m1")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o700 || mustRead(t, path) != "old" {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

func TestSweepKeepsToATotal(t *testing.T) {
	t.Parallel()
	root, path := t.TempDir(), filepath.Join(t.TempDir(), "a")
	for i, name := range []string{"a", "b", "c", "mine"} {
		write(t, path, strings.Repeat(name[:1], 1000))
		change(t, Open(filepath.Join(root, name), Options{}), path, "x")
		past := time.Now().Add(time.Duration(i-10) * time.Hour)
		os.Chtimes(filepath.Join(root, name, indexName), past, past)
	}
	for _, name := range []string{"killed/before-1", "fresh/before-1", "foreign/other"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if name != "fresh/before-1" {
			os.Chtimes(filepath.Join(root, name), time.Time{}, time.Now().Add(-48*time.Hour))
		}
	}
	if err := Sweep(root, 24*time.Hour, 3000, "mine"); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(root)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != "c foreign fresh mine" {
		t.Errorf("left %v", names)
	}
}

func TestASnapshotNamesTheCopies(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	old, fresh := filepath.Join(files, "old"), filepath.Join(files, "fresh")
	s := Open(filepath.Join(t.TempDir(), "s"), Options{})
	write(t, old, "0")
	s.Begin("m1")
	change(t, s, old, "1")
	s.Begin("m2")
	change(t, s, old, "2")
	change(t, s, old, "3")
	change(t, s, fresh, "x")
	snap, ok := s.Snapshot("m2")
	b := snap.Files[old]
	if !ok || len(snap.Files) != 2 || snap.Files[fresh].File != nil || b.File == nil || b.Version != 2 {
		t.Fatalf("got %+v", snap)
	}
	if got := mustRead(t, filepath.Join(s.Dir(), *b.File)); got != "1" {
		t.Errorf("the copy holds %q", got)
	}
	if _, ok := s.Snapshot("m3"); ok {
		t.Error("a message without changes has a snapshot")
	}
}
