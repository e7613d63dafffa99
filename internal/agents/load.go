package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/hook"
)

// A Source is one place that has definitions: a folder of Markdown files, or JSON.
type Source struct {
	Origin Origin
	Dir    string
	JSON   []byte // an object of definitions by name
	Name   string // of the JSON, for people

	Prefix string              // of a plugin: its agents are called prefix:name
	Expand func(string) string // puts values in the place of variables in what an agent is told; nil: there are none
}

// A Problem is something that is wrong with a definition. Warning means that the definition counts nevertheless.
type Problem struct {
	Where   string
	Text    string
	Warning bool
}

func (p Problem) String() string {
	if p.Warning {
		return p.Where + ": " + p.Text
	}
	return p.Where + ": this agent cannot be used: " + p.Text
}

// Definitions are all kinds of agents that there are. They do not change.
type Definitions struct {
	byName   map[string]*Definition
	problems []Problem
}

const (
	maxFile  = 256 << 10 // a definition that is larger is none
	maxFiles = 1000      // in one folder
)

// Load reads all sources. A definition of a stronger origin hides those of the same name; of two of one origin the first counts. What
// cannot be read is a problem, and everything else works.
func Load(sources ...Source) *Definitions {
	l := &Definitions{byName: map[string]*Definition{}}
	sources = slices.Clone(sources)
	slices.SortStableFunc(sources, func(a, b Source) int { return int(b.Origin) - int(a.Origin) })
	for _, s := range sources {
		if s.Dir != "" {
			l.folder(s)
		}
		if len(s.JSON) > 0 {
			l.object(s)
		}
	}
	for _, d := range builtIn() {
		l.add(d, d.Name)
	}
	return l
}

func (l *Definitions) problem(where, text string, warning bool) {
	l.problems = append(l.problems, Problem{where, text, warning})
}

func (l *Definitions) add(d *Definition, where string) {
	if old, taken := l.byName[d.Name]; taken {
		if old.Origin == d.Origin {
			l.problem(where, fmt.Sprintf("another agent is called %s too, and comes first: %s", d.Name, old.File), false)
		}
		return
	}
	l.byName[d.Name] = d
}

// folder reads the Markdown files of a folder and those below it.
func (l *Definitions) folder(s Source) {
	n := 0
	err := filepath.WalkDir(s.Dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if !errors.Is(err, fs.ErrNotExist) {
				l.problem(path, err.Error(), true)
			}
			return nil
		case e.IsDir() || !strings.HasSuffix(e.Name(), ".md"):
			return nil
		case strings.EqualFold(e.Name(), "README.md"):
			return nil // it tells people about the folder
		}
		if n++; n > maxFiles {
			l.problem(s.Dir, fmt.Sprintf("it has more than %d files; the others were not read", maxFiles), true)
			return fs.SkipAll
		}
		l.file(s, path)
		return nil
	})
	if err != nil {
		l.problem(s.Dir, err.Error(), true)
	}
}

func (l *Definitions) file(s Source, path string) {
	data, err := readRegular(path)
	if err != nil {
		l.problem(path, err.Error(), false)
		return
	}
	d, warnings, err := ParseMarkdown(data, hook.Source{Name: path, Managed: s.Origin == Managed})
	l.take(s, path, d, warnings, err)
}

func (l *Definitions) take(s Source, where string, d *Definition, warnings []string, err error) {
	for _, w := range warnings {
		l.problem(where, w, true)
	}
	if err != nil {
		l.problem(where, err.Error(), false)
		return
	}
	d.Origin, d.File = s.Origin, where
	if s.Prefix != "" {
		d.Name = s.Prefix + ":" + d.Name
	}
	if s.Expand != nil {
		d.Prompt = s.Expand(d.Prompt)
	}
	if s.Origin == Plugin && (len(d.Hooks) > 0 || d.Mode != "" || d.MCPServers != nil) {
		// Whoever enables a plugin has not seen each of its agents: hooks and servers stand in the plugin itself, and modes are the user's.
		d.Hooks, d.Mode, d.MCPServers = nil, "", nil
		l.problem(where, "hooks, permissionMode and mcpServers of an agent of a plugin count for nothing", true)
	}
	l.add(d, where)
}

// readRegular reads a file that is a file: a pipe or a device of that name would hang or never end.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("it has %d bytes, and a definition may have %d", info.Size(), maxFile)
	}
	return os.ReadFile(path)
}

// object reads definitions in JSON, by name.
func (l *Definitions) object(s Source) {
	var defs map[string]json.RawMessage
	if err := json.Unmarshal(s.JSON, &defs); err != nil {
		l.problem(s.Name, "it must be a JSON object of agents by name, such as {\"reviewer\": {\"description\": \"…\", \"prompt\": \"…\"}}: "+err.Error(), false)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		where := s.Name + ": " + name
		named, err := withName(defs[name], name)
		if err != nil {
			l.problem(where, err.Error(), false)
			continue
		}
		d, warnings, err := decode(named, hook.Source{Name: where})
		l.take(s, where, d, warnings, err)
	}
}

// withName puts the name under which a definition stands into it.
func withName(raw json.RawMessage, name string) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, errors.New("it must be an object with description and prompt")
	}
	text, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	object["name"] = text
	return json.Marshal(object)
}

// Find returns the definition with a name. The error tells the model which there are.
func (l *Definitions) Find(name string) (*Definition, error) {
	if d := l.byName[name]; d != nil {
		return d, nil
	}
	for _, have := range l.Names() {
		if strings.EqualFold(have, name) {
			return nil, fmt.Errorf("there is no agent %q; did you mean %s?", name, have)
		}
	}
	return nil, fmt.Errorf("there is no agent %q; the agents are %s", name, strings.Join(l.Names(), ", "))
}

// All returns the definitions by name.
func (l *Definitions) All() []*Definition {
	var all []*Definition
	for _, name := range l.Names() {
		all = append(all, l.byName[name])
	}
	return all
}

// Names returns the names in order.
func (l *Definitions) Names() []string { return slices.Sorted(maps.Keys(l.byName)) }

// Problems returns what was wrong.
func (l *Definitions) Problems() []Problem { return l.problems }
