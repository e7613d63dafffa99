package guard

import (
	"fmt"
	"slices"
)

// An Update is a change of the policy, in the form of the control protocol: what a person chose, or what is suggested.
type Update struct {
	Type        UpdateType  `json:"type"`
	Rules       []RuleValue `json:"rules,omitempty"`
	Behavior    *Behavior   `json:"behavior,omitempty"`
	Mode        Mode        `json:"mode,omitempty"`
	Directories []string    `json:"directories,omitempty"`
	Destination Source      `json:"destination"`
}

// An UpdateType says what an Update does.
type UpdateType string

const (
	AddRules          UpdateType = "addRules"
	ReplaceRules      UpdateType = "replaceRules"
	RemoveRules       UpdateType = "removeRules"
	SetMode           UpdateType = "setMode"
	AddDirectories    UpdateType = "addDirectories"
	RemoveDirectories UpdateType = "removeDirectories"
)

// A RuleValue is a rule in the form of the control protocol.
type RuleValue struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// String is the rule as settings have it.
func (v RuleValue) String() string { return Rule{Tool: v.ToolName, Content: v.RuleContent}.String() }

// Check says what is wrong with an update that came from outside.
func (u Update) Check() error {
	switch u.Destination {
	case FromSession, FromCLI, FromLocal, FromProject, FromUser:
	default:
		return fmt.Errorf("an update of permissions has the destination %q; it must be session, localSettings, projectSettings or userSettings", u.Destination)
	}
	switch u.Type {
	case AddRules, ReplaceRules, RemoveRules:
		for _, v := range u.Rules {
			if _, err := ParseRule(v.String()); err != nil {
				return err
			}
		}
		if u.Behavior == nil {
			return fmt.Errorf("an update that changes rules must say allow, ask or deny")
		}
	case SetMode:
		_, err := ParseMode(string(u.Mode))
		return err
	case AddDirectories, RemoveDirectories:
	default:
		return fmt.Errorf("an update of permissions has the type %q, which is not known", u.Type)
	}
	return nil
}

// Persists reports whether the update is to be written to a settings file, and not only to count in this session.
func (u Update) Persists() bool {
	return u.Destination == FromLocal || u.Destination == FromProject || u.Destination == FromUser
}

// A Change is what updates did to the session's own part of a policy.
type Change struct {
	Rules []Rule   // added in this session
	Mode  Mode     // empty: as the settings have it
	Dirs  []string // added in this session
	gone  []string // rules and folders taken away, of whatever source but managed
}

// Apply returns the change with the updates made. Every update counts in the session, also one that is persisted: the file is
// read again later, and a rule that stands twice is no harm.
func (c Change) Apply(updates []Update, root string) (Change, error) {
	for _, u := range updates {
		if err := u.Check(); err != nil {
			return c, err
		}
	}
	c.Rules, c.Dirs, c.gone = slices.Clone(c.Rules), slices.Clone(c.Dirs), slices.Clone(c.gone)
	for _, u := range updates {
		switch u.Type {
		case AddRules, ReplaceRules:
			if u.Type == ReplaceRules {
				c.Rules = slices.DeleteFunc(c.Rules, func(r Rule) bool { return r.Behavior == *u.Behavior && r.Source == u.Destination })
				c.gone = append(c.gone, "replace:"+u.Behavior.String()+":"+string(u.Destination))
			}
			for _, v := range u.Rules {
				r, _ := ParseRule(v.String())
				r.Behavior, r.Source, r.Root = *u.Behavior, u.Destination, root
				if !slices.Contains(c.Rules, r) {
					c.Rules = append(c.Rules, r)
				}
			}
		case RemoveRules:
			for _, v := range u.Rules {
				r, _ := ParseRule(v.String())
				c.Rules = slices.DeleteFunc(c.Rules, func(have Rule) bool { return have.Behavior == *u.Behavior && have.String() == r.String() })
				c.gone = append(c.gone, u.Behavior.String()+":"+r.String())
			}
		case SetMode:
			c.Mode = u.Mode
		case AddDirectories:
			for _, d := range u.Directories {
				if !slices.Contains(c.Dirs, d) {
					c.Dirs = append(c.Dirs, d)
				}
			}
		case RemoveDirectories:
			c.Dirs = slices.DeleteFunc(c.Dirs, func(d string) bool { return slices.Contains(u.Directories, d) })
			for _, d := range u.Directories {
				c.gone = append(c.gone, "dir:"+d)
			}
		}
	}
	return c, nil
}

// removed reports whether a rule of the settings was taken away in this session. A rule that denies or comes from an
// administrator stays.
func (c Change) removed(r Rule) bool {
	if r.Source == FromManaged {
		return false
	}
	return slices.Contains(c.gone, r.Behavior.String()+":"+r.String()) || slices.Contains(c.gone, "replace:"+r.Behavior.String()+":"+string(r.Source))
}

func (c Change) removedDir(d string) bool { return slices.Contains(c.gone, "dir:"+d) }
