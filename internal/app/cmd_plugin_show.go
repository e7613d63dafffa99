package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/agents"
	"gofer/internal/extend/mcp"
	"gofer/internal/extend/plugin"
	"gofer/internal/extend/plugin/outstyle"
	"gofer/internal/hook"
)

// list is gofer plugin list.
func (c *pluginCommand) list() error {
	if len(c.words) > 0 {
		return usage("list takes no words, but got %q", c.words[0])
	}
	c.e.world.Stderr = c.w.Stderr
	quiet := c.quietly()
	c.e.loadPlugins()
	quiet()
	list, err := c.e.pluginList()
	if err != nil {
		return err
	}
	if list == nil {
		list = []pluginInfo{}
	}
	var available []pluginInfo
	if c.o.Available {
		available = c.available(list)
	}
	if c.o.JSON {
		enc := json.NewEncoder(c.w.Stdout)
		enc.SetIndent("", "  ")
		if c.o.Available {
			return enc.Encode(map[string]any{"installed": list, "available": available})
		}
		return enc.Encode(list)
	}
	c.say("%s", describePlugins(list))
	for _, i := range available {
		c.say("%s %s: to be had\n  %s", i.ID, i.Version, oneLine(i.Description, 160))
	}
	return nil
}

// quietly keeps problems from being told twice: the list has them.
func (c *pluginCommand) quietly() (back func()) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	before := c.e.world.Stderr
	c.e.world.Stderr = null
	return func() {
		c.e.world.Stderr = before
		null.Close()
	}
}

// available are the plugins of all marketplaces that are not installed.
func (c *pluginCommand) available(installed []pluginInfo) []pluginInfo {
	list := []pluginInfo{}
	known, err := c.store.Known()
	if err != nil {
		return list
	}
	for name := range known {
		m, _, err := c.store.Marketplace(name)
		if err != nil {
			fmt.Fprintln(c.w.Stderr, err)
			continue
		}
		for _, e := range m.Entries() {
			id := plugin.ID(e.Name, name)
			if !slices.ContainsFunc(installed, func(i pluginInfo) bool { return i.ID == id && i.Scope != "none" }) {
				list = append(list, pluginInfo{ID: id, Name: e.Name, Marketplace: name, Version: e.Version, Description: e.Description})
			}
		}
	}
	slices.SortFunc(list, func(a, b pluginInfo) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func (c *pluginCommand) details(id string) error {
	id, err := c.known(id)
	if err != nil {
		return err
	}
	quiet := c.quietly()
	c.e.loadPlugins()
	quiet()
	list, err := c.e.pluginList()
	if err != nil {
		return err
	}
	for _, i := range list {
		if i.ID != id {
			continue
		}
		c.say("%s", describePlugins([]pluginInfo{i}))
		if i.Path == "" {
			continue
		}
		c.say("  lies in %s", i.Path)
		p, err := plugin.Load(i.Path, plugin.LoadOptions{Marketplace: i.Marketplace})
		if err != nil {
			continue
		}
		c.parts(p)
	}
	return nil
}

// parts names what a plugin brings.
func (c *pluginCommand) parts(p *plugin.Plugin) {
	for _, part := range []struct {
		what  string
		parts []plugin.Part
	}{{"commands", p.Commands}, {"agents", p.Agents}, {"skills", p.Skills}, {"output styles", p.Styles}} {
		for _, at := range part.parts {
			rel, _ := filepath.Rel(p.Root, at.Path)
			c.say("  %s: %s", part.what, rel)
		}
	}
	for _, raw := range p.Hooks {
		groups, _ := hook.Parse(raw, hook.Source{})
		for _, g := range groups {
			for _, h := range g.Hooks {
				c.say("  hook: %s %s %s", g.Event, g.Matcher, firstOf(h.Command, h.URL, h.Prompt, h.Tool))
			}
		}
	}
	for name, raw := range p.Servers {
		one := mcp.ParseMap(map[string]json.RawMessage{name: raw}, scopePlugin)[0]
		c.say("  MCP server: %s (%s)", name, commandHint(one))
	}
	for name := range p.Languages {
		c.say("  language server: %s", name)
	}
	for key, o := range p.Manifest.UserConfig {
		c.say("  option: %s, %s", key, firstOf(o.Description, o.Title, o.Type))
	}
}

// validatePlugins is gofer plugin validate.
func validatePlugins(w World, paths []string) error {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	wrong := false
	for _, path := range paths {
		r := plugin.Validate(path)
		all := r.Plugins
		if r.Plugin != nil {
			all = append(all, r.Plugin)
		}
		for _, p := range all {
			r.Errors = append(r.Errors, partErrors(p)...)
		}
		for _, text := range r.Warnings {
			fmt.Fprintf(w.Stdout, "%s: warning: %s\n", path, text)
		}
		for _, text := range r.Errors {
			fmt.Fprintf(w.Stdout, "%s: error: %s\n", path, text)
		}
		if len(r.Errors) > 0 {
			wrong = true
			continue
		}
		fmt.Fprintf(w.Stdout, "%s: the %s is in order\n", path, firstOf(r.What, "file"))
	}
	if wrong {
		return errResult
	}
	return nil
}

// partErrors looks into the parts of a plugin, as a session would read them.
func partErrors(p *plugin.Plugin) (wrong []string) {
	for _, raw := range p.Hooks {
		if _, err := hook.Parse(raw, hook.Source{}); err != nil {
			wrong = append(wrong, strings.Split(err.Error(), "\n")...)
		}
	}
	for _, s := range mcp.ParseMap(p.Servers, scopePlugin) {
		if s.Problem != "" {
			wrong = append(wrong, "the MCP server "+s.Name+": "+s.Problem)
		}
	}
	for _, part := range p.Agents {
		defs := agents.Load(agents.Source{Origin: agents.Plugin, Dir: part.Path, Prefix: p.Name})
		for _, problem := range defs.Problems() {
			if !problem.Warning {
				wrong = append(wrong, problem.String())
			}
		}
	}
	for _, part := range p.Styles {
		_, problems := outstyle.Load(outstyle.Source{Path: part.Path, Prefix: p.Name})
		for _, err := range problems {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong
}
