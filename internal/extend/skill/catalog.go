package skill

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gofer/internal/tool/search/ignore"
)

// Options are what a Catalog is made of.
type Options struct {
	Places  []Place
	Bundled []*Skill
	More    func() []*Skill // skills that come and go, such as prompts of servers; nil: none
	Root    string          // of the project: folders below it are looked into when a file there is touched; "": none are
	Cwd     string          // paths are relative to it and to Root
}

// A Catalog is all skills of a session. Nothing is read before something is asked of it.
type Catalog struct {
	o Options

	mu       sync.Mutex
	loaded   bool
	byName   map[string]*Skill
	files    map[string]bool // by their real names
	problems []Problem
	reported int             // problems that were told already
	folders  map[string]bool // that were looked into for skills below the project
	nested   []Place
	met      map[string]bool // skills with paths, of which a file was touched
}

// New makes a Catalog. It reads nothing.
func New(o Options) *Catalog {
	return &Catalog{o: o, folders: map[string]bool{}, met: map[string]bool{}}
}

// Add adds places, such as those of plugins.
func (c *Catalog) Add(places ...Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.o.Places = append(c.o.Places, places...)
	c.loaded = false
}

// Replace puts other places in the place of Options.Places, after plugins were reloaded.
func (c *Catalog) Replace(places ...Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.o.Places, c.loaded = places, false
}

// Reload lets everything be read anew when it is next asked for.
func (c *Catalog) Reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded = false
}

// read reads all places, once. The caller holds the lock.
func (c *Catalog) read() {
	if c.loaded {
		return
	}
	c.loaded = true
	c.byName, c.files, c.problems, c.reported = map[string]*Skill{}, map[string]bool{}, nil, 0
	for _, p := range sortPlaces(append(slices.Clone(c.o.Places), c.nested...)) {
		c.load(p)
	}
	for _, s := range c.o.Bundled {
		c.enter(s)
	}
}

// All returns the skills by name, among them those that wait for a file.
func (c *Catalog) All() []*Skill {
	c.mu.Lock()
	c.read()
	all := maps.Clone(c.byName)
	c.mu.Unlock()
	for _, s := range c.more() {
		if all[s.Name] == nil {
			all[s.Name] = s
		}
	}
	list := make([]*Skill, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

func (c *Catalog) more() []*Skill {
	if c.o.More == nil {
		return nil
	}
	return c.o.More()
}

// Find returns the skill with a name, which may have a slash before it. The error is for the model.
func (c *Catalog) Find(name string) (*Skill, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "/")
	all := c.All()
	for _, fits := range []func(*Skill) bool{
		func(s *Skill) bool { return s.Name == name },
		func(s *Skill) bool { return s.Title == name && name != "" },
	} {
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return all[i], nil
		}
	}
	for _, s := range all {
		if strings.EqualFold(s.Name, name) || strings.HasSuffix(s.Name, ":"+name) {
			return nil, fmt.Errorf("there is no skill %q; did you mean %s?", name, s.Name)
		}
	}
	return nil, fmt.Errorf("there is no skill %q; use one of those that were listed, or go on without", name)
}

// Waits reports whether the skill is about files of which none was touched yet.
func (c *Catalog) Waits(s *Skill) bool {
	if s.rules == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.met[s.Name]
}

// Problems returns what is wrong.
func (c *Catalog) Problems() []Problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return slices.Clone(c.problems)
}

// NewProblems returns what was found wrong since it was last asked, without notes.
func (c *Catalog) NewProblems() []Problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		return nil
	}
	list := slices.Clone(c.problems[c.reported:])
	c.reported = len(c.problems)
	return slices.DeleteFunc(list, func(p Problem) bool { return p.Note })
}

// Touch tells that a file was read or written, and returns the skills that can be used because of it: those of folders between the project and the
// file, and those that waited for such a file.
func (c *Catalog) Touch(path string) []*Skill {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := map[*Skill]bool{}
	places := c.newFolders(path)
	if len(places) > 0 {
		c.read()
		for _, s := range c.byName {
			before[s] = true
		}
		c.nested = append(c.nested, places...)
		for _, p := range places {
			c.load(p)
		}
	}
	if !c.loaded {
		return nil // nobody was told of any skill yet
	}
	var found []*Skill
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		s := c.byName[name]
		fresh := len(places) > 0 && !before[s]
		if s.rules != nil {
			if c.met[name] || !s.rules.fit(path, c.bases(s)) {
				continue
			}
			c.met[name], fresh = true, true
		}
		if fresh {
			found = append(found, s)
		}
	}
	return found
}

// bases are the folders that the paths of a skill may be relative to.
func (c *Catalog) bases(s *Skill) []string {
	bases := []string{c.o.Root, c.o.Cwd}
	if at := strings.Index(filepath.ToSlash(s.Dir), "/.claude/"); s.Origin == Project && at > 0 {
		bases = append(bases, s.Dir[:at])
	}
	return bases
}

// newFolders finds the skill folders between the project and a file that were not looked into yet. Those that git ignores, and what strangers
// wrote, do not count.
func (c *Catalog) newFolders(path string) []Place {
	root := c.o.Root
	if root == "" || !filepath.IsAbs(path) || !inside(root, path) {
		return nil
	}
	var dirs []string
	for dir := filepath.Dir(path); dir != root && len(dir) > len(root) && !c.folders[dir]; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	var places []Place
	for _, dir := range slices.Backward(dirs) {
		c.folders[dir] = true
		if strangers(filepath.Base(dir)) {
			for _, below := range dirs {
				c.folders[below] = true
			}
			break
		}
		skills := filepath.Join(dir, ".claude", "skills")
		if inside(dir, c.o.Cwd) || !isDir(skills) || ignored(root, skills) {
			continue // a folder above the working directory is a place already
		}
		places = append(places, Place{Origin: Project, Dir: skills, Within: root})
	}
	return places
}

// strangers names folders of other people's code: their skills are for their own projects, if not against ours.
func strangers(name string) bool {
	switch name {
	case "node_modules", "vendor", "site-packages", ".git":
		return true
	}
	return false
}

// ignored reports whether git ignores a folder, or one above it below root.
func ignored(root, dir string) bool {
	var reader ignore.Reader
	for at := dir; at != root && len(at) > len(root); at = filepath.Dir(at) {
		abs := filepath.ToSlash(at)
		if reader.Above(abs).Match([]byte(abs), []byte(filepath.Base(at)), true) == ignore.Exclude {
			return true
		}
	}
	return false
}

// pathRules are the patterns of files that a skill is about.
type pathRules struct{ rules *ignore.Rules }

func compilePaths(paths []string) *pathRules {
	const most = 100
	for i, p := range paths {
		paths[i] = strings.TrimPrefix(p, "./")
	}
	rules := ignore.Compile(paths[:min(len(paths), most)])
	if rules == nil || slices.Equal(paths, []string{"**"}) {
		return nil
	}
	return &pathRules{rules}
}

// fit reports whether a file meets the patterns, in the syntax of .gitignore: a pattern that fits a folder fits all below it.
func (r *pathRules) fit(path string, bases []string) bool {
	for _, base := range bases {
		if base == "" || !inside(base, path) {
			continue
		}
		rel, err := filepath.Rel(base, path)
		if err != nil {
			continue
		}
		rel = filepath.ToSlash(rel)
		for dir := false; rel != "." && rel != ""; dir = true {
			if r.rules.Match([]byte(rel), []byte(rel[strings.LastIndex(rel, "/")+1:]), dir) == ignore.Exclude {
				return true
			}
			rel = rel[:max(strings.LastIndex(rel, "/"), 0)]
		}
	}
	return false
}
