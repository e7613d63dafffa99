package gitindex_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gofer/internal/session/history/gitindex"
)

// git runs git with nothing of the machine's own settings.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What git itself lists is what is read, in all versions of the format and with both kinds of object names.
func TestTheIndexIsReadAsGitReadsIt(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "3", "4"} {
			t.Run(format+" "+version, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				git(t, dir, "init", "-q", "--object-format="+format)
				for _, name := range []string{"a", "a.b", "a/b", "deep/er/file name.txt", "deep/er/file name2.txt", "umläut", strings.Repeat("long/", 40) + "x"} {
					if name != "a/b" {
						write(t, filepath.Join(dir, name), "content of "+name)
					}
				}
				os.Symlink("a.b", filepath.Join(dir, "link"))
				git(t, dir, "add", ".")
				write(t, filepath.Join(dir, "later"), "x")
				git(t, dir, "add", "-N", "later")
				git(t, dir, "update-index", "--index-version="+version)

				repo, ok := gitindex.Find(filepath.Join(dir, "deep", "er"))
				if !ok || repo.Root != dir {
					t.Fatalf("found %+v, %v", repo, ok)
				}
				x, err := repo.Read()
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i, e := range x.Entries {
					got = append(got, x.OID(i)+" "+e.Path)
				}
				var want []string
				for line := range strings.SplitSeq(strings.TrimSuffix(git(t, dir, "ls-files", "-s", "-z"), "\x00"), "\x00") {
					info, path, _ := strings.Cut(line, "\t")
					want = append(want, strings.Fields(info)[1]+" "+path)
				}
				if !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if i, ok := x.Find("link"); !ok || !x.Link(i) {
					t.Error("the link is not known as one")
				}
				deep := x.Folder("deep/er")
				if !deep.Has("file name.txt") || deep.Has("file name") || deep.Has("a") || !x.Folder("").Has("a.b") || x.Folder("dee").Has("p/er/file name.txt") {
					t.Error("files in folders are told wrongly")
				}
			})
		}
	}
}

func TestContentsComeFromObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, filepath.Join(dir, "a"), "one\ntwo\n")
	write(t, filepath.Join(dir, "b"), strings.Repeat("b", 1000))
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "x")
	git(t, dir, "gc", "-q") // packed
	repo, _ := gitindex.Find(dir)
	x, err := repo.Read()
	if err != nil {
		t.Fatal(err)
	}
	missing := strings.Repeat("1", 40)
	var got []string
	err = repo.Blobs(t.Context(), []string{x.OID(0), missing, x.OID(1)}, 500, func(i int, content []byte, err error) error {
		if err != nil {
			got = append(got, err.Error())
			return nil
		}
		if name := gitindex.BlobName(content, x.OID(i)); name != x.OID(i) {
			t.Errorf("the name of %q is %s", content, name)
		}
		got = append(got, string(content))
		return nil
	})
	if err != nil || !slices.Equal(got, []string{"one\ntwo\n", gitindex.ErrNotThere.Error(), "it is too large to be kept"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if text, ok := repo.WorkContent([]byte("one\ntwo\n"), 10); !ok || string(text) != "one\r\ntwo\r\n" {
		t.Errorf("line ends: %q %v", text, ok)
	}
	if _, ok := repo.WorkContent([]byte("one\ntwo\n"), 11); ok {
		t.Error("a content of another size was taken for the file's")
	}
}

// A repository that came from a stranger must not be able to start a program.
func TestAHostileRepositoryStartsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, filepath.Join(dir, "a"), "x")
	git(t, dir, "add", ".")
	mark := filepath.Join(dir, "started")
	evil := "touch " + mark + "; false"
	for _, c := range [][2]string{{"core.fsmonitor", evil}, {"core.sshCommand", evil}, {"core.pager", evil}, {"filter.x.clean", evil}, {"filter.x.smudge", evil},
		{"core.repositoryformatversion", "1"}, {"extensions.partialClone", "origin"}, {"remote.origin.url", "ext::sh -c 'touch " + mark + "'"}, {"remote.origin.promisor", "true"},
		{"protocol.ext.allow", "always"}} {
		git(t, dir, "config", c[0], c[1])
	}
	write(t, filepath.Join(dir, ".gitattributes"), "* filter=x\n")
	repo, _ := gitindex.Find(dir)
	x, err := repo.Read()
	if err != nil {
		t.Fatal(err)
	}
	repo.Blobs(t.Context(), []string{x.OID(0), strings.Repeat("1", 40)}, 100, func(int, []byte, error) error { return nil })
	if _, err := os.Stat(mark); err == nil {
		t.Error("reading an object started a program of the repository")
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	dir := f.TempDir()
	git(f, dir, "init", "-q")
	write(f, filepath.Join(dir, "a/b"), "x")
	git(f, dir, "add", ".")
	for _, version := range []string{"2", "4"} {
		git(f, dir, "update-index", "--index-version="+version)
		data, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := gitindex.Parse(data, 20)
		if err != nil {
			if !errors.Is(err, gitindex.ErrUnsupported) {
				t.Error(err)
			}
			return
		}
		for i := range x.Entries {
			x.OID(i)
			x.Size(i)
			x.Clean(i, gitindex.Stat{})
		}
	})
}
