package tree_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gofer/internal/session/history"
	"gofer/internal/session/history/tree"
)

// A desk is a working directory with a history.
type desk struct {
	t     testing.TB
	dir   string
	store *history.Store
	watch *tree.Watch
	opts  tree.Options
}

func newDesk(t testing.TB, opts tree.Options) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir, store: history.Open(filepath.Join(t.TempDir(), "session"), history.Options{})}
	if opts.Dirs == nil {
		opts.Dirs = func() []string { return []string{d.dir} }
	}
	d.opts = opts
	d.watch = tree.New(d.store, opts)
	t.Cleanup(d.watch.Close)
	d.store.Begin("m0")
	return d
}

// newRepo is a desk in a repository with the files given, all of them committed.
func newRepo(t testing.TB, files ...string) *desk {
	t.Helper()
	d := newDesk(t, tree.Options{})
	d.git("init", "-q")
	for _, name := range files {
		d.write(name, "old "+name+"\n")
	}
	if len(files) > 0 {
		d.git("add", ".")
		d.git("commit", "-qm", "first")
	}
	return d
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) write(name, content string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// edit changes a file as the Edit tool does.
func (d *desk) edit(name, content string) {
	d.t.Helper()
	if err := d.store.Save(d.t.Context(), d.path(name), history.ContentFingerprint([]byte(content))); err != nil {
		d.t.Fatal(err)
	}
	d.write(name, content)
}

func environ(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
}

func (d *desk) git(args ...string) { d.t.Helper(); d.command("git", args...) }

func (d *desk) command(name string, args ...string) {
	d.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = d.dir, environ(d.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// bash runs a command as the Bash tool does.
func (d *desk) bash(command string) {
	d.t.Helper()
	after, err := d.watch.Before(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	d.command("sh", "-ec", command)
	if err := after(context.WithoutCancel(d.t.Context())); err != nil {
		d.t.Fatal(err)
	}
}

// rewind goes back to before a message, and returns what was left.
func (d *desk) rewind(message string) (history.Done, string) {
	d.t.Helper()
	done, err := d.store.Rewind(d.t.Context(), message)
	if err != nil {
		d.t.Fatal(err)
	}
	return done, leftText(d.dir, done.Left)
}

func leftText(dir string, left []history.Left) string {
	var text []string
	for _, l := range left {
		rel, _ := filepath.Rel(dir, l.Path)
		text = append(text, rel+": "+l.Reason)
	}
	return strings.Join(text, "; ")
}

// state is all that is in the working directory, .git aside.
func (d *desk) state() string {
	d.t.Helper()
	var lines []string
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(d.dir, path)
		if rel == ".git" {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			lines = append(lines, rel+"/")
		case e.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			lines = append(lines, rel+" -> "+target)
		case info.Size() > 1<<20:
			lines = append(lines, fmt.Sprintf("%s %v %d bytes", rel, info.Mode(), info.Size()))
		default:
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("%s %v %q", rel, info.Mode(), content))
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (d *desk) want(what, state string) {
	d.t.Helper()
	if got := d.state(); got != state {
		d.t.Errorf("%s: got\n%s\nwant\n%s", what, got, state)
	}
}

// The story of row 25: a turn edits A, removes B, moves C, creates E; the user edits F.
func TestRewindTakesBackEditsAndCommandsAndKeepsTheUsersWork(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*desk{"clean": newRepo(t, "A", "B", "C", "F", "sub/G"), "no git": newDesk(t, tree.Options{}), "dirty": newRepo(t, "A", "x")} {
		t.Run(name, func(t *testing.T) {
			d.t = t
			for _, f := range []string{"A", "B", "C", "F", "sub/G"} {
				if name != "clean" {
					d.write(f, "mine "+f+"\n")
				}
			}
			before := d.state()
			d.store.Begin("m1")
			d.edit("A", "new A\n")
			d.bash("rm B; mv C D; mkdir -p deep/er; echo E > deep/er/E; echo more >> A; rm -r sub")
			d.store.Begin("m2")
			d.edit("deep/er/E", "E again\n")
			d.write("F", "the user's F\n")
			after := d.state()
			usersF := strings.NewReplacer(`"old F\n"`, `"the user's F\n"`, `"mine F\n"`, `"the user's F\n"`).Replace(before)

			plan, err := d.store.Preview(t.Context(), "m1")
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, f := range plan.Files {
				rel, _ := filepath.Rel(d.dir, f.Path)
				kinds = append(kinds, fmt.Sprintf("%s %s +%d -%d", f.Kind, rel, f.Insertions, f.Deletions))
			}
			want := "change A +1 -2,create B +1 -0,create C +1 -0,remove D +0 -1,remove deep/er/E +0 -1,create sub/G +1 -0"
			if got := strings.Join(kinds, ","); got != want || plan.Insertions != 4 || plan.Deletions != 4 {
				t.Errorf("the preview says %s (+%d -%d), want %s", got, plan.Insertions, plan.Deletions, want)
			}
			d.want("a preview changes nothing", after)

			done, left := d.rewind("m1")
			if left != "" || done.Checkpoint == "" {
				t.Errorf("left %s, checkpoint %q", left, done.Checkpoint)
			}
			d.want("after the rewind", usersF)
			if _, err := d.store.Redo(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.want("after the redo", after)
			d.rewind("m1")
			d.want("after another rewind", usersF)
			// Forward, to a message in the middle.
			d.rewind("m2")
			d.want("forward", strings.Replace(after, `"E again\n"`, `"E\n"`, 1))
		})
	}
}

func TestFilesOfOthersAreLeftAndNamed(t *testing.T) {
	t.Parallel()
	d := newRepo(t, "a", "b", "c", "d", "e")
	d.store.Begin("m1")
	d.bash("echo 1 > a; echo 1 > b; echo 1 > new; echo 1 > e")
	d.edit("c", "1\n")
	d.write("b", "user\n")   // after the change
	d.write("new", "user\n") // likewise
	d.write("e", "user\n")   // between two changes
	d.store.Begin("m2")
	d.bash("echo 2 >> e; echo 2 > d")
	_, left := d.rewind("m1")
	if want := "b: someone else changed it since; e: someone else changed it in between; new: someone else changed it since"; left != want {
		t.Errorf("left %q\nwant %q", left, want)
	}
	for name, want := range map[string]string{"a": "old a\n", "b": "user\n", "c": "old c\n", "d": "old d\n", "e": "user\n2\n", "new": "user\n"} {
		if got, _ := os.ReadFile(d.path(name)); string(got) != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestWhatCommandsDo(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"nothing":               "true",
		"touch":                 "touch a; touch dir/b",
		"same size at once":     "printf 'OLD a\\n' > a; printf 'OLD d\\n' > dirty",
		"permissions":           "chmod 755 a; chmod 600 dirty",
		"link":                  "ln -s a l; rm link; ln -s b link; rm a; ln -s dir/b a",
		"link becomes file":     "rm link; echo x > link",
		"folder moved":          "mv dir moved; mv loose elsewhere",
		"file becomes folder":   "rm a; mkdir -p a/b/c; echo x > a/b/c/d",
		"folder becomes file":   "rm -r dir; echo x > dir",
		"folder becomes link":   "rm -r dir; ln -s loose dir",
		"swap":                  "mv a t; mv dirty a; mv t dirty",
		"commit":                "echo x >> a; rm dir/b; git add -A; git commit -qm second; echo y >> a",
		"checkout":              "git checkout -q other -- . ; git commit -qam x",
		"branch":                "git stash -q -u; git checkout -q other",
		"restore":               "git checkout -q -- .; git clean -qfd",
		"reset":                 "git add dirty loose; git reset -q --hard",
		"index gone":            "rm .git/index; echo x > a",
		"ignore rules change":   "echo 'loose' > .gitignore; echo x > loose/u; echo new > new",
		"odd names":             "echo x > 'a b'; echo x > '-n'; echo x > \"$(printf 'new\\nline')\"; echo x > ünï",
		"empty":                 ": > a; : > empty; rm -f dirty; : > dirty",
		"executable in new dir": "mkdir -p x/y; printf '#!/bin/sh\\n' > x/y/run; chmod +x x/y/run",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newRepo(t, "a", "dir/b", "dir/sub/c", "dirty", "same")
			os.Symlink("a", d.path("link"))
			d.git("add", ".")
			d.git("commit", "-qm", "link")
			d.git("checkout", "-q", "-b", "other")
			for _, f := range []string{"a", "dir/b", "only/there"} {
				d.write(f, "other\n")
			}
			d.git("add", ".")
			d.git("commit", "-qm", "other")
			d.git("checkout", "-q", "-")
			d.write("dirty", "old d\n")
			d.write("loose/u", "untracked\n")
			before := d.state()
			d.store.Begin("m1")
			d.bash(command)
			after := d.state()
			_, left := d.rewind("m1")
			if left != "" {
				t.Errorf("left: %s", left)
			}
			d.want("after the rewind", before)
			if before == after {
				if got, _ := d.store.Messages(); len(got) > 0 {
					t.Errorf("changes were recorded where there were none: %v", got)
				}
				return
			}
			if _, err := d.store.Redo(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.want("after the redo", after)
		})
	}
}

// Many files changed at once stay in git, and are taken from there when they are needed, in another process too.
func TestManyCleanFilesStayInGit(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("d%d/f%d", i%7, i))
	}
	d := newRepo(t, names...)
	before := d.state()
	d.store.Begin("m1")
	d.bash("for f in */*; do echo x > $f; done")
	copies, _ := filepath.Glob(filepath.Join(d.store.Dir(), "*@v*"))
	if len(copies) > 0 {
		t.Errorf("%d contents were copied that git has", len(copies))
	}
	d.store = history.Open(d.store.Dir(), history.Options{})
	if file, _, err := d.store.Last(d.path("d0/f0")); err != nil {
		t.Error(err)
	} else if got, _ := os.ReadFile(file); string(got) != "old d0/f0\n" {
		t.Errorf("the last content of d0/f0 is %q", got)
	}
	d.rewind("m1")
	d.want("after the rewind", before)
}
