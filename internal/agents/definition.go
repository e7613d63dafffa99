package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gofer/internal/guard"
	"gofer/internal/hook"
)

// A Definition says what kind of agent there is: what it is for, what it is told, and what it may use.
type Definition struct {
	Name        string
	Description string // when to use it, for the model that chooses
	Prompt      string // its system prompt

	Tools    []string // the names of the tools it may have; nil: all that there are
	Types    []string // the agents it may start; nil: all
	Without  []string // tools it may not have
	Denied   []guard.Rule
	Model    string // a name, an alias, "inherit" or "" for the parent's, "small" for the small model
	Effort   string
	Mode     guard.Mode // "": the parent's
	Hooks    []hook.Group
	MaxTurns int

	Background    bool   // runs in the background unless the order says otherwise
	Isolation     string // "worktree" or ""
	Color         string
	InitialPrompt string // the first prompt when the main session runs as this agent
	Memory        string
	Skills        []string
	MCPServers    json.RawMessage
	RequiredMCP   []string

	Origin Origin
	File   string // "" when it comes from no file
	Brief  bool   // built in: its report needs no account of what it cost, and it no instructions of the project
}

// An Origin says where a definition comes from. Those of a stronger origin hide those of a weaker one with the same name.
type Origin int

const (
	BuiltIn Origin = iota
	Plugin
	User
	Project
	Flag
	Managed
)

func (o Origin) String() string {
	return [...]string{"built-in", "plugin", "user", "project", "--agents", "managed"}[o]
}

// fields are a definition as it is written, in a front matter or in JSON.
type fields struct {
	Name            string          `json:"name"`
	Description     string          `json:"description"`
	Prompt          string          `json:"prompt"`
	Tools           words           `json:"tools"`
	Disallowed      words           `json:"disallowedTools"`
	Model           string          `json:"model"`
	Effort          scalar          `json:"effort"`
	PermissionMode  string          `json:"permissionMode"`
	Hooks           json.RawMessage `json:"hooks"`
	MaxTurns        int             `json:"maxTurns"`
	Background      bool            `json:"background"`
	Isolation       string          `json:"isolation"`
	Color           string          `json:"color"`
	InitialPrompt   string          `json:"initialPrompt"`
	Memory          scalar          `json:"memory"`
	Skills          words           `json:"skills"`
	MCPServers      json.RawMessage `json:"mcpServers"`
	RequiredServers words           `json:"requiredMcpServers"`
}

// words is a list that may also be written as one text with commas.
type words struct {
	set  bool
	list []string
}

func (w *words) UnmarshalJSON(raw []byte) error {
	var text string
	if string(raw) == "null" {
		return nil
	}
	if json.Unmarshal(raw, &text) == nil {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		w.set, w.list = true, splitOutside(text)
		return nil
	}
	if err := json.Unmarshal(raw, &w.list); err != nil {
		return errors.New("must be a list of texts, or one text with commas")
	}
	w.set = true
	return nil
}

// splitOutside splits at commas that are not inside parentheses.
func splitOutside(s string) []string {
	var list []string
	depth, start := 0, 0
	add := func(item string) {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			add(s[start:i])
			start = i + 1
		}
	}
	add(s[start:])
	return list
}

// scalar takes any simple value as text.
type scalar string

func (s *scalar) UnmarshalJSON(raw []byte) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
	case string:
		*s = scalar(v)
	case bool, float64:
		*s = scalar(fmt.Sprint(v))
	default:
		return errors.New("must be one simple value")
	}
	return nil
}

// decode makes a Definition of JSON. What is wrong with it is one error; what is only strange is a warning.
func decode(raw json.RawMessage, src hook.Source) (*Definition, []string, error) {
	var names map[string]json.RawMessage
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, nil, fmt.Errorf("it is not an object of fields: %w", err)
	}
	var f fields
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, nil, fieldError(names, err)
	}
	d := &Definition{
		Name: strings.TrimSpace(f.Name), Description: strings.TrimSpace(f.Description), Prompt: strings.TrimSpace(f.Prompt),
		Model: strings.TrimSpace(f.Model), Effort: string(f.Effort), MaxTurns: f.MaxTurns, Background: f.Background,
		Isolation: f.Isolation, Color: f.Color, InitialPrompt: f.InitialPrompt, Memory: string(f.Memory), Skills: f.Skills.list,
		RequiredMCP: f.RequiredServers.list,
	}
	if present(f.MCPServers) {
		d.MCPServers = f.MCPServers
	}
	warnings := unknownFields(names)
	if err := d.check(f); err != nil {
		return nil, warnings, err
	}
	more, err := d.chooseTools(f)
	if err != nil {
		return nil, warnings, err
	}
	warnings = append(warnings, more...)
	if present(f.Hooks) {
		// A hook that cannot be read may be one that refuses: an agent without it would do what it must not.
		if d.Hooks, err = hook.Parse(f.Hooks, src); err != nil {
			return nil, warnings, err
		}
	}
	return d, warnings, nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// fieldError names the field that a decoding error is about.
func fieldError(names map[string]json.RawMessage, err error) error {
	for name, raw := range names {
		one, marshalErr := json.Marshal(map[string]json.RawMessage{name: raw})
		var f fields
		if marshalErr == nil && json.Unmarshal(one, &f) != nil {
			return fmt.Errorf("the field %s cannot be read: %w", name, err)
		}
	}
	return err
}

func unknownFields(names map[string]json.RawMessage) []string {
	known := strings.Fields("name description prompt tools disallowedTools model effort permissionMode hooks maxTurns background isolation " +
		"color initialPrompt memory skills mcpServers requiredMcpServers")
	var warnings []string
	for name := range names {
		if !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf("the field %q is not known and counts for nothing", name))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// check looks at the fields that must be right for the agent to be what its author meant.
func (d *Definition) check(f fields) error {
	switch {
	case d.Name == "":
		return errors.New("it has no name")
	case strings.ContainsAny(d.Name, "\n\r\t<>\"`,()"):
		return fmt.Errorf("the name %q may not have line breaks, brackets, quotes or commas", d.Name)
	case d.Name == forkType:
		return fmt.Errorf("the name %q is taken: it means a copy of the agent that starts it", d.Name)
	case d.Description == "":
		return errors.New("it has no description, so no model would know when to use it")
	case d.Prompt == "":
		return errors.New("it has no prompt: what the agent is told stands behind the front matter")
	case d.MaxTurns < 0:
		return errors.New("maxTurns must not be negative")
	case d.Isolation != "" && d.Isolation != "worktree":
		return fmt.Errorf("isolation is worktree or nothing, not %q", d.Isolation)
	case d.Memory != "" && !slices.Contains([]string{"user", "project", "local"}, d.Memory):
		return fmt.Errorf("memory is user, project or local, not %q", d.Memory)
	case d.Effort != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, d.Effort):
		return fmt.Errorf("effort is low, medium, high, xhigh or max, not %q", d.Effort)
	}
	if f.PermissionMode != "" {
		mode, err := guard.ParseMode(f.PermissionMode)
		if err != nil {
			return fmt.Errorf("permissionMode: %w", err)
		}
		d.Mode = mode
	}
	return nil
}

// chooseTools reads the two lists of tools.
func (d *Definition) chooseTools(f fields) (warnings []string, err error) {
	if f.Tools.set && !slices.Contains(f.Tools.list, "*") {
		d.Tools = []string{}
		for _, text := range f.Tools.list {
			r, err := guard.ParseRule(text)
			if err != nil {
				return nil, fmt.Errorf("tools: %w", err)
			}
			d.Tools = append(d.Tools, r.Tool)
			switch {
			case r.Content == "":
			case r.Tool == "Agent" || r.Tool == "Task":
				d.Types = append(d.Types, splitOutside(r.Content)...)
			default:
				warnings = append(warnings, fmt.Sprintf("tools: %s gives the whole tool; to limit what it may do, write a permission rule, or list what is denied in disallowedTools", text))
			}
		}
	}
	if d.Tools != nil && d.Memory != "" { // a memory that it can neither read nor write would be none
		for _, name := range []string{"Read", "Write", "Edit"} {
			if !slices.Contains(d.Tools, name) {
				d.Tools = append(d.Tools, name)
			}
		}
	}
	for _, text := range f.Disallowed.list {
		r, err := guard.ParseRule(text)
		if err != nil {
			return nil, fmt.Errorf("disallowedTools: %w", err)
		}
		if r.Content == "" {
			d.Without = append(d.Without, r.Tool)
			continue
		}
		r.Behavior, r.Source, r.Origin = guard.Deny, guard.FromSession, "the definition of the agent "+d.Name
		d.Denied = append(d.Denied, r)
	}
	return warnings, nil
}
