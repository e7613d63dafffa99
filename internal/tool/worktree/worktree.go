// Package worktree has the tools by which the model moves the session into a copy of the repository and back: EnterWorktree and
// ExitWorktree. They only read the model's words; whoever is handed in as Mover does the rest.
package worktree

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"gofer/internal/tool"
)

// Names of the tools.
const (
	EnterName = "EnterWorktree"
	ExitName  = "ExitWorktree"
)

//go:embed enter.md
var enterDoc string

//go:embed exit.md
var exitDoc string

// A Mover moves the session. Errors are for the model. Both are called from the goroutine of a tool call, one at a time.
type Mover interface {
	// Enter makes a worktree with a name ("" makes one up), or enters the one at path.
	Enter(ctx context.Context, name, path string) (Moved, error)
	// Exit goes back. With remove the worktree goes too; with discard, even if work is lost by that.
	Exit(ctx context.Context, remove, discard bool) (Moved, error)
}

// Moved is where the session is now.
type Moved struct {
	Dir     string // the working directory
	Branch  string // of the worktree that was entered or left
	Path    string // of that worktree
	Message string // for the model
}

type enterIn struct {
	Name string `json:"name,omitempty" desc:"A name for a new worktree: letters, digits, dots, dashes, underscores"`
	Path string `json:"path,omitempty" desc:"An existing worktree of this repository, in the place of a new one"`
}

type exitIn struct {
	Action  string `json:"action" enum:"keep|remove" desc:"What becomes of the worktree and its branch"`
	Discard bool   `json:"discard_changes,omitempty" desc:"With remove: lose what is in no other branch. Only if the user asked for that"`
}

// data is what programs read.
type data struct {
	Path   string `json:"worktreePath"`
	Branch string `json:"worktreeBranch,omitempty"`
	Dir    string `json:"cwd"`
}

// Tools returns both tools.
func Tools(m Mover) []*tool.Tool { return []*tool.Tool{enter(m), exit(m)} }

func enter(m Mover) *tool.Tool {
	return tool.Define(tool.Spec[enterIn]{
		Name: EnterName, Doc: enterDoc, Hint: "git worktree branch isolate copy",
		// It touches nothing that anybody has: a new branch and a new folder, which are removed again if nothing happens in them.
		Traits: func(enterIn) tool.Traits { return tool.Traits{ReadOnly: true} },
		Title:  func(in enterIn) string { return strings.TrimSpace("Entering a worktree " + in.Name + in.Path) },
		Check: func(_ context.Context, in enterIn) error {
			if in.Name != "" && in.Path != "" {
				return errors.New("give a name for a new worktree or the path of an existing one, not both")
			}
			return nil
		},
		Run: func(ctx context.Context, in enterIn, _ tool.Call) (tool.Result, error) {
			return answer(m.Enter(ctx, in.Name, in.Path))
		},
	})
}

func exit(m Mover) *tool.Tool {
	return tool.Define(tool.Spec[exitIn]{
		Name: ExitName, Doc: exitDoc, Hint: "git worktree leave remove keep",
		// To discard work cannot be undone: that is for a person to allow.
		Traits: func(in exitIn) tool.Traits { return tool.Traits{ReadOnly: !in.Discard, Destructive: in.Discard} },
		Title: func(in exitIn) string {
			if in.Discard {
				return "Removing the worktree with all changes in it"
			}
			return "Leaving the worktree (" + in.Action + ")"
		},
		Check: func(_ context.Context, in exitIn) error {
			if in.Discard && in.Action != "remove" {
				return errors.New("discard_changes goes with the action remove only")
			}
			return nil
		},
		Run: func(ctx context.Context, in exitIn, _ tool.Call) (tool.Result, error) {
			return answer(m.Exit(ctx, in.Action == "remove", in.Discard))
		},
	})
}

func answer(m Moved, err error) (tool.Result, error) {
	if err != nil {
		return tool.Result{}, err
	}
	r := tool.Text(m.Message)
	r.Data = data{Path: m.Path, Branch: m.Branch, Dir: m.Dir}
	r.Display.Summary = "Now in " + m.Dir
	return r, nil
}
