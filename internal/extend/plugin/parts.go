package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// parts finds all that the manifests name, and what stands at its usual place.
func (l *loader) parts(manifests []Manifest) {
	type kind struct {
		name   string
		folder string
		keep   bool // the usual folder counts beside the paths of the manifest
		raw    func(Manifest) json.RawMessage
		into   *[]Part
	}
	for _, k := range []kind{
		{"commands", "commands", false, func(m Manifest) json.RawMessage { return m.Commands }, &l.Commands},
		{"agents", "agents", false, func(m Manifest) json.RawMessage { return m.Agents }, &l.Agents},
		{"skills", "skills", true, func(m Manifest) json.RawMessage { return m.Skills }, &l.Skills},
		{"outputStyles", "output-styles", false, func(m Manifest) json.RawMessage { return m.OutputStyles }, &l.Styles},
	} {
		named := false
		for _, m := range manifests {
			if raw := k.raw(m); present(raw) {
				named = true
				l.addPaths(k.name, raw, k.into)
			}
		}
		if !named || k.keep {
			l.addPath(k.name, Part{Path: k.folder}, true, k.into)
		}
	}
	var bin []Part
	if l.addPath("bin", Part{Path: "bin"}, true, &bin); len(bin) == 1 && isDir(bin[0].Path) {
		l.Bin = bin[0].Path
	}
	l.hooks(manifests)
	l.Servers = l.servers("mcpServers", ".mcp.json", manifests, func(m Manifest) json.RawMessage { return m.MCPServers })
	l.Languages = l.servers("lspServers", ".lsp.json", manifests, func(m Manifest) json.RawMessage { return m.LSPServers })
}

// addPaths reads a path, a list of paths, or an object of commands by name.
func (l *loader) addPaths(what string, raw json.RawMessage, into *[]Part) {
	var paths []string
	var one string
	var byName map[string]struct {
		Source  string `json:"source"`
		Content string `json:"content"`
	}
	switch {
	case json.Unmarshal(raw, &one) == nil:
		paths = []string{one}
	case json.Unmarshal(raw, &paths) == nil:
	case what == "commands" && json.Unmarshal(raw, &byName) == nil:
		for _, name := range sortedKeys(byName) {
			switch c := byName[name]; {
			case checkName("command", name) != nil:
				l.problem("commands: %v", checkName("command", name))
			case c.Source == "":
				l.problem("commands: %s has no source: name the file that holds its text", name)
			default:
				l.addPath(what, Part{Path: c.Source, Name: name}, false, into)
			}
		}
		return
	default:
		l.problem("%s must be a path or a list of paths", what)
		return
	}
	for _, path := range paths {
		l.addPath(what, Part{Path: path}, false, into)
	}
}

// addPath adds what lies at a path, if it may be used.
func (l *loader) addPath(what string, part Part, usual bool, into *[]Part) {
	real, err := inside(l.Root, part.Path)
	if errors.Is(err, fs.ErrNotExist) && usual {
		return
	}
	if err == nil {
		err = contained(l.Root, real)
	}
	if err != nil {
		l.problem("%s: %v", what, err)
		return
	}
	for _, have := range *into {
		if have.Path == real && have.Name == part.Name {
			return
		}
	}
	*into = append(*into, Part{real, part.Name})
}

// hooks collects the hooks: those of hooks/hooks.json, of the files that a manifest names, and those in the manifest itself.
func (l *loader) hooks(manifests []Manifest) {
	read := map[string]bool{}
	file := func(name string, usual bool) {
		real, err := inside(l.Root, name)
		if errors.Is(err, fs.ErrNotExist) && usual || read[real] && err == nil {
			return
		}
		read[real] = true
		var data []byte
		if err == nil {
			data, err = readBounded(real, mostConfig)
		}
		if err != nil {
			l.problem("hooks: %v", err)
			return
		}
		l.addHooks(name, data)
	}
	file("hooks/hooks.json", true)
	for _, m := range manifests {
		if present(m.Hooks) {
			l.eachItem("hooks", m.Hooks, func(path string) { file(path, false) }, func(raw json.RawMessage) { l.addHooks("plugin.json", raw) })
		}
	}
}

// addHooks takes an object of events, or one that holds it under "hooks".
func (l *loader) addHooks(where string, data []byte) {
	var file struct {
		Hooks json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		l.problem("hooks: %s: %v", where, jsonError(data, err))
		return
	}
	raw := json.RawMessage(data)
	if present(file.Hooks) {
		raw = file.Hooks
	}
	l.Hooks = append(l.Hooks, raw)
}

// eachItem reads a path, an object, or a list of both.
func (l *loader) eachItem(what string, raw json.RawMessage, path func(string), object func(json.RawMessage)) {
	items := []json.RawMessage{raw}
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		if err := json.Unmarshal(raw, &items); err != nil {
			l.problem("%s: %v", what, err)
			return
		}
	}
	for _, item := range items {
		var name string
		switch {
		case json.Unmarshal(item, &name) == nil:
			path(name)
		case strings.HasPrefix(strings.TrimSpace(string(item)), "{"):
			object(item)
		default:
			l.problem("%s must be a path, an object, or a list of these", what)
		}
	}
}

// servers collects MCP or language servers by name. What the manifest says counts more than the file at the usual place.
func (l *loader) servers(key, usual string, manifests []Manifest, of func(Manifest) json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	take := func(where string, data []byte) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(data, &object); err != nil {
			l.problem("%s: %s: %v", key, where, jsonError(data, err))
			return
		}
		if inner := object[key]; present(inner) {
			object = nil
			if err := json.Unmarshal(inner, &object); err != nil {
				l.problem("%s: %s: %v", key, where, err)
				return
			}
		}
		for name, raw := range object {
			if !strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
				continue // "$schema" and other notes
			}
			if err := checkName("server", name); err != nil {
				l.problem("%s: %v", key, err)
				continue
			}
			all[name] = expandJSON(raw, l.vars)
		}
	}
	file := func(name string, optional bool) {
		if strings.HasSuffix(name, ".mcpb") || strings.HasSuffix(name, ".dxt") {
			l.problem("%s: %s is a bundle, and bundles cannot be used here: unpack it and name its command", key, cut(name, 60))
			return
		}
		real, err := inside(l.Root, name)
		if errors.Is(err, fs.ErrNotExist) && optional {
			return
		}
		var data []byte
		if err == nil {
			data, err = readBounded(real, mostConfig)
		}
		if err != nil {
			l.problem("%s: %v", key, err)
			return
		}
		take(name, data)
	}
	file(usual, true)
	for _, m := range manifests {
		if raw := of(m); present(raw) {
			l.eachItem(key, raw, func(name string) { file(name, false) }, func(raw json.RawMessage) { take("plugin.json", raw) })
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// expandJSON puts the values of variables in the place of ${NAME} in all texts of a value. Names that are not known stay: they are the
// environment's.
func expandJSON(raw json.RawMessage, vars map[string]string) json.RawMessage {
	if !strings.Contains(string(raw), "${") {
		return raw
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(expandValue(v, vars))
	if err != nil {
		return raw
	}
	return out
}

func expandValue(v any, vars map[string]string) any {
	switch v := v.(type) {
	case string:
		return expandText(v, vars)
	case []any:
		for i := range v {
			v[i] = expandValue(v[i], vars)
		}
	case map[string]any:
		for k := range v {
			v[k] = expandValue(v[k], vars)
		}
	}
	return v
}

func expandText(s string, vars map[string]string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, ok := strings.Cut(rest, "}")
		value, known := vars[name]
		if !ok || !known {
			b.WriteString("${")
			s = rest
			continue
		}
		b.WriteString(value)
		s = after
	}
}

// Expand puts the plugin's folder and its options in the place of ${CLAUDE_PLUGIN_ROOT} and the like, in the texts of its commands and agents.
// Options that are secret stay out of texts that a model reads.
func (p *Plugin) Expand(text string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	vars := map[string]string{"CLAUDE_PLUGIN_ROOT": p.Root, "CLAUDE_PLUGIN_DATA": p.Data}
	for key, value := range p.Options {
		if !p.Manifest.UserConfig[key].Sensitive {
			vars["user_config."+key] = value
		}
	}
	return expandText(text, vars)
}

// countFiles counts the files with an ending in the parts.
func countFiles(parts []Part, ending string) int {
	n := 0
	for _, p := range parts {
		filepath.WalkDir(p.Path, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.HasSuffix(path, ending) && !strings.EqualFold(e.Name(), "README.md") {
				n++
			}
			return nil
		})
	}
	return n
}

// countSkills counts the folders with a SKILL.md.
func countSkills(parts []Part) int {
	n := 0
	for _, p := range parts {
		if _, err := os.Stat(filepath.Join(p.Path, "SKILL.md")); err == nil {
			n++
			continue
		}
		entries, _ := os.ReadDir(p.Path)
		for _, e := range entries {
			if _, err := os.Stat(filepath.Join(p.Path, e.Name(), "SKILL.md")); err == nil {
				n++
			}
		}
	}
	return n
}

func countHooks(list []json.RawMessage) int {
	n := 0
	for _, raw := range list {
		var events map[string][]struct{ Hooks []json.RawMessage }
		if json.Unmarshal(raw, &events) != nil {
			continue
		}
		for _, groups := range events {
			for _, g := range groups {
				n += len(g.Hooks)
			}
		}
	}
	return n
}

// Fingerprint changes when a file of the plugin does. It is an error if the folder is too large to look at each time.
func (p *Plugin) Fingerprint() ([]byte, error) { return fingerprint(p.Root) }

// errLarge is the error for a folder that has too much in it.
func errLarge(root string, files int, bytes int64) error {
	return fmt.Errorf("%s is too large: %d files and %d MB were seen", root, files, bytes>>20)
}
