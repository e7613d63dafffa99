package ignore

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// Names of the files that hold rules, and of what makes a folder a repository.
const (
	GitIgnore = ".gitignore"
	Ignore    = ".ignore"
	RGIgnore  = ".rgignore"
	Git       = ".git"
)

// A Folder is a folder together with the rules of its ancestors. Folders without rules of their own share the
// value of their parent, so a whole tree needs only a few.
type Folder struct {
	parent  *Folder
	base    int // length of the folder's path with its final slash
	custom  *Rules
	ignore  *Rules
	git     *Rules
	exclude *Rules // of the repository, if the folder is the top of one
	global  *Rules // the user's, if the folder is the top of a repository
	isRepo  bool
	inRepo  bool
	deep    bool // some rule of the folder or its ancestors needs a path
	empty   bool
}

// Nothing returns a folder without rules.
func Nothing() *Folder { return &Folder{empty: true} }

// A Reader finds the rules. The zero value works; Getenv exists for tests.
type Reader struct {
	Getenv func(string) string // nil: os.Getenv
}

// Above returns the rules that hold in the folder abs because of the folders above it, up to the root of the file system.
// Paths have slashes.
func (r *Reader) Above(abs string) *Folder {
	f := Nothing()
	parent := strings.TrimSuffix(abs, "/")
	for i := 0; i < len(parent); i++ {
		if parent[i] == '/' {
			f = r.probe(f, parent[:i])
		}
	}
	return f
}

// probe enters a folder of which the entries are not known.
func (r *Reader) probe(f *Folder, abs string) *Folder {
	var has Has
	dir := abs + "/"
	for name, found := range map[string]*bool{GitIgnore: &has.GitIgnore, Ignore: &has.Ignore, RGIgnore: &has.RGIgnore, Git: &has.Git} {
		_, err := os.Lstat(dir + name)
		*found = err == nil
	}
	return r.Enter(f, abs, has)
}

// Has says which of the names above a folder has.
type Has struct{ GitIgnore, Ignore, RGIgnore, Git bool }

// Enter returns the rules of the folder abs below f. A file of rules that cannot be read counts as empty.
func (r *Reader) Enter(f *Folder, abs string, has Has) *Folder {
	if has == (Has{}) {
		return f
	}
	dir := strings.TrimSuffix(abs, "/") + "/"
	read := func(wanted bool, name string) *Rules {
		if !wanted {
			return nil
		}
		return readRules(dir + name)
	}
	n := &Folder{
		parent: f, base: len(dir), isRepo: has.Git, inRepo: f.inRepo || has.Git, deep: f.deep,
		custom: read(has.RGIgnore, RGIgnore), ignore: read(has.Ignore, Ignore), git: read(has.GitIgnore, GitIgnore),
	}
	if has.Git {
		common := commonDir(dir + Git)
		n.exclude = readRules(common + "/info/exclude")
		n.global = r.userRules(common)
	}
	for _, rules := range []*Rules{n.custom, n.ignore, n.git, n.exclude, n.global} {
		n.deep = n.deep || rules.Deep()
	}
	return n
}

// maxFile bounds a file of rules; a larger one is none.
const maxFile = 8 << 20

func readRules(path string) *Rules {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return Parse(data)
}

// commonDir returns the folder that holds info/exclude and config, also for a worktree or a submodule, where .git is
// a file that points elsewhere.
func commonDir(git string) string {
	pointer := func(path, key string) (string, bool) {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
			return "", false
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", false
		}
		target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), key)
		target = strings.TrimSpace(target)
		if target != "" && !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return filepath.ToSlash(target), ok && target != ""
	}
	dir := git
	if target, ok := pointer(git, "gitdir:"); ok {
		dir = target
	}
	if target, ok := pointer(dir+"/commondir", ""); ok {
		return target
	}
	return dir
}

// Deep reports whether Match needs a path; else the name is enough.
func (f *Folder) Deep() bool { return f.deep }

// Match judges an entry. path is absolute, with slashes; it may be nil when Deep is false.
func (f *Folder) Match(path, name []byte, dir bool) Verdict {
	if f.empty {
		return None
	}
	var custom, plain, git, exclude, global Verdict
	passedRepo := false
	for n := f; !n.empty; n = n.parent {
		rel := path
		if len(path) >= n.base {
			rel = path[n.base:]
		}
		if custom == None {
			custom = n.custom.Match(rel, name, dir)
		}
		if plain == None {
			plain = n.ignore.Match(rel, name, dir)
		}
		if !f.inRepo || passedRepo {
			continue
		}
		if git == None {
			git = n.git.Match(rel, name, dir)
		}
		if n.isRepo {
			exclude, global = n.exclude.Match(rel, name, dir), n.global.Match(rel, name, dir)
			passedRepo = true
		}
	}
	for _, v := range [...]Verdict{custom, plain, git, exclude, global} {
		if v != None {
			return v
		}
	}
	return None
}

// userRules reads the file of core.excludesFile. The settings of the repository come before those of the user, and git has
// a default place when nobody sets it.
func (r *Reader) userRules(common string) *Rules {
	getenv := r.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE")
	}
	xdg := getenv("XDG_CONFIG_HOME")
	if xdg == "" && home != "" {
		xdg = home + "/.config"
	}
	configs := []string{common + "/config"}
	if global := getenv("GIT_CONFIG_GLOBAL"); global != "" {
		configs = append(configs, global)
	} else {
		configs = append(configs, home+"/.gitconfig", xdg+"/git/config")
	}
	for _, config := range configs {
		if path := excludesFile(config); path != "" {
			if rest, ok := strings.CutPrefix(path, "~/"); ok {
				path = home + "/" + rest
			}
			return readRules(path)
		}
	}
	if xdg == "" {
		return nil
	}
	return readRules(xdg + "/git/ignore")
}

// excludesFile finds core.excludesFile in a configuration file of git.
func excludesFile(config string) string {
	info, err := os.Stat(config)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	data, err := os.ReadFile(config)
	if err != nil {
		return ""
	}
	found, section := "", ""
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, "[") {
			section, _, _ = strings.Cut(text[1:], "]")
			section = strings.ToLower(strings.TrimSpace(section))
			continue
		}
		key, value, ok := strings.Cut(text, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			found = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return found
}
