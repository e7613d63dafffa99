package guard

import (
	"path"
	"strings"

	"gofer/internal/tool"
)

// A Policy is all that a decision depends on besides the call. It is a value; whoever holds one never changes what it
// points to.
type Policy struct {
	Rules *RuleSet
	File  *PolicyFile // permissions.yaml, if there is one
	Mode  Mode

	Dir      string   // the working directory of the session
	WorkDirs []string // Dir and what was added, as given and with symlinks followed; see WorkDirs
	Home     string

	FreeRead  []string // folders that may be read as if they were working directories
	FreeWrite []string // files and folders that may be written: the plan file is not among them, but scratch folders are
	PlanFile  string   // the one file that may be written in plan mode
	Protected []string // further files and folders whose change is always asked for: settings, hooks

	AlwaysAsk      []string // tools that are a question to the person, such as AskUserQuestion
	BypassDisabled bool     // an administrator took the mode away
	Sandboxed      bool     // commands run in the sandbox, and may therefore run without asking

	Disk   Disk    // what is really there; nil if nobody may look
	Parent *Policy // of the agent that started this one: what it may not, this one may not
}

// Facts are what a call touches.
type Facts struct {
	Tool   string
	Access []tool.Access
	Traits tool.Traits
	Hook   tool.Verdict
	Why    string // the reason of the hook
	Dir    string // where a shell command would start; empty is Policy.Dir
	Open   bool   // the command would run outside the sandbox, though others run inside
}

// A Disk tells what is on the disk. A Policy without one is judged by names alone.
type Disk interface {
	// Resolve follows all symlinks of a path, which need not be cleaned. What does not exist stays as it is.
	Resolve(path string) string
	// Match lists the files that a pattern of shellsyntax fits; whole is false if there are more.
	Match(pattern string) (files []string, whole bool)
	// Below looks for a file below folder for which stop is true; whole is false if it gave up before it had seen all.
	Below(folder string, hidden bool, stop func(path string) bool) (found string, whole bool)
}

// mode is the mode in force.
func (p *Policy) mode() Mode {
	switch p.Mode {
	case "":
		return Default
	case Bypass:
		if p.BypassDisabled {
			return Default
		}
	}
	return p.Mode
}

// names returns a path as given and as resolved, both cleaned. They are the same when nothing is known of the disk.
func (p *Policy) names(file string) (given, resolved string) {
	given = path.Clean(slash(file))
	if p.Disk == nil {
		return given, given
	}
	return given, path.Clean(slash(p.Disk.Resolve(file)))
}

// WorkDirs returns folders as given and with symlinks followed, for Policy.WorkDirs.
func WorkDirs(disk Disk, dirs ...string) []string {
	var list []string
	add := func(d string) {
		d = path.Clean(slash(d))
		for _, have := range list {
			if have == d {
				return
			}
		}
		list = append(list, d)
	}
	for _, d := range dirs {
		if d == "" {
			continue
		}
		add(d)
		if disk != nil {
			add(disk.Resolve(d))
		}
	}
	return list
}

func (p *Policy) inside(file string) bool { return insideAny(file, p.WorkDirs, p.Rules) }

func insideAny(file string, dirs []string, rules *RuleSet) bool {
	for _, d := range dirs {
		if within(file, d) {
			return true
		}
		if rules != nil && rules.places.fold && within(strings.ToLower(file), strings.ToLower(d)) {
			return true
		}
	}
	return false
}
