// Package live keeps the register of sessions that run now: one small file for each in CONFIG/run.
//
// A process writes and removes only its own file. A file says which process wrote it, by number and by birth, so that one whose
// process was killed is recognised even after the number has been given to another process; List removes such files. Files
// are replaced as a whole, so a reader never sees half of one, and those of other machines that share the folder are left alone.
package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// States of a session.
const (
	Idle    = "idle"
	Working = "working"
	Waiting = "waiting for permission"
)

// Kinds of sessions.
const (
	Background = "background" // it has a socket, and waits for more when it is idle
	Prompt     = "prompt"     // it answers one prompt
	Client     = "client"     // a program drives it
	Person     = "person"     // a person works with it in a terminal
)

// An Entry tells of one session.
type Entry struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	PID     int       `json:"pid"`
	Born    string    `json:"born"`    // when the process was started, in the words of its kernel
	Machine string    `json:"machine"` // whose process numbers these are
	Cwd     string    `json:"cwd"`
	Title   string    `json:"title"`
	State   string    `json:"state"`
	Model   string    `json:"model"`
	CostUSD float64   `json:"cost_usd"`
	Last    string    `json:"last"` // what it said or did last
	Started time.Time `json:"started"`
	Changed time.Time `json:"changed"`
	Socket  string    `json:"socket"` // empty: it cannot be reached
}

// Here fills in who writes the entry: this process.
func (e *Entry) Here() error {
	born, err := birth(os.Getpid())
	if err != nil {
		return fmt.Errorf("finding out when this process was started: %w", err)
	}
	e.PID, e.Born, e.Machine = os.Getpid(), born, machine()
	return nil
}

// Alive reports whether the process that wrote the entry still runs.
func (e Entry) Alive() bool {
	born, err := birth(e.PID)
	return err == nil && born == e.Born
}

// A Register is the folder of the entries.
type Register string

// errUnknown is the error of systems that do not tell when a process began.
var errUnknown = errors.New("this system does not tell")

// Exists reports whether a process runs on this machine, as far as the system tells.
func Exists(pid int) bool {
	_, err := birth(pid)
	return err == nil || errors.Is(err, errUnknown)
}

// Put writes an entry.
func (r Register) Put(e Entry) error {
	if err := os.MkdirAll(string(r), 0o700); err != nil {
		return err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	tmp := r.file(e.ID, fmt.Sprintf("%d.tmp", os.Getpid()))
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, r.file(e.ID, "json"))
}

// Log is the file for what the process of a session says besides the session: warnings, and its last words if it breaks.
func (r Register) Log(id string) string { return r.file(id, "log") }

// Remove takes away all that belongs to a session that is over.
func (r Register) Remove(e Entry) {
	if e.Socket != "" {
		os.Remove(e.Socket)
	}
	os.Remove(r.Log(e.ID))
	os.Remove(r.file(e.ID, fmt.Sprintf("%d.tmp", e.PID)))
	os.Remove(r.file(e.ID, "json"))
}

func (r Register) file(id, kind string) string {
	return filepath.Join(string(r), filepath.Base(id)+"."+kind)
}

// A Lost session is one whose process ended without a word.
type Lost struct {
	Entry
	Words string // of its log
}

// List returns the sessions that run, the oldest first, and those that it found dead and removed.
func (r Register) List() (running []Entry, lost []Lost, err error) {
	files, err := os.ReadDir(string(r))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	here := machine()
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".json" {
			continue
		}
		e, err := r.read(f.Name())
		if err != nil || e.Machine != here {
			continue // gone in this moment, not ours to read, or of another machine
		}
		if e.Alive() {
			running = append(running, e)
			continue
		}
		// A session that was taken up again in this moment has a new entry, which must stay.
		if again, err := r.read(f.Name()); err != nil || again.PID != e.PID || again.Born != e.Born {
			continue
		}
		lost = append(lost, Lost{e, lastWords(r.Log(e.ID))})
		r.Remove(e)
	}
	slices.SortFunc(running, func(a, b Entry) int { return a.Started.Compare(b.Started) })
	return running, lost, nil
}

func (r Register) read(name string) (Entry, error) {
	var e Entry
	data, err := os.ReadFile(filepath.Join(string(r), name))
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, err
	}
	if e.ID+".json" != name {
		return e, fmt.Errorf("%s is the entry of another session", name)
	}
	return e, nil
}

// lastWords is the beginning of a log: where Go tells why a program broke.
func lastWords(file string) string {
	const most = 2000
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	buf := make([]byte, most)
	n, _ := f.Read(buf)
	return strings.TrimSpace(string(buf[:n]))
}

// Running returns the entry of a session, if it runs.
func (r Register) Running(id string) (Entry, bool) {
	e, err := r.read(filepath.Base(id) + ".json")
	return e, err == nil && e.Machine == machine() && e.Alive()
}

// Find returns the running session whose id begins with the given characters.
func (r Register) Find(id string) (Entry, error) {
	running, _, err := r.List()
	if err != nil {
		return Entry{}, err
	}
	var found []Entry
	for _, e := range running {
		if id != "" && strings.HasPrefix(e.ID, id) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return Entry{}, fmt.Errorf("%w %q", ErrNotRunning, id)
	case 1:
		return found[0], nil
	}
	return Entry{}, fmt.Errorf("%d running sessions begin with %q; give more of the id", len(found), id)
}

// ErrNotRunning is the error of Find when there is no such session.
var ErrNotRunning = errors.New("no running session has the id")
