package app

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"gofer/internal/config"
	"gofer/internal/session/transcript"
)

// A place is where a run happens and where it keeps its files.
type place struct {
	cwd     string // the working directory at the start, absolute
	root    string // the folder whose settings, agents, skills and servers are the project's, if it is another one
	home    string
	config  string // CONFIG
	chosen  bool   // the environment chose it
	session string // the id

	resume   string // the transcript to go on with, or ""
	resumeAt string // the record to go on from, or "" for the last one
	began    string // how the session came about, for its hooks: "" is startup or resume
}

func newPlace(w World, f Flags) (place, error) {
	cwd, err := w.dir()
	if err != nil {
		return place{}, fmt.Errorf("the working directory cannot be found: %w", err)
	}
	home, err := w.home()
	if err != nil {
		home = cwd // a service without a home: its state stays here
	}
	p := place{cwd: cwd, root: f.ConfigRoot, home: home, session: f.SessionID}
	p.config, p.chosen = config.ConfigDir(w.Env, home)
	if p.session == "" {
		p.session = uuid.NewString()
	} else if _, err := uuid.Parse(p.session); err != nil {
		return place{}, usage("--session-id must be a UUID, not %q", p.session)
	}
	return p, nil
}

// configRoot is the folder in which the project's settings and whatever else it brings along are looked for.
func (p place) configRoot() string { return firstOf(p.root, p.cwd) }

// projectDir holds what gofer keeps about the project.
func (p place) projectDir() string { return transcript.Root(p.config).Project(p.cwd) }

// transcript is the file of the session's records.
func (p place) transcript() string {
	if p.resume != "" {
		return p.resume
	}
	return transcript.Path(p.projectDir(), p.session)
}

// sessionDir holds what gofer keeps about the session, beside its transcript.
func (p place) sessionDir() string { return filepath.Join(p.projectDir(), p.session) }

// taskDir holds the output of background work. It is gone when the machine restarts.
func (p place) taskDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("gofer-%d", os.Getuid()), transcript.Slug(p.cwd), p.session, "tasks")
}

// spill keeps a result that is too long for the model.
func (e *engine) spill(callID, text string) (string, error) {
	dir := filepath.Join(e.place.sessionDir(), "tool-results")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// The id comes from a provider: it must not lead out of the folder.
	path := filepath.Join(dir, transcript.Slug(callID)+".txt")
	return path, os.WriteFile(path, []byte(e.mask.Text(text)), 0o600)
}
