// Package tui is the terminal UI: what a person sees and types while a session runs.
//
// It is one Bubble Tea model over an event cursor of the session, like any other client. Update does no input or output: what takes
// time happens in commands, and what is drawn are pure functions of the state. Finished output is printed once, into the
// terminal's own scrollback, and never redrawn; below it stand the live parts, which package paint keeps up to date.
//
// This file is the seam: what the program around the UI hands in, and what it can ask of the UI.
package tui

import (
	"context"
	"iter"
	"time"

	"gofer/internal/event"
	"gofer/internal/session"
	"gofer/internal/ui/screen"
)

// A Desk is how the program around the UI reaches the person in front of it. It can be used from any goroutine, from the moment the
// UI has painted its first frame.
type Desk interface {
	// Ask opens a dialog and waits until it is done. The dialog belongs to the UI until Ask returns nil; then its answer can be read.
	// Several dialogs wait for each other, in the order of their asking. When ctx ends first, the dialog is taken away and Ask
	// returns why.
	Ask(ctx context.Context, d screen.Dialog) error
	// Note prints a line of the program's own into the scrollback; level is info, warning or error.
	Note(level, text string)
	// Refresh says that what Host.Facts or Host.Commands tell has changed.
	Refresh()
}

// A Session is the conversation that the UI shows.
type Session interface {
	Watch(ctx context.Context, seq int) iter.Seq[session.Record]
	Submit(ctx context.Context, in session.Input) error
	Interrupt(ctx context.Context)
}

// A Host is a session with everything around it that the UI needs. Functions may be nil where the comment says so; none is called
// from inside Update, but Facts, Commands and Steps are called often and must be quick (no network, no long locks).
type Host struct {
	Session Session
	// Past is the end of a conversation that goes on, oldest first.
	Past []event.Event
	// Facts tells what the status line and the footer show.
	Facts func() Facts
	// Commands lists the slash commands.
	Commands func() []Command
	// Unknown is called with a /word that is no command; what it returns happens. nil: it goes to the session as a prompt.
	Unknown func(ctx context.Context, name, args string) Action
	// NextMode changes to the next permission mode and returns its name.
	NextMode func() (string, error)
	// Detach sends what the model waits for, agents and commands, to the background (Ctrl-B). It returns how many calls it sent there. nil:
	// nothing goes there.
	Detach func() int
	// TakeBack takes a queued message back before the model has seen it. nil: messages cannot be taken back.
	TakeBack func(ctx context.Context, uuid string) bool
	// Steps are the todo list or the tasks, as they stand now. nil: there are none.
	Steps func(context.Context) []Step
	// Rewind is what Esc Esc on an empty prompt does. nil: nothing.
	Rewind func(context.Context) Action
	// Tasks is what Ctrl-T shows besides the panel, or nil.
	Tasks func(context.Context) Action
	// Shell runs a command of the user (the text behind !) and hands over output as it comes. What is to become part of the
	// conversation is submitted by it. nil: there is no shell.
	Shell func(ctx context.Context, command string, output func(string)) ShellEnd
	// Memories are the files that text behind # can be added to; Remember adds to one of them.
	Memories func() []Memory
	Remember func(ctx context.Context, file, text string) error
	// StatusLine runs the user's command for the status line. nil: there is none.
	StatusLine func(ctx context.Context) (string, error)
	// Close ends the session and everything around it. It is called once, when the UI goes on to another session or ends.
	Close func()
}

// Facts are what the person sees of the state of the session.
type Facts struct {
	SessionID, Title string
	Model            string // as people call it
	Effort           string
	Cwd              string // shortened for people: ~/src/gofer
	Branch           string
	Mode             string // a permission mode: default, acceptEdits, plan, …
	CostUSD          float64
	ContextWindow    int  // tokens that fit; the UI itself counts how many are used
	KeyMissing       bool // no credentials: the first prompt would fail
	NewHere          bool // nobody has worked in this folder before
	Background       int  // agents and commands that nobody waits for
}

// A Step is an entry of the todo list or of the task board.
type Step struct {
	ID      string // of a task; "" in a todo list
	Text    string
	Active  string // what is being done, in the form for the spinner
	Status  string // pending, in_progress, completed
	Owner   string
	Blocked []string // ids of tasks that come first
}

// A Memory is a file that # can add to.
type Memory struct{ Path, Label string }

// A ShellEnd tells how a command of the user ended.
type ShellEnd struct {
	Code    int
	Elapsed time.Duration
	Err     error // it could not be run
}

// A Command is a slash command.
type Command struct {
	Name, Help, Hint string
	Aliases          []string
	// Busy commands can be used while the model works; others wait until it has finished.
	Busy bool
	// Run does it, outside Update. nil: the text goes to the session as it is, which answers it.
	Run func(ctx context.Context, args string) Action
}

// An Action is what happens next: any number of its fields may be set, and they happen in the order of the fields.
type Action struct {
	Print    string // text for the scrollback
	Markdown bool   // Print is Markdown
	Err      error  // shown as an error
	// Release is called with the terminal given back, for programs that need it whole, such as an editor.
	Release func(ctx context.Context) error
	// Dialog has the keyboard until it is done. A dialog with a method FullScreen() bool that returns true gets the alternate
	// screen and all rows of it.
	Dialog screen.Dialog
	// Then is called outside Update when Dialog is done, or at once if there is none; what it returns happens next.
	Then func(ctx context.Context) Action
	// Submit is sent to the session as if the person had typed it. Insert is put into the prompt box instead.
	Submit, Insert string
	// Switch closes the host and goes on with another one: a new session, or an old one.
	Switch func(ctx context.Context, d Desk) (*Host, error)
	// Look changes how the UI looks from now on.
	Look *Look
	Quit bool
}

// A Look is how the UI looks. Empty fields stay as they are.
type Look struct {
	Theme    string // one of theme.Names, or "auto"
	Language string
	Vim      *bool
	Calm     *bool // no animations
}
