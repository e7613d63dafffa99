package ignore

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// git runs git in dir with nothing of the machine's own settings.
func git(t testing.TB, dir, home, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 && args[0] == "check-ignore" {
		err = nil // nothing is ignored
	}
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// walk lists the files that the rules leave, as a search does.
func walk(t testing.TB, r *Reader, root string) []string {
	t.Helper()
	var files []string
	var enter func(abs string, f *Folder)
	enter = func(abs string, f *Folder) {
		entries, err := os.ReadDir(abs)
		if err != nil {
			t.Fatal(err)
		}
		var has Has
		for _, e := range entries {
			switch e.Name() {
			case GitIgnore:
				has.GitIgnore = true
			case Ignore:
				has.Ignore = true
			case RGIgnore:
				has.RGIgnore = true
			case Git:
				has.Git = true
			}
		}
		f = r.Enter(f, filepath.ToSlash(abs), has)
		for _, e := range entries {
			path := filepath.ToSlash(filepath.Join(abs, e.Name()))
			if e.Name() == Git || f.Match([]byte(path), []byte(e.Name()), e.IsDir()) == Exclude {
				continue
			}
			if e.IsDir() {
				enter(path, f)
			} else {
				files = append(files, strings.TrimPrefix(path, filepath.ToSlash(root)+"/"))
			}
		}
	}
	enter(root, r.Above(filepath.ToSlash(root)))
	slices.Sort(files)
	return files
}

func reader(home string) *Reader {
	return &Reader{Getenv: func(key string) string {
		if key == "HOME" {
			return home
		}
		return ""
	}}
}

func TestTheFilesLeftAreThoseOfGit(t *testing.T) {
	t.Parallel()
	needGit(t)
	home, root := t.TempDir(), t.TempDir()
	git(t, root, home, "", "init", "-q")
	write(t, home+"/.gitconfig", "[user]\n\tname = x\n[core]\n\texcludesFile = \"~/my-ignore\"\n")
	write(t, home+"/my-ignore", "*.global\n/anchored-global\n")
	write(t, root+"/.git/info/exclude", "excluded-here\n*.exc\n!keep.global\n")
	write(t, root+"/.gitignore", strings.Join([]string{
		"\xef\xbb\xbf*.log", "!important.log", "/build", "node_modules/", "# a comment", `\#real`, `\!bang`, "trail   ", `kept\ `, "doc/*.txt", "a/**/z", "**/deep/secret",
		"x/**", "!x/keep", "foo*bar?.c", "[abc].cls", "[!abc].neg", "[[:digit:]]num", "*.tar.gz", "sp ace", "/only/top.md", "**/any.any", "mid/**/end/", "dironly/", "é*", `back\\slash`,
		"[", "a[", "tmp*/", "!tmp-keep/", "**/", "!**/", "crlf\r", "a/b/c/*.d", "/**/rooted", "w**w", "[]x]y", "[a-", "q[^a]q", "dot.*", "*.", "!", "/",
	}, "\n"))
	write(t, root+"/sub/.gitignore", "!*.log\n/inner\nlocal.*\n")
	write(t, root+"/nested/.gitignore", "*\n!*.go\n!.gitignore\n")
	write(t, root+"/bad/.gitignore/file", "a folder with this name is no file of rules")
	names := []string{
		"a.log", "important.log", "sub/b.log", "sub/important.log", "build/x", "src/build/x", "node_modules/m/i.js", "src/node_modules/i.js", "src/node_modules2", "#real", "!bang", "trail",
		"trail   ", "kept ", "doc/a.txt", "doc/sub/a.txt", "src/doc/a.txt", "a/z", "a/b/z", "a/b/c/z", "a/q", "deep/secret", "p/deep/secret", "x/1", "x/keep", "x/y/2", "foo1barX.c", "foobar.c", "b.cls", "d.cls",
		"d.neg", "b.neg", "7num", "anum", "v.tar.gz", "v.tar", "sp ace", "only/top.md", "p/only/top.md", "any.any", "q/r/any.any", "mid/end/1", "mid/1/2/end/3", "mid/end2", "dironly/f", "p/dironly", "état", "back\\slash",
		"[", "a[", "tmp1/f", "tmp-keep/f", "crlf", "a/b/c/e.d", "a/b/c/f/e.d", "rooted", "p/rooted", "wxw", "]y", "xy", "[a-", "qbq", "qaq", "dot.x", "dot.", "sub/inner", "sub/p/inner", "sub/local.x", "nested/a.go", "nested/b.c",
		"nested/d/e.go", "excluded-here", "z.exc", "g.global", "keep.global", "anchored-global", "p/anchored-global", "plain", "p/q/plain.txt",
	}
	for _, n := range names {
		write(t, filepath.Join(root, filepath.FromSlash(n)), n)
	}
	want := strings.Split(strings.TrimSuffix(git(t, root, home, "", "-c", "core.quotePath=off", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00")
	slices.Sort(want)
	got := walk(t, reader(home), root)
	for _, n := range got {
		if !slices.Contains(want, n) {
			t.Errorf("%q should be ignored", n)
		}
	}
	for _, n := range want {
		if !slices.Contains(got, n) {
			t.Errorf("%q should not be ignored", n)
		}
	}
}

func TestRulesOfRipgrepAndRepositories(t *testing.T) {
	t.Parallel()
	root, home := t.TempDir(), t.TempDir()
	for path, content := range map[string]string{
		".gitignore": "*.log\n", ".ignore": "*.tmp\n!keep.log\n", ".rgignore": "!keep.tmp\n", // outside of a repository .gitignore does not count
		"a.log": "", "a.tmp": "", "keep.tmp": "", "keep.log": "",
		"repo/.git/HEAD": "", "repo/.gitignore": "*.o\n!b.log\n", "repo/x.o": "", "repo/b.log": "", "repo/c.tmp": "",
		"repo/module/.git": "gitdir: ../../elsewhere\n", "repo/module/x.o": "", "repo/module/ex": "", "elsewhere/info/exclude": "ex\n",
	} {
		write(t, filepath.Join(root, path), content)
	}
	got := strings.Join(walk(t, reader(home), root), " ")
	const want = ".gitignore .ignore .rgignore a.log elsewhere/info/exclude keep.log keep.tmp repo/.gitignore repo/b.log repo/module/x.o"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParentsOfTheStartCount(t *testing.T) {
	t.Parallel()
	root, home := t.TempDir(), t.TempDir()
	write(t, root+"/.git/HEAD", "")
	write(t, root+"/.gitignore", "*.log\n/src/gen/\n/src/*.tmp\n")
	write(t, root+"/src/a.log", "")
	write(t, root+"/src/b.tmp", "")
	write(t, root+"/src/c.go", "")
	write(t, root+"/src/gen/d.go", "")
	if got := walk(t, reader(home), root+"/src"); !slices.Equal(got, []string{"c.go"}) {
		t.Errorf("got %v", got)
	}
}

func TestAHostilePatternEnds(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat("**/", 40) + strings.Repeat("*a", 40) + "/b"
	text := bytes.Repeat([]byte("a/a"), 60)
	if Compile([]string{pattern}).Match(text, text, false) == Exclude {
		t.Error("it matches")
	}
}

// FuzzAgainstGit compares single patterns with git check-ignore.
func FuzzAgainstGit(f *testing.F) {
	needGit(f)
	for _, seed := range [][2]string{{"*.log", "a/b.log"}, {"a/**/b", "a/x/y/b"}, {"**/b/", "a/b"}, {"[a-c]*", "abc"}, {`\*`, "*"}, {"a**b", "axxb"}, {"/a/*/c", "a/b/c"}, {"*[!x]/y?", "ab/yz"}, {"[[:alpha:]]", "q"}, {"**", "a"}, {"a/**", "a/b"}} {
		f.Add(seed[0], seed[1])
	}
	oddStars := regexp.MustCompile(`[^/]\*\*+(/|\\|$)`)
	root, home := f.TempDir(), f.TempDir()
	git(f, root, home, "", "init", "-q")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		path = strings.Trim(path, "/")
		if path == "" || strings.ContainsAny(path, "\x00\n\"\\") || strings.ContainsAny(pattern, "\x00\n\r") || filepath.ToSlash(filepath.Clean(path)) != path ||
			strings.HasPrefix(path, "..") || strings.Contains(path, ".git") || path[0] == ':' || path == "." || len(path) > 60 || len(pattern) > 40 || strings.HasPrefix(pattern, "\xef\xbb\xbf") {
			return
		}
		if oddStars.MatchString(pattern) {
			return // git up to 2.39 compares unrelated pointers here, and what it says depends on them
		}
		write(t, root+"/.git/info/exclude", pattern+"\n")
		ignored := git(t, root, home, path+"\x00", "check-ignore", "-z", "--no-index", "--stdin") != ""
		rules := Parse([]byte(pattern + "\n"))
		got := false
		for i := 0; i <= len(path); i++ { // a file is ignored when a folder above it is
			if i == len(path) || path[i] == '/' {
				part := path[:i]
				got = got || rules.Match([]byte(part), []byte(part[strings.LastIndexByte(part, '/')+1:]), i < len(path)) == Exclude
			}
		}
		if got != ignored {
			t.Errorf("%q on %q: got %v, git says %v", pattern, path, got, ignored)
		}
	})
}
