package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gofer/internal/proc"
)

// TestMain lets the test binary be its own helper and its own supervisor.
func TestMain(m *testing.M) {
	switch {
	case IsHelper(os.Args):
		os.Exit(Help())
	case proc.IsSupervisor(os.Args):
		os.Exit(proc.Supervise())
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would hold every helper for a second
	os.Exit(m.Run())
}

// A room is a project with something outside of it, and a sandbox around it.
type room struct {
	t       *testing.T
	project string
	outside string
	temp    string
	policy  Policy
	box     *Sandbox
}

// newRoom makes a room. The ways in which the view of the file system can be made are tested one by one by leaving out
// the others.
func newRoom(t *testing.T, change func(*room)) *room {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has these walls")
	}
	top := resolve(t.TempDir())
	r := &room{t: t, project: filepath.Join(top, "project"), outside: filepath.Join(top, "outside"), temp: filepath.Join(top, "temp")}
	for _, d := range []string{r.project, r.outside, r.temp} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.policy = Policy{WriteDirs: []string{r.project}, TempDir: r.temp}
	if change != nil {
		change(r)
	}
	box, err := New(r.policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Close)
	r.box = box
	return r
}

func (r *room) write(path, text string) string {
	r.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.project, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// cmd is a command behind the walls.
func (r *room) cmd(argv ...string) *exec.Cmd {
	r.t.Helper()
	words, err := r.box.Wrap(argv)
	if err != nil {
		r.t.Fatal(err)
	}
	c := exec.Command(words[0], words[1:]...)
	c.Dir = r.project
	c.Env = append(append(os.Environ(), "OUT="+r.outside), r.box.Env()...)
	return c
}

// sh runs a script behind the walls and returns all that it printed.
func (r *room) sh(script string) (string, int) {
	r.t.Helper()
	var out bytes.Buffer
	c := r.cmd("bash", "-c", script)
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	return out.String(), c.ProcessState.ExitCode()
}

func (r *room) wantState(want State) {
	r.t.Helper()
	if got := r.box.Report(); got.State != want {
		r.t.Fatalf("the sandbox is %s, want %s", got, want)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ways are the ways to hide and protect single files, and the kernels that have none.
func ways(t *testing.T) map[string][]Feature {
	all := map[string][]Feature{
		"mounts":              nil,
		"bwrap":               {Mounts, UserNS},
		"userns":              {Mounts, Bwrap},
		"landlock alone":      {Mounts, Bwrap, UserNS},
		"mounts, no landlock": {Landlock},
		"userns, no landlock": {Landlock, Mounts, Bwrap},
	}
	for name, without := range all {
		a := Detect(Policy{Without: without})
		if a.Landlock == 0 && a.Mounts == "" || strings.HasPrefix(name, "bwrap") && a.Mounts == "" || strings.HasPrefix(name, "userns") && a.Mounts == "" {
			t.Logf("%s cannot be tried here: %v", name, a.Why)
			delete(all, name)
		}
	}
	return all
}

func TestWritesOutsideAreDenied(t *testing.T) {
	t.Parallel()
	for name, without := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, func(r *room) {
				r.policy.Without = without
				r.write(filepath.Join(r.outside, "file"), "old")
			})
			out, _ := r.sh(`
				echo x > $OUT/new; echo x >> $OUT/file; rm -f $OUT/file; mv $OUT/file $OUT/moved; mkdir $OUT/dir; ln -s x $OUT/link
				truncate -s 0 $OUT/file; chmod 777 $OUT/none; cp /bin/true $OUT/true; touch /etc/gofer-test
				(setsid sh -c "echo x > $OUT/session"); (sh -c "echo x > $OUT/child" & wait); env -i /bin/sh -c "echo x > $OUT/clean"
				ln $OUT/file $PWD/hard && echo x >> $PWD/hard
				ln -s $OUT/late $PWD/soft; echo x > $PWD/soft
				exec 7<$OUT/file; echo x > /proc/self/fd/7
			`)
			entries, _ := os.ReadDir(r.outside)
			if len(entries) != 1 || exists("/etc/gofer-test") {
				t.Errorf("outside there are now %v\n%s", entries, out)
			}
			if text, _ := os.ReadFile(filepath.Join(r.outside, "file")); string(text) != "old" {
				t.Errorf("the file outside is now %q", text)
			}
			if !strings.Contains(out, "ermission denied") && !strings.Contains(out, "Read-only file system") {
				t.Errorf("the errors are unusual:\n%s", out)
			}
		})
	}
}

func TestWorkInsideWorks(t *testing.T) {
	t.Parallel()
	for name, without := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, func(r *room) { r.policy.Without = without })
			out, code := r.sh(`set -e
				echo one > a; mv a b; mkdir -p d/e; mv b d/e/c; cat d/e/c; rm -r d
				echo two > $TMPDIR/x; cat $TMPDIR/x; mktemp >/dev/null
				echo hidden > /dev/null; echo three >&2; echo four > /dev/stderr; head -c 4 /dev/urandom | wc -c
				cat <(echo five); mkfifo p; (echo six > p &); cat p; echo seven > /dev/shm/gofer-test-$$; rm /dev/shm/gofer-test-$$
				printf 'echo eight\n' > s; chmod +x s; ./s; ln s t; ln -s s u; sh u
				git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m m && git log --format=%s`)
			want := "one\ntwo\nthree\nfour\n4\nfive\nsix\neight\neight\nm\n"
			if out != want || code != 0 {
				t.Errorf("exit %d, got %q, want %q", code, out, want)
			}
		})
	}
}

func TestExitCodesSignalsAndFilesPassThrough(t *testing.T) {
	t.Parallel()
	for name, without := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, func(r *room) {
				r.policy.Without = without
				r.policy.ReadDeny = []string{r.write("secret", "x")}
			})
			if _, code := r.sh("exit 7"); code != 7 {
				t.Errorf("exit code %d, want 7", code)
			}
			// The first process of a PID namespace does not die of its own signals.
			if _, code := r.sh("kill -TERM $$"); code != -1 && code != 143 && !(r.box.able.Mounts == string(UserNS) && r.box.able.Landlock == 0) {
				t.Errorf("a command that a signal ended has exit code %d", code)
			}
			if out, code := r.sh("exec nothing-of-this-name"); code != 127 || !strings.Contains(out, "not found") {
				t.Errorf("exit %d: %s", code, out)
			}
			rd, wr, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer rd.Close()
			c := r.cmd("sh", "-c", "echo through >&3")
			c.ExtraFiles = []*os.File{wr}
			err = c.Run()
			wr.Close()
			got := make([]byte, 20)
			n, _ := rd.Read(got)
			if err != nil || string(got[:n]) != "through\n" {
				t.Errorf("file 3 brought %q (%v)", got[:n], err)
			}
			missing := r.cmd("/no/such/program")
			text, _ := missing.CombinedOutput()
			if code := missing.ProcessState.ExitCode(); code != helperFailed && code != 127 || !strings.Contains(string(text), "/no/such/program") {
				t.Errorf("exit %d: %s", code, text)
			}
		})
	}
}

// readings are ways to get at a file's content.
func readings(file string) []string {
	dir, name := filepath.Split(file)
	return []string{
		"cat " + file, "cat " + name, "cat ./" + name, "cat ../*/" + name, "echo $(<" + name + ")", "cp " + name + " copy; cat copy",
		"ln -s " + name + " link; cat link", "ln " + name + " hard; cat hard", "mv " + name + " moved; cat moved", "git diff --no-index /dev/null " + name,
		"python3 -c \"print(open('" + file + "').read())\"", "perl -ne print " + name, "awk 1 " + name, "grep -r . " + dir, "tar cf - " + name, "cat /proc/self/root" + file,
		"cat /proc/self/cwd/" + name, "exec 9<" + name + "; cat <&9", "dd if=" + name, "base64 -w0 " + name + " | base64 -d", "cat /proc/*/cwd/" + name,
		"setsid cat " + name, "mkdir d; cp " + name + " d; cat d/*", "mv " + dir + " ../elsewhere; cat ../elsewhere/" + name, "sh -c 'cat " + name + "' &\nwait",
		"tail -c 100 " + name, "truncate -s 0 " + name, "echo x > " + name, "rm -f " + name, "unshare -rm sh -c 'umount " + file + "; cat " + file + "'", "umount " + file + "; cat " + file,
		"nsenter -t $PPID -m cat " + file, "cat /proc/$PPID/root" + file,
	}
}

func TestHiddenFilesCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, without := range ways(t) {
		canary := "canary-" + strings.NewReplacer(" ", "-", ",", "").Replace(name) // commands of other rooms may be seen, with theirs
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, func(r *room) {
				r.policy.Without = without
				r.write(".env", canary)
				r.write("sub/deep/.env", canary)
				r.write(".env.example", "example")
				r.write("keys/id", canary)
				r.write("keys/public/id.pub", "public")
				r.write("x/a.pem", canary)
				r.policy.ReadDeny = []string{"**/.env", r.project + "/keys", r.project + "/**/*.pem"}
				r.policy.ReadAllow = []string{r.project + "/keys/public"}
			})
			ways := append(readings(filepath.Join(r.project, ".env")), "cat sub/deep/.env", "cat keys/id", "ls keys; cat keys/*", "cat x/a.pem", "cat x/*", "find . -type f -exec cat {} +")
			out, _ := r.sh("(" + strings.Join(ways, "\n)\n(") + "\n) 2>&1")
			if strings.Contains(out, canary) {
				for _, w := range ways {
					if out, _ := r.sh(w); strings.Contains(out, canary) {
						t.Errorf("%s\nshows %s", w, out)
					}
				}
				at := strings.Index(out, canary)
				t.Errorf("the canary was seen after %q", out[max(0, at-1200):at+40])
			}
			if text, _ := os.ReadFile(filepath.Join(r.project, ".env")); string(text) != canary {
				if text2, _ := os.ReadFile(filepath.Join(filepath.Dir(r.project), "elsewhere", ".env")); string(text2) != canary && r.box.able.Mounts != "" {
					t.Errorf("the hidden file itself is now %q", text)
				}
			}
		})
		t.Run(name+", the rest is seen", func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, func(r *room) {
				r.policy.Without = without
				r.write(".env", canary)
				r.write(".env.example", "example")
				r.write("keys/id", canary)
				r.write("keys/public/id.pub", "public")
				r.policy.ReadDeny = []string{"**/.env", r.project + "/keys"}
				r.policy.ReadAllow = []string{r.project + "/keys/public"}
			})
			out, _ := r.sh("cat .env.example; echo; cat keys/public/id.pub; echo; cat .env 2>&1; mkdir n; echo new > n/new; cat n/new")
			if !strings.HasPrefix(out, "example\npublic\n") || !strings.Contains(out, "ermission denied") {
				t.Errorf("got %q", out)
			}
			if name != "landlock alone" && !strings.HasSuffix(out, "new\n") {
				t.Errorf("a new file cannot be read: %q", out)
			}
			// What comes to be hidden later is hidden from the next command on.
			r.write("later/.env", canary)
			if out, _ := r.sh("cat later/.env"); strings.Contains(out, canary) {
				t.Errorf("a file that came later is seen: %q", out)
			}
		})
	}
}

func TestProtectedFilesStay(t *testing.T) {
	t.Parallel()
	for name, without := range ways(t) {
		if name == "landlock alone" {
			continue // it says so: see TestWhatIsMissingIsSaid
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, func(r *room) {
				r.policy.Without = without
				r.write(".git/config", "good")
				r.write(".git/hooks/sample", "good")
				r.write(".claude/agents/a.md", "good")
				r.write(filepath.Join(r.outside, "real"), "good")
				r.write("conf/other", "good")
				if err := os.Symlink(filepath.Join(r.outside, "real"), filepath.Join(r.project, "conf/linked")); err != nil {
					t.Fatal(err)
				}
				for _, p := range []string{".git/hooks", ".git/config", ".claude/settings.json", "conf/linked", ".mcp.json"} {
					r.policy.WriteDeny = append(r.policy.WriteDeny, filepath.Join(r.project, p))
				}
			})
			out, _ := r.sh(`
				echo evil > .git/hooks/pre-commit; echo evil > .git/config; echo evil >> .git/hooks/sample; rm -rf .git/hooks; mv .git/hooks .git/h2
				mv .git git2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; rm -rf .git; mv .git/config .git/c; ln -sf /tmp .git/config
				echo evil > .claude/settings.json; mv .claude c2; rm -rf .claude; mkdir -p .claude; echo evil > .claude/settings.json
				rm -f conf/linked; echo evil > conf/linked; mv conf conf2
				umount .git/hooks; mount -o remount,rw .git/hooks; echo evil > .git/hooks/x
				echo fine > .git/index; echo fine > README
			`)
			filepath.WalkDir(r.project, func(path string, d os.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					if text, _ := os.ReadFile(path); strings.Contains(string(text), "evil") {
						t.Errorf("%s was written\n%s", path, out)
					}
				}
				return nil
			})
			for _, p := range []string{".git/config", ".git/hooks/sample", "conf/linked"} {
				if text, _ := os.ReadFile(filepath.Join(r.project, p)); string(text) != "good" {
					t.Errorf("%s is now %q\n%s", p, text, out)
				}
			}
			for _, p := range []string{".git/index", "README"} {
				if text, _ := os.ReadFile(filepath.Join(r.project, p)); string(text) != "fine\n" {
					t.Errorf("%s could not be written: %q\n%s", p, text, out)
				}
			}
			mcp := filepath.Join(r.project, ".mcp.json")
			if got := r.box.Report().Notes; len(got) == 0 || !strings.Contains(got[0], mcp) {
				t.Errorf("the notes do not tell that %s can be created: %q", mcp, got)
			}
			if got := r.box.Created(); len(got) != 0 {
				t.Errorf("created: %q", got)
			}
			r.sh("echo {} > .mcp.json")
			if got := r.box.Created(); !slices.Equal(got, []string{mcp}) {
				t.Errorf("created: %q, want %q", got, mcp)
			}
		})
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	dir := resolve(t.TempDir())
	noViews := []Feature{Mounts, Bwrap, UserNS}
	all := append([]Feature{Landlock}, noViews...)
	full := Policy{WriteDirs: []string{dir}, ReadDeny: []string{"**/.env"}, WriteDeny: []string{filepath.Join(dir, ".git")}, Net: Net{Hosts: []string{"example.com"}}}
	tests := map[string]struct {
		policy  Policy
		without []Feature
		state   State
		says    string
	}{
		"everything":              {full, nil, Enforced, ""},
		"plain, no views":         {Policy{WriteDirs: []string{dir}}, noViews, Enforced, ""},
		"views needed":            {full, noViews, Partial, "protected files"},
		"no landlock":             {full, []Feature{Landlock}, Partial, "signalled"},
		"no landlock, no views":   {full, all, Off, "Landlock"},
		"no seccomp":              {full, []Feature{Seccomp}, Off, "seccomp"},
		"no notify":               {full, []Feature{Notify}, Partial, "on the port of the proxy"},
		"no notify, no landlock":  {full, []Feature{Notify, Landlock}, Partial, "the network is off"},
		"no notify, network off":  {Policy{WriteDirs: []string{dir}}, []Feature{Notify}, Enforced, ""},
		"no notify, local":        {Policy{Net: Net{LocalBinding: true}}, []Feature{Notify}, Partial, "ports of this machine are closed"},
		"no notify, unix sockets": {Policy{Net: Net{UnixSockets: []string{"/run/x"}}}, []Feature{Notify}, Partial, "unix sockets are closed"},
	}
	if Detect(Policy{}).Mounts != string(Mounts) { // commands of users other than root get a PID namespace
		test := tests["no landlock"]
		test.state, test.says = Enforced, ""
		tests["no landlock"] = test
	}
	if Detect(Policy{}).Mounts == "" || Detect(Policy{}).Landlock < 6 {
		t.Skip("this kernel lacks too much to tell the cases apart")
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := test.policy
			p.Without = test.without
			s, err := New(p)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			report := s.Report()
			if report.State != test.state || !strings.Contains(report.String(), test.says) {
				t.Errorf("got %s", report)
			}
			if report.State == Off {
				argv, err := s.Wrap([]string{"x"})
				if err != nil || !slices.Equal(argv, []string{"x"}) || len(report.Fix) == 0 {
					t.Errorf("off: %q, %v, fix %q", argv, err, report.Fix)
				}
			}
			p.Require = true
			required, err := New(p)
			if err == nil {
				required.Close()
			}
			if (err == nil) != (test.state == Enforced) || err != nil && !errors.Is(err, ErrUnavailable) {
				t.Errorf("required: %v", err)
			}
			p.AcceptPartial = true
			required, err = New(p)
			if err == nil {
				required.Close()
			}
			if (err == nil) != (test.state != Off) {
				t.Errorf("required, weaker accepted: %v", err)
			}
		})
	}
}

func TestBadPolicies(t *testing.T) {
	t.Parallel()
	for _, p := range []Policy{
		{WriteDirs: []string{"relative"}}, {ReadDeny: []string{"x/.env"}}, {Net: Net{Hosts: []string{"https://example.com"}}}, {Net: Net{Hosts: []string{"a:0"}}},
	} {
		if s, err := New(p); err == nil {
			s.Close()
			t.Errorf("%+v is taken", p)
		}
	}
}

func TestPattern(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		".env": "**/.env", "./.env": "**/.env", "*.pem": "**/*.pem", "src/x": "/w/src/x", "/x": "/root/x", "//etc/shadow": "/etc/shadow", "~/.ssh/**": "/h/.ssh", "~": "/h",
		"secrets/**": "**/secrets", "secrets/": "**/secrets", "**/a/b": "**/a/b", "a/**/b": "/w/a/**/b", ".": "/w", "**": "/w",
	} {
		if got := Pattern(content, "/root", "/w", "/h"); got != want {
			t.Errorf("Pattern(%q) = %q, want %q", content, got, want)
		}
	}
}

// The helper is told everything in arguments: many files to hide must fit too.
func TestManyHiddenFiles(t *testing.T) {
	t.Parallel()
	r := newRoom(t, func(r *room) {
		for i := range 1000 {
			r.write(fmt.Sprintf("some/folder/with/a/long/name/in/the/project/%04d.key", i), "canary")
		}
		r.policy.ReadDeny = []string{"**/*.key"}
	})
	out, code := r.sh("cat some/folder/with/a/long/name/in/the/project/*.key 2>/dev/null; ls some/folder/with/a/long/name/in/the/project | wc -l")
	if code != 0 || out != "1000\n" {
		t.Errorf("exit %d: %.200q", code, out)
	}
}
