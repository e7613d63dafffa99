package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/agents"
	"gofer/internal/guard"
	"gofer/internal/prompt"
	"gofer/internal/session/transcript"
)

// Bounds of the index of an agent's memory that every run of it begins with.
const (
	agentMemoryLines = 200
	agentMemoryBytes = 25_000
)

// agentMemoryDir is the folder in which a kind of agents keeps what it learns: for all projects of the user, with the project, or with the project but
// for this user alone. "": it has none.
func (e *engine) agentMemoryDir(d *agents.Definition) string {
	if d == nil {
		return ""
	}
	root, name := prompt.ProjectRoot(e.place.cwd), transcript.Slug(d.Name)
	switch d.Memory {
	case "user":
		return filepath.Join(e.place.config, "agent-memory", name)
	case "project":
		return filepath.Join(root, ".claude", "agent-memory", name)
	case "local":
		return filepath.Join(root, ".claude", "agent-memory-local", name)
	}
	return ""
}

// withMemory adds to what an agent is told what it has learned before, and how to keep more.
func (e *engine) withMemory(text string, d *agents.Definition) string {
	dir := e.agentMemoryDir(d)
	if dir == "" {
		return text
	}
	note := fmt.Sprintf(`# Your memory
You have a memory of your own that outlives this task: the folder %s. You may read and write there without asking. Look at it before you begin. Before you end, keep what would have saved you time: how this code is built, where things are, mistakes not to repeat, what was decided and why. Nothing that can be read off the code at once, no secrets, nothing about this task alone. One subject for each file; MEMORY.md is the index, one line for each file, and the only one that you are shown. Correct what has become wrong.`, dir)
	index, whole := readIndex(filepath.Join(dir, "MEMORY.md"))
	switch {
	case index == "":
		note += "\n\nMEMORY.md is empty so far."
	case !whole:
		note += "\n\nMEMORY.md begins (it is too long to show whole; make it shorter):\n" + index
	default:
		note += "\n\nMEMORY.md:\n" + index
	}
	return strings.TrimRight(text, "\n") + "\n\n" + note
}

// agentText is what an agent of a type is told, with its memory.
func (e *engine) agentText(text string, p agents.Post) string {
	if d, err := e.definitions().Find(p.Type); err == nil {
		return e.withMemory(text, d)
	}
	return text
}

// readIndex reads the beginning of an index.
func readIndex(path string) (text string, whole bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", true
	}
	f, err := os.Open(path)
	if err != nil {
		return "", true
	}
	defer f.Close()
	buf := make([]byte, agentMemoryBytes)
	n, _ := f.Read(buf)
	whole = int64(n) == info.Size()
	lines := strings.SplitAfter(strings.ToValidUTF8(string(buf[:n]), ""), "\n")
	if len(lines) > agentMemoryLines {
		lines, whole = lines[:agentMemoryLines], false
	}
	return strings.TrimSpace(strings.Join(lines, "")), whole
}

// skilledPost is an agent with what skills deny it and with its memory, of which its policy knows nothing.
func (e *engine) skilledPost(p agents.Post) agents.Post {
	def := e.agents.self
	if p.ID != "" {
		def = nil
		if d, err := e.definitions().Find(p.Type); err == nil {
			def = d
		}
	}
	dir, policy := e.agentMemoryDir(def), p.Policy
	if dir == "" && p.ID == "" {
		return p
	}
	p.Policy = func() guard.Policy {
		now := policy()
		if dir != "" {
			now = withFreeFolder(now, dir)
		}
		return e.narrowed(p.ID, now)
	}
	return p
}

// withFreeFolder is a policy, with those above it, under which a folder may be read and written.
func withFreeFolder(p guard.Policy, dir string) guard.Policy {
	p.FreeWrite = append(slices.Clip(p.FreeWrite), dir)
	if p.Parent != nil {
		above := withFreeFolder(*p.Parent, dir)
		p.Parent = &above
	}
	return p
}

// narrowed is the policy of an agent without what its active skills deny.
func (e *engine) narrowed(owner string, p guard.Policy) guard.Policy {
	if owner == "" {
		return p
	}
	e.skills.mu.Lock()
	var rules []guard.Rule
	for _, a := range e.skills.active[owner] {
		rules = append(rules, a.denied...)
	}
	e.skills.mu.Unlock()
	if len(rules) == 0 {
		return p
	}
	// A link of the chain that lets everything pass but what the skills deny.
	above := p
	denies := p
	denies.Mode, denies.BypassDisabled, denies.File, denies.AlwaysAsk = guard.Bypass, false, nil, nil
	denies.Rules = guard.Compile(rules, guard.Anchors{Dir: p.Dir, Home: p.Home})
	denies.Parent = &above
	p.Parent = &denies
	return p
}
