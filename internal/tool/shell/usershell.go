package shell

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/proc"
)

const (
	// patience is how long commands wait for the user's shell, counted from the moment it was started. Later commands use what has come.
	patience = 1500 * time.Millisecond
	// snapshotLimit is when a shell that still reads its files is given up.
	snapshotLimit = 60 * time.Second
	// snapshotAge is when a kept snapshot is made anew, although it still serves meanwhile: the user's files may read others.
	snapshotAge  = 24 * time.Hour
	snapshotMost = 4 << 20
)

// A UserShell takes once what the user's own shell defines when it starts: variables (PATH above all), functions and aliases.
// It does so in the background, and keeps the result on disk until one of the shell's start files changes. A user
// without such files costs nothing.
type UserShell struct {
	runner  *proc.Runner
	dir     string // where results are kept
	environ func() []string

	once  sync.Once
	began time.Time
	first chan struct{} // closed when there is something to use, or nothing will come
	mu    sync.Mutex
	snap  snapshot
}

// NewUserShell returns a UserShell that keeps its results in dir and starts shells with environ.
func NewUserShell(runner *proc.Runner, dir string, environ func() []string) *UserShell {
	return &UserShell{runner: runner, dir: dir, environ: environ, first: make(chan struct{})}
}

// snapshot is what a shell has defined.
type snapshot struct {
	env    []string // variables that it added or changed
	script string   // a file with its functions and aliases
	names  []string // what the file defines
}

// scriptFor returns the file if the command may use something of it.
func (s snapshot) scriptFor(command string) string {
	if slices.ContainsFunc(s.names, func(n string) bool { return strings.Contains(command, n) }) {
		return s.script
	}
	return ""
}

// Warm begins now, so that the first command need not wait.
func (u *UserShell) Warm() {
	u.once.Do(func() {
		u.began = time.Now()
		go u.load()
	})
}

// wait returns what is there, after waiting a little if nothing is.
func (u *UserShell) wait(ctx context.Context) snapshot {
	if u == nil {
		return snapshot{}
	}
	u.Warm()
	t := time.NewTimer(time.Until(u.began.Add(patience)))
	defer t.Stop()
	select {
	case <-u.first:
	case <-t.C:
	case <-ctx.Done():
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.snap
}

func (u *UserShell) use(s snapshot) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.snap = s
}

// kept is the form on disk.
type kept struct {
	Failed bool     `json:"failed,omitempty"` // the shell did not come to an end
	Env    []string `json:"env,omitempty"`
	Names  []string `json:"names,omitempty"`
	Script string   `json:"script,omitempty"`
}

// load finds the kept snapshot or makes a new one. One that is old, or that failed, serves until the new one is there.
func (u *UserShell) load() {
	var ready sync.Once
	done := func() { ready.Do(func() { close(u.first) }) }
	defer done()
	env := u.environ()
	sh, files := startFiles(env)
	if len(files) == 0 {
		return
	}
	path := filepath.Join(u.dir, "snapshot-"+fingerprint(sh, files, env))
	if k, age, ok := readKept(path + ".json"); ok {
		u.use(snapshot{env: k.Env, names: k.Names, script: scriptPath(path, k)})
		done()
		if !k.Failed && age < snapshotAge {
			return
		}
	}
	k, err := u.take(sh, env)
	if err != nil {
		k = kept{Failed: true}
	}
	// What cannot be written is used without being kept, except for the script, which must be a file.
	if writeKept(path, k) == nil {
		u.use(snapshot{env: k.Env, names: k.Names, script: scriptPath(path, k)})
	} else {
		u.use(snapshot{env: k.Env})
	}
}

func scriptPath(path string, k kept) string {
	if k.Script == "" {
		return ""
	}
	return path + ".sh"
}

func readKept(path string) (k kept, age time.Duration, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return k, 0, false
	}
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &k) != nil {
		return k, 0, false
	}
	if k.Script != "" {
		if _, err := os.Stat(strings.TrimSuffix(path, ".json") + ".sh"); err != nil {
			return k, 0, false
		}
	}
	return k, time.Since(info.ModTime()), true
}

// writeKept writes the script before the file that speaks of it. Values may be secret.
func writeKept(path string, k kept) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if k.Script != "" {
		if err := writeFile(path+".sh", []byte(k.Script)); err != nil {
			return err
		}
		k.Script = "kept"
	}
	raw, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return writeFile(path+".json", raw)
}

// writeFile writes a file that is there whole or not at all.
func writeFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// startFiles returns the user's shell and those of its start files that exist.
func startFiles(env []string) (sh string, files []string) {
	home := lookup(env, "HOME")
	sh = lookup(env, "SHELL")
	if home == "" || !filepath.IsAbs(sh) {
		return "", nil
	}
	var names []string
	dir := home
	switch filepath.Base(sh) {
	case "bash":
		names = []string{".bash_profile", ".bash_login", ".profile", ".bashrc"}
	case "zsh":
		names = []string{".zshenv", ".zprofile", ".zshrc", ".zlogin"}
		if d := lookup(env, "ZDOTDIR"); d != "" {
			dir = d
		}
	case "fish":
		names = []string{".config/fish/config.fish"}
	}
	for _, n := range names {
		if _, err := os.Stat(filepath.Join(dir, n)); err == nil {
			files = append(files, filepath.Join(dir, n))
		}
	}
	return sh, files
}

// fingerprint changes when the result may.
func fingerprint(sh string, files, env []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "2\n%s\n%s\n", sh, lookup(env, "PATH"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			fmt.Fprintf(h, "%s %d %d\n", f, info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// take starts the user's shell as for a login with a terminal and asks what it has defined.
func (u *UserShell) take(sh string, env []string) (kept, error) {
	ctx, cancel := context.WithTimeout(context.Background(), snapshotLimit)
	defer cancel()
	// The start files may print things: only what is between marks counts.
	var b [8]byte
	rand.Read(b[:])
	mark := "gofer-" + hex.EncodeToString(b[:])
	ask := fmt.Sprintf("printf '\\n%s\\n'; env -0; printf '\\n%[1]s\\n'; ", mark)
	switch filepath.Base(sh) {
	case "bash":
		ask += `for __f in $(compgen -A function); do case $__f in _*|*[!A-Za-z0-9_]*) ;; *) declare -f "$__f";; esac; done; `
		ask += fmt.Sprintf("printf '\\n%s\\n'; alias -p; ", mark)
	case "zsh":
		ask += fmt.Sprintf("printf '\\n%s\\n'; alias -L; ", mark)
	}
	ask += fmt.Sprintf("printf '\\n%s\\n'", mark)
	got, err := u.runner.Capture(ctx, proc.Cmd{Argv: []string{sh, "-l", "-i", "-c", ask}, Dir: lookup(env, "HOME"), Env: env}, nil, snapshotMost)
	if err != nil {
		return kept{}, err
	}
	parts := strings.Split(string(got.Stdout), "\n"+mark+"\n")
	if len(parts) < 3 {
		return kept{}, fmt.Errorf("the shell %s did not answer", sh)
	}
	k := kept{Env: changedVariables(env, strings.Split(parts[1], "\x00"))}
	if len(parts) >= 5 {
		aliases, names := usefulAliases(parts[3])
		k.Script = parts[2] + "\n" + aliases
		k.Names = append(functionNames(parts[2]), names...)
		if strings.TrimSpace(k.Script) == "" {
			k.Script = ""
		}
	}
	return k, nil
}

// changedVariables returns what after has and before has not, without what belongs to one terminal or one shell.
func changedVariables(before, after []string) []string {
	was := map[string]bool{}
	for _, kv := range before {
		was[kv] = true
	}
	var changed []string
	for _, kv := range after {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || was[kv] || strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(name, "GOFER_") || strings.HasPrefix(name, "HIST") {
			continue
		}
		switch name {
		case "", "PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "PS1", "PS2", "PROMPT_COMMAND", "TTY", "GPG_TTY", "SHELL", "HOME", "USER", "LOGNAME":
			continue
		}
		changed = append(changed, kv)
	}
	return changed
}

// functionNames reads the names from the output of declare -f: "name () " at the beginning of a line.
func functionNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutSuffix(strings.TrimRight(line, " \n"), " ()"); ok && !strings.ContainsAny(name, " \t") {
			names = append(names, name)
		}
	}
	return names
}

// usefulAliases drops aliases that ask questions, which nobody would answer.
func usefulAliases(text string) (kept string, names []string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		def, ok := strings.CutPrefix(line, "alias ")
		if !ok {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(def, "-- "), "=")
		if !ok || strings.HasPrefix(name, "-") || strings.Contains(name, " ") {
			continue
		}
		if parse(line) == nil { // a value of several lines
			continue
		}
		asks := strings.Contains(value, " -i") || strings.Contains(value, "--interactive")
		if asks && slices.Contains([]string{"rm", "cp", "mv", "ln"}, name) {
			continue
		}
		b.WriteString("alias " + name + "=" + strings.TrimRight(value, "\n") + "\n")
		names = append(names, name)
	}
	return b.String(), names
}
