package prompt

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"gofer/internal/prompt/memory/page"
	"gofer/internal/tool"
)

// OnTouch is called when the model has come to a file. It returns the instructions that now begin to count, as texts for
// reminders: those of the folders between the project and the file, and rules about such files. Each is told once.
func (in *Instructions) OnTouch(path string) []string {
	in.mu.Lock()
	if !in.ready {
		// Nothing has been told yet, so that nothing is missing either: Text comes first.
		in.mu.Unlock()
		return nil
	}
	path = absolute(in.o.Cwd, path)
	if dir, ok := below(in.place.root, filepath.Dir(path)); ok {
		path = filepath.Join(dir, filepath.Base(path))
	}
	l := in.loader(OnNested)
	for _, dir := range in.newFolders(path) {
		in.folders[dir] = true
		for _, f := range in.place.folderFiles(in.o, dir) {
			l.load(f, "", 0)
		}
	}
	l.why = OnPath
	in.rules = slices.DeleteFunc(in.rules, func(r rule) bool {
		if !r.about(path, in.place.root, in.o.Cwd) {
			return false
		}
		r.file.met = true
		l.load(r.file, "", 0)
		return true
	})
	in.nested = append(in.nested, l.out...)
	var reminders []string
	if len(l.out) > 0 {
		reminders = []string{in.renderNested(l.out)}
	}
	told := l.report
	in.mu.Unlock()
	in.tell(told)
	return reminders
}

// AddDir adds a working directory in the middle of a session, and returns its instructions as texts for reminders.
func (in *Instructions) AddDir(dir string) []string {
	in.mu.Lock()
	dir = absolute(in.o.Cwd, dir)
	if !slices.Contains(in.o.ExtraDirs, dir) {
		in.o.ExtraDirs = append(slices.Clone(in.o.ExtraDirs), dir)
		in.place.within = append(in.place.within, realPath(dir))
	}
	in.mu.Unlock()
	return in.OnTouch(filepath.Join(dir, "CLAUDE.md"))
}

// Watch is the middleware that calls OnTouch for every file that a call has read or written, and puts what it returns behind the
// results. Folders do not count: a search goes through many, and says nothing about where the work will be.
func (in *Instructions) Watch(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		r, err := next(ctx, c)
		if err != nil || r.IsError {
			return r, err
		}
		for _, a := range c.Access() {
			if (a.Verb == tool.Read || a.Verb == tool.Write) && isFile(a.Target) {
				r.Context = append(slices.Clip(r.Context), in.OnTouch(a.Target)...)
			}
		}
		return r, nil
	}
}

// newFolders lists the folders around path, inside of the project, that were not looked into yet.
func (in *Instructions) newFolders(path string) []string {
	tops := slices.Clone(in.o.ExtraDirs)
	if !in.o.Bare {
		tops = append(tops, in.place.root, in.o.Cwd)
	}
	dir := filepath.Dir(path)
	var dirs []string
	for _, top := range tops {
		dir, ok := below(top, dir)
		if !ok {
			continue
		}
		for _, d := range chain(top, dir) {
			if d != top && othersCode(filepath.Base(d)) {
				break
			}
			if !in.folders[d] && !slices.Contains(dirs, d) {
				dirs = append(dirs, d)
			}
		}
	}
	return dirs
}

// below tells whether dir lies below top, also when one of them is named by way of a link, and returns it as a path that begins
// with top.
func below(top, dir string) (string, bool) {
	if inside(top, dir) {
		return dir, true
	}
	realTop, realDir := realPath(top), realPath(dir)
	if !inside(realTop, realDir) {
		return "", false
	}
	return filepath.Join(top, strings.TrimPrefix(realDir, realTop)), true
}

// othersCode names folders that hold what strangers wrote: their instructions are for their own projects, if not against ours.
func othersCode(name string) bool {
	switch name {
	case "node_modules", "vendor", "site-packages", ".git":
		return true
	}
	return false
}

// A rule waits for a file that it is about.
type rule struct {
	file  found
	globs []string
}

func newRule(f found, globs []string, warn func(string, ...any)) rule {
	const most = 100
	r := rule{file: f}
	for _, g := range globs {
		for _, g := range splitGlobs(g) {
			if !doublestar.ValidatePattern(g) || len(g) > 500 {
				warn("%s: the path %q is not a glob and never matches.", f.path, g)
				continue
			}
			r.globs = append(r.globs, g)
		}
	}
	r.globs = r.globs[:min(len(r.globs), most)]
	return r
}

// about tells whether the rule is about path. Globs are relative to the folder that the rule speaks for.
func (r rule) about(path, root, cwd string) bool {
	for _, base := range []string{r.file.base, root, cwd} {
		if !inside(base, path) || r.file.source == FromProject && base != r.file.base {
			continue
		}
		rel, err := filepath.Rel(base, path)
		if err != nil {
			continue
		}
		rel = filepath.ToSlash(rel)
		for _, g := range r.globs {
			if ok, err := doublestar.Match(g, rel); err == nil && ok || strings.HasPrefix(rel, g+"/") {
				return true
			}
		}
	}
	return false
}

// splitGlobs splits a list of globs that was written on one line, and brings each into the form that is matched.
func splitGlobs(list string) []string {
	var globs []string
	for _, g := range page.List(list) {
		g = strings.TrimPrefix(strings.TrimPrefix(g, "./"), "/")
		if strings.HasSuffix(g, "/") {
			g += "**"
		}
		if g != "" {
			globs = append(globs, g)
		}
	}
	return globs
}
