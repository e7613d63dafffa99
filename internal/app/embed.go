package app

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"gofer/internal/proc"
)

// What surrounds a run may be another place than the one this process stands in: a program that embeds gofer, or an editor with several
// projects open, has many at once. These are the only ways to ask for it.

// dir is the working directory.
func (w World) dir() (string, error) {
	if w.Dir != "" {
		return w.Dir, nil
	}
	return os.Getwd()
}

// home is the folder of the user.
func (w World) home() (string, error) {
	if w.Environ == nil {
		return os.UserHomeDir()
	}
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := w.Env(name); home != "" {
		return home, nil
	}
	return "", errors.New("$" + name + " is not set")
}

// environ is all variables.
func (w World) environ() []string {
	if w.Environ == nil {
		return os.Environ()
	}
	return w.Environ()
}

// lookup finds a variable, also one that is empty.
func (w World) lookup(name string) (string, bool) {
	for _, pair := range w.environ() {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// canWall says whether the sandbox can be built: its walls are put up by this very program, executed again.
func (w World) canWall() error {
	if len(w.Self) > 0 || runtime.GOOS == "windows" {
		return nil
	}
	return errors.New("the settings want a sandbox, but the program that embeds gofer cannot put it up: its main must begin with sdk.Reexec(), and its options must say Reexec")
}

// alone says that this process is gofer's own: then signals are gofer's affair too.
func (w World) alone() bool { return w.Environ == nil }

// closeRunner ends all commands. A program that goes on has promised its own users that nothing is left, so it waits for the last process.
func (w World) closeRunner(r *proc.Runner) {
	r.Close()
	if !w.alone() {
		r.Gone()
	}
}
