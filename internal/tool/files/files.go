// Package files holds the tools that read and change files: Read, Edit, Write, NotebookEdit and Revert.
//
// What it promises:
//
//   - A change replaces a file whole, by an atomic rename, or not at all: after a kill, a full disk or an error the old
//     content is there. Only the bytes that were to change differ; encoding, byte order mark, line ends, final newline, mode and
//     owner stay as they were.
//   - Nothing is changed that this agent has not seen as it is now. What it has seen is known by content (Seen), so a
//     mere touch of a file is no change, and a change by anyone else is never overwritten without a word.
//   - Reading, checking and writing happen under a lock of the path (Locks), which holds against the other agents of this
//     process and against other gofers on the machine.
//   - Before a change the old content goes to the History, from which Revert takes it back.
//   - Memory is bounded for files of any size: large files are searched and spliced as streams.
package files

import (
	"context"
	_ "embed"

	"gofer/internal/tool"
)

// Env is what the file tools of one agent need from their surroundings.
type Env struct {
	Cwd     func() string                                   // the working directory, absolute
	Seen    *Seen                                           // what this agent has read; nil: a new one
	History History                                         // shared by all agents of a session; nil: nothing is kept, and there is no Revert
	Locks   *Locks                                          // shared by all agents of a process; nil: this agent alone
	Changed func(ctx context.Context, path string) []string // told of each change; returns reminders for the model; may be nil
	Editor  Editor                                          // where files may be open with changes that are not saved; nil: nowhere
}

// A History keeps files as they were before they were changed. Paths are absolute and free of symbolic links; hashes are those
// of Hash.
type History interface {
	// Save keeps path as it is now. It is called right before path becomes a content with the hash after ("" if path is
	// about to be removed). If it fails, the file is not changed.
	Save(ctx context.Context, path, after string) error
	// Last tells about the last change of path that was not undone: the name of a file that holds the content before
	// it ("" if path did not exist), and the hash of the content after it. The error says why there is none.
	Last(path string) (before, after string, err error)
	// Undone says that the last change of path took back the one before it: neither is to be undone again.
	Undone(ctx context.Context, path string) error
}

const (
	inMemory     = 8 << 20   // files up to this size are read whole
	hashOnRead   = 64 << 20  // files up to this size are hashed when they are read
	largestEdit  = 1 << 30   // files above this size are not edited
	keepOriginal = 256 << 10 // contents up to this size go into structured results and are kept for telling what changed
)

// kit is the tools' common ground: the Env with its gaps filled.
type kit struct{ Env }

// Tools returns the file tools of one agent, sorted by name.
func Tools(env Env) []*tool.Tool {
	if env.Seen == nil {
		env.Seen = NewSeen()
	}
	if env.Locks == nil {
		env.Locks = NewLocks("")
	}
	k := &kit{env}
	tools := []*tool.Tool{k.edit(), k.notebookEdit(), k.read()}
	if env.History != nil {
		tools = append(tools, k.revert())
	}
	return append(tools, k.write())
}

// underLock runs a change of the file that a path leads to, under its lock, and then tells the surroundings of it.
func (k *kit) underLock(ctx context.Context, asked string, do func(path string, held *held) (tool.Result, error)) (tool.Result, error) {
	path, err := k.target(asked)
	if err != nil {
		return tool.Result{}, err
	}
	held, err := k.Locks.lock(ctx, path)
	if err != nil {
		return tool.Result{}, err
	}
	result, err := func() (tool.Result, error) {
		defer held.release()
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
		return do(path, held)
	}()
	if err == nil && k.Changed != nil {
		result.Context = k.Changed(ctx, path)
	}
	return result, err
}
