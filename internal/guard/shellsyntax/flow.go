package shellsyntax

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// pipe walks x | y. What x prints is followed where it is names of files, so that xargs behind find is known to get no others.
func (a *analysis) pipe(b *syntax.BinaryCmd, sc *scope) {
	a.flow = nil
	left := sc.clone()
	left.stdin = sc.stdin
	a.stmt(b.X, left)
	flow := a.flow
	switch x := b.X.Cmd.(type) {
	case *syntax.CallExpr:
	case *syntax.BinaryCmd:
		if x.Op != syntax.Pipe {
			flow = nil
		}
	default:
		flow = nil
	}
	right := sc.clone()
	right.stdin = flow
	a.stmt(b.Y, right)
}

// prints returns the names of files that the command prints, as patterns; nil if it prints something else.
func (c *Command) prints(stdin []string) []string {
	if c.Doubt != "" || c.ByPath || len(c.Inner) > 0 {
		return nil
	}
	has := func(flags ...string) bool {
		return slices.ContainsFunc(c.Args, func(w Word) bool { return slices.Contains(flags, w.Pattern) })
	}
	reads := slices.ContainsFunc(c.Files, func(f File) bool { return f.Use == Read })
	switch c.Name {
	case "head", "tail", "sort", "uniq", "tac", "shuf":
		if !reads {
			return stdin
		}
	case "grep", "egrep", "fgrep":
		if !reads && !has("-o", "-n", "-c", "--only-matching") {
			return stdin
		}
		if has("-l", "-rl", "-lr", "-rln", "-ril", "-rli", "-L", "--files-with-matches") && reads {
			return c.found()
		}
	case "rg":
		if has("-l", "--files", "--files-with-matches") {
			return c.found()
		}
	case "fd", "fdfind":
		return c.found()
	case "git":
		if len(c.Args) == 2 && c.Args[1].Pattern == "ls-files" || len(c.Args) == 3 && c.Args[1].Pattern == "ls-files" && c.Args[2].Pattern == "-z" {
			return []string{string(AnyPath)}
		}
	case "find":
		if has("-printf", "-print0", "-ls", "-fprint") && !has("-print0") {
			return nil
		}
		return c.foundByFind()
	}
	return nil
}

// found is all that is below the folders that the command searched.
func (c *Command) found() []string {
	var list []string
	for _, f := range c.Files {
		if f.Use == Write {
			continue
		}
		p := f.Path
		if f.Below {
			p = strings.TrimSuffix(strings.TrimSuffix(p, "/."), "/") + "/" + string(AnyPath)
		}
		list = append(list, p)
	}
	return list
}

func (c *Command) foundByFind() []string {
	args := c.Args[1:]
	for len(args) > 0 && !strings.HasPrefix(args[0].Pattern, "-") && args[0].Pattern != "!" && args[0].Pattern != "(" {
		args = args[1:]
	}
	name := findName(args)
	var list []string
	for _, p := range c.found() {
		list = append(list, p+"/"+strings.ReplaceAll(name, string(AnyText), string(AnyPath)))
	}
	return list
}
