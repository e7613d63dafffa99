package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/tool"
	"gofer/internal/tool/team"
)

func (c *Crew) maxDepth() int {
	if n := c.Limits().MaxDepth; n > 0 {
		return n
	}
	return 3
}

// Kind is the type of agent that an order is for.
func (a *Agent) Kind(o team.Order) string {
	switch {
	case o.Type != "":
		return o.Type
	case a.crew.Forking:
		return forkType
	}
	return General
}

// Check finds what is wrong with an order.
func (a *Agent) Check(o team.Order) error {
	kind := a.Kind(o)
	if max := a.crew.maxDepth(); a.depth >= max {
		return fmt.Errorf("agents may be nested %d deep, and you are the last: do the task yourself", max)
	}
	if kind == forkType {
		return a.checkFork(o)
	}
	d, err := a.crew.Definitions().Find(kind)
	if err != nil {
		return err
	}
	if a.def != nil && a.def.Types != nil && !slices.Contains(a.def.Types, kind) {
		return fmt.Errorf("you may start only these agents: %s", strings.Join(a.def.Types, ", "))
	}
	if o.Isolation != "" {
		if o.Cwd != "" {
			return errors.New("cwd and isolation exclude each other: a worktree is a folder of its own")
		}
		if a.crew.Isolate == nil {
			return errors.New("isolation: there are no worktrees here; start the agent without it, and see to it that agents do not change the same files")
		}
	}
	if strings.ContainsAny(o.Name, "\n\r\t") {
		return errors.New("name: it may not have line breaks or tabs")
	}
	if _, err := a.folder(o.Cwd); err != nil {
		return err
	}
	_, err = a.modeOf(o, d)
	return err
}

func (a *Agent) checkFork(o team.Order) error {
	switch {
	case !a.crew.Forking:
		_, err := a.crew.Definitions().Find(forkType)
		return err
	case a.forked():
		return errors.New("a fork cannot fork: do the task yourself, or name another agent with subagent_type")
	case o.Model != "" || o.Mode != "" || o.Cwd != "" || o.Isolation != "":
		return errors.New("a fork is like you: model, mode, cwd and isolation cannot be chosen. Leave them out, or name an agent with subagent_type")
	}
	return nil
}

// modeOf is the permission mode of an agent: the order's, else the definition's, else the parent's.
func (a *Agent) modeOf(o team.Order, d *Definition) (guard.Mode, error) {
	if o.Mode == "" {
		return d.Mode, nil
	}
	mode, err := guard.ParseMode(o.Mode)
	if err != nil {
		return "", err
	}
	if d.Mode == guard.Plan && mode != guard.Plan {
		return "", fmt.Errorf("the agent %s only reads; it cannot run in the mode %s", d.Name, mode)
	}
	return mode, nil
}

// Start carries an order out.
func (a *Agent) Start(ctx context.Context, o team.Order, call tool.Call) (tool.Result, error) {
	return a.StartAs(ctx, o, call, nil)
}

// StartAs carries an order out with an agent that is like the one of the order's type, but for what change does to a copy of its definition: a skill
// brings its own hooks and limits along. nil changes nothing.
func (a *Agent) StartAs(ctx context.Context, o team.Order, call tool.Call, change func(*Definition)) (tool.Result, error) {
	if err := a.Check(o); err != nil { // a hook may have changed the order
		return tool.Result{}, err
	}
	child, first, err := a.hire(ctx, o, call, change)
	if err != nil {
		return tool.Result{}, err
	}
	if err := a.crew.enlist(child); err != nil {
		return tool.Result{}, err
	}
	background := o.Background != nil && *o.Background || o.Background == nil && child.def != nil && child.def.Background
	r, err := child.begin(first, a.id, call.ID, background && a.mayDetach())
	if err != nil {
		return tool.Result{}, err
	}
	return a.await(ctx, r)
}

// mayDetach reports whether agents of a can be in the background: only if somebody is there to read their notice later. An agent below the main one
// waits for those it started, because its last message is its report and must be complete.
func (a *Agent) mayDetach() bool { return a.parent == nil && !a.crew.Foreground }

// hire makes the agent that an order is for, and what it is told first.
func (a *Agent) hire(ctx context.Context, o team.Order, call tool.Call, change func(*Definition)) (*Agent, []loop.Entry, error) {
	c := a.crew
	child := &Agent{crew: c, parent: a, id: newID(), kind: a.Kind(o), name: strings.TrimSpace(o.Name), description: o.Description, depth: a.depth + 1}
	child.slot.places = c.slots
	var err error
	if child.cwd, err = a.folder(o.Cwd); err != nil {
		return nil, nil, err
	}
	if child.kind == forkType {
		return child.hireFork(ctx, o, call)
	}
	if child.def, err = c.Definitions().Find(child.kind); err != nil {
		return nil, nil, err
	}
	if change != nil {
		changed := *child.def
		change(&changed)
		child.def = &changed
	}
	if child.mode, err = a.modeOf(o, child.def); err != nil {
		return nil, nil, err
	}
	child.model = c.resolve(o.Model, child.def.Model, a.seat)
	child.isolate = o.Isolation != "" || child.def.Isolation != "" && c.Isolate != nil
	child.warnings = child.def.Missing(c.Isolate != nil, c.Servers)
	if err := c.awaitServers(ctx, child.def); err != nil {
		return nil, nil, err
	}
	if err := child.equip(); err != nil {
		return nil, nil, err
	}
	child.seat.Log = session.NewLog(nil, nil)
	return child, []loop.Entry{child.prompt(o.Prompt)}, nil
}

// hireFork makes a fork: it begins with the conversation of its parent.
func (a *Agent) hireFork(ctx context.Context, o team.Order, call tool.Call) (*Agent, []loop.Entry, error) {
	a.fork = true
	view, err := history(ctx, a.parent.log(), call.ID)
	if err != nil {
		return nil, nil, err
	}
	if err := a.equip(); err != nil {
		return nil, nil, err
	}
	a.seat.Log = session.NewLog(nil, view)
	return a, []loop.Entry{newEntry(loop.Prompt, forkPrompt(view, o.Prompt))}, nil
}

// prompt is the first message of an agent: reminders, then the task.
func (a *Agent) prompt(task string) loop.Entry {
	m := llm.Message{Role: llm.User}
	for _, text := range a.crew.Opening(a.def, a.post()) {
		m.Blocks = append(m.Blocks, llm.TextBlock(loop.Reminder(text)))
	}
	m.Blocks = append(m.Blocks, llm.TextBlock(task))
	return newEntry(loop.Prompt, m)
}

func newEntry(kind loop.EntryKind, m llm.Message) loop.Entry {
	return loop.Entry{UUID: uuid.NewString(), Kind: kind, Message: m, Time: now()}
}

// resolve chooses the model: the override of the surroundings, the order's, the definition's, the parent's.
func (c *Crew) resolve(order, definition string, parent Seat) string {
	inherited := parent.model()
	for _, name := range []string{c.Override, order, definition} {
		name = strings.TrimSpace(name)
		switch strings.ToLower(name) {
		case "":
			continue
		case "inherit":
			return inherited
		case "small":
			if c.Small == nil {
				return inherited
			}
			return c.Small(parent.Request().Model)
		}
		if sameFamily(name, parent.Request().Model) {
			return inherited
		}
		return name
	}
	return inherited
}

// families are names that mean the newest model of a kind. For an agent they mean its parent's very model, if that is of the kind: a user who
// chose an older one, or one with a larger window, wants it here too.
var families = []string{"opus", "sonnet", "haiku", "fable"}

func sameFamily(name, parent string) bool {
	name = strings.ToLower(name)
	return slices.Contains(families, name) && slices.Contains(strings.FieldsFunc(strings.ToLower(parent), func(r rune) bool {
		return r == '-' || r == '.' || r == '/' || r == '[' || r == '@' || r == ':'
	}), name)
}

// Missing tells what a definition asks for and this program cannot give.
func (d *Definition) Missing(worktrees bool, servers Servers) []string {
	var list []string
	add := func(asked bool, text string) {
		if asked {
			list = append(list, text)
		}
	}
	named, _ := d.servers()
	for _, name := range named {
		add(servers == nil || !servers.Has(name), "its MCP server "+name+" is not there: neither the session nor the definition describes it")
	}
	add(len(d.RequiredMCP) > 0 && servers == nil, "it needs the MCP servers "+strings.Join(d.RequiredMCP, ", ")+", and there are none here")
	add(d.Isolation != "" && !worktrees, "it asks for a worktree, and there are none here: it works in the folder of the project itself")
	return list
}

// OwnServers are the MCP servers that the definition describes itself, by name.
func (d *Definition) OwnServers() map[string]json.RawMessage {
	_, own := d.servers()
	return own
}

// servers are the MCP servers that a definition lists: the names of the session's, and those with a description of their own.
func (d *Definition) servers() (names []string, own map[string]json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(d.MCPServers, &list) != nil {
		list = []json.RawMessage{d.MCPServers}
	}
	for _, raw := range list {
		var name string
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &name) == nil && name != "" {
			names = append(names, name)
		} else if json.Unmarshal(raw, &object) == nil {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				var fields map[string]json.RawMessage
				if json.Unmarshal(object[key], &fields) != nil || len(fields) == 0 {
					names = append(names, key)
					continue
				}
				if own == nil {
					own = map[string]json.RawMessage{}
				}
				own[key] = object[key]
			}
		}
	}
	return names, own
}

// awaitServers waits for the MCP servers that a definition cannot do without.
func (c *Crew) awaitServers(ctx context.Context, d *Definition) error {
	if c.Servers == nil || len(d.RequiredMCP) == 0 {
		return nil
	}
	if err := c.Servers.Await(ctx, d.RequiredMCP); err != nil {
		return fmt.Errorf("the agent %s was not started: %w", d.Name, err)
	}
	return nil
}

// warn tells people what counts for nothing.
func (a *Agent) warn() {
	for _, text := range a.warnings {
		a.crew.Emit(event.Info{Level: "warning", Content: fmt.Sprintf("Agent %s: %s.", a.kind, text)})
	}
}
