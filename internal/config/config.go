// Package config reads gofer's settings, and knows of every value where it came from.
//
// Settings come in layers; a stronger one is laid over the weaker: defaults, the user's file, the project's shared file, the
// project's private file, the command line, and what an administrator manages. Objects merge, lists join, single
// values replace. What the package promises:
//
//   - A file that cannot be read or parsed is named with line and column, and costs nothing but itself. Only a broken managed
//     file stops gofer: without it nobody knows what is forbidden.
//   - A value of the wrong type costs nothing but itself. Unknown and useless keys are reported with the nearest name.
//   - A project's files can never do what only its user may decide: see Trust and the tags in settings.go.
//   - A Snapshot never changes. Store.Current may be called from any goroutine.
//   - Files are changed under a lock, read anew, edited in place (order, comments and unknown keys stay) and replaced in one
//     step. A file that does not parse is never written.
//
// The package has no behaviour of its own: app makes the other packages' options from Settings.
package config

import (
	"fmt"
	"path/filepath"
)

// A Layer is one source of settings. A higher layer is stronger.
type Layer int

const (
	Default Layer = iota
	User
	Project // .claude/settings.json, shared
	Local   // .claude/settings.local.json, private
	Flag    // --settings
	Managed // an administrator's
)

var layerNames = [...]string{"default", "user", "project", "local", "command line", "managed"}

func (l Layer) String() string {
	if l < 0 || int(l) >= len(layerNames) {
		return fmt.Sprintf("layer %d", int(l))
	}
	return layerNames[l]
}

// Source is the layer's name in the control protocol and in permission updates.
func (l Layer) Source() string {
	switch l {
	case User:
		return "userSettings"
	case Project:
		return "projectSettings"
	case Local:
		return "localSettings"
	case Flag:
		return "flagSettings"
	case Managed:
		return "policySettings"
	}
	return "defaults"
}

// LayerOf is the inverse of Source, and also takes the short names user, project, local and managed.
func LayerOf(name string) (Layer, bool) {
	for l := Default; l <= Managed; l++ {
		if name == l.String() || name == l.Source() {
			return l, true
		}
	}
	return Default, false
}

// fromProject reports whether whoever wrote the project may have written the layer. The private file is one of them: nothing
// stops a repository from containing it.
func (l Layer) fromProject() bool { return l == Project || l == Local }

// Trust is how far the project's own files may go. The zero value is the safe one.
type Trust int

const (
	Untrusted Trust = iota // nothing of the project runs, and its allow rules do not count
	Headless               // as a script expects: its hooks, servers and harmless environment count
	Trusted                // its user has accepted the folder
)

// An Origin tells where a value stands.
type Origin struct {
	Layer Layer
	File  string // a path, or the flag that held the text; empty for a default

	src *source
	off int
}

// Position returns line and column, both from 1; 0, 0 when the value stands in no text.
func (o Origin) Position() (line, column int) {
	if o.src == nil {
		return 0, 0
	}
	return o.src.position(o.off)
}

func (o Origin) String() string {
	if o.src == nil {
		if o.File != "" {
			return o.File
		}
		return o.Layer.String()
	}
	line, column := o.Position()
	return fmt.Sprintf("%s:%d:%d", o.File, line, column)
}

// Dir is the folder of the file, or "" when there is none.
func (o Origin) Dir() string {
	if !filepath.IsAbs(o.File) {
		return ""
	}
	return filepath.Dir(o.File)
}

// A Severity ranks a Problem.
type Severity int

const (
	Note    Severity = iota // nothing to repair: lint says it and passes
	Warning                 // something has no effect
	Error                   // something was dropped
)

func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s] }

// A Problem is something wrong with a settings file. The rest of the file counts.
type Problem struct {
	Severity Severity
	Origin   Origin
	Key      string // the path of the value, such as permissions.allow; empty for a whole file
	Message  string
}

func (p Problem) String() string {
	where := p.Origin.String()
	if p.Key == "" {
		return fmt.Sprintf("%s: %s: %s", where, p.Severity, p.Message)
	}
	return fmt.Sprintf("%s: %s: %s: %s", where, p.Severity, p.Key, p.Message)
}
