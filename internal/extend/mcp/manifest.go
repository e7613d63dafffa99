package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Manifest is what is known of a server without asking it.
type Manifest struct {
	Version      int       `json:"version"`
	Saved        time.Time `json:"saved"`
	Failed       string    `json:"failed,omitempty"` // why it could not be reached the last time; then nothing else is known
	Name         string    `json:"name,omitempty"`
	ServerVer    string    `json:"serverVersion,omitempty"`
	Instructions string    `json:"instructions,omitempty"`
	Tools        []Tool    `json:"tools,omitempty"`
	Prompts      []Prompt  `json:"prompts,omitempty"`
	Resources    bool      `json:"resources,omitempty"`
}

// A Tool is a tool as a server describes it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	ReadOnly    bool            `json:"readOnly,omitempty"`
	Destructive bool            `json:"destructive,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	OpenWorld   bool            `json:"openWorld,omitempty"`
}

// A Prompt is a text that a server offers, with places to fill in.
type Prompt struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
}

// An Argument is a place in a prompt.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// ReadManifest reads a manifest from the result of tools/list.
func ReadManifest(toolsList json.RawMessage) (*Manifest, error) {
	var r sdk.ListToolsResult
	if err := json.Unmarshal(toolsList, &r); err != nil {
		return nil, err
	}
	m := &Manifest{Saved: time.Now()}
	for _, t := range r.Tools {
		m.Tools = append(m.Tools, newTool(t))
	}
	return m, nil
}

const (
	manifestVersion = 1
	manifestMost    = 8 << 20
	// manifestFresh is how long a manifest counts without a look at the server.
	manifestFresh = 24 * time.Hour
)

// manifestFile names the file of a server's manifest by everything that makes the server what it is. Secrets in it are only hashed.
func (h *Hub) manifestFile(c Config) string {
	if h.o.CacheDir == "" || c.Kind() == "sdk" || c.Editor() {
		return ""
	}
	text, err := json.Marshal([]any{c.Name, c, h.o.Dir})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return filepath.Join(h.o.CacheDir, hex.EncodeToString(sum[:16])+".json")
}

// loadManifest returns nil when nothing usable is kept.
func loadManifest(file string) *Manifest {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, manifestMost))
	var m Manifest
	if err != nil || json.Unmarshal(data, &m) != nil || m.Version != manifestVersion {
		return nil
	}
	return &m
}

// saveManifest keeps m. A cache that cannot be written is no harm: the next session connects instead.
func saveManifest(file string, m *Manifest) {
	if file == "" {
		return
	}
	m.Version, m.Saved = manifestVersion, time.Now().UTC()
	writeWhole(file, m)
}
