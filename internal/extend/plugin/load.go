package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// LoadOptions say what is known of a plugin besides its folder.
type LoadOptions struct {
	Marketplace string
	Entry       *Entry                     // what the marketplace says of it; nil: nothing
	Store       string                     // the folder of all plugins, below which its data are kept; "": it keeps none
	Values      map[string]json.RawMessage // what the user has set of its userConfig
	NoServers   bool                       // its MCP servers are left out
}

// Load reads the plugin in a folder. The error is for a folder that is no plugin; what is wrong with parts of one is in its
// Problems.
func Load(root string, o LoadOptions) (*Plugin, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("the folder of the plugin cannot be read: %w", err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	if !isDir(real) {
		return nil, fmt.Errorf("%s is not a folder", root)
	}
	m, found, err := readManifest(real)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Root: real, Marketplace: o.Marketplace}
	l := loader{Plugin: p, vars: map[string]string{}}
	manifests, err := l.manifests(m, found, o.Entry)
	if err != nil {
		return nil, err
	}
	if o.Store != "" {
		p.Data = dataDir(o.Store, p.ID())
	}
	l.options(o.Values)
	l.vars["CLAUDE_PLUGIN_ROOT"], l.vars["CLAUDE_PLUGIN_DATA"] = p.Root, p.Data
	l.parts(manifests)
	if o.NoServers {
		p.Servers = nil
	}
	if p.Data != "" && len(p.Hooks)+len(p.Servers)+len(p.Languages) > 0 {
		if err := os.MkdirAll(p.Data, 0o700); err != nil {
			l.problem("its folder for data cannot be made: %v", err)
		}
	}
	return p, nil
}

// A loader fills in a Plugin.
type loader struct {
	*Plugin
	vars map[string]string
}

func (l *loader) problem(format string, args ...any) {
	l.Problems = append(l.Problems, fmt.Sprintf(format, args...))
}

// manifests decides what counts of what the plugin and its marketplace say: the plugin's own word, and what the entry adds to it, or
// with strict false the entry alone.
func (l *loader) manifests(own Manifest, found bool, e *Entry) ([]Manifest, error) {
	l.Manifest = own
	switch {
	case e == nil && !found:
		l.Manifest = Manifest{Name: filepath.Base(l.Root)}
		if err := checkName("plugin", l.Manifest.Name); err != nil {
			return nil, fmt.Errorf("there is no %s, and %w", manifestFile, err)
		}
		if !l.hasParts() {
			return nil, fmt.Errorf("%s is no plugin: it has neither %s nor one of the folders commands, agents, skills and hooks", l.Root, manifestFile)
		}
	case e == nil:
	case !e.strict() && found && own.declares():
		return nil, errors.New(`the marketplace says "strict": false, so that its entry names the parts of the plugin, but plugin.json names some too`)
	case !found || !e.strict():
		l.Manifest = e.Manifest
	case own.Name != e.Name:
		return nil, fmt.Errorf("it calls itself %q, but the marketplace lists it as %q", own.Name, e.Name)
	}
	l.Name, l.Version = l.Manifest.Name, l.Manifest.Version
	list := []Manifest{l.Manifest}
	if e != nil {
		if l.Version == "" {
			l.Version = e.Version
		}
		if found && e.strict() {
			list = append(list, e.Manifest)
		}
		if l.Manifest.Dependencies == nil {
			l.Manifest.Dependencies = e.Dependencies
		}
	}
	return list, nil
}

// hasParts reports whether the folder looks like a plugin without a manifest.
func (l *loader) hasParts() bool {
	for _, name := range []string{"commands", "agents", "skills", "hooks/hooks.json", ".mcp.json", ".lsp.json", "output-styles", "bin"} {
		if _, err := inside(l.Root, name); err == nil {
			return true
		}
	}
	return false
}

// options takes over the values of the user, and the defaults.
func (l *loader) options(values map[string]json.RawMessage) {
	for _, key := range sortedKeys(l.Manifest.UserConfig) {
		if !plainKey(key) {
			l.problem("userConfig: %q cannot be the name of an option: use letters, digits and _", cut(key, 60))
			continue
		}
		option := l.Manifest.UserConfig[key]
		value, set := values[key]
		if !set {
			value = option.Default
		}
		if !present(value) {
			if option.Required {
				l.problem("it needs the option %q: set it as pluginConfigs[%q].options.%s in the settings", key, l.ID(), key)
			}
			continue
		}
		if l.Options == nil {
			l.Options = map[string]string{}
		}
		l.Options[key] = plainText(value)
		l.vars["user_config."+key] = l.Options[key]
	}
}

func plainKey(key string) bool {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return key != ""
}

// plainText is a JSON value as it stands in an environment: a text without quotes, anything else as it is.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
