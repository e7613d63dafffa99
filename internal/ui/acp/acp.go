// Package acp lets an editor drive gofer: it speaks the Agent Client Protocol, JSON-RPC over standard input and output.
//
// Promises: what a session says reaches the client in the order in which it happened, and the answer to a prompt comes behind all that belongs to
// its turn. Requests of the client are taken in the order in which they came; a turn does not hold up the others. Every prompt gets exactly one
// answer. A client that does not read makes sessions wait, and costs no memory; one that is gone ends them all. Garbage, unknown methods and
// answers to nothing are answered with an error or ignored, and never end anything.
//
// What a session is, is not known here: the Host opens them, and hands in what can be done to one.
package acp

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"gofer/internal/llm"
	"gofer/internal/session"
)

// A Host keeps the sessions.
type Host interface {
	// Open begins a session, or goes on with one. The error is for the client's user.
	Open(context.Context, Opening) (*Session, error)
	// List returns the sessions of a folder, or of all folders if cwd is "", the newest first.
	List(ctx context.Context, cwd string) ([]Listed, error)
	// Delete removes a session and all that is kept for it.
	Delete(ctx context.Context, id string) error
	// Ready says what is missing for the model to be asked, such as a key.
	Ready() error
}

// An Opening says which session is wanted.
type Opening struct {
	ID      string          // of the new session, or the one to go on with
	From    string          // a session of which the new one is a copy; "": none
	Resume  bool            // ID is there already
	Cwd     string          // absolute
	Dirs    []string        // further folders, absolute
	Servers json.RawMessage // MCP servers by name, as .mcp.json has them; nil: none
	Desk    *Desk           // what the client does for the session
}

// A Session is what can be done to a session that is open. All functions may be called by many goroutines.
type Session struct {
	Serve     func(context.Context) error // runs turns until ctx ends
	Records   iter.Seq[session.Record]    // all it says; ends when it has ended
	Submit    func(context.Context, session.Input) error
	Interrupt func(context.Context)
	Turn      func() string // the UUID of the input whose turn the next result ends; each call takes one
	History   func(yield func(llm.Message) bool) error
	Close     func()

	Mode     Dial
	Model    Dial
	Effort   Dial // without choices: the model has none
	Commands func() []Command
	Steps    func(context.Context) []Step // what the model plans to do
	Window   func() int                   // the tokens that the model can take
}

// A Dial is a setting with a few choices that may be changed while the session runs.
type Dial struct {
	Choices func() []Choice
	Current func() string
	Set     func(string) error
}

// A Choice is one of the values of a Dial.
type Choice struct{ Value, Name, Help string }

// A Command is something that a prompt may begin with.
type Command struct{ Name, Help, Hint string }

// A Step is a piece of the plan.
type Step struct{ Text, Status, Priority string }

// A Listed session.
type Listed struct {
	ID, Cwd, Title string
	Changed        time.Time
}
