package plugin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Report is what is wrong with a plugin or a marketplace.
type Report struct {
	What     string    // "plugin x" or "marketplace x"
	Plugin   *Plugin   // nil for a marketplace
	Plugins  []*Plugin // of a marketplace: those that lie in its folder
	Errors   []string
	Warnings []string
}

// Validate looks at a plugin or a marketplace: a folder, or its .json file. Nothing of it runs.
func Validate(path string) Report {
	var r Report
	info, err := os.Stat(path)
	if err != nil {
		r.Errors = append(r.Errors, err.Error())
		return r
	}
	root := path
	if !info.IsDir() {
		root = filepath.Dir(path)
		if filepath.Base(root) == ".claude-plugin" {
			root = filepath.Dir(root)
		}
	}
	_, noCatalog := os.Stat(filepath.Join(root, filepath.FromSlash(catalogFile)))
	_, noManifest := os.Stat(filepath.Join(root, filepath.FromSlash(manifestFile)))
	switch {
	case !info.IsDir() && filepath.Base(path) == "plugin.json":
		r.plugin(root)
	case !info.IsDir():
		r.marketplace(path)
	case noCatalog == nil:
		r.marketplace(root)
		if noManifest == nil {
			r.plugin(root)
		}
	default:
		r.plugin(root)
	}
	return r
}

func (r *Report) plugin(root string) {
	r.What = "plugin " + filepath.Base(root)
	p, err := Load(root, LoadOptions{})
	if err != nil {
		r.Errors = append(r.Errors, err.Error())
		return
	}
	r.What, r.Plugin = "plugin "+p.Name, p
	r.Errors = append(r.Errors, p.Problems...)
	r.manifest(manifestFile, p.Manifest)
	if data, err := readBounded(filepath.Join(p.Root, filepath.FromSlash(manifestFile)), mostManifest); err == nil {
		r.unknown(manifestFile, data, manifestFields)
	} else if os.IsNotExist(err) {
		r.Warnings = append(r.Warnings, "there is no "+manifestFile+": the plugin is known by the name of its folder")
	}
	for _, name := range []string{"commands", "agents", "skills", "hooks"} {
		if isDir(filepath.Join(p.Root, ".claude-plugin", name)) {
			r.Errors = append(r.Errors, fmt.Sprintf(".claude-plugin/%s is not read: the folder %s belongs beside .claude-plugin", name, name))
		}
	}
}

const manifestFields = " $schema name version description author homepage repository license keywords commands agents skills outputStyles hooks mcpServers lspServers dependencies userConfig "

// manifest notes what a manifest should say.
func (r *Report) manifest(where string, m Manifest) {
	if m.Version != "" {
		if _, err := parseVersion(m.Version); err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: the version %q: %v", where, m.Version, err))
		}
	}
	if m.Description == "" {
		r.Warnings = append(r.Warnings, where+": there is no description, so nobody knows what the plugin is for")
	}
	for _, d := range m.Dependencies {
		if err := checkName("plugin", d.Name); err != nil {
			r.Errors = append(r.Errors, where+": dependencies: "+err.Error())
		}
	}
}

// unknown notes fields that count for nothing.
func (r *Report) unknown(where string, data []byte, known string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return
	}
	for _, key := range sortedKeys(object) {
		if !strings.Contains(known, " "+key+" ") {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: the field %q is not known and counts for nothing", where, cut(key, 60)))
		}
	}
}

func (r *Report) marketplace(place string) {
	r.What = "marketplace " + filepath.Base(place)
	m, err := readMarketplace(place, "")
	if err != nil {
		r.Errors = append(r.Errors, err.Error())
		return
	}
	r.What = "marketplace " + m.Name
	if m.Owner.Name == "" {
		r.Warnings = append(r.Warnings, "it does not say who its owner is")
	}
	if len(m.entries) == 0 {
		r.Warnings = append(r.Warnings, "it lists no plugins")
	}
	var names []string
	for i, raw := range m.entries {
		e, err := parseEntry(raw)
		if err != nil {
			r.Errors = append(r.Errors, fmt.Sprintf("plugins[%d]: %v", i, err))
			continue
		}
		where := "plugin " + e.Name
		if slices.Contains(names, e.Name) {
			r.Errors = append(r.Errors, where+" is listed twice")
		}
		names = append(names, e.Name)
		r.unknown(where, raw, manifestFields+"source category tags strict relevance ")
		if err := e.Source.check(); err != nil {
			r.Errors = append(r.Errors, where+": "+err.Error())
			continue
		}
		if e.Source.Kind == "path" {
			r.listed(m, e)
		}
	}
}

// listed looks at a plugin that lies in the folder of its marketplace.
func (r *Report) listed(m *Marketplace, e *Entry) {
	where := "plugin " + e.Name + ": "
	root, err := m.folder(e.Source)
	if err == nil {
		var p *Plugin
		if p, err = Load(root, LoadOptions{Marketplace: m.Name, Entry: e}); err == nil {
			r.Plugins = append(r.Plugins, p)
			for _, text := range p.Problems {
				r.Errors = append(r.Errors, where+text)
			}
		}
	}
	if err != nil {
		r.Errors = append(r.Errors, where+err.Error())
	}
}
