package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Place is for whom a plugin is installed.
type Place struct {
	Scope   string // user, project, local
	Project string // the folder, for project and local
}

func (p Place) has(i Installed) bool {
	if p.Scope == "user" {
		return i.Scope == "user"
	}
	return i.Scope == p.Scope && filepath.Clean(i.ProjectPath) == filepath.Clean(p.Project)
}

// A Done tells what came of an installation.
type Done struct {
	ID      string
	Version string
	Before  string // the version that was there; "": none
	Changed bool   // false: what is installed is what was
	Plugin  *Plugin
}

// Install fetches a plugin and what it depends on, and records them. The first of the list is the plugin itself. id may be a name alone, if
// only one marketplace has it.
func (s *Store) Install(ctx context.Context, id string, at Place) ([]Done, error) {
	var all []Done
	err := s.change(ctx, func() error {
		id, err := s.fullID(id)
		if err != nil {
			return err
		}
		in := &installing{Store: s, ctx: ctx, at: at, seen: map[string]bool{}}
		if err := in.install(id); err != nil {
			return err
		}
		all = in.done
		slices.Reverse(all)
		return nil
	})
	return all, err
}

// fullID finds the marketplace of a plugin that is named without one.
func (s *Store) fullID(id string) (string, error) {
	name, market := SplitID(id)
	if err := checkName("plugin", name); err != nil {
		return "", err
	}
	if market != "" {
		return id, checkName("marketplace", market)
	}
	known, err := s.Known()
	if err != nil {
		return "", err
	}
	var found []string
	for _, market := range sortedKeys(known) {
		m, _, err := s.Marketplace(market)
		if err != nil {
			continue
		}
		if _, err := m.Find(name); err == nil {
			found = append(found, ID(name, market))
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no marketplace that was added has a plugin %q%s", name, hint(sortedKeys(known)))
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("several marketplaces have a plugin %q: say which you mean, one of %s", name, strings.Join(found, ", "))
}

// installing is one installation with all that it brings along.
type installing struct {
	*Store
	ctx  context.Context
	at   Place
	root *Marketplace // of the plugin that was asked for
	seen map[string]bool
	done []Done // what others depend on comes first
}

// install fetches one plugin, after those that it depends on. wanted are the ranges that its dependants accept.
func (in *installing) install(id string, wanted ...string) error {
	if in.seen[id] {
		return nil
	}
	in.seen[id] = true
	name, marketName := SplitID(id)
	m, k, err := in.market(marketName)
	if err != nil {
		return err
	}
	if in.root == nil {
		in.root = m
	}
	e, err := m.Find(name)
	if err != nil {
		return err
	}
	dir, err := stage(in.cacheDir())
	if err != nil {
		return full(err)
	}
	defer removeAll(dir)
	got, err := in.fitting(m, k, e, dir, append(wanted, in.heldTo(id)...))
	if err != nil {
		return err
	}
	if err := in.dependencies(got.plugin); err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	done, err := in.keep(id, got)
	if err != nil {
		return err
	}
	if done.Plugin, err = Load(done.Plugin.Root, LoadOptions{Marketplace: m.Name, Entry: e}); err != nil {
		return err
	}
	in.done = append(in.done, done)
	return nil
}

// A fetched is a plugin whose files are here, but not yet at their place.
type fetched struct {
	plugin  *Plugin
	version string
	sha     string
	print   []byte // of its files; nil: they are too many to look at
}

// get fetches a plugin and looks whether it is one.
func (in *installing) get(m *Marketplace, k Known, e *Entry, dir string) (fetched, error) {
	id := ID(e.Name, m.Name)
	root, sha, err := in.fetch(m, k, e, dir)
	if err != nil {
		return fetched{}, fmt.Errorf("the plugin %s cannot be fetched: %w", id, err)
	}
	p, err := Load(root, LoadOptions{Marketplace: m.Name, Entry: e})
	if err != nil {
		return fetched{}, fmt.Errorf("%s is no plugin that can be used: %w", id, err)
	}
	print, err := fingerprint(root)
	if err != nil {
		print = nil
	}
	return fetched{p, versionOf(p, sha, print), sha, print}, nil
}

// market finds a marketplace; one that only the settings name is added.
func (in *installing) market(name string) (*Marketplace, Known, error) {
	known, err := in.Known()
	if err != nil {
		return nil, Known{}, err
	}
	if _, ok := known[name]; !ok {
		if src, ok := in.Extra[name]; ok {
			if _, err := in.addMarketplace(in.ctx, src, name); err != nil {
				return nil, Known{}, err
			}
		}
	}
	m, k, err := in.Marketplace(name)
	if err == nil {
		err = in.Policy.Forbids(k.Source)
	}
	return m, k, err
}

// fetch gets the files of a plugin into a folder.
func (in *installing) fetch(m *Marketplace, k Known, e *Entry, dir string) (root, sha string, err error) {
	src := e.Source
	if err := src.check(); err != nil {
		return "", "", err
	}
	copied := filepath.Join(dir, "plugin")
	switch src.Kind {
	case "path":
		from, err := m.folder(src)
		if err != nil {
			return "", "", err
		}
		if err := copyTree(in.ctx, from, m.Root, copied); err != nil {
			return "", "", err
		}
		if _, isGit := k.Source.git(); isGit || isDir(filepath.Join(m.Root, ".git")) {
			sha, _ = headOf(in.ctx, m.Root) // what has no commit yet has no name for it either
		}
		return copied, sha, nil
	case "npm":
		if err := fetchPackage(in.ctx, src, copied); err != nil {
			return "", "", err
		}
		return filepath.Join(copied, "package"), "", nil
	case "github", "git", "url", "git-subdir":
		whole := filepath.Join(dir, "repository")
		if sha, err = clone(in.ctx, src, whole); err != nil {
			return "", "", err
		}
		if whole, err = filepath.EvalSymlinks(whole); err != nil {
			return "", "", err
		}
		from := whole
		if src.Kind == "git-subdir" {
			if from, err = inside(whole, src.Path); err != nil {
				return "", "", err
			}
		}
		return copied, sha, copyTree(in.ctx, from, whole, copied)
	}
	return "", "", fmt.Errorf("there is no way to fetch a plugin from %q", src.Kind)
}

// versionOf is the version under which a plugin is kept: its own, else its commit, else what is in it.
func versionOf(p *Plugin, sha string, print []byte) string {
	switch {
	case p.Version != "":
		return p.Version
	case sha != "":
		return sha[:12]
	case print != nil:
		return string(print[:12])
	}
	return "unknown"
}

// dependencies installs what a plugin needs, unless it is there already.
func (in *installing) dependencies(p *Plugin) error {
	installed, err := in.Installed()
	if err != nil {
		return err
	}
	for _, d := range p.Manifest.Dependencies {
		if err := checkName("plugin", d.Name); err != nil {
			return err
		}
		id := d.id(p.Marketplace)
		there := slices.ContainsFunc(installed[id], func(i Installed) bool {
			return (i.Scope == "user" || in.at.has(i)) && d.accepts(i.Version)
		})
		if there {
			continue
		}
		if _, market := SplitID(id); !in.root.allows(market) {
			return fmt.Errorf("it needs %s, from a marketplace that %s does not vouch for: install that one first if you want it", id, in.root.Name)
		}
		if err := in.install(id, d.Version); err != nil {
			return err
		}
	}
	return nil
}

// keep moves the files of a plugin to their place and records them. The record is what counts: until it is written everything is as it was.
func (in *installing) keep(id string, got fetched) (Done, error) {
	name, market := SplitID(id)
	place := filepath.Join(in.cacheDir(), market, name, fileName(got.version))
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return Done{}, full(err)
	}
	for n := 0; ; n++ {
		try := place
		if n > 0 {
			try = fmt.Sprintf("%s-%d", place, n)
		}
		if _, err := os.Lstat(try); errors.Is(err, os.ErrNotExist) {
			if err := os.Rename(got.plugin.Root, try); err != nil {
				return Done{}, fmt.Errorf("%s could not be put into place: %w", id, err)
			}
			place = try
			break
		}
		// A session may be using what is there, so it is not touched; the same content is not kept twice.
		if have, err := fingerprint(try); err == nil && got.print != nil && string(have) == string(got.print) {
			place = try
			break
		}
	}
	return in.record(id, got.version, got.sha, place)
}

// fileName is a version as the name of a folder.
func fileName(version string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._+-", r) {
			return r
		}
		return '-'
	}, cut(version, 80))
	if strings.Trim(name, ".") == "" {
		return "unknown"
	}
	return name
}

func (in *installing) record(id, version, sha, place string) (Done, error) {
	installed, err := in.Installed()
	if err != nil {
		return Done{}, err
	}
	now := in.stamp()
	entry := Installed{Scope: in.at.Scope, InstallPath: place, Version: version, InstalledAt: now, LastUpdated: now, GitSHA: sha}
	if in.at.Scope != "user" {
		entry.ProjectPath = in.at.Project
	}
	done := Done{ID: id, Version: version, Changed: true, Plugin: &Plugin{Root: place}}
	list := slices.Clone(installed[id])
	if i := slices.IndexFunc(list, in.at.has); i >= 0 {
		done.Before, done.Changed = list[i].Version, filepath.Clean(list[i].InstallPath) != place
		entry.InstalledAt = list[i].InstalledAt
		list[i] = entry
	} else {
		list = append(list, entry)
	}
	if err := in.write(id, list); err != nil {
		return Done{}, err
	}
	os.Remove(filepath.Join(place, orphanMark))
	return done, nil
}

// write records the installations of a plugin; none takes it out.
func (s *Store) write(id string, list []Installed) error {
	var file struct{ Version int }
	if err := readJSON(s.installedFile(), &file); err != nil {
		return err
	}
	if file.Version != 2 {
		if err := edit(s.installedFile(), 2, "version"); err != nil {
			return full(err)
		}
	}
	if len(list) == 0 {
		return full(edit(s.installedFile(), nil, "plugins", id))
	}
	return full(edit(s.installedFile(), list, "plugins", id))
}

// Uninstall forgets an installation. last reports that it was the only one; then the plugin's own data go too, unless they are to be kept.
func (s *Store) Uninstall(ctx context.Context, id string, at Place, keepData bool) (last bool, err error) {
	err = s.change(ctx, func() error {
		installed, err := s.Installed()
		if err != nil {
			return err
		}
		list := slices.Clone(installed[id])
		i := slices.IndexFunc(list, at.has)
		if i < 0 {
			return fmt.Errorf("%s is not installed for the %s scope%s", id, at.Scope, elsewhere(list))
		}
		list = slices.Delete(list, i, i+1)
		if err := s.write(id, list); err != nil {
			return err
		}
		if last = len(list) == 0; last && !keepData {
			err = removeAll(dataDir(s.Dir, id))
		}
		return err
	})
	return last, err
}

// elsewhere names the scopes that a plugin is installed for.
func elsewhere(list []Installed) string {
	var scopes []string
	for _, i := range list {
		scopes = append(scopes, strings.TrimSpace(i.Scope+" "+i.ProjectPath))
	}
	if scopes == nil {
		return ""
	}
	return ", but for " + strings.Join(scopes, ", ")
}

// Update fetches the marketplace of an installed plugin anew, and then the plugin.
func (s *Store) Update(ctx context.Context, id string, at Place) ([]Done, error) {
	installed, err := s.Installed()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(installed[id], at.has) {
		return nil, fmt.Errorf("%s is not installed for the %s scope%s", id, at.Scope, elsewhere(installed[id]))
	}
	_, market := SplitID(id)
	if _, err := s.UpdateMarketplace(ctx, market); err != nil {
		return nil, err
	}
	return s.Install(ctx, id, at)
}
