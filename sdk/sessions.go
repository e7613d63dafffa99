package sdk

import (
	"encoding/json"
	"time"

	"gofer/internal/app"
)

// A Session is one that was recorded.
type Session struct {
	ID          string
	Dir         string
	Title       string
	FirstPrompt string
	Path        string // of its transcript
	Changed     time.Time
}

// Sessions lists the sessions of a folder, or of all folders if dir is "", the newest first. Of o, Env says whose they are.
func Sessions(dir string, o Options) ([]Session, error) {
	found, err := app.ListSessions(o.world(), dir)
	if err != nil {
		return nil, err
	}
	var list []Session
	for _, s := range found {
		list = append(list, Session{ID: s.ID, Dir: s.Cwd, Title: s.Title(), FirstPrompt: s.FirstPrompt, Path: s.Path, Changed: s.Modified})
	}
	return list, nil
}

// A SessionMessage is a message of a recorded session.
type SessionMessage struct {
	ID   string
	Time time.Time
	Role string // user or assistant
	Text string
	JSON json.RawMessage // the message in the form of the Messages API
}

// SessionMessages returns all that was said in a session, also what the model does not see any more.
func SessionMessages(id string, o Options) ([]SessionMessage, error) {
	var list []SessionMessage
	err := app.ReadSession(o.world(), id, func(uuid string, at time.Time, message json.RawMessage) bool {
		var m struct {
			Role    string `json:"role"`
			Content Blocks `json:"content"`
		}
		if json.Unmarshal(message, &m) == nil {
			list = append(list, SessionMessage{ID: uuid, Time: at, Role: m.Role, Text: m.Content.Text(), JSON: message})
		}
		return true
	})
	return list, err
}

// RenameSession gives a session that does not run another title.
func RenameSession(id, title string, o Options) error { return app.RenameSession(o.world(), id, title) }

// DeleteSession removes a session and all that is kept for it.
func DeleteSession(id string, o Options) error { return app.DeleteSession(o.world(), id) }

// world is what surrounds a look at sessions.
func (o *Options) world() app.World {
	env := o.environment()
	return app.World{Env: lookup(env), Environ: func() []string { return env }, Dir: o.Dir}
}
