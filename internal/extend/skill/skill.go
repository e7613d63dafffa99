// Package skill knows the skills there are: texts that teach a model how to do something, loaded only when they are needed. Commands, which a
// user types, are skills too.
//
// What it promises:
//
//   - At the start only the beginning of a file is read, and nothing of it is run. What is wrong with one file is a Problem with its name and
//     the reason; all others work. A file that is reached twice, by links or by two places, counts once.
//   - Placeholders and commands are looked for in the author's text only, in one pass. What a user, a model or a command puts into it is never
//     looked at again. The text of an MCP prompt is not looked at at all.
//   - Commands inside a text are not run here: whoever expands it hands in how, and stands in front of them.
//   - The listing never has more than its budget, and the same skills give the same bytes.
//
// A Catalog may be used by many goroutines.
package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// An Origin says where a skill comes from. Of two with one name the one of the stronger origin counts.
type Origin int

const (
	Bundled Origin = iota // comes with gofer
	MCP                   // a prompt of a server
	Plugin
	Extra // a folder of --add-dir
	Project
	User
	Managed
)

func (o Origin) String() string {
	return [...]string{"bundled", "mcp", "plugin", "add-dir", "project", "user", "managed"}[o]
}

// A Skill is what is known of a skill without its text. It does not change.
type Skill struct {
	Name        string // by which it is called: "commit", "plugin:thing", "folder:command"
	Title       string // the name in its front matter, if that is another
	Description string // what it does and when to use it, on one line
	Hint        string // what to write behind its name
	Arguments   []string
	Version     string

	Allowed []string // rules of what may run without asking while it is active
	Denied  []string // rules of what may not run meanwhile
	Model   string   // "": as it is
	Effort  string
	Hooks   json.RawMessage // nil: none
	Shell   string          // bash or powershell

	Fork  bool   // an agent of its own does it
	Agent string // of this type; "": the usual

	ForUser  bool // a user may call it
	ForModel bool // a model may call it
	Paths    []string

	Origin  Origin
	Command bool   // from a commands folder
	File    string // "": from no file
	Dir     string // the folder of its files, for ${CLAUDE_SKILL_DIR}
	Vars    map[string]string
	Size    int64 // of the file or the text

	// Fetch gets the text of a skill that is not in a file; nothing in it is expanded. nil: Text does.
	Fetch func(ctx context.Context, args string) (string, error)

	text  string // of a bundled one
	depth int    // of the folder that has it: deeper counts first
	rules *pathRules
}

// Harmless reports whether the skill is nothing but text: it brings no permissions and no hooks along.
func (s *Skill) Harmless() bool { return len(s.Allowed) == 0 && len(s.Hooks) == 0 }

// Line is what the listing says of the skill, without its name.
func (s *Skill) line() string { return oneLine(s.Description) }

// A Problem is something that is wrong with a file. Unusable means that there is no skill because of it; a note is of interest only to whoever
// writes the skill.
type Problem struct {
	File     string
	Text     string
	Unusable bool
	Note     bool
}

func (p Problem) String() string {
	if p.Unusable {
		return p.File + ": this skill cannot be used: " + p.Text
	}
	return p.File + ": " + p.Text
}

// Text returns the text of the skill as it is now, without the front matter.
func (s *Skill) Text() (string, error) {
	if s.File == "" {
		return s.text, nil
	}
	data, err := readAll(s.File)
	if err != nil {
		return "", fmt.Errorf("the skill %s cannot be read: %w", s.Name, err)
	}
	_, body, _, err := splitFront(data)
	if err != nil {
		return "", fmt.Errorf("the skill %s cannot be read: %s: %w", s.Name, s.File, err)
	}
	if strings.TrimSpace(body) == "" {
		return "", fmt.Errorf("the skill %s has no text (%s)", s.Name, s.File)
	}
	return body, nil
}

// goodName says what is wrong with the name of a skill. It stands in listings, rules and prompts.
func goodName(name string) error {
	switch {
	case name == "":
		return errors.New("it has no name")
	case len(name) > 120:
		return errors.New("its name is longer than 120 characters")
	case strings.ContainsAny(name, " \t\r\n<>\"'`,()*\\/$") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the name %q may not have blanks, brackets, quotes, commas, stars or slashes", name)
	}
	return nil
}

// oneLine makes one line of a text. What could end the reminder that carries it is taken apart.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.ReplaceAll(s, "</system-reminder", "< /system-reminder")
}

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	if most < 1 {
		return ""
	}
	return strings.TrimRight(string(runes[:most-1]), " ") + "…"
}
