package shellsyntax

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shell handles bash -c 'text', and a here-document that is fed to a shell.
func (a *analysis) shell(c *Command, feed *string, sc *scope) bool {
	lang := syntax.LangBash
	if c.Name != "bash" {
		lang = syntax.LangPOSIX
	}
	args := c.Args[1:]
	for len(args) > 0 && args[0].Known() && len(args[0].Pattern) > 1 && args[0].Pattern[0] == '-' {
		p := args[0].Pattern
		args = args[1:]
		if p == "--version" && len(args) == 0 {
			c.Kind, c.ReadOnly = Plain, true
			return true
		}
		if strings.HasPrefix(p, "--") || !strings.Contains(p, "c") {
			if p != "--norc" && p != "--noprofile" && p != "-e" && p != "-u" && p != "-x" && p != "-l" && p != "--login" {
				c.Doubt = "the shell is started with " + p
			}
			if p == "-o" || p == "-O" || p == "--rcfile" || p == "--init-file" {
				if len(args) > 0 {
					args = args[1:]
				}
			}
			if p == "-l" || p == "--login" {
				c.Doubt = "a login shell runs start-up files"
			}
			continue
		}
		if strings.ContainsAny(p, "il") {
			c.Doubt = "the shell runs start-up files"
		}
		if len(args) == 0 {
			return false
		}
		c.Kind = Wrapper
		text := args[0].Pattern
		if c.Name == "zsh" || c.Name == "fish" || c.Name == "ksh" || lang == syntax.LangPOSIX && (strings.Contains(text, "$'") || strings.Contains(text, `$"`)) {
			c.Doubt = c.Name + " may read the text in another way"
		}
		a.nested(c, args[0], c.Name+" -c", lang, sc)
		return true
	}
	c.Foreign = true
	c.Doubt = "what the shell is given to run is not known"
	if len(args) == 0 && feed != nil && !strings.ContainsAny(*feed, Wild) {
		c.Kind = Wrapper
		c.Doubt = ""
		a.nested(c, Word{Pattern: *feed}, c.Name, lang, sc)
		return true
	}
	if len(args) > 0 {
		c.Files = a.file(c.Files, File{Use: Read}, args[0].Pattern, sc.dirs)
		c.Doubt = ""
	}
	c.mention(args, feed)
	return true
}

// nested analyses a text that is given to another shell.
func (a *analysis) nested(c *Command, text Word, via string, lang syntax.LangVariant, sc *scope) {
	if !text.Known() {
		c.Doubt = "the text that it runs is known only when it runs"
		c.mention([]Word{text}, nil)
		return
	}
	if a.depth+1 > maxDepth {
		*a.lost = true
		c.Doubt = "shells are wrapped too deeply"
		return
	}
	inner := &analysis{opts: a.opts, budget: a.budget, lost: a.lost, depth: a.depth + 1, via: via, wild: a.wild, globs: a.globs}
	if err := inner.script(text.Pattern, &scope{dirs: sc.dirs}, lang); err != nil {
		c.Doubt = "the text that it runs could not be parsed"
	}
	c.Inner = append(c.Inner, inner.out...)
}

// joined analyses words that are joined by blanks and run by a shell.
func (a *analysis) joined(c *Command, args []Word, via string, sc *scope) {
	var text []string
	for _, w := range args {
		if !w.Known() {
			c.Doubt = "the text that it runs is known only when it runs"
			c.Foreign = true
			c.mention(args, nil)
			return
		}
		text = append(text, w.Pattern)
	}
	a.nested(c, Word{Pattern: strings.Join(text, " ")}, via, syntax.LangBash, sc)
}

// lastArgument handles su -c text, ssh host text and script -c text: whatever literal text might be run is looked at.
func (a *analysis) lastArgument(c *Command, sc *scope) bool {
	c.Kind = Elevating
	c.Foreign = true
	c.mention(c.Args[1:], nil)
	for i, w := range c.Args[1:] {
		if w.Known() && strings.ContainsAny(w.Pattern, " ;|&") {
			a.nested(c, w, c.Name, syntax.LangBash, sc)
		} else if w.Known() && !strings.HasPrefix(w.Pattern, "-") && c.Name == "ssh" && i > 0 {
			a.joined(c, c.Args[1+i:], c.Name, sc)
			break
		}
	}
	return true
}

func (a *analysis) aliases(c *Command, sc *scope) bool {
	for _, w := range c.Args[1:] {
		name, value, found := strings.Cut(w.Pattern, "=")
		if !found {
			continue
		}
		if a.alias == nil {
			a.alias = map[string]bool{}
		}
		a.alias[name] = true
		c.Kind = Elevating
		a.nested(c, Word{Pattern: value}, "alias "+name, syntax.LangBash, sc)
	}
	return c.Kind == Elevating
}
