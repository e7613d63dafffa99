package keys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// reserved are keys that no file may bind, with the reason.
func reserved(stroke string) string {
	switch stroke {
	case "ctrl+c":
		return "it always stops and leaves"
	case "ctrl+d":
		return "it always leaves"
	case "ctrl+m":
		return "terminals send Enter for it"
	case "ctrl+[":
		return "terminals send Esc for it"
	case "ctrl+i":
		return "terminals send Tab for it"
	}
	return ""
}

// maxFile bounds what is read as a file of key bindings.
const maxFile = 1 << 20

// Load reads the user's file over the default keys. Without a file there are no problems. A binding that is wrong is left
// out and named in the problems; all others count.
func Load(path string) (*Map, []error) {
	m := Default()
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Size() > maxFile {
		return m, []error{fmt.Errorf("%s: %d bytes are too many for a file of key bindings", path, info.Size())}
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, []error{fmt.Errorf("key bindings: %w", err)}
	}
	return m.With(path, data)
}

// With is the map with the bindings of a file over it. path only names the file in problems.
func (m *Map) With(path string, data []byte) (*Map, []error) {
	var file struct {
		Bindings []struct {
			Context  Context                    `json:"context"`
			Bindings map[string]json.RawMessage `json:"bindings"`
		} `json:"bindings"`
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return m, []error{fmt.Errorf("%s:%s%w; it should look like {\"bindings\": [{\"context\": \"Chat\", \"bindings\": {\"ctrl+e\": \"chat:externalEditor\"}}]}", path, lineOf(data, err), err)}
	}
	out := &Map{bound: map[Context]map[string]Action{}, changed: map[Context]map[string]bool{}}
	for c, bound := range m.bound {
		out.bound[c] = maps.Clone(bound)
	}
	for c, changed := range m.changed {
		out.changed[c] = maps.Clone(changed)
	}
	var problems []error
	for i, block := range file.Bindings {
		place := fmt.Sprintf("%s: bindings[%d]", path, i)
		if elsewhere(block.Context) {
			continue
		}
		if !slices.Contains(Contexts(), block.Context) {
			problems = append(problems, fmt.Errorf("%s: there is no context %q; there are %s", place, block.Context, join(Contexts())))
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(block.Bindings)) {
			if err := out.bind(block.Context, key, block.Bindings[key]); err != nil {
				problems = append(problems, fmt.Errorf("%s (%s): %q: %w", place, block.Context, key, err))
			}
		}
	}
	out.index()
	return out, problems
}

func (m *Map) bind(c Context, key string, value json.RawMessage) error {
	sequence, err := parseSequence(key)
	if err != nil {
		return err
	}
	for stroke := range strings.FieldsSeq(sequence) {
		if why := reserved(stroke); why != "" {
			return fmt.Errorf("%s cannot be bound: %s", Show(stroke), why)
		}
	}
	var action *Action
	if err := json.Unmarshal(value, &action); err != nil {
		return fmt.Errorf("the value must be the name of an action, or null to take the key away")
	}
	name := Action("")
	if action != nil {
		name = *action
		if ofOthers(name) {
			return nil
		}
		if err := known(c, name); err != nil {
			return err
		}
	}
	m.set(c, sequence, name)
	if strings.Contains(sequence, " ") && name == "" {
		delete(m.bound[c], sequence) // so that its first stroke can be a key of its own
	}
	if m.changed[c] == nil {
		m.changed[c] = map[string]bool{}
	}
	m.changed[c][sequence] = true
	return nil
}

// elsewhere reports whether a context is one of Claude Code's for which there is no part here. Its keys are passed over without a word, so that
// a file that was written for it can be used as it is.
func elsewhere(c Context) bool {
	switch c {
	case "Settings", "Help", "ThemePicker", "Attachments", "Footer", "DiffDialog", "Plugin", "Doctor":
		return true
	}
	return false
}

// ofOthers reports the same for an action.
func ofOthers(a Action) bool {
	space, _, _ := strings.Cut(string(a), ":")
	switch space {
	case "voice", "selection", "theme", "attachments", "footer", "diff", "plugin", "doctor", "permission", "settings", "help":
		return true
	}
	switch a {
	case "chat:clearScreen", "chat:fastMode", "chat:thinkingToggle", "chat:killAgents", "confirm:toggleExplanation", "confirm:cycleMode",
		"transcript:toggleShowAll", "modelPicker:thisSessionOnly", "scroll:halfPageUp", "scroll:halfPageDown":
		return true
	}
	return false
}

// known checks that an action exists, and that it can be done in the context.
func known(c Context, a Action) error {
	if name, ok := a.Command(); ok {
		if name == "" || c != Chat && c != Global {
			return fmt.Errorf("command:NAME runs a slash command and can be bound in Chat and Global only")
		}
		return nil
	}
	var here []Action
	var elsewhere []Context
	for _, e := range table() {
		// The prompt box has the keys of Chat, Edit and Global; whoever writes Chat may mean any of them.
		near := e.context == c || e.context == Global || c == Chat && (e.context == Edit || e.context == Task)
		switch {
		case near && e.action == a:
			return nil
		case near:
			here = append(here, e.action)
		case e.action == a:
			elsewhere = append(elsewhere, e.context)
		}
	}
	if len(elsewhere) > 0 {
		return fmt.Errorf("%s belongs to the context %s", a, join(elsewhere))
	}
	return fmt.Errorf("there is no action %q; in %s there are %s", a, c, join(here))
}

func join[S ~string](all []S) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// lineOf is the line at which JSON could not be read.
func lineOf(data []byte, err error) string {
	offset := int64(-1)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		offset = syntax.Offset
	}
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return " "
	}
	return fmt.Sprintf("%d: ", 1+bytes.Count(data[:offset], []byte{'\n'}))
}

// Template is a file to begin with: all keys as they are, for people to change.
func Template() []byte {
	type block struct {
		Context  Context           `json:"context"`
		Bindings map[string]Action `json:"bindings"`
	}
	var file struct {
		Bindings []block `json:"bindings"`
	}
	m := Default()
	for _, c := range Contexts() {
		b := block{Context: c, Bindings: map[string]Action{}}
		for sequence, action := range m.bound[c] {
			if !slices.ContainsFunc(strings.Fields(sequence), func(s string) bool { return reserved(s) != "" }) {
				b.Bindings[sequence] = action
			}
		}
		file.Bindings = append(file.Bindings, b)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		panic(err) // strings only
	}
	return out.Bytes()
}
