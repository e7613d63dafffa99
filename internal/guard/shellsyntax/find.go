package shellsyntax

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// find lists the commands of -exec, and what -delete and -fprint do. Without them it only looks.
func (a *analysis) find(c *Command, sc *scope) bool {
	c.ReadOnly = true
	args := c.Args[1:]
	var roots []Word
	for len(args) > 0 && args[0].Known() && (args[0].Pattern == "-H" || args[0].Pattern == "-L" || args[0].Pattern == "-P" || strings.HasPrefix(args[0].Pattern, "-O")) {
		args = args[1:]
	}
	for len(args) > 0 && !(args[0].Known() && (strings.HasPrefix(args[0].Pattern, "-") || args[0].Pattern == "!" || args[0].Pattern == "(")) {
		if args[0].maybeFlag() {
			c.Doubt = "an unknown word of find may be an action"
		}
		roots = append(roots, args[0])
		args = args[1:]
	}
	if len(roots) == 0 {
		roots = []Word{{Pattern: "."}}
	}
	for _, r := range roots {
		c.Files = a.file(c.Files, File{Use: Look, Below: true}, r.Pattern, sc.dirs)
	}
	named := findName(args)
	for i := 0; i < len(args); i++ {
		w := args[i]
		if !w.Known() {
			if w.Pattern != "" && w.Pattern[0] == AnyText && (i == 0 || !strings.HasPrefix(args[i-1].Pattern, "-")) {
				c.Doubt = "an unknown word of find may be an action"
			}
			continue
		}
		switch w.Pattern {
		case "-exec", "-execdir", "-ok", "-okdir":
			var cmd []Word
			for i++; i < len(args) && args[i].Pattern != ";"; i++ {
				if args[i].Pattern == "+" && len(cmd) > 0 && cmd[len(cmd)-1].Pattern == "{}" {
					break
				}
				cmd = append(cmd, args[i])
			}
			inner := sc.clone()
			if strings.HasSuffix(w.Pattern, "dir") {
				inner.dirs = nil
			}
			a.descend(c, a.foundArgs(cmd, roots, named), "find "+w.Pattern, nil, inner)
		case "-delete":
			for _, r := range roots {
				c.Files = a.file(c.Files, File{Use: Write, Below: true, Remove: true}, r.Pattern, sc.dirs)
			}
			c.ReadOnly = false
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(args) {
				c.Files = a.file(c.Files, File{Use: Write, Aside: true}, args[i+1].Pattern, sc.dirs)
			}
			i++
		case "-files0-from", "-newer", "-samefile":
			i++
		}
	}
	return true
}

// findName returns the pattern of names that find looks for, when there is exactly one and nothing is negated.
func findName(args []Word) string {
	name := string(AnyName)
	n := 0
	for i, w := range args {
		switch w.Pattern {
		case "-o", "-or", "!", "-not", "(", ",":
			return string(AnyText)
		case "-name":
			if i+1 < len(args) {
				n++
				name = strings.NewReplacer("*", string(AnyName), "?", string(AnyChar)).Replace(args[i+1].Pattern)
				if strings.ContainsAny(name, "[\\") {
					name = string(AnyText)
				}
			}
		}
	}
	if n != 1 {
		return string(AnyText)
	}
	return name
}

// foundArgs puts what find may find in the place of {}.
func (a *analysis) foundArgs(cmd, roots []Word, name string) []Word {
	var list []Word
	for _, w := range cmd {
		if !strings.Contains(w.Pattern, "{}") {
			list = append(list, w)
			continue
		}
		if w.Pattern != "{}" {
			list = append(list, Word{Pattern: strings.ReplaceAll(w.Pattern, "{}", string(AnyText)), Source: w.quote()})
			continue
		}
		for _, r := range roots {
			p := strings.TrimSuffix(r.Pattern, "/")
			if p != "" && p[0] != '/' && p[0] != '.' && p[0] != AnyText {
				p = "./" + p // find never gives a name that looks like an option
			}
			list = append(list, Word{Pattern: p + "/" + string(AnyPath) + "/" + name, Source: "{}"})
		}
	}
	return list
}

// fd lists the command of -x and -X.
func (a *analysis) fd(c *Command, sc *scope) bool {
	for i, w := range c.Args[1:] {
		switch {
		case !w.Known() && w.maybeFlag():
			c.Doubt = "an unknown word of fd may be an action"
		case w.Pattern == "-x" || w.Pattern == "-X" || w.Pattern == "--exec" || w.Pattern == "--exec-batch":
			c.ReadOnly = true
			c.Files = a.file(c.Files, File{Use: Look, Below: true}, ".", sc.dirs)
			rest := c.Args[i+2:]
			if len(rest) == 0 {
				c.Doubt = "the command of " + w.Pattern + " is missing"
				return true
			}
			marked := false
			for _, r := range rest {
				marked = marked || strings.Contains(r.Pattern, "{")
			}
			if !marked {
				a.descend(c, placed(rest, "", nil), "fd "+w.Pattern, nil, sc)
				return true
			}
			var list []Word
			for _, r := range rest {
				if strings.Contains(r.Pattern, "{") {
					r = Word{Pattern: string(AnyText), Source: r.quote()}
				}
				list = append(list, r)
			}
			a.descend(c, list, "fd "+w.Pattern, nil, sc)
			return true
		case strings.HasPrefix(w.Pattern, "-x") || strings.HasPrefix(w.Pattern, "-X") || strings.HasPrefix(w.Pattern, "--exec"):
			c.Doubt = "fd runs a command"
			c.Foreign = true
			return true
		}
	}
	return false
}

func (a *analysis) parallel(c *Command, sc *scope) bool {
	c.Kind = Elevating
	c.Foreign = true
	c.mention(c.Args[1:], nil)
	rest, _ := skipOptions(c.Args[1:], wrapping{values: "jnNLPISa"})
	var text []string
	for _, w := range rest {
		if strings.HasPrefix(w.Pattern, ":::") {
			break
		}
		if !w.Known() {
			return true
		}
		text = append(text, w.Pattern)
	}
	if len(text) > 0 {
		a.nested(c, Word{Pattern: strings.Join(text, " ")}, "parallel", syntax.LangBash, sc)
	}
	return true
}
