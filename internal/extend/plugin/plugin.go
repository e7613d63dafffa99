// Package plugin reads plugins, and keeps the ones that were installed.
//
// A plugin is a folder that brings commands, agents, skills, hooks, MCP and language servers and output styles. The format, and
// the place on disk where installed ones are kept, are those of Claude Code, so that a home set up by it works as it is.
//
// What the package promises:
//   - Reading a plugin runs nothing of it. Load returns what it brings as data; whoever uses the data decides what runs.
//   - Nothing that a plugin names lies outside its folder, whatever ".." and links say. What is wrong with one part of a
//     plugin is a problem of that part; the rest works.
//   - Files are bounded before they are read: a manifest may be hostile.
//   - An installation happens in one step. Files are gathered in a folder beside, and the record of what is installed is
//     replaced at the end: a kill or a full disk leaves what was there before. Folders that running sessions may use are
//     not changed and not removed for a week.
//   - One process at a time changes what is installed; the others wait for it.
//
// A Plugin does not change after Load. A Store may be used by many goroutines and processes at once.
package plugin

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Plugin is what a folder brings.
type Plugin struct {
	Name        string
	Marketplace string // "" when it comes from none
	Root        string // its folder, absolute and without links
	Data        string // where it may keep files that outlive its updates
	Version     string
	Manifest    Manifest

	Commands []Part
	Skills   []Part
	Agents   []Part
	Styles   []Part

	Bin string // a folder of programs that shell commands may call by name; "": none

	Hooks     []json.RawMessage          // objects of events, each as "hooks" in the settings
	Servers   map[string]json.RawMessage // MCP servers by their own name, variables expanded
	Languages map[string]json.RawMessage // language servers, likewise

	Options  map[string]string // the values of its userConfig
	Problems []string          // what is wrong with parts of it, for people
}

// A Part is a folder or a file of a plugin.
type Part struct {
	Path string
	Name string // of a command whose name is not that of its file; "" otherwise
}

// ID is the name under which settings know the plugin.
func (p *Plugin) ID() string { return ID(p.Name, p.Marketplace) }

// Env is what commands of the plugin find in their environment.
func (p *Plugin) Env() []string {
	env := []string{"CLAUDE_PLUGIN_ROOT=" + p.Root, "CLAUDE_PLUGIN_DATA=" + p.Data}
	for _, key := range sortedKeys(p.Options) {
		env = append(env, "CLAUDE_PLUGIN_OPTION_"+strings.ToUpper(key)+"="+p.Options[key])
	}
	return env
}

// Count says how much the plugin brings, for people: "2 commands, 1 agent".
func (p *Plugin) Count() string {
	var parts []string
	for _, c := range []struct {
		n    int
		name string
	}{
		{countFiles(p.Commands, ".md"), "command"}, {countFiles(p.Agents, ".md"), "agent"}, {countSkills(p.Skills), "skill"}, {countHooks(p.Hooks), "hook"},
		{len(p.Servers), "MCP server"}, {len(p.Languages), "language server"}, {countFiles(p.Styles, ".md"), "output style"},
	} {
		switch {
		case c.n == 1:
			parts = append(parts, "1 "+c.name)
		case c.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", c.n, c.name))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// ID joins the name of a plugin and that of its marketplace.
func ID(name, marketplace string) string {
	if marketplace == "" {
		return name
	}
	return name + "@" + marketplace
}

// SplitID is the opposite of ID.
func SplitID(id string) (name, marketplace string) {
	name, marketplace, _ = strings.Cut(id, "@")
	return name, marketplace
}

// checkName says what is wrong with the name of a plugin or a marketplace. Names become parts of paths and of commands.
func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the %s has no name", what)
	case len(name) > 100:
		return fmt.Errorf("the name of the %s has %d characters, and may have 100", what, len(name))
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._-", r)) || strings.Contains(name, "..") {
			return fmt.Errorf("%q cannot be the name of a %s: use letters, digits and hyphens", cut(name, 60), what)
		}
	}
	return nil
}

func cut(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
