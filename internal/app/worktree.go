package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"gofer/internal/agents/worktree"
	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/guard/sandbox"
	"gofer/internal/prompt"
	"gofer/internal/tool"
	treetool "gofer/internal/tool/worktree"
	"gofer/internal/work/job"
)

// trees are the worktrees that the session and its agents work in.
type trees struct {
	mu      sync.Mutex
	session *copyOfProject // nil: the session works in the project itself
	back    string         // where the session was before
	agents  []*copyOfProject
}

// A copyOfProject is a worktree with all that keeps calls inside it.
type copyOfProject struct {
	tree *worktree.Tree
	hold *worktree.Hold

	boxOnce sync.Once
	box     *sandbox.Sandbox
	boxErr  error
}

// keptTree is the name under which the session's worktree is recorded, so that a resume goes on in it.
const keptTree = "worktree"

// treeOptions are what the settings say about worktrees.
func (e *engine) treeOptions(name, owner string) worktree.Options {
	set := e.settings.Current().Settings.Worktree
	fresh := set.BaseRef == "fresh"
	return worktree.Options{Name: name, Owner: owner, Fresh: fresh, Fetch: fresh, Sparse: set.SparsePaths, Links: set.SymlinkDirectories, Hooks: e.worktreeHooks()}
}

// newCopy joins a worktree with its hold. Folders of gofer's own stay open wherever they are.
func (e *engine) newCopy(t *worktree.Tree) *copyOfProject {
	return &copyOfProject{tree: t, hold: t.Hold(e.place.config, e.place.taskDir(), e.memoryDir())}
}

// addTree makes the worktree of an agent known; drop makes it unknown again.
func (e *engine) addTree(t *worktree.Tree) (c *copyOfProject, drop func()) {
	c = e.newCopy(t)
	e.trees.mu.Lock()
	defer e.trees.mu.Unlock()
	e.trees.agents = append(e.trees.agents, c)
	return c, func() {
		e.trees.mu.Lock()
		e.trees.agents = slices.DeleteFunc(e.trees.agents, func(x *copyOfProject) bool { return x == c })
		e.trees.mu.Unlock()
		c.close()
	}
}

func (c *copyOfProject) close() {
	c.boxOnce.Do(func() {})
	if c.box != nil {
		c.box.Close()
	}
}

// sessionCopy is the worktree that the session works in, or nil.
func (e *engine) sessionCopy() *copyOfProject {
	e.trees.mu.Lock()
	defer e.trees.mu.Unlock()
	return e.trees.session
}

// agentCopy is the worktree of an agent that a folder belongs to, or nil.
func (e *engine) agentCopy(dir string) *copyOfProject {
	e.trees.mu.Lock()
	defer e.trees.mu.Unlock()
	for _, c := range e.trees.agents {
		if c.hold.Contains(dir) {
			return c
		}
	}
	return nil
}

// copyAt is the worktree that a folder belongs to, or nil.
func (e *engine) copyAt(dir string) *copyOfProject {
	if c := e.agentCopy(dir); c != nil {
		return c
	}
	if c := e.sessionCopy(); c != nil && c.hold.Contains(dir) {
		return c
	}
	return nil
}

// root is the folder of the project as the session sees it: in its worktree, if it is in one.
func (e *engine) root() string {
	if c := e.sessionCopy(); c != nil {
		return c.hold.Dir(e.place.cwd)
	}
	return e.place.cwd
}

// inTree is what the settings say about permissions, as it holds where the session is.
func (e *engine) inTree(b guard.Base) guard.Base {
	if c := e.sessionCopy(); c != nil {
		return c.hold.Base(b)
	}
	return b
}

// dirsAt are the folders that a shell may go to which works in dir. One in a worktree never falls back to the project itself.
func (e *engine) dirsAt(dir func() string) func() []string {
	own := e.agentCopy(dir())
	return func() []string {
		if own != nil {
			return []string{own.tree.Path}
		}
		dirs := e.workDirs()
		if c := e.sessionCopy(); c != nil {
			dirs[0] = c.tree.Path
			dirs = slices.DeleteFunc(dirs, func(d string) bool { _, outside := c.hold.Translate(d); return outside })
		}
		return dirs
	}
}

// held puts the session's worktree before a gate: calls of the session and of agents that work where it works stay inside. An agent with a worktree of
// its own has a hold of its own.
func (e *engine) held(cwd func() string, gate tool.Middleware) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		pass := gate(next)
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			c := e.sessionCopy()
			if c == nil || e.agentCopy(cwd()) != nil || call.Tool.Name == treetool.EnterName || call.Tool.Name == treetool.ExitName {
				return pass(ctx, call)
			}
			if err := c.hold.Check(call, cwd()); err != nil {
				return tool.Result{}, fmt.Errorf("%w. ExitWorktree leads back, if that is what the user wants", err)
			}
			return pass(ctx, call)
		}
	}
}

// boxAt is the sandbox for commands that run in a folder: in a worktree all but the worktree stays as it is.
func (e *engine) boxAt(dir string) (*sandbox.Sandbox, error) {
	c := e.copyAt(dir)
	if c == nil || e.box == nil {
		return e.box, nil
	}
	c.boxOnce.Do(func() {
		p := e.place
		p.cwd = c.hold.Dir(p.cwd)
		pol := sandboxPolicy(e.settings.Current(), p)
		pol.WriteDirs = append(c.tree.WriteDirs(), e.place.taskDir())
		for _, list := range []*[]string{&pol.ReadDeny, &pol.WriteDeny} {
			for _, path := range slices.Clone(*list) {
				if to, outside := c.hold.Translate(path); outside && to != "" {
					*list = append(*list, to)
				}
			}
		}
		c.box, c.boxErr = sandbox.New(pol)
	})
	return c.box, c.boxErr
}

// wrapAt puts commands that run in a folder into their sandbox; nil where there is none.
func (e *engine) wrapAt(dir func() string) func([]string) ([]string, error) {
	if e.box == nil {
		return nil
	}
	return func(argv []string) ([]string, error) {
		box, err := e.boxAt(dir())
		if err != nil {
			return nil, err
		}
		return box.Wrap(argv)
	}
}

// envAt is the environment of commands that run in a folder.
func (e *engine) envAt(dir func() string) func() []string {
	return func() []string {
		box, err := e.boxAt(dir())
		if err != nil {
			box = e.box // wrapAt refuses the command
		}
		return e.shellEnv(box)
	}
}

// treeTools are the tools that move the session, where it can be moved.
func (e *engine) treeTools() []*tool.Tool {
	if _, inGit := prompt.FindRepo(e.place.cwd); !inGit && len(e.settings.Current().Settings.Hooks["WorktreeCreate"]) == 0 {
		return nil
	}
	return treetool.Tools(mover{e})
}

// openTree lets the session begin in the worktree that the command line names, or go on in the one that it was in.
func (e *engine) openTree() error {
	path, resumed := "", e.resumed != nil
	if resumed {
		path = e.resumed.Kept[keptTree]
	}
	e.closers = append(e.closers, e.leaveTree)
	switch {
	case e.flags.Worktree.Set:
		if name := e.flags.Worktree.Value; name != "" {
			if err := worktree.CheckName(name); err != nil {
				return usage("--worktree: %v", err)
			}
		}
		o := e.treeOptions(e.flags.Worktree.Value, "session "+e.place.session)
		o.Reuse = true
		t, err := worktree.Create(e.ctx, e.place.cwd, o)
		if err != nil {
			return fmt.Errorf("--worktree: %w", err)
		}
		for _, n := range t.Notes {
			fmt.Fprintln(e.world.Stderr, n)
		}
		return e.moveTo(t)
	case path != "":
		t, err := worktree.Open(e.ctx, e.place.cwd, path, e.treeOptions("", "session "+e.place.session))
		if err != nil {
			fmt.Fprintf(e.world.Stderr, "The session was in the worktree %s and goes on in %s: %v\n", path, e.place.cwd, err)
			return nil
		}
		return e.moveTo(t)
	}
	return nil
}

// moveTo makes a worktree the place of the session: its folder, its permissions, what a resume restores.
func (e *engine) moveTo(t *worktree.Tree) error {
	c := e.newCopy(t)
	e.trees.mu.Lock()
	e.trees.session, e.trees.back = c, e.dir.Cwd()
	e.trees.mu.Unlock()
	err := e.settle(t.Dir(e.dir.Cwd()))
	if err != nil {
		e.moveBack()
	}
	return err
}

// moveBack makes the project itself the place of the session again.
func (e *engine) moveBack() error {
	e.trees.mu.Lock()
	c, back := e.trees.session, e.trees.back
	e.trees.session = nil
	e.trees.mu.Unlock()
	if c != nil {
		c.close()
	}
	if info, err := os.Stat(back); err != nil || !info.IsDir() {
		back = e.place.cwd
	}
	return e.settle(back)
}

// settle makes the folder, the permissions and the record of the session those of the place it has now.
func (e *engine) settle(dir string) error {
	base, err := e.guardBase()
	if err != nil {
		return err
	}
	e.policy.SetBase(base)
	e.dir.SetCwd(dir)
	if e.transcript == nil {
		return nil
	}
	path := ""
	if c := e.sessionCopy(); c != nil {
		path = c.tree.Path
	}
	if err := e.transcript.Keep(e.ctx, keptTree, path); err != nil {
		e.emit(event.Info{Level: "warning", Content: "Where the session works could not be recorded: " + err.Error()})
	}
	return nil
}

// leaveTree ends the session's worktree with the session: one in which nothing changed goes, any other is named.
func (e *engine) leaveTree() {
	c := e.sessionCopy()
	if c == nil {
		return
	}
	// What still runs there could still change something.
	e.agents.crew.Close()
	e.jobs.Close()
	o, err := c.tree.Finish(context.WithoutCancel(e.ctx))
	c.close()
	if !o.Removed || err != nil {
		fmt.Fprintln(e.world.Stderr, o.Report())
	}
}

// mover moves the session for the model.
type mover struct{ engine *engine }

// Enter moves into a worktree.
func (m mover) Enter(ctx context.Context, name, path string) (treetool.Moved, error) {
	e := m.engine
	if c := e.sessionCopy(); c != nil {
		return treetool.Moved{}, fmt.Errorf("the session is in the worktree %s already; ExitWorktree leaves it", c.tree.Path)
	}
	if e.policy.Policy().Mode == guard.Plan {
		return treetool.Moved{}, errors.New("in plan mode nothing is made; leave it first")
	}
	if e.running(job.Agent) { // the project would be taken away from under them
		return treetool.Moved{}, errors.New("agents still work here; wait for them or stop them (TaskStop), then enter the worktree")
	}
	if name != "" {
		if err := worktree.CheckName(name); err != nil {
			return treetool.Moved{}, err
		}
	}
	o := e.treeOptions(name, "session "+e.place.session)
	var t *worktree.Tree
	var err error
	if path != "" {
		t, err = worktree.Open(ctx, e.dir.Cwd(), path, o)
	} else {
		t, err = worktree.Create(ctx, e.dir.Cwd(), o)
	}
	if err != nil {
		return treetool.Moved{}, err
	}
	if err := e.moveTo(t); err != nil {
		_, _ = t.Finish(ctx)
		return treetool.Moved{}, err
	}
	text := t.Opening() + " The working directory is " + e.dir.Cwd() + " now."
	return treetool.Moved{Dir: e.dir.Cwd(), Path: t.Path, Branch: t.Branch, Message: text}, nil
}

// Exit moves back.
func (m mover) Exit(ctx context.Context, remove, discard bool) (treetool.Moved, error) {
	e := m.engine
	c := e.sessionCopy()
	switch {
	case c == nil:
		return treetool.Moved{}, errors.New("the session is in no worktree: there is nothing to leave")
	case remove && e.running(job.Agent, job.Bash):
		return treetool.Moved{}, errors.New("commands or agents still work in the background; wait for them or stop them (TaskStop) before it is removed")
	}
	var o worktree.Outcome
	var err error
	if remove {
		o, err = c.tree.Remove(ctx, discard)
		if errors.Is(err, worktree.ErrChanged) {
			return treetool.Moved{}, fmt.Errorf("%w. The worktree is still there, and so are you. Tell the user what would be lost (%s), and let them choose: keep, or remove with discard_changes", err, lostFiles(o))
		}
	} else {
		o, err = c.tree.Keep(ctx)
	}
	gone := errors.Is(err, worktree.ErrGone) // there is nothing to stay in
	if err != nil && !gone {
		return treetool.Moved{}, err
	}
	if err := e.moveBack(); err != nil {
		return treetool.Moved{}, err
	}
	if gone {
		return treetool.Moved{Dir: e.dir.Cwd(), Path: o.Path, Branch: o.Branch, Message: fmt.Sprintf("The working directory is %s again. The worktree's folder %s was gone; what it had committed is in its branch %s.", e.dir.Cwd(), o.Path, o.Branch)}, nil
	}
	text := "The working directory is " + e.dir.Cwd() + " again. " + o.Report()
	return treetool.Moved{Dir: e.dir.Cwd(), Path: o.Path, Branch: o.Branch, Message: text}, nil
}

// running reports whether work of these kinds goes on that the main agent started.
func (e *engine) running(kinds ...job.Kind) bool {
	return slices.ContainsFunc(e.jobs.List(), func(j job.Job) bool {
		return j.Owner == "" && !j.State.Ended() && slices.Contains(kinds, j.Kind)
	})
}

func lostFiles(o worktree.Outcome) string {
	files := o.Changes.All()
	if len(files) > 20 {
		files = append(files[:20:20], fmt.Sprintf("and %d more", len(files)-20))
	}
	return strings.Join(files, ", ")
}
