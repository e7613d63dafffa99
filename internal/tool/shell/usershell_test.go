//go:build unix

package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// withHome gives the bench a user whose .bashrc is rc.
func withHome(t *testing.T, rc string) (b *bench, home string) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	home = t.TempDir()
	if rc != "" {
		os.WriteFile(filepath.Join(home, ".bashrc"), []byte(rc), 0o600)
		os.WriteFile(filepath.Join(home, ".bash_profile"), []byte(". ~/.bashrc\n"), 0o600)
	}
	b = newBench(t)
	b.env.Environ = func() []string {
		return []string{"HOME=" + home, "SHELL=" + bash, "PATH=" + os.Getenv("PATH"), "STAYS=1"}
	}
	b.env.UserShell = NewUserShell(b.env.Runner, filepath.Join(home, "kept"), b.env.Environ)
	return b, home
}

const richRC = `echo noise from the start file
export PATH="$HOME/bin:$PATH" SECRET='two
lines' STAYS=2
greet() { echo "hello $1"; }
_private() { echo no; }
alias hi='greet alias'
alias rm='rm -i'
`

func TestWhatTheUsersShellDefinesIsThere(t *testing.T) {
	t.Parallel()
	b, home := withHome(t, richRC)
	wantText(t, b.bash(`greet you; hi; echo "$SECRET $STAYS"; echo ${PATH%%:*}`), "hello you\nhello alias\ntwo\nlines 2\n"+home+"/bin", false)
	wantText(t, b.bash("touch f; rm f; ls"), "(no output)", false)
	if got := b.bash("type _private").Text(); !strings.Contains(got, "not found") {
		t.Errorf("got %q", got)
	}
	kept, _ := filepath.Glob(filepath.Join(home, "kept", "*"))
	if len(kept) != 2 {
		t.Fatalf("kept %v", kept)
	}
	for _, f := range kept {
		if info, _ := os.Stat(f); info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", f, info.Mode())
		}
	}
	// The next session takes what was kept: a shell that would fail now is not asked.
	again := NewUserShell(nil, filepath.Join(home, "kept"), b.env.Environ)
	again.Warm()
	<-again.first
	if s := again.wait(t.Context()); s.scriptFor("greet") == "" || s.scriptFor("other") != "" || len(s.env) != 3 {
		t.Errorf("got %+v", s)
	}
}

func TestAnotherStartFileIsAnotherSnapshot(t *testing.T) {
	t.Parallel()
	b, home := withHome(t, "export WHICH=old\n")
	wantText(t, b.bash("echo $WHICH"), "old", false)
	os.WriteFile(filepath.Join(home, ".bashrc"), []byte("export WHICH=newer\n"), 0o600)
	b.env.UserShell = NewUserShell(b.env.Runner, filepath.Join(home, "kept"), b.env.Environ)
	wantText(t, b.bash("echo $WHICH"), "newer", false)
}

func TestNoStartFilesCostNothing(t *testing.T) {
	t.Parallel()
	b, home := withHome(t, "")
	wantText(t, b.bash("echo $STAYS"), "1", false)
	if _, err := os.Stat(filepath.Join(home, "kept")); err == nil {
		t.Error("a snapshot was made")
	}
}

func TestASlowStartFileDelaysTheFirstCommandOnlyALittle(t *testing.T) {
	t.Parallel()
	b, home := withHome(t, "touch ~/begun; until [ -e ~/go ]; do sleep 0.05; done; export LATE=1\n")
	begin := time.Now()
	wantText(t, b.bash("echo [$LATE]"), "[]", false)
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("it took %v", d)
	}
	if _, err := os.Stat(filepath.Join(home, "begun")); err != nil {
		t.Error(err)
	}
	begin = time.Now()
	wantText(t, b.bash("echo [$LATE]"), "[]", false)
	if d := time.Since(begin); d > time.Second {
		t.Errorf("the second one took %v", d)
	}
	os.WriteFile(filepath.Join(home, "go"), nil, 0o600)
	<-b.env.UserShell.first
	wantText(t, b.bash("echo [$LATE]"), "[1]", false)
}
