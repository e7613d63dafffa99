package plugin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Wanted is a plugin that is to be loaded.
type Wanted struct {
	ID       string
	Versions []string                   // the ranges one of which it must fit; nil: any
	Values   map[string]json.RawMessage // what the user has set of its userConfig
	Root     string                     // where it lies, when it is not an installed one
	Entry    *Entry                     // what its marketplace says of it, likewise
}

// A Fault is a plugin that is wanted and cannot be loaded, or a part of one.
type Fault struct {
	ID   string
	Text string
}

func (f Fault) String() string { return "plugin " + f.ID + ": " + f.Text }

// Load loads plugins for a project, in the order of their ids. What cannot be loaded is a fault, and the others work.
func (s *Store) Load(wanted []Wanted, project string) (list []*Plugin, faults []Fault) {
	if len(wanted) == 0 {
		return nil, nil
	}
	l := &loading{Store: s, project: project, markets: map[string]*Marketplace{}}
	l.installed, l.err = s.Installed()
	if l.err == nil {
		l.known, l.err = s.Known()
	}
	wanted = slices.Clone(wanted)
	slices.SortFunc(wanted, func(a, b Wanted) int { return strings.Compare(a.ID, b.ID) })
	for _, w := range wanted {
		p, err := l.load(w)
		if err != nil {
			faults = append(faults, Fault{w.ID, err.Error()})
			continue
		}
		list = append(list, p)
		for _, text := range p.Problems {
			faults = append(faults, Fault{w.ID, text})
		}
	}
	return withoutDependants(list, faults)
}

// withoutDependants drops the plugins that need one that is not there.
func withoutDependants(list []*Plugin, faults []Fault) ([]*Plugin, []Fault) {
	for dropped := true; dropped; {
		dropped = false
		for i, p := range list {
			if missing := missingOf(p, list); missing != "" {
				faults = append(faults, Fault{p.ID(), fmt.Sprintf("it needs %s, which is not there; gofer plugin install %s gets it", missing, p.ID())})
				list = slices.Delete(slices.Clone(list), i, i+1)
				dropped = true
				break
			}
		}
	}
	return list, faults
}

func missingOf(p *Plugin, list []*Plugin) string {
	for _, d := range p.Manifest.Dependencies {
		id := d.id(p.Marketplace)
		ok := slices.ContainsFunc(list, func(q *Plugin) bool {
			if q.Marketplace == "" && q.Name == d.Name {
				return true // one of the command line stands for any
			}
			return q.ID() == id && (q.Version == "" || d.accepts(q.Version))
		})
		if !ok {
			if d.Version != "" {
				id += " " + d.Version
			}
			return id
		}
	}
	return ""
}

// loading is one loading of several plugins. Files that several need are read once.
type loading struct {
	*Store
	project   string
	installed map[string][]Installed
	known     map[string]Known
	err       error // why these are not known
	markets   map[string]*Marketplace
}

func (l *loading) load(w Wanted) (*Plugin, error) {
	name, market := SplitID(w.ID)
	root, version, entry := w.Root, "", w.Entry
	if root == "" {
		if l.err != nil {
			return nil, l.err
		}
		k, known := l.known[market]
		if known {
			if err := l.Policy.Forbids(k.Source); err != nil {
				return nil, err
			}
			entry = l.entry(name, market, k)
		} else if l.Policy.Only != nil {
			return nil, fmt.Errorf("its marketplace is not known, and the managed settings allow only those that they name")
		}
		i, err := l.locate(w.ID)
		if err != nil {
			return nil, err
		}
		root, version = i.InstallPath, i.Version
	}
	p, err := Load(root, LoadOptions{Marketplace: market, Entry: entry, Store: l.Dir, Values: w.Values})
	if err != nil {
		return nil, err
	}
	if p.Name != name {
		return nil, fmt.Errorf("the plugin there calls itself %q", p.Name)
	}
	if p.Version == "" {
		p.Version = version
	}
	if w.Versions != nil && !slices.ContainsFunc(w.Versions, func(r string) bool { return Fits(r, p.Version) }) {
		return nil, fmt.Errorf("its version is %s, and the settings want one of %v", p.Version, w.Versions)
	}
	return p, nil
}

// entry is what the marketplace says of a plugin; nil when that cannot be had. A plugin works without it.
func (l *loading) entry(name, market string, k Known) *Entry {
	m, read := l.markets[market]
	if !read {
		m, _ = readKnown(k)
		l.markets[market] = m
	}
	if m == nil {
		return nil
	}
	e, err := m.Find(name)
	if err != nil {
		return nil
	}
	return e
}

// locate finds the installation that counts in the project: its own before the user's.
func (l *loading) locate(id string) (Installed, error) {
	list := l.installed[id]
	for _, scope := range []string{"local", "project", "user", "managed"} {
		for _, i := range list {
			if i.Scope != scope || (scope == "local" || scope == "project") && !sameFolder(i.ProjectPath, l.project) {
				continue
			}
			return l.mended(id, i)
		}
	}
	if len(list) > 0 { // enabled here, installed for another project: the files are the same
		return l.mended(id, list[0])
	}
	return Installed{}, fmt.Errorf("it is enabled, but not installed: gofer plugin install %s does that", id)
}

// mended finds the files of an installation also when the whole home was moved.
func (l *loading) mended(id string, i Installed) (Installed, error) {
	if isDir(i.InstallPath) {
		return i, nil
	}
	name, market := SplitID(id)
	if checkName("plugin", name) == nil && checkName("marketplace", market) == nil {
		moved := filepath.Join(l.cacheDir(), market, name, filepath.Base(i.InstallPath))
		if isDir(moved) {
			i.InstallPath = moved
			return i, nil
		}
	}
	return i, fmt.Errorf("its files are gone from %s: gofer plugin install %s fetches them again", i.InstallPath, id)
}

func sameFolder(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// InPlace finds a plugin of a marketplace that lies in a folder, without installing it.
func InPlace(src Source, name, market string) (root string, e *Entry, err error) {
	m, err := readMarketplace(src.Path, "")
	if err != nil {
		return "", nil, err
	}
	if m.Name != market {
		return "", nil, fmt.Errorf("the marketplace at %s calls itself %q, not %q", src.Path, m.Name, market)
	}
	if e, err = m.Find(name); err != nil {
		return "", nil, err
	}
	if e.Source.Kind != "path" {
		return "", nil, fmt.Errorf("it lies elsewhere: gofer plugin install %s fetches it", ID(name, market))
	}
	root, err = m.folder(e.Source)
	return root, e, err
}
