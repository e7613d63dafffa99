package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gofer/internal/agents"
	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/extend/mcp"
	"gofer/internal/extend/plugin"
	"gofer/internal/extend/plugin/outstyle"
	"gofer/internal/extend/skill"
	"gofer/internal/hook"
)

// plugins are the plugins of a session.
type plugins struct {
	mu     sync.Mutex
	loaded []loadedPlugin
	faults []plugin.Fault
	given  []givenPlugin // those of the command line and of the program that drives gofer
}

// A loadedPlugin is one that counts, and who has enabled it.
type loadedPlugin struct {
	*plugin.Plugin
	layer config.Layer
}

// A givenPlugin is a folder that was named for this run only.
type givenPlugin struct {
	dir       string
	noServers bool
	fault     string // why it is not there
}

// pluginStore is the folder of the installed plugins.
func pluginStore(p place, snap *config.Snapshot) *plugin.Store {
	set := snap.Settings
	s := &plugin.Store{Dir: filepath.Join(p.config, "plugins"), Policy: plugin.Policy{Only: set.StrictMarketplaces, Blocked: set.BlockedMarketplaces}}
	if v, _ := snap.Value("strictKnownMarketplaces"); v.Set && s.Policy.Only == nil {
		s.Policy.Only = []json.RawMessage{} // an empty list allows none
	}
	for name, m := range set.ExtraMarketplaces {
		if src, err := marketplaceSource(p, m.Source); err == nil {
			if s.Extra == nil {
				s.Extra = map[string]plugin.Source{}
			}
			s.Extra[name] = src
		}
	}
	return s
}

// marketplaceSource reads where a marketplace of the settings is. Paths are relative to the project.
func marketplaceSource(p place, raw json.RawMessage) (plugin.Source, error) {
	var src plugin.Source
	if err := json.Unmarshal(raw, &src); err != nil {
		return src, err
	}
	if src.Kind == "directory" || src.Kind == "file" {
		src.Path = expandHome(src.Path, p.home)
		if !filepath.IsAbs(src.Path) {
			src.Path = filepath.Join(p.configRoot(), src.Path)
		}
	}
	return src, nil
}

// openPlugins loads what is enabled. Where nothing is, nothing is read.
func (e *engine) openPlugins() {
	for _, dir := range e.flags.PluginDirs {
		e.plugins.given = append(e.plugins.given, e.givenPlugin(dir, false))
	}
	for _, dir := range e.flags.PluginDirsNoMCP {
		e.plugins.given = append(e.plugins.given, e.givenPlugin(dir, true))
	}
	for _, address := range e.flags.PluginURLs {
		e.plugins.given = append(e.plugins.given, e.fetchedPlugin(address))
	}
	e.loadPlugins()
}

func (e *engine) givenPlugin(dir string, noServers bool) givenPlugin {
	dir = expandHome(dir, e.place.home)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.place.cwd, dir)
	}
	if strings.HasSuffix(dir, ".zip") {
		g := e.fetchedPlugin(dir)
		g.noServers = noServers
		return g
	}
	return givenPlugin{dir: dir, noServers: noServers}
}

// fetchedPlugin unpacks an archive for this run.
func (e *engine) fetchedPlugin(where string) givenPlugin {
	dir, err := os.MkdirTemp("", "gofer-plugin-*")
	if err != nil {
		return givenPlugin{dir: where, fault: err.Error()}
	}
	e.closers = append(e.closers, func() { os.RemoveAll(dir) })
	root, err := plugin.FetchArchive(e.ctx, where, dir)
	if err != nil {
		return givenPlugin{dir: where, fault: err.Error()}
	}
	return givenPlugin{dir: root}
}

// loadPlugins reads the enabled plugins anew, and says what is wrong with them.
func (e *engine) loadPlugins() {
	ps := &e.plugins
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.loaded, ps.faults = nil, nil
	snap := e.settings.Current()
	store := pluginStore(e.place, snap)
	for _, g := range ps.given {
		p, err := e.loadGiven(store, g, snap)
		switch {
		case err != nil:
			ps.fault(g.dir, err.Error())
		case ps.find(p.Name) != nil:
			ps.fault(g.dir, fmt.Sprintf("another plugin is called %s too, and comes first", p.Name))
		default:
			ps.loaded = append(ps.loaded, loadedPlugin{p, config.Flag})
			for _, text := range p.Problems {
				ps.fault(p.Name, text)
			}
		}
	}
	wanted, faults := e.wantedPlugins(store, snap)
	ps.faults = append(ps.faults, faults...)
	list, faults := store.Load(wanted, e.place.cwd)
	ps.faults = append(ps.faults, faults...)
	for _, p := range list {
		ps.add(loadedPlugin{p, pluginLayer(snap, p.ID())})
	}
	for _, p := range ps.loaded {
		for _, raw := range p.Hooks {
			if _, err := hook.Parse(raw, hook.Source{}); err != nil {
				ps.fault(p.ID(), strings.ReplaceAll(err.Error(), "\n", "; "))
			}
		}
	}
	for _, f := range ps.faults {
		fmt.Fprintln(e.world.Stderr, f)
	}
}

func (ps *plugins) fault(id, text string) {
	ps.faults = append(ps.faults, plugin.Fault{ID: id, Text: text})
}

func (ps *plugins) find(name string) *loadedPlugin {
	i := slices.IndexFunc(ps.loaded, func(p loadedPlugin) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &ps.loaded[i]
}

// add takes over an installed plugin. One of this run with the same name takes its place, unless an administrator wants the installed one.
func (ps *plugins) add(p loadedPlugin) {
	have := ps.find(p.Name)
	switch {
	case have == nil:
		ps.loaded = append(ps.loaded, p)
	case have.layer == config.Flag && p.layer == config.Managed:
		ps.fault(have.Name, "the managed settings enable "+p.ID()+", so that this one does not count")
		*have = p
	case have.layer == config.Flag:
	default:
		ps.fault(p.ID(), fmt.Sprintf("it does not count, because %s has the same name", have.ID()))
	}
}

func (e *engine) loadGiven(store *plugin.Store, g givenPlugin, snap *config.Snapshot) (*plugin.Plugin, error) {
	if g.fault != "" {
		return nil, fmt.Errorf("it cannot be had: %s", g.fault)
	}
	o := plugin.LoadOptions{Store: store.Dir, NoServers: g.noServers}
	p, err := plugin.Load(g.dir, o)
	if err != nil || len(p.Manifest.UserConfig) == 0 {
		return p, err
	}
	for _, id := range []string{p.Name + "@inline", p.Name} {
		if values := pluginValues(snap, id); values != nil {
			o.Values = values
			return plugin.Load(g.dir, o)
		}
	}
	return p, nil
}

// wantedPlugins are those that the settings enable. A plugin of a marketplace that is a folder named in the settings is used where it lies.
func (e *engine) wantedPlugins(store *plugin.Store, snap *config.Snapshot) (wanted []plugin.Wanted, faults []plugin.Fault) {
	if e.flags.Bare || e.flags.SafeMode || len(snap.Settings.EnabledPlugins) == 0 {
		return nil, nil
	}
	known, _ := store.Known() // what is wrong with the file is told for each plugin
	installed, _ := store.Installed()
	for id, on := range snap.Settings.EnabledPlugins {
		if !on.On {
			continue
		}
		w := plugin.Wanted{ID: id, Versions: on.Versions, Values: pluginValues(snap, id)}
		name, market := plugin.SplitID(id)
		src, extra := store.Extra[market]
		if _, added := known[market]; extra && !added && len(installed[id]) == 0 && (src.Kind == "directory" || src.Kind == "file") {
			err := store.Policy.Forbids(src)
			if err == nil {
				w.Root, w.Entry, err = plugin.InPlace(src, name, market)
			}
			if err != nil {
				faults = append(faults, plugin.Fault{ID: id, Text: err.Error()})
				continue
			}
		}
		wanted = append(wanted, w)
	}
	return wanted, faults
}

// pluginLayer is the layer that enables a plugin.
func pluginLayer(snap *config.Snapshot, id string) config.Layer {
	v, _ := snap.Value(enabledKey(id))
	return v.Origin.Layer
}

// enabledKey is the key of a plugin in the settings.
func enabledKey(id string) string { return `enabledPlugins."` + id + `"` }

// pluginValues are the options that the user has set for a plugin.
func pluginValues(snap *config.Snapshot, id string) map[string]json.RawMessage {
	var c struct {
		Options map[string]json.RawMessage `json:"options"`
	}
	if raw := snap.Settings.PluginConfigs[id]; raw != nil && json.Unmarshal(raw, &c) == nil {
		return c.Options
	}
	return nil
}

// allPlugins are the plugins that count now.
func (e *engine) allPlugins() []loadedPlugin {
	e.plugins.mu.Lock()
	defer e.plugins.mu.Unlock()
	return e.plugins.loaded
}

// pluginHooks are the hooks of plugins. What is wrong with them was told when they were loaded.
func (e *engine) pluginHooks() []hook.Group {
	var groups []hook.Group
	for _, p := range e.allPlugins() {
		src := hook.Source{Name: "plugin " + p.ID(), Managed: p.layer == config.Managed, Env: p.Env()}
		for _, raw := range p.Hooks {
			some, _ := hook.Parse(raw, src)
			groups = append(groups, some...)
		}
	}
	return groups
}

// shellPrelude is what stands before every shell command: what hooks left, and the programs of plugins behind all others, so that none of
// them takes the place of one that the user knows.
func (e *engine) shellPrelude() string {
	text := e.hooks.EnvFile()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, p := range e.allPlugins() {
		if p.Bin != "" {
			text += `PATH="$PATH":'` + strings.ReplaceAll(p.Bin, "'", `'\''`) + "'\n"
		}
	}
	return text
}

const scopePlugin = "plugin"

// pluginServers are the MCP servers of plugins.
func (e *engine) pluginServers() []mcp.Config {
	var list []mcp.Config
	for _, p := range e.allPlugins() {
		named := map[string]json.RawMessage{}
		for name, raw := range p.Servers {
			named["plugin:"+p.Name+":"+name] = raw
		}
		for _, c := range mcp.ParseMap(named, scopePlugin) {
			if c.Kind() == "stdio" && c.Problem == "" {
				env := map[string]string{}
				for _, pair := range p.Env() {
					name, value, _ := strings.Cut(pair, "=")
					env[name] = value
				}
				for name, value := range c.Env {
					env[name] = value
				}
				c.Env = env
			}
			list = append(list, c)
		}
	}
	return list
}

// pluginAgents are the places where plugins have agents.
func (e *engine) pluginAgents() []agents.Source {
	var list []agents.Source
	for _, p := range e.allPlugins() {
		for _, part := range p.Agents {
			list = append(list, agents.Source{Origin: agents.Plugin, Dir: part.Path, Prefix: p.Name, Expand: p.Expand})
		}
	}
	return list
}

// pluginSkills are the places where plugins have skills and commands.
func (e *engine) pluginSkills() []skill.Place {
	var list []skill.Place
	for _, p := range e.allPlugins() {
		at := skill.Place{Origin: skill.Plugin, Prefix: p.Name, Within: p.Root, Vars: map[string]string{"CLAUDE_PLUGIN_ROOT": p.Root, "CLAUDE_PLUGIN_DATA": p.Data}}
		for key, value := range p.Options {
			if !p.Manifest.UserConfig[key].Sensitive {
				at.Vars["user_config."+key] = value
			}
		}
		for _, part := range p.Skills {
			at.Dir, at.Commands = part.Path, false
			list = append(list, at)
		}
		for _, part := range p.Commands {
			at.Dir, at.Commands, at.Name = part.Path, true, part.Name
			list = append(list, at)
		}
	}
	return list
}

// pluginLanguages are the language servers of plugins, by name, as the settings would have them.
func (e *engine) pluginLanguages() map[string]config.LSPServer {
	all := map[string]config.LSPServer{}
	for _, p := range e.allPlugins() {
		for name, raw := range p.Languages {
			var s config.LSPServer
			if err := json.Unmarshal(raw, &s); err != nil || s.Command == "" {
				fmt.Fprintf(e.world.Stderr, "plugin %s: the language server %s cannot be used: it needs a command\n", p.ID(), name)
				continue
			}
			all["plugin:"+p.Name+":"+name] = s
		}
	}
	return all
}

// pluginStyles are the places where plugins have output styles.
func (e *engine) pluginStyles() []outstyle.Source {
	var list []outstyle.Source
	for _, p := range e.allPlugins() {
		for _, part := range p.Styles {
			list = append(list, outstyle.Source{Path: part.Path, Prefix: p.Name})
		}
	}
	return list
}

// initPlugins are the plugins in the first line of a turn.
func (e *engine) initPlugins() []event.Plugin {
	list := []event.Plugin{}
	for _, p := range e.allPlugins() {
		list = append(list, event.Plugin{Name: p.Name, Path: p.Root})
	}
	return list
}
