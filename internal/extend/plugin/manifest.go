package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// A Manifest is what a plugin says of itself in .claude-plugin/plugin.json, or what its entry in a marketplace says of it.
type Manifest struct {
	Name        string   `json:"name"`
	Version     string   `json:"version,omitempty"`
	Description string   `json:"description,omitempty"`
	Author      Person   `json:"author,omitzero"`
	Homepage    string   `json:"homepage,omitempty"`
	Repository  loose    `json:"repository,omitempty"`
	License     string   `json:"license,omitempty"`
	Keywords    []string `json:"keywords,omitempty"`

	Commands     json.RawMessage `json:"commands,omitempty"`
	Agents       json.RawMessage `json:"agents,omitempty"`
	Skills       json.RawMessage `json:"skills,omitempty"`
	OutputStyles json.RawMessage `json:"outputStyles,omitempty"`
	Hooks        json.RawMessage `json:"hooks,omitempty"`
	MCPServers   json.RawMessage `json:"mcpServers,omitempty"`
	LSPServers   json.RawMessage `json:"lspServers,omitempty"`

	Dependencies []Dependency      `json:"dependencies,omitempty"`
	UserConfig   map[string]Option `json:"userConfig,omitempty"`
}

// A Person wrote or keeps something. It may be written as a plain text.
type Person struct {
	Name  string `json:"name"`
	Email string `json:"email,omitempty"`
	URL   string `json:"url,omitempty"`
}

// UnmarshalJSON takes a name, or an object.
func (p *Person) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &p.Name) == nil {
		return nil
	}
	type plain Person
	return json.Unmarshal(raw, (*plain)(p))
}

// loose is a text that may also be an object with a "url".
type loose string

func (l *loose) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*l = loose(text)
		return nil
	}
	var object struct{ URL string }
	if err := json.Unmarshal(raw, &object); err != nil {
		return err
	}
	*l = loose(object.URL)
	return nil
}

// An Option is a value that the plugin asks its user for.
type Option struct {
	Type        string          `json:"type,omitempty"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Sensitive   bool            `json:"sensitive,omitempty"`
}

// Bounds of what is read.
const (
	mostManifest = 1 << 20
	mostConfig   = 1 << 20
	mostCatalog  = 16 << 20
)

// manifestFile is where a plugin says what it is, and catalogFile where a marketplace does.
const (
	manifestFile = ".claude-plugin/plugin.json"
	catalogFile  = ".claude-plugin/marketplace.json"
)

// readManifest reads the manifest of a folder. found is false when it has none.
func readManifest(root string) (m Manifest, found bool, err error) {
	file, err := inside(root, manifestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	data, err := readBounded(file, mostManifest)
	if err != nil {
		return m, false, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if m, err = parseManifest(data); err != nil {
		return m, true, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m, true, nil
}

func parseManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &m); err != nil {
		return m, jsonError(data, err)
	}
	return m, checkName("plugin", m.Name)
}

// jsonError says where a text is wrong.
func jsonError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at := min(int(syntax.Offset), len(data))
		return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at], []byte("\n")), err)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%q must not be a %s", kind.Field, kind.Value)
	}
	return err
}

// readBounded reads a file that is a file and not too large: a pipe of that name would hang, a device would never end.
func readBounded(file string, most int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than %d KB, which is more than such a file needs", most>>10)
	}
	return data, err
}

// declares reports whether a manifest names parts of the plugin.
func (m Manifest) declares() bool {
	return slices.ContainsFunc([]json.RawMessage{m.Commands, m.Agents, m.Skills, m.OutputStyles, m.Hooks, m.MCPServers, m.LSPServers}, present)
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// dataDir is where a plugin keeps its files, below the folder of all plugins.
func dataDir(store, id string) string {
	name := []byte(id)
	for i, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			name[i] = '-'
		}
	}
	return filepath.Join(store, "data", string(name))
}
