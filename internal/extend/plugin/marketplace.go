package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Marketplace is a list of plugins and where each is to be had.
type Marketplace struct {
	Name     string
	About    string
	Owner    Person
	Root     string // the folder that relative sources begin in; "" when it has none
	Base     string // metadata.pluginRoot
	AllowsOn []string
	entries  []json.RawMessage
}

// An Entry is one plugin of a marketplace.
type Entry struct {
	Manifest
	Source   Source   `json:"source"`
	Category string   `json:"category,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Strict   *bool    `json:"strict,omitempty"`
}

func (e *Entry) strict() bool { return e.Strict == nil || *e.Strict }

// mostPlugins bounds how many plugins a marketplace may list.
const mostPlugins = 20_000

// parseMarketplace reads a marketplace.json. Entries are read when they are asked for: there may be thousands.
func parseMarketplace(data []byte, root string) (*Marketplace, error) {
	var file struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Owner       Person `json:"owner"`
		Metadata    struct {
			Description string `json:"description"`
			PluginRoot  string `json:"pluginRoot"`
		} `json:"metadata"`
		Plugins []json.RawMessage `json:"plugins"`
		Allows  []string          `json:"allowCrossMarketplaceDependenciesOn"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &file); err != nil {
		return nil, jsonError(data, err)
	}
	if err := checkName("marketplace", file.Name); err != nil {
		return nil, err
	}
	if len(file.Plugins) > mostPlugins {
		return nil, fmt.Errorf("it lists %d plugins, and may list %d", len(file.Plugins), mostPlugins)
	}
	m := &Marketplace{Name: file.Name, About: file.Description, Owner: file.Owner, Root: root, Base: file.Metadata.PluginRoot, AllowsOn: file.Allows, entries: file.Plugins}
	if m.About == "" {
		m.About = file.Metadata.Description
	}
	return m, nil
}

// readMarketplace reads the marketplace at a place: a folder, or a file. name is the file in the folder; "" is the usual one.
func readMarketplace(place, name string) (*Marketplace, error) {
	file, root := place, filepath.Dir(place)
	if filepath.Base(root) == ".claude-plugin" {
		root = filepath.Dir(root)
	}
	if isDir(place) {
		real, err := filepath.EvalSymlinks(place)
		if err != nil {
			return nil, err
		}
		if name == "" {
			name = catalogFile
		}
		root = real
		if file, err = inside(real, name); err != nil {
			return nil, fmt.Errorf("%s is no marketplace: %w", place, err)
		}
	}
	data, err := readBounded(file, mostCatalog)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", file, err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	m, err := parseMarketplace(data, root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// Find returns the entry of a plugin.
func (m *Marketplace) Find(name string) (*Entry, error) {
	quoted, _ := json.Marshal(name)
	for _, raw := range m.entries {
		if !bytes.Contains(raw, quoted) {
			continue
		}
		var head struct{ Name string }
		if json.Unmarshal(raw, &head) != nil || head.Name != name {
			continue
		}
		e, err := parseEntry(raw)
		if err != nil {
			return nil, fmt.Errorf("the marketplace %s lists %s in a way that cannot be read: %w", m.Name, name, err)
		}
		return e, nil
	}
	return nil, fmt.Errorf("there is no plugin %q in the marketplace %s%s", cut(name, 60), m.Name, m.nearest(name))
}

func parseEntry(raw json.RawMessage) (*Entry, error) {
	var e Entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, jsonError(raw, err)
	}
	return &e, checkName("plugin", e.Name)
}

// nearest names a plugin that was perhaps meant.
func (m *Marketplace) nearest(name string) string {
	name = strings.ToLower(name)
	for _, e := range m.Entries() {
		if have := strings.ToLower(e.Name); have == name || strings.Contains(have, name) || strings.Contains(name, have) {
			return "; did you mean " + e.Name + "?"
		}
	}
	return ""
}

// Entries returns all entries that can be read, in their order.
func (m *Marketplace) Entries() []Entry {
	var list []Entry
	for _, raw := range m.entries {
		if e, err := parseEntry(raw); err == nil {
			list = append(list, *e)
		}
	}
	return list
}

// folder is where a plugin with a relative source lies.
func (m *Marketplace) folder(s Source) (string, error) {
	if m.Root == "" {
		return "", fmt.Errorf("the marketplace %s was fetched as a single file, so that it has no folders: its entry must name a repository", m.Name)
	}
	path := filepath.FromSlash(s.Path)
	if m.Base != "" && !strings.HasPrefix(path, ".") {
		path = filepath.Join(filepath.FromSlash(m.Base), path)
	}
	dir, err := inside(m.Root, path)
	if err != nil {
		return "", err
	}
	if !isDir(dir) {
		return "", fmt.Errorf("%s is not a folder", s.Path)
	}
	return dir, nil
}

// allows reports whether plugins of the marketplace may bring along plugins of another.
func (m *Marketplace) allows(other string) bool {
	return other == m.Name || slices.Contains(m.AllowsOn, other)
}
