package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// A Surface is one way by which a project can make code run, with everything the project says there. When a byte of the
// content changes, the user is asked again.
type Surface struct {
	Name    string // for people: "hooks", "MCP servers", …
	Content []byte
}

var surfaceNames = [...][2]string{
	{"hooks", "hooks"}, {"servers", "MCP servers"}, {"keys", "key helpers"}, {"status", "status line"},
	{"env", "environment"}, {"lsp", "language servers"}, {"plugins", "plugins"},
}

// Surfaces collects what the project's files ask to run, whether or not they are trusted. Scripts that lie in .claude and are named
// there belong to it: a command that stays the same is no comfort when the script behind it changes. Layout and order
// of keys do not count.
func (s *Snapshot) Surfaces() []Surface {
	parts := map[string][]any{}
	for _, t := range s.texts {
		if !t.layer.fromProject() {
			continue
		}
		for _, f := range settingsShape().fields() {
			if f.trust == "" || f.trust == "rules" {
				continue
			}
			if n := t.root.member(f.name); n != nil && !n.empty() {
				parts[f.trust] = append(parts[f.trust], t.layer.String(), f.name, json.RawMessage(n.appendJSON(nil)))
				parts[f.trust] = append(parts[f.trust], s.scripts(n)...)
			}
		}
	}
	if dir := s.opts.ProjectDir; dir != "" {
		file := filepath.Join(dir, ".mcp.json")
		switch data, _, err := readRegular(file, maxFile); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			parts["servers"] = append(parts["servers"], ".mcp.json", err.Error())
		default:
			if root, _, err := parse(data); err == nil {
				if !root.empty() {
					parts["servers"] = append(parts["servers"], ".mcp.json", json.RawMessage(root.appendJSON(nil)))
					parts["servers"] = append(parts["servers"], s.scripts(root)...)
				}
			} else {
				parts["servers"] = append(parts["servers"], ".mcp.json", string(data))
			}
		}
	}
	var out []Surface
	for _, name := range surfaceNames {
		if p := parts[name[0]]; p != nil {
			out = append(out, Surface{name[1], canonicalJSON(marshal(p))})
		}
	}
	return out
}

// scripts returns name and content of the files in .claude that the texts below n name.
func (s *Snapshot) scripts(n *node) (out []any) {
	if s.opts.ProjectDir == "" {
		return nil
	}
	inside := filepath.Join(s.opts.ProjectDir, ".claude") + string(filepath.Separator)
	for _, text := range n.texts(nil) {
		text = strings.NewReplacer("${CLAUDE_PROJECT_DIR}", s.opts.ProjectDir, "$CLAUDE_PROJECT_DIR", s.opts.ProjectDir, `"`, "", "'", "").Replace(text)
		words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n`;|&()<>=", r) })
		for _, word := range words {
			file := word
			if !filepath.IsAbs(file) {
				file = filepath.Join(s.opts.ProjectDir, file)
			}
			if file = filepath.Clean(file); !strings.HasPrefix(file, inside) {
				continue
			}
			if data, _, err := readRegular(file, maxFile); err == nil {
				out = append(out, strings.TrimPrefix(file, inside), string(data))
			}
		}
	}
	return out
}

// texts collects all texts below n.
func (n *node) texts(out []string) []string {
	if n.kind == '"' {
		out = append(out, n.text)
	}
	for _, m := range n.members {
		out = m.value.texts(out)
	}
	for _, item := range n.items {
		out = item.texts(out)
	}
	return out
}

// empty reports that nothing is said: an object or list without content, or a list of nothing but such.
func (n *node) empty() bool {
	return (n.kind == '{' || n.kind == '[') &&
		!slices.ContainsFunc(n.members, func(m member) bool { return !m.value.empty() }) &&
		!slices.ContainsFunc(n.items, func(item *node) bool { return !item.empty() })
}

// canonicalJSON sorts the keys of all objects.
func canonicalJSON(data []byte) []byte {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return data
	}
	return marshal(v)
}
