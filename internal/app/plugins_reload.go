package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gofer/internal/config"
	"gofer/internal/extend/mcp"
	"gofer/internal/extend/plugin"
	"gofer/internal/guard/trust"
	"gofer/internal/llm"
)

// pluginSurfaces are the plugins that lie in a folder which the project names: code of the project, for which it must be trusted. A change of
// any of their files is a change of the surface.
func (e *engine) pluginSurfaces(snap *config.Snapshot) []trust.Surface {
	if e.flags.Bare || e.flags.SafeMode {
		return nil
	}
	markets, enabled := e.projectMarketplaces(snap)
	if len(markets) == 0 || len(enabled) == 0 {
		return nil
	}
	store := pluginStore(e.place, snap)
	known, _ := store.Known()
	var content bytes.Buffer
	for _, id := range enabled {
		name, market := plugin.SplitID(id)
		src, ok := markets[market]
		if _, added := known[market]; !ok || added {
			continue
		}
		fmt.Fprintf(&content, "%s %s\n", id, describeInPlace(src, name, market))
	}
	if content.Len() == 0 {
		return nil
	}
	return []trust.Surface{{Name: "files of plugins", Content: content.Bytes()}}
}

// describeInPlace changes when the plugin does.
func describeInPlace(src plugin.Source, name, market string) string {
	root, entry, err := plugin.InPlace(src, name, market)
	if err != nil {
		return err.Error()
	}
	p, err := plugin.Load(root, plugin.LoadOptions{Marketplace: market, Entry: entry})
	if err != nil {
		return err.Error()
	}
	print, err := p.Fingerprint()
	if err != nil {
		return err.Error()
	}
	said, _ := json.Marshal(entry)
	return string(print) + " " + string(said)
}

// projectMarketplaces reads which folders the project's own settings name as marketplaces, trusted or not, and which plugins any settings
// enable.
func (e *engine) projectMarketplaces(snap *config.Snapshot) (markets map[string]plugin.Source, enabled []string) {
	markets = map[string]plugin.Source{}
	for _, s := range snap.Sources() {
		var said struct {
			Enabled map[string]json.RawMessage `json:"enabledPlugins"`
			Extra   map[string]struct {
				Source json.RawMessage `json:"source"`
			} `json:"extraKnownMarketplaces"`
		}
		if json.Unmarshal(s.JSON, &said) != nil {
			continue
		}
		for id, on := range said.Enabled {
			if string(on) != "false" && !slices.Contains(enabled, id) {
				enabled = append(enabled, id)
			}
		}
		if s.Layer != config.Project && s.Layer != config.Local {
			continue
		}
		for name, m := range said.Extra {
			if src, err := marketplaceSource(e.place, m.Source); err == nil && (src.Kind == "directory" || src.Kind == "file") {
				markets[name] = src
			}
		}
	}
	slices.Sort(enabled)
	return markets, enabled
}

// stillTrusted says whether the folder is what its user has accepted, as far as plugins go.
func (e *engine) stillTrusted(snap *config.Snapshot) bool {
	var surfaces []trust.Surface
	for _, s := range snap.Surfaces() {
		if s.Name == "plugins" {
			surfaces = append(surfaces, trust.Surface(s))
		}
	}
	surfaces = append(surfaces, e.pluginSurfaces(snap)...)
	if len(surfaces) == 0 {
		return true
	}
	state, err := e.trustKeeper().Check(e.place.configRoot(), surfaces)
	return err == nil && state.Verdict == trust.Trusted
}

// reloadPlugins reads settings and plugins anew, and lets what they bring count from now on. What the project has changed since it was
// accepted does not count before it is accepted again.
func (e *engine) reloadPlugins(context.Context) error {
	if _, err := e.settings.Reload(); err != nil {
		return err
	}
	if e.trusted && !e.stillTrusted(e.settings.Current()) {
		return fmt.Errorf("the plugins of this folder have changed since it was trusted; start gofer in it from a terminal and accept it. Nothing was changed")
	}
	e.loadPlugins()
	e.applyPlugins()
	return nil
}

// applyPlugins lets the parts of the session take over what plugins bring now.
func (e *engine) applyPlugins() {
	if e.hooks != nil {
		e.hooks.Replace(append(hookGroups(e.settings.Current().Settings.Hooks), e.pluginHooks()...))
	}
	e.agents.mu.Lock()
	e.agents.defs = nil
	e.agents.mu.Unlock()
	if e.skillsOn() {
		e.skillCatalog().Replace(e.skillPlaces()...)
	}
	if e.servers.hub != nil && !e.flags.StrictMCP {
		e.replacePluginServers()
	}
}

// replacePluginServers adds the servers that plugins bring now and removes those that they no longer do. Others are not touched, and those that
// stay as they are go on running.
func (e *engine) replacePluginServers() {
	<-e.servers.loaded
	gone := map[string]bool{}
	for _, st := range e.servers.hub.Status() {
		if st.Scope == scopePlugin {
			gone[st.Name] = true
		}
	}
	_, off := e.configuredServers()
	for _, c := range e.pluginServers() {
		c = c.Expand(e.lookupEnv)
		c.Off = off[c.Name]
		if reason := e.serverForbidden(c); reason != "" && c.Problem == "" {
			c.Problem = reason
		}
		delete(gone, c.Name)
		e.servers.hub.Add(c)
	}
	for name := range gone {
		go e.servers.hub.Remove(name)
	}
}

// reloadPluginsRequest answers a client's reload_plugins.
func (e *engine) reloadPluginsRequest(ctx context.Context, _ struct{}) (any, error) {
	if err := e.reloadPlugins(ctx); err != nil {
		return nil, err
	}
	servers := []mcp.Status{}
	if e.servers.hub != nil {
		servers = append(servers, e.servers.hub.Status()...)
	}
	return map[string]any{"commands": e.commandList(), "agents": e.agentList(), "plugins": e.initPlugins(), "mcpServers": servers, "error_count": len(e.pluginFaults())}, nil
}

// pluginFaults is what is wrong with the plugins that are enabled.
func (e *engine) pluginFaults() []plugin.Fault {
	e.plugins.mu.Lock()
	defer e.plugins.mu.Unlock()
	return slices.Clone(e.plugins.faults)
}

// A pluginInfo is a plugin as people see it in a list.
type pluginInfo struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Marketplace string   `json:"marketplace,omitempty"`
	Version     string   `json:"version,omitempty"`
	Description string   `json:"description,omitempty"`
	Scope       string   `json:"scope"` // where it is installed: user, project, local, or session
	Project     string   `json:"projectPath,omitempty"`
	Path        string   `json:"installPath,omitempty"`
	Brings      string   `json:"brings,omitempty"`
	Enabled     bool     `json:"enabled"`
	EnabledBy   string   `json:"enabledBy,omitempty"` // the settings that say so
	Problems    []string `json:"problems,omitempty"`
}

// pluginList is all plugins that are installed, enabled or given, in the order of their ids.
func (e *engine) pluginList() ([]pluginInfo, error) {
	snap := e.settings.Current()
	store := pluginStore(e.place, snap)
	installed, err := store.Installed()
	if err != nil {
		return nil, err
	}
	loaded := map[string]loadedPlugin{}
	for _, p := range e.allPlugins() {
		loaded[p.ID()] = p
	}
	problems := map[string][]string{}
	for _, f := range e.pluginFaults() {
		problems[f.ID] = append(problems[f.ID], f.Text)
	}
	var list []pluginInfo
	describe := func(i pluginInfo) {
		i.Name, i.Marketplace = plugin.SplitID(i.ID)
		i.Enabled, i.Problems = snap.Settings.EnabledPlugins[i.ID].On, problems[i.ID]
		if v, ok := snap.Value(enabledKey(i.ID)); ok && v.Set {
			i.EnabledBy = v.Origin.Layer.String()
		}
		p, ok := loaded[i.ID]
		if ok && i.Path == "" {
			i.Path = p.Root
		}
		if !ok { // it does not count now, but people want to know what it is
			if read, err := plugin.Load(i.Path, plugin.LoadOptions{Marketplace: i.Marketplace}); err == nil {
				p, ok = loadedPlugin{Plugin: read}, true
			}
		}
		if ok {
			i.Description, i.Brings = p.Manifest.Description, p.Count()
			if i.Version == "" {
				i.Version = p.Version
			}
		}
		list = append(list, i)
	}
	for id, places := range installed {
		for _, at := range places {
			describe(pluginInfo{ID: id, Scope: at.Scope, Project: at.ProjectPath, Path: at.InstallPath, Version: at.Version})
		}
	}
	for id, p := range loaded {
		if len(installed[id]) == 0 {
			describe(pluginInfo{ID: id, Scope: "session"})
			if i := &list[len(list)-1]; p.layer == config.Flag {
				i.Enabled = true
			} else {
				i.Scope = p.layer.String()
			}
		}
	}
	for id, on := range snap.Settings.EnabledPlugins {
		if _, there := loaded[id]; on.On && !there && len(installed[id]) == 0 {
			describe(pluginInfo{ID: id, Scope: "none"})
		}
	}
	slices.SortFunc(list, func(a, b pluginInfo) int { return strings.Compare(a.ID+"\x00"+a.Scope, b.ID+"\x00"+b.Scope) })
	return list, nil
}

// pluginCommands are the slash commands about plugins.
func (e *engine) pluginCommands() []slashCommand {
	return []slashCommand{
		{"plugin", "show the plugins and what they bring", "", func(context.Context, string) (string, []llm.Block, error) {
			list, err := e.pluginList()
			if err != nil {
				return "", nil, err
			}
			return describePlugins(list), nil, nil
		}},
		{"reload-plugins", "read the plugins anew", "", func(ctx context.Context, _ string) (string, []llm.Block, error) {
			if err := e.reloadPlugins(ctx); err != nil {
				return "", nil, err
			}
			return fmt.Sprintf("%d plugins count now; %d problems.", len(e.allPlugins()), len(e.pluginFaults())), nil, nil
		}},
	}
}

// describePlugins is the list for people.
func describePlugins(list []pluginInfo) string {
	if len(list) == 0 {
		return "There are no plugins. gofer plugin marketplace add and gofer plugin install get some."
	}
	var b strings.Builder
	for _, i := range list {
		state := "disabled"
		if i.Enabled {
			state = "enabled"
		}
		where := i.Scope
		if i.Project != "" {
			where += " " + i.Project
		}
		fmt.Fprintf(&b, "%s %s (%s): %s\n", i.ID, i.Version, where, state)
		if i.Description != "" {
			fmt.Fprintf(&b, "  %s\n", oneLine(i.Description, 160))
		}
		if i.Brings != "" {
			fmt.Fprintf(&b, "  brings %s\n", i.Brings)
		}
		for _, text := range i.Problems {
			fmt.Fprintf(&b, "  problem: %s\n", text)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
