package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A Place is a folder that has skills, or one that has commands.
type Place struct {
	Origin   Origin
	Dir      string
	Commands bool
	Name     string            // of the one command, where Dir is its file and its name is another
	Prefix   string            // of the names, without the colon: a plugin's name
	Within   string            // links may not lead out of this folder; "": they may lead anywhere
	Vars     map[string]string // further placeholders: ${CLAUDE_PLUGIN_ROOT}
}

// maxSkills bounds what is read of one place.
const maxSkills = 2000

// A loader reads places into a catalog. The caller holds its lock.
type loader struct {
	*Catalog
	place Place
	queue []candidate
}

// load reads a place. One that is not there has no skills.
func (c *Catalog) load(p Place) {
	entries, err := os.ReadDir(p.Dir)
	if err != nil && p.Commands && strings.HasSuffix(p.Dir, ".md") && !isDir(p.Dir) { // a plugin may name a single file
		if real, err := filepath.EvalSymlinks(p.Dir); err == nil {
			l := &loader{Catalog: c, place: p}
			l.add(candidate{path: p.Dir, real: real, name: cmp.Or(p.Name, strings.TrimSuffix(filepath.Base(p.Dir), ".md"))})
			l.read()
		}
		return
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			c.problem(p.Dir, err.Error())
		}
		return
	}
	real, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		c.problem(p.Dir, err.Error())
		return
	}
	l := &loader{Catalog: c, place: p}
	defer l.read()
	switch own := (candidate{path: p.Dir, real: real, name: filepath.Base(p.Dir), folder: true}); {
	case p.Commands:
		l.commands(p.Dir, entries, "", 0)
		return
	case p.Origin == Plugin && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "SKILL.md" }):
		l.add(own) // the folder itself is a skill: a plugin may name it so
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		dir := filepath.Join(p.Dir, e.Name())
		realDir := filepath.Join(real, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			if realDir, err = filepath.EvalSymlinks(dir); err != nil {
				l.problem(dir, "the link leads nowhere: "+err.Error())
				continue
			}
		}
		l.add(candidate{path: dir, real: realDir, name: e.Name(), folder: true})
	}
}

// commands reads a commands folder: folders become prefixes of names.
func (l *loader) commands(dir string, entries []fs.DirEntry, prefix string, depth int) {
	const deepest = 8
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		if strings.HasPrefix(name, ".") {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			l.problem(path, err.Error())
			continue
		}
		switch {
		case info.IsDir() && depth < deepest:
			below, err := os.ReadDir(path)
			if err != nil {
				l.problem(path, err.Error())
				continue
			}
			l.commands(path, below, prefix+name+":", depth+1)
		case info.IsDir() || !strings.HasSuffix(name, ".md") || strings.EqualFold(name, "README.md"):
		default:
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				l.unusable(path, err.Error())
				continue
			}
			called := prefix + strings.TrimSuffix(name, ".md")
			if strings.EqualFold(name, "SKILL.md") && prefix != "" {
				called = strings.TrimSuffix(prefix, ":")
			}
			l.add(candidate{path: path, real: real, name: called})
		}
	}
}

// finish gives a skill what does not stand in its front matter.
func (l *loader) finish(s *Skill, path, name, body string, found bool, size int64) {
	p := l.place
	if p.Prefix != "" {
		name = p.Prefix + ":" + name
	}
	s.Name, s.Origin, s.Command, s.File, s.Dir, s.Size, s.Vars = name, p.Origin, p.Commands, path, filepath.Dir(path), size, p.Vars
	s.depth = strings.Count(filepath.ToSlash(p.Dir), "/")
	if err := goodName(name); err != nil {
		l.unusable(path, err.Error())
		return
	}
	if err := goodName(s.Title); s.Title != "" && err != nil || s.Title == name {
		s.Title = "" // a heading for people, not a name to call it by
	}
	if s.Title != "" && !p.Commands && p.Prefix == "" {
		l.problems = append(l.problems, Problem{File: path, Text: fmt.Sprintf("its name is %s, but its folder is called %s; it can be called by both", s.Title, name), Note: true})
	}
	if s.Description == "" {
		s.Description = firstLine(body)
		if !p.Commands {
			text := "it has no description, so that a model cannot know when to use it; its first line stands in"
			if !found {
				text = "it has no front matter with a description; its first line stands in"
			}
			l.problem(path, text)
		}
	}
	s.rules = compilePaths(s.Paths)
	l.enter(s)
}

// enter makes a skill known, unless a stronger one has its name.
func (c *Catalog) enter(s *Skill) {
	old := c.byName[s.Name]
	if old == nil || s.strength() > old.strength() {
		if old != nil {
			c.shadowed(old, s)
		}
		c.byName[s.Name] = s
		return
	}
	c.shadowed(s, old)
}

func (c *Catalog) shadowed(weak, strong *Skill) {
	if weak.File != "" {
		c.problems = append(c.problems, Problem{File: weak.File, Text: fmt.Sprintf("another skill is called %s too, and counts: %s", weak.Name, join(", ", strong.Origin.String(), strong.File)), Note: true})
	}
}

// strength orders skills of one name: by origin, skills before commands, deeper folders before those above.
func (s *Skill) strength() int {
	n := int(s.Origin) * 2
	if !s.Command {
		n++
	}
	return n*1000 + min(s.depth, 999)
}

// firstLine is the first line of a text that has words, without the marks of a heading.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
			return cut(line, 200)
		}
	}
	return ""
}

func (c *Catalog) problem(file, text string) {
	c.problems = append(c.problems, Problem{File: file, Text: text})
}

func (c *Catalog) unusable(file, text string) {
	c.problems = append(c.problems, Problem{File: file, Text: text, Unusable: true})
}

// reason is an error without the path, which stands before it already.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// sortPlaces puts places into the order in which they are read: the strongest first, so that a file that is reached twice belongs to the stronger.
func sortPlaces(places []Place) []Place {
	sorted := slices.Clone(places)
	slices.SortStableFunc(sorted, func(a, b Place) int { return int(b.Origin) - int(a.Origin) })
	return sorted
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
