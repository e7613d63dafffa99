package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"gofer/internal/guard/sandbox"
	"gofer/internal/llm"
	"gofer/internal/proc"
	"gofer/internal/session/transcript"
)

// Embed runs gofer inside another program, as the arguments say, until its input ends or ctx does.
func Embed(ctx context.Context, w World, args []string) error { return run(ctx, w, args) }

// Failed says whether an error of Embed only repeats what the last result has told.
func Failed(err error) bool { return err == errResult }

// Self is how the program that embeds gofer is executed again, if its main begins with Helper.
func Self() []string { return proc.Self() }

// Helper does the work of a process that gofer started by executing this program again. is says whether this is one.
func Helper(args []string) (code int, is bool) {
	switch {
	case proc.IsSupervisor(args):
		return proc.Supervise(), true
	case sandbox.IsHelper(args):
		return sandbox.Help(), true
	}
	return 0, false
}

func sessionRoot(w World) (transcript.Root, place, error) {
	p, err := newPlace(w, Flags{})
	return transcript.Root(p.config), p, err
}

// ListSessions returns the recorded sessions of a folder, or of all folders if dir is "", the newest first.
func ListSessions(w World, dir string) ([]transcript.Summary, error) {
	root, _, err := sessionRoot(w)
	if err != nil {
		return nil, err
	}
	var filter transcript.Filter
	if dir != "" {
		filter.Project = root.Project(dir)
	}
	return root.List(filter)
}

// ReadSession yields the messages of a recorded session, in the form of the Messages API.
func ReadSession(w World, id string, yield func(uuid string, at time.Time, message json.RawMessage) bool) error {
	root, p, err := sessionRoot(w)
	if err != nil {
		return err
	}
	s, err := root.Find(p.projectDir(), id)
	if err != nil {
		return err
	}
	return readTranscript(s.Path, yield)
}

// RenameSession gives a session another title.
func RenameSession(w World, id, title string) error {
	root, p, err := sessionRoot(w)
	if err != nil {
		return err
	}
	s, err := root.Find(p.projectDir(), id)
	if err != nil {
		return err
	}
	return transcript.Rename(s.Path, title, transcript.NewMask())
}

// DeleteSession removes a session that does not run.
func DeleteSession(w World, id string) error {
	root, p, err := sessionRoot(w)
	if err != nil {
		return err
	}
	s, err := root.Find(p.projectDir(), id)
	if err != nil {
		return err
	}
	if other, runs := p.live().Running(s.ID); runs {
		return fmt.Errorf("session %s runs in process %d", s.ID, other.PID)
	}
	return root.Remove(s)
}

// readTranscript reads the whole conversation of a session, one message at a time: it may be large.
func readTranscript(path string, yield func(uuid string, at time.Time, message json.RawMessage) bool) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(transcript.Export(w, path, transcript.JSON)) }()
	defer r.Close()
	return readExport(r, yield)
}

// wholeHistory reads all that was said in the session, also what the model does not see any more.
func (e *engine) wholeHistory(yield func(llm.Message) bool) error {
	if e.transcript == nil {
		for _, m := range e.session.Log.View() {
			if !yield(m) {
				break
			}
		}
		return nil
	}
	var broken error
	err := readTranscript(e.transcript.Path(), func(_ string, _ time.Time, raw json.RawMessage) bool {
		var m llm.Message
		if broken = json.Unmarshal(raw, &m); broken != nil {
			return false
		}
		return yield(m)
	})
	if broken != nil {
		return broken
	}
	return err
}

// readExport reads the messages of an exported session.
func readExport(r io.Reader, yield func(uuid string, at time.Time, message json.RawMessage) bool) error {
	dec := json.NewDecoder(r)
	for {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		if t == json.Delim('[') {
			break
		}
	}
	for dec.More() {
		var item struct {
			UUID    string          `json:"uuid"`
			Time    time.Time       `json:"timestamp"`
			Meta    bool            `json:"meta"`
			Message json.RawMessage `json:"message"`
		}
		if err := dec.Decode(&item); err != nil {
			return err
		}
		if item.Meta || item.Message == nil {
			continue
		}
		if !yield(item.UUID, item.Time, item.Message) {
			return nil
		}
	}
	return nil
}
