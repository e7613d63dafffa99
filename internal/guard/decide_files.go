package guard

import (
	"fmt"
	"path"
	"strings"

	"gofer/internal/guard/shellsyntax"
)

func wild(file string) bool { return strings.ContainsAny(file, shellsyntax.Wild) }

// shown writes a pattern for people.
func shown(file string) string {
	if !wild(file) {
		return file
	}
	return strings.NewReplacer("\x00", "…", "\x01", "*", "\x02", "?", "\x03", "**").Replace(file)
}

// fileNames returns the file of a command as it is named and as it is on the disk. A pattern has one name.
func (p *Policy) fileNames(f shellsyntax.File) (given, resolved string) {
	if !wild(f.Path) {
		return p.names(f.Path)
	}
	given = path.Clean(f.Path)
	return given, given
}

// deniedFile finds the rule that denies what a command does to a file, and the file that it means.
func (p *Policy) deniedFile(f shellsyntax.File) (*Rule, string) {
	index := &p.Rules.deny.read
	switch f.Use {
	case shellsyntax.Look:
		return nil, ""
	case shellsyntax.Write:
		index = &p.Rules.deny.write
	}
	if index.len() == 0 {
		return nil, ""
	}
	at := p.Rules.places
	given, resolved := p.fileNames(f)
	if !wild(given) {
		for _, n := range []string{given, resolved} {
			if r := index.find(at, n); r != nil {
				return r, n
			}
		}
	} else if r, file := p.deniedMatch(index, given); r != nil {
		return r, file
	}
	if f.Below && !wild(given) {
		return p.deniedBelow(index, given, f.Hidden || f.Use == shellsyntax.Write)
	}
	return nil, ""
}

// deniedMatch is deniedFile for a glob. One that could name a denied file counts as naming it; unknown text does not, because
// every variable could hold everything.
func (p *Policy) deniedMatch(index *pathIndex, pattern string) (*Rule, string) {
	at := p.Rules.places
	if strings.IndexByte(pattern, shellsyntax.AnyText) >= 0 {
		if base := path.Base(pattern); !wild(base) { // wherever it is, its name is known
			return index.names[at.lower(base)], pattern
		}
		return nil, ""
	}
	if root, rest, ok := strings.Cut(pattern, "/"+string(shellsyntax.AnyPath)); ok {
		r := index.may(at, pattern)
		name := strings.TrimPrefix(rest, "/")
		if r == nil || p.Disk == nil || wild(root) {
			return index.may(at, root+"/"+name), pattern // what is only below a denied folder is asked for by readMatches
		}
		found, whole := p.Disk.Below(root, true, func(file string) bool {
			return index.find(at, file) != nil && (name == "" || overlapText(escapeGlob(path.Base(file)), name))
		})
		if found != "" {
			return index.find(at, slash(found)), found
		}
		if whole {
			return nil, ""
		}
		return r, pattern
	}
	if r := index.may(at, pattern); r != nil {
		return r, pattern
	}
	if p.Disk == nil {
		return nil, ""
	}
	files, _ := p.Disk.Match(pattern)
	for _, file := range files {
		if _, resolved := p.names(file); resolved != file {
			if r := index.find(at, resolved); r != nil {
				return r, file
			}
		}
	}
	return nil, ""
}

// deniedBelow finds a denied file below a folder that a command goes through.
func (p *Policy) deniedBelow(index *pathIndex, folder string, hidden bool) (*Rule, string) {
	at := p.Rules.places
	r := index.may(at, strings.TrimSuffix(folder, "/")+"/"+string(shellsyntax.AnyPath))
	if r == nil || p.Disk == nil {
		return nil, "" // readFile asks
	}
	found, _ := p.belowOnce(index, folder, hidden)
	if found == "" {
		return nil, ""
	}
	return index.find(at, slash(found)), found
}

// deniedMention finds a denied file that is named in the arguments of a program which might read anything.
func (p *Policy) deniedMention(c *shellsyntax.Command) (*Rule, string) {
	dirs := c.Dirs
	if dirs == nil {
		dirs = []string{slash(p.Dir)}
	}
	for _, m := range c.Mentions {
		if strings.HasPrefix(m, "~/") {
			m = slash(p.Home) + m[1:]
		}
		list := []string{m}
		if !strings.HasPrefix(m, "/") {
			list = list[:0]
			for _, d := range dirs {
				list = append(list, d+"/"+m)
			}
		}
		for _, file := range list {
			given := path.Clean(file)
			if r := p.Rules.deny.read.find(p.Rules.places, given); r != nil {
				return r, given
			}
			if p.Disk != nil && len(c.Mentions) <= 32 {
				if _, resolved := p.names(file); resolved != given {
					if r := p.Rules.deny.read.find(p.Rules.places, resolved); r != nil {
						return r, given
					}
				}
			}
		}
	}
	return nil, ""
}

// readFile asks if a command reads where reading is not free.
func (p *Policy) readFile(f shellsyntax.File) (Decision, bool) {
	ask := func(kind Kind, format, file string) (Decision, bool) {
		return Decision{Kind: kind, Reason: fmt.Sprintf(format, shown(file)), BlockedPath: shown(file)}, true
	}
	given, resolved := p.fileNames(f)
	switch {
	case shellsyntax.Stream(given) || shellsyntax.Stream(f.Path) && given == resolved:
		return Decision{}, false
	case strings.IndexByte(given, shellsyntax.AnyText) >= 0:
		return ask(ByDoubt, "which file it reads is known only when it runs (%s)", given)
	case wild(given):
		return p.readMatches(f, given)
	}
	if !p.readable(given) || !p.readable(resolved) {
		if p.allowedPath(&p.Rules.allow.read, given, resolved) == nil {
			return ask(ByWorkDir, "%s is outside the working directories", given)
		}
	}
	if f.Below && f.Use == shellsyntax.Read && p.Rules.deny.read.len() > 0 {
		return p.readBelow(f, given)
	}
	return Decision{}, false
}

// readBelow asks when a folder may hold a denied file and nobody could make sure.
func (p *Policy) readBelow(f shellsyntax.File, folder string) (Decision, bool) {
	at := p.Rules.places
	index := &p.Rules.deny.read
	r := index.may(at, strings.TrimSuffix(folder, "/")+"/"+string(shellsyntax.AnyPath))
	if r == nil {
		return Decision{}, false
	}
	if p.Disk != nil {
		if _, whole := p.belowOnce(index, folder, f.Hidden); whole {
			return Decision{}, false
		}
	}
	return Decision{Kind: ByDoubt, Rule: r, Reason: fmt.Sprintf("it reads all of %s, where the rule %s may deny a file", folder, r), BlockedPath: folder}, true
}

// readMatches is readFile for a glob: the folder it begins in must be free, and what it really fits too.
func (p *Policy) readMatches(f shellsyntax.File, pattern string) (Decision, bool) {
	ask := func(file string) (Decision, bool) {
		return Decision{Kind: ByWorkDir, Reason: shown(file) + " is outside the working directories", BlockedPath: shown(file)}, true
	}
	root := pattern
	for wild(root) {
		root = path.Dir(root)
	}
	given, resolved := p.names(root)
	if (!p.readable(given) || !p.readable(resolved)) && p.allowedPath(&p.Rules.allow.read, given, resolved) == nil || !strings.HasPrefix(pattern, "/") {
		return ask(pattern)
	}
	if strings.IndexByte(pattern, shellsyntax.AnyPath) >= 0 {
		if r := p.Rules.deny.read.may(p.Rules.places, pattern); r != nil && p.Disk == nil && f.Use == shellsyntax.Read {
			return Decision{Kind: ByDoubt, Rule: r, Reason: fmt.Sprintf("%s may be a file that the rule %s denies", shown(pattern), r), BlockedPath: shown(pattern)}, true
		}
		return Decision{}, false
	}
	if p.Disk == nil {
		return Decision{}, false
	}
	files, whole := p.Disk.Match(pattern)
	if !whole {
		return Decision{Kind: ByDoubt, Reason: fmt.Sprintf("%s names too many files to look at", shown(pattern)), BlockedPath: shown(pattern)}, true
	}
	for _, file := range files {
		given, resolved := p.names(file)
		if (!p.readable(given) || !p.readable(resolved)) && p.allowedPath(&p.Rules.allow.read, given, resolved) == nil {
			return ask(file)
		}
	}
	return Decision{}, false
}

// writeFile asks if a command writes where writing is not allowed.
func (p *Policy) writeFile(f shellsyntax.File) (Decision, bool) {
	given, resolved := p.fileNames(f)
	if shellsyntax.Discards(f.Path) || shellsyntax.Discards(given) && given == resolved {
		return Decision{}, false
	}
	if strings.IndexByte(given, shellsyntax.AnyText) >= 0 {
		return Decision{Kind: ByDoubt, Reason: fmt.Sprintf("which file it writes is known only when it runs (%s)", shown(given)), BlockedPath: shown(given)}, true
	}
	root, real := given, resolved
	if wild(given) {
		for wild(root) {
			root = path.Dir(root)
		}
		root, real = p.names(root)
	}
	switch inside := p.inside(root) && p.inside(real); {
	case p.writable(root) && p.writable(real):
		return Decision{}, false
	case p.isPlan(given, resolved):
		return Decision{}, false
	case p.mode() == AcceptEdits && inside:
		return Decision{}, false
	case !wild(given) && p.allowedPath(&p.Rules.allow.write, given, resolved) != nil:
		return Decision{}, false
	case inside:
		return Decision{Kind: ByDefault, Reason: fmt.Sprintf("it writes %s, which no rule allows", shown(given)), BlockedPath: shown(given)}, true
	}
	return Decision{Kind: ByWorkDir, Reason: fmt.Sprintf("it writes %s, which is outside the working directories", shown(given)), BlockedPath: shown(given)}, true
}
