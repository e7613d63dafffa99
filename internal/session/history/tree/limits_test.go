package tree_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gofer/internal/session/history"
	"gofer/internal/session/history/tree"
)

func TestAHomeIsNeverWalked(t *testing.T) {
	t.Parallel()
	d := newDesk(t, tree.Options{})
	opts := d.opts
	opts.Home = filepath.Join(d.dir, "home")
	if err := os.Mkdir(opts.Home, 0o755); err != nil {
		t.Fatal(err)
	}
	d.watch = tree.New(d.store, opts)
	t.Cleanup(d.watch.Close)
	d.write("home/secret", "s")
	d.store.Begin("m1")
	d.edit("home/seen", "1\n")
	d.bash("echo x > home/secret; echo x > file; rm home/seen")
	if staged := files(t, d.store.Dir()); strings.Contains(staged, "secret") {
		t.Errorf("the store has %s", staged)
	}
	d.rewind("m1")
	for name, want := range map[string]string{"home/secret": "x\n", "file": "x\n", "home/seen": ""} {
		if got, _ := os.ReadFile(d.path(name)); string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	// A repository around it is looked at, but not the home.
	d.git("init", "-q")
	d.store.Begin("m2")
	d.bash("echo y > home/secret; echo y > file")
	d.rewind("m2")
	for name, want := range map[string]string{"home/secret": "y\n", "file": "x\n"} {
		if got, _ := os.ReadFile(d.path(name)); string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func files(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, e.Name())
		}
		return nil
	})
	return strings.Join(names, " ")
}

// A file that was there before, in a folder that was not read to its end, is never taken for new.
func TestLimitsNeverCostAFile(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]tree.Options{
		"entries": {Entries: 5},
		"time":    {Look: time.Nanosecond},
		"bytes":   {CopyTotal: 10},
		"size":    {CopyFile: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, limit)
			for i := range 20 {
				d.write(fmt.Sprintf("d%d/f", i), "mine\n")
			}
			d.store.Begin("m1")
			after, err := d.watch.Before(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			d.command("sh", "-ec", "for f in d*/f; do echo x >> $f; done; rm d3/f; echo new > d4/g")
			if err := after(t.Context()); err != nil && name != "time" && name != "entries" {
				t.Fatal(err)
			}
			if _, err := d.store.Preview(t.Context(), "m1"); err != nil {
				return // nothing was found
			}
			done, _ := d.rewind("m1")
			for i := range 20 {
				path := d.path(fmt.Sprintf("d%d/f", i))
				restored := slices.ContainsFunc(done.Files, func(f history.File) bool { return f.Path == path })
				named := slices.ContainsFunc(done.Left, func(l history.Left) bool { return l.Path == path })
				content, err := os.ReadFile(path)
				switch {
				case restored && string(content) == "mine\n" && err == nil:
				case !restored && i != 3 && string(content) == "mine\nx\n" && (named || err == nil):
				case !restored && i == 3 && err != nil:
				default:
					t.Errorf("%s: restored %v, named %v, content %q, %v", path, restored, named, content, err)
				}
			}
		})
	}
}

func TestCommandsMayOverlap(t *testing.T) {
	t.Parallel()
	d := newRepo(t, "a", "b")
	before := d.state()
	d.store.Begin("m1")
	first, err := d.watch.Before(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.write("a", "first\n")
	d.write("new1", "first\n")
	second, err := d.watch.Before(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.write("b", "second\n")
	d.edit("a", "edited in between\n")
	d.write("new1", "second\n")
	if err := first(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.write("new2", "second\n")
	if err := second(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, left := d.rewind("m1")
	if left != "" {
		t.Errorf("left %s", left)
	}
	d.want("after the rewind", before)
}

// What the user changes between two commands is the user's.
func TestChangesBetweenCommandsAreNotRecorded(t *testing.T) {
	t.Parallel()
	d := newRepo(t, "a", "b")
	d.store.Begin("m1")
	d.bash("echo 1 > a")
	d.write("b", "user\n")
	d.write("mine", "user\n")
	d.bash("echo 2 >> a")
	plan, err := d.store.Preview(t.Context(), "m1")
	if err != nil || len(plan.Files) != 1 || plan.Files[0].Path != d.path("a") || len(plan.Left) != 0 {
		t.Errorf("got %+v, %v", plan, err)
	}
}

// A command in the background changes files, and so may the user: nobody can tell who did it, so it is named and left.
func TestWhatChangesBesideABackgroundCommandIsNamedAndLeft(t *testing.T) {
	t.Parallel()
	d := newRepo(t, "a", "b", "c")
	d.store.Begin("m1")
	d.bash("echo 1 > a")
	end := d.watch.Linger(t.Context())
	d.write("b", "by the background, or the user\n")
	d.bash("echo 2 >> a") // while it goes on
	d.write("c", "by the background, or the user\n")
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.write("a", "user\n")
	d.bash("echo 3 >> b")
	_, left := d.rewind("m1")
	const doubt = ": a command in the background may have changed it, or someone else"
	if want := "a: someone else changed it since; b" + doubt + "; c" + doubt; left != want {
		t.Errorf("left %q\nwant %q", left, want)
	}
}

func treeOptions() tree.Options { return tree.Options{} }

// A session that changes nothing leaves nothing behind, though there was something to copy.
func TestNothingIsLeftWhereNothingHappened(t *testing.T) {
	t.Parallel()
	d := newRepo(t, "a")
	d.write("a", "dirty\n")
	after, err := d.watch.Before(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if staged := files(t, d.store.Dir()); staged == "" {
		t.Error("no copy was made")
	}
	if err := after(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.watch.Close()
	if err := d.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.store.Dir()); err == nil {
		t.Error("the folder of the session is left")
	}
}

// lineRules ignores the names that the .gitignore at the top lists.
type lineRules struct{ names []string }

func (lineRules) Enter(dir string, hasRules, _ bool) tree.Rules {
	if !hasRules {
		return lineRules{}
	}
	text, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
	return lineRules{strings.Fields(string(text))}
}

func (r lineRules) Ignores(_, name string, _ bool) bool { return slices.Contains(r.names, name) }

// A command uncovers a folder that was ignored, and so was not looked at. What is found in it may have been there before: it is not taken
// for new, and a rewind does not remove it.
func TestAFolderThatWasIgnoredProvesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, tree.Options{Rules: func(string) tree.Rules { return lineRules{} }})
	d.git("init", "-q")
	d.write(".gitignore", "ignored\n")
	d.write("ignored/x", "mine\n")
	d.write("ignored/quiet", "mine\n")
	d.store.Begin("m1")
	d.bash("echo build > ignored/out")
	if messages, _ := d.store.Messages(); len(messages) > 0 {
		t.Error("an ignored file was recorded")
	}
	d.bash("echo > .gitignore; echo more >> ignored/x; echo z > z")
	_, left := d.rewind("m1")
	if !strings.Contains(left, "ignored/x: its old content is not known") {
		t.Errorf("left %q", left)
	}
	for name, want := range map[string]string{".gitignore": "ignored\n", "ignored/x": "mine\nmore\n", "ignored/quiet": "mine\n", "z": ""} {
		if got, _ := os.ReadFile(d.path(name)); string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
