// Package trust remembers which folders the user trusts, and what they trusted there.
//
// Nothing that a project brings runs code before its folder is trusted: hooks, MCP servers, key helpers, the status line,
// environment, language servers, plugins. Trust belongs to a folder and to what those surfaces said when it was given: when one of them
// changes, the answer is Changed, with its name, until the user accepts again. Trust in a folder covers the folders below
// it, except that trust in the home folder or the root of the file system covers only itself.
//
// The memory is the state file shared with Claude Code: projects[folder].hasTrustDialogAccepted is its word and ours, and
// projects[folder].goferTrust holds our hashes. A folder that was accepted in Claude Code is trusted here as it is found.
// Whatever cannot be read counts as not trusted.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// A Surface is one way by which a project can run code, with all that the project says there.
type Surface struct {
	Name    string
	Content []byte
}

// A Memory is the state file. A missing value is nil. Merge sets members of an object and keeps the others.
type Memory interface {
	Lookup(paths ...[]string) ([]json.RawMessage, error)
	Merge(members map[string]any, path ...string) error
}

// A Verdict says how a folder stands. The zero value is the safe one.
type Verdict int

const (
	Untrusted Verdict = iota
	Changed           // it was trusted, but a surface is not what it was
	Trusted
)

func (v Verdict) String() string { return [...]string{"untrusted", "changed", "trusted"}[v] }

// A State is the answer to Check.
type State struct {
	Verdict Verdict
	Folder  string   // the folder that was accepted: the one asked for, or one above it
	Changed []string // the names of the surfaces that are new or other than accepted
	Pin     bool     // trusted, but what is trusted was not recorded yet: call Pin, so that later changes are noticed
}

// record is what gofer keeps of a folder.
type record struct {
	Surfaces map[string]string `json:"surfaces"` // hash by name
}

// A Keeper answers questions about folders.
type Keeper struct {
	memory Memory
	home   string
}

// New makes a Keeper. home is the user's home folder, or "".
func New(memory Memory, home string) *Keeper { return &Keeper{memory, home} }

// Check tells how dir stands with these surfaces. On an error the state is Untrusted.
func (k *Keeper) Check(dir string, surfaces []Surface) (State, error) {
	dir, err := realDir(dir)
	if err != nil {
		return State{}, err
	}
	folders := k.covering(dir)
	paths := [][]string{{"projects", dir, "goferTrust"}}
	for _, f := range folders {
		paths = append(paths, []string{"projects", f, "hasTrustDialogAccepted"})
	}
	values, err := k.memory.Lookup(paths...)
	if err != nil {
		return State{}, err
	}
	accepted := slices.IndexFunc(values[1:], func(v json.RawMessage) bool { return string(v) == "true" })
	if accepted < 0 {
		return State{}, nil
	}
	state := State{Verdict: Trusted, Folder: folders[accepted]}
	if values[0] == nil {
		state.Pin = len(surfaces) > 0
		return state, nil
	}
	var kept record
	if err := json.Unmarshal(values[0], &kept); err != nil {
		return State{}, errors.New("what was trusted in " + dir + " cannot be read: " + err.Error())
	}
	for _, s := range surfaces {
		if kept.Surfaces[s.Name] != hash(s) {
			state.Changed = append(state.Changed, s.Name)
		}
	}
	if state.Changed != nil {
		state.Verdict = Changed
	}
	return state, nil
}

// Accept records that the user trusts dir with these surfaces.
func (k *Keeper) Accept(dir string, surfaces []Surface) error {
	return k.write(dir, map[string]any{"hasTrustDialogAccepted": true, "goferTrust": recordOf(surfaces)})
}

// Pin records the surfaces of a folder that is trusted already, by Claude Code or through a folder above it.
func (k *Keeper) Pin(dir string, surfaces []Surface) error {
	return k.write(dir, map[string]any{"goferTrust": recordOf(surfaces)})
}

// Revoke forgets that dir is trusted.
func (k *Keeper) Revoke(dir string) error {
	return k.write(dir, map[string]any{"hasTrustDialogAccepted": false, "goferTrust": nil})
}

func (k *Keeper) write(dir string, members map[string]any) error {
	dir, err := realDir(dir)
	if err != nil {
		return err
	}
	return k.memory.Merge(members, "projects", dir)
}

// covering lists dir and the folders whose trust covers it, nearest first.
func (k *Keeper) covering(dir string) []string {
	home, err := realDir(k.home)
	if err != nil {
		home = k.home
	}
	folders := []string{dir}
	for up := filepath.Dir(dir); up != filepath.Dir(up); up = filepath.Dir(up) {
		if up != home {
			folders = append(folders, up)
		}
	}
	return folders
}

// realDir is the folder itself, whatever links lead to it: a link is no way to borrow another folder's trust.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, os.ErrNotExist) {
		return abs, nil
	}
	return target, err
}

func recordOf(surfaces []Surface) record {
	r := record{Surfaces: map[string]string{}}
	for _, s := range surfaces {
		r.Surfaces[s.Name] = hash(s)
	}
	return r
}

func hash(s Surface) string {
	sum := sha256.Sum256(s.Content)
	return hex.EncodeToString(sum[:])
}

// A Run is how gofer was started.
type Run struct {
	Headless bool // -p or the control protocol: nobody can be asked
	Careful  bool // the setting headlessTrust is careful
	Bare     bool // --bare or --safe-mode
}

// A Grant is how far the project's files may go.
type Grant int

const (
	Nothing         Grant = iota // only what forbids counts
	HooksAndServers              // as scripts expect of a headless run
	Everything
)

// Decide says what a run may use of the project.
func Decide(v Verdict, r Run) Grant {
	switch {
	case r.Bare:
		return Nothing
	case v == Trusted:
		return Everything
	case r.Headless && !r.Careful:
		return HooksAndServers
	}
	return Nothing
}

// Names lists the surfaces by name, for a dialog.
func Names(surfaces []Surface) []string {
	names := map[string]bool{}
	for _, s := range surfaces {
		names[s.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
