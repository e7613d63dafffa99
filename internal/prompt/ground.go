package prompt

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A found is a place where an instruction file may be.
type found struct {
	path   string
	source Source
	base   string // the folder that the file speaks for; what it leads to must lie there or in the project
	rule   bool   // a file of a rules folder, which may name paths
	met    bool   // those paths have been met
	above  bool   // it stands above the project, in a folder that others may write to
}

// ground is the lie of the land around the working directory. Paths are absolute; those in within are real.
type ground struct {
	root     string   // of the project: the repository's work tree, or the working directory
	main     string   // of the repository that the work tree lies in, if it does
	within   []string // folders whose text needs nobody's approval
	rootInfo fs.FileInfo
	config   fs.FileInfo // of the folder with the user's own files
}

func newGround(o InstructionOptions) ground {
	g := ground{root: o.Cwd}
	if r, ok := FindRepo(o.Cwd); ok {
		g.root = r.Root
		if r.Main != r.Root && inside(r.Main, r.Root) {
			g.main = r.Main
		}
	}
	g.rootInfo, _ = os.Stat(g.root)
	g.config, _ = os.Stat(o.ConfigDir)
	for _, dir := range append([]string{g.root, o.Cwd}, o.ExtraDirs...) {
		g.within = append(g.within, realPath(dir))
	}
	return g
}

// startFiles lists the places to look at, in the order in which they count: the nearer, the later. visit is told the folders.
func (g ground) startFiles(o InstructionOptions, visit func(dir string)) []found {
	var list []found
	if !o.Bare {
		for _, dir := range o.Managed {
			list = append(list, topFiles(dir, FromManaged, g.root)...)
		}
		if o.User && o.ConfigDir != "" {
			list = append(list, topFiles(o.ConfigDir, FromUser, g.root)...)
		}
		for _, dir := range chain("", o.Cwd) {
			visit(dir)
			list = append(list, g.folderFiles(o, dir)...)
		}
	}
	for _, dir := range o.ExtraDirs {
		if !slices.Contains(chain("", o.Cwd), dir) || o.Bare {
			visit(dir)
			list = append(list, g.folderFiles(o, dir)...)
		}
	}
	return list
}

// topFiles are the files of an administrator's folder or the user's.
func topFiles(dir string, s Source, base string) []found {
	list := []found{{path: filepath.Join(dir, "CLAUDE.md"), source: s, base: base}, {path: filepath.Join(dir, "AGENTS.md"), source: s, base: base}}
	return append(list, ruleFiles(filepath.Join(dir, "rules"), s, base)...)
}

// folderFiles are the files of a folder of the project, or of one above it.
func (g ground) folderFiles(o InstructionOptions, dir string) []found {
	above := !inside(g.root, dir) && !slices.ContainsFunc(o.ExtraDirs, func(d string) bool { return inside(d, dir) })
	add := func(list []found, s Source, names ...string) []found {
		for _, name := range names {
			list = append(list, found{path: filepath.Join(dir, name), source: s, base: dir, above: above})
		}
		return list
	}
	var list []found
	// A work tree inside of its repository has the shared files itself, as they are on its branch.
	if shared := g.main == "" || !above || !inside(g.main, dir); o.Project && shared {
		dotClaude := g.ownsDotClaude(o, dir)
		list = add(list, FromProject, "CLAUDE.md")
		if dotClaude {
			list = add(list, FromProject, filepath.Join(".claude", "CLAUDE.md"))
		}
		list = add(list, FromProject, "AGENTS.md")
		if dotClaude {
			for _, f := range ruleFiles(filepath.Join(dir, ".claude", "rules"), FromProject, dir) {
				f.above = above
				list = append(list, f)
			}
		}
	}
	if o.Local {
		list = add(list, FromLocal, "CLAUDE.local.md")
	}
	return list
}

// ownsDotClaude tells whether there is a folder .claude in dir and whether it is the project's: the one in the user's home holds the
// user's own files.
func (g ground) ownsDotClaude(o InstructionOptions, dir string) bool {
	if dir == o.Home && dir != o.Cwd {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, ".claude"))
	return err == nil && info.IsDir() && (g.config == nil || !os.SameFile(info, g.config))
}

// ruleFiles lists the rules below dir, in the order of their names. Links are followed, cycles of them are not.
func ruleFiles(dir string, s Source, base string) []found {
	const mostFiles, mostDeep = 200, 8
	var list []found
	visited := map[string]bool{}
	var walk func(dir string, deep int)
	walk = func(dir string, deep int) {
		entries, err := os.ReadDir(dir)
		if err != nil || deep > mostDeep {
			return
		}
		if real := realPath(dir); visited[real] {
			return
		} else {
			visited[real] = true
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			isDir := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				info, err := os.Stat(path)
				isDir = err == nil && info.IsDir()
			}
			switch {
			case len(list) >= mostFiles:
				return
			case isDir:
				walk(path, deep+1)
			case strings.HasSuffix(e.Name(), ".md"):
				list = append(list, found{path: path, source: s, base: base, rule: true})
			}
		}
	}
	walk(dir, 0)
	return list
}

// mayLeadTo tells whether what f stands for may be at real without anybody's approval. The user and the administrator may
// import what they like; a project only what is its own, because it may have come from anywhere.
func (g ground) mayLeadTo(f found, real string) bool {
	if f.source == FromManaged || f.source == FromUser {
		return true
	}
	return slices.ContainsFunc(g.within, func(dir string) bool { return inside(dir, real) }) || inside(realPath(f.base), real)
}

// chain lists the folders from top (or the root of the file system) down to dir, both included.
func chain(top, dir string) []string {
	var dirs []string
	for {
		dirs = append(dirs, dir)
		parent := filepath.Dir(dir)
		if dir == top || parent == dir {
			slices.Reverse(dirs)
			return dirs
		}
		dir = parent
	}
}

// inside tells whether path is dir or lies below it.
func inside(dir, path string) bool {
	if dir == "" {
		return false
	}
	rel, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && (rel == "" || os.IsPathSeparator(rel[0]))
}

// realPath follows links as far as the path exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
