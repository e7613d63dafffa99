package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A subject is a program that is measured: how to make it talk to the scripted model and to nobody else, answer one
// prompt and exit, and how its tools are called.
type subject struct {
	name    string
	program string // its path
	version string
	place   *place // where it runs

	setUp func(*stage) error    // writes its settings; nil: it needs none
	env   func(*stage) []string // besides the common ones
	args  func(s *stage, prompt string) []string
	bash  func(command string) call
	read  func(path string) call // nil: it has no such tool, it reads by shell commands
}

// gofer is the program that all others are compared with.
func gofer(program string) *subject {
	return &subject{
		name: "gofer", program: program,
		env: func(s *stage) []string { return []string{"ANTHROPIC_BASE_URL=" + s.url, "ANTHROPIC_API_KEY=bench"} },
		args: func(_ *stage, prompt string) []string {
			return []string{"-p", prompt, "--allowedTools", "Bash,Read"}
		},
		bash: func(command string) call { return call{"Bash", map[string]any{"command": command}} },
		read: func(path string) call { return call{"Read", map[string]any{"file_path": path}} },
	}
}

// errAbsent says that a program is not installed.
var errAbsent = errors.New("not installed")

// find looks a program up, gives it a place and asks for its version.
func (s *subject) find(ctx context.Context) error {
	path, err := exec.LookPath(s.program)
	if err != nil {
		return errAbsent
	}
	if s.program, err = filepath.Abs(path); err != nil {
		return err
	}
	if s.place, err = newPlace(); err != nil {
		return err
	}
	o, err := s.tell(ctx)
	s.version = firstVersion(string(o.stdout))
	return err
}

// leave removes what the program has left behind.
func (s *subject) leave() {
	if s.place != nil {
		s.place.close()
	}
}

// tell lets the program say its version.
func (s *subject) tell(ctx context.Context) (outcome, error) {
	o, err := run(ctx, s.job(&stage{place: s.place}, "--version"))
	if err != nil {
		err = fmt.Errorf("%s --version: %w", s.name, err)
	}
	return o, err
}

// firstVersion is the first word with a digit in it, which is how programs tell their version, or else the first word.
func firstVersion(text string) string {
	words := strings.Fields(text)
	for _, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			return word
		}
	}
	return strings.Join(words[:min(1, len(words))], "")
}

// job prepares a run of the program on a stage.
func (s *subject) job(st *stage, args ...string) job {
	return job{program: s.program, args: args, env: s.environment(st), dir: st.project, limit: time.Minute}
}

// environment is all that the program knows of its surroundings: nothing of the user's own comes through, no key and no proxy.
func (s *subject) environment(st *stage) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + st.home, "USERPROFILE=" + st.home, "TMPDIR=" + st.temp, "TEMP=" + st.temp, "TMP=" + st.temp,
		"XDG_CONFIG_HOME=" + filepath.Join(st.home, ".config"), "XDG_DATA_HOME=" + filepath.Join(st.home, ".local", "share"),
		"XDG_CACHE_HOME=" + filepath.Join(st.home, ".cache"), "XDG_STATE_HOME=" + filepath.Join(st.home, ".local", "state"),
		"SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=xterm-256color", "NO_COLOR=1", "SystemRoot=" + os.Getenv("SystemRoot"),
	}
	if s.env != nil {
		env = append(env, s.env(st)...)
	}
	return env
}
