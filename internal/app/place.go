package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"gofer/internal/config"
)

// A place is where a run happens and where it keeps its files.
type place struct {
	cwd     string // the working directory at the start, absolute
	home    string
	config  string // CONFIG
	chosen  bool   // the environment chose it
	session string // the id
}

func newPlace(w World, f Flags) (place, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return place{}, fmt.Errorf("the working directory cannot be found: %w", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = cwd // a service without a home: its state stays here
	}
	p := place{cwd: cwd, home: home, session: f.SessionID}
	p.config, p.chosen = config.ConfigDir(w.Env, home)
	if p.session == "" {
		p.session = uuid.NewString()
	} else if _, err := uuid.Parse(p.session); err != nil {
		return place{}, usage("--session-id must be a UUID, not %q", p.session)
	}
	return p, nil
}

// Slug is a path as the name of a folder: every character that is not a letter or digit becomes a dash.
func Slug(path string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, path)
}

// projectDir holds what gofer keeps about the project.
func (p place) projectDir() string { return filepath.Join(p.config, "projects", Slug(p.cwd)) }

// transcript is the file of the session's records.
func (p place) transcript() string { return p.sessionDir() + ".jsonl" }

// sessionDir holds what gofer keeps about the session, beside its transcript.
func (p place) sessionDir() string { return filepath.Join(p.projectDir(), p.session) }

// taskDir holds the output of background work. It is gone when the machine restarts.
func (p place) taskDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("gofer-%d", os.Getuid()), Slug(p.cwd), p.session, "tasks")
}

// spill keeps a result that is too long for the model.
func (p place) spill(callID, text string) (string, error) {
	dir := filepath.Join(p.sessionDir(), "tool-results")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// The id comes from a provider: it must not lead out of the folder.
	path := filepath.Join(dir, Slug(callID)+".txt")
	return path, os.WriteFile(path, []byte(text), 0o600)
}
