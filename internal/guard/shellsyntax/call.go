package shellsyntax

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command: what is substituted in it first, then the command itself, once for each
// combination of values that its variables may have.
func (a *analysis) call(n *syntax.CallExpr, files []File, feed *string, sc *scope) (ok []string) {
	var assigns []string
	for _, as := range n.Assigns {
		a.inside(as, sc)
		if as.Name != nil {
			assigns = append(assigns, as.Name.Value)
		}
	}
	for _, w := range n.Args {
		a.inside(w, sc)
	}
	if len(n.Args) == 0 {
		a.bare(n, assigns, files, sc)
		return sc.dirs
	}
	before := sc.dirs
	var after []string
	var flow []string
	for i, args := range a.combinations(n.Args, sc) {
		one := sc.clone()
		one.dirs, one.stdin = before, sc.stdin
		list := a.simple(args, files, feed, one)
		for _, c := range list {
			c.Source = a.text(n)
			a.setAssigns(c, assigns, n.Assigns)
			a.emit(c)
			flow = c.prints(sc.stdin)
		}
		if i > 0 || len(list) != 1 {
			flow = nil
		}
		moved := a.moved(args, one)
		if i == 0 {
			after = moved
		} else {
			after = union(after, moved)
		}
	}
	a.flow = flow
	sc.dirs = union(before, after)
	return after
}

// combinations expands the arguments of a call.
func (a *analysis) combinations(words []*syntax.Word, sc *scope) [][]Word {
	lists := [][]Word{make([]Word, 0, len(words))}
	for _, w := range words {
		next := a.words(w, sc)
		if len(next) == 1 {
			for i := range lists {
				lists[i] = append(lists[i], next[0]...)
			}
			continue
		}
		if len(lists)*len(next) > maxWords || len(next) == 0 {
			for i := range lists {
				lists[i] = append(lists[i], Word{Pattern: string(AnyText), Source: a.text(w), Many: true})
			}
			continue
		}
		joined := make([][]Word, 0, len(lists)*len(next))
		for _, l := range lists {
			for _, m := range next {
				joined = append(joined, append(l[:len(l):len(l)], m...))
			}
		}
		lists = joined
	}
	return lists
}

// bare lists assignments and redirections without a command.
func (a *analysis) bare(n *syntax.CallExpr, assigns []string, files []File, sc *scope) {
	c := &Command{Source: a.text(n), Text: a.text(n), Assigns: assigns, Files: files, ReadOnly: true, Dirs: sc.dirs}
	for _, as := range n.Assigns {
		if as.Name == nil {
			continue
		}
		name := as.Name.Value
		if weightyVariable(name) {
			c.Doubt = name + " changes what later commands do"
		}
		if as.Index != nil {
			if why := a.evaluated(as.Index); why != "" {
				c.Doubt = why
			}
		}
		sc.define(name)
	}
	a.emit(c)
}

func (a *analysis) setAssigns(c *Command, names []string, assigns []*syntax.Assign) {
	c.Assigns = names
	for i, name := range names {
		if !harmlessVariable(name) {
			c.Doubt = name + " may change what the command does"
		} else if v := assigns[i].Value; v != nil && smuggles(a.text(v)) && c.Doubt == "" && strings.Contains(a.text(v), "'") {
			c.Doubt = "the value of " + name + " holds a command"
		}
	}
}

// simple makes the command of args, with all that it runs in turn. The result is more than one command only for a name
// that is a function at one time and a program at another.
func (a *analysis) simple(args []Word, files []File, feed *string, sc *scope) []*Command {
	*a.budget--
	if *a.budget <= 0 {
		return nil
	}
	if len(args) == 0 {
		return []*Command{{Files: files, Dirs: sc.dirs, Doubt: "there may be nothing left of it, or anything", Args: nil}}
	}
	c := &Command{Args: args, Dirs: sc.dirs, Text: joinWords(args)}
	first := args[0]
	if !first.Known() || first.Pattern == "" {
		c.Doubt = "the name of the program is known only when it runs"
		c.Files = files
		c.Foreign = true
		c.mention(args[1:], feed)
		return []*Command{c}
	}
	c.Name = path.Base(first.Pattern)
	c.ByPath = strings.Contains(first.Pattern, "/")
	if !c.ByPath && a.alias[c.Name] {
		c.Doubt = "an alias gives " + c.Name + " another meaning"
	}
	if bodies := a.funcs[c.Name]; !c.ByPath && len(bodies) > 0 {
		f := a.inlined(c, bodies, sc)
		f.Files = files
		if sc.funcs[c.Name] {
			return []*Command{f}
		}
		return append(a.program(c, files, feed, sc), f)
	}
	return a.program(c, files, feed, sc)
}

func joinWords(args []Word) string {
	var b strings.Builder
	for i, w := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.quote())
	}
	return b.String()
}

// program fills in what is known of the program that c runs.
func (a *analysis) program(c *Command, files []File, feed *string, sc *scope) []*Command {
	if !a.wrapper(c, feed, sc) {
		a.judge(c, feed, sc)
	}
	c.Files = append(c.Files, files...)
	return []*Command{c}
}

// inlined walks the bodies of a function with the arguments of a call.
func (a *analysis) inlined(c *Command, bodies []*syntax.FuncDecl, sc *scope) *Command {
	f := &Command{Name: c.Name, Args: c.Args, Text: c.Text, Dirs: c.Dirs, Kind: Wrapper, Function: true, Via: a.via}
	a.depth++
	defer func() { a.depth-- }()
	if a.walking[c.Name] {
		f.Doubt = "the function calls itself"
		return f
	}
	if a.depth > maxDepth {
		*a.lost = true
		f.Doubt = "functions call each other too deeply"
		return f
	}
	if a.walking == nil {
		a.walking = map[string]bool{}
	}
	a.walking[c.Name] = true
	defer delete(a.walking, c.Name)
	outer, via, asleep := a.out, a.via, a.asleep
	a.out, a.via, a.asleep = nil, "function "+c.Name, false
	for _, body := range bodies {
		inner := sc.clone()
		inner.params = nil
		if !a.shifts {
			inner.params = []string{}
			for _, w := range c.Args[1:] {
				if w.Many { // it may be several, and the rest would move
					inner.params = nil
					break
				}
				inner.params = append(inner.params, w.Pattern)
			}
		}
		a.stmt(body.Body, inner)
		sc.dirs = union(sc.dirs, inner.dirs)
	}
	f.Inner = a.out
	a.out, a.via, a.asleep = outer, via, asleep
	return f
}

// moved returns where the shell is after the command has succeeded.
func (a *analysis) moved(args []Word, sc *scope) []string {
	for len(args) > 1 && args[0].Known() && (args[0].Pattern == "builtin" || args[0].Pattern == "command") {
		args = args[1:]
	}
	if len(args) == 0 || !args[0].Known() {
		return sc.dirs
	}
	if a.funcs[args[0].Pattern] != nil && !sc.funcs[args[0].Pattern] {
		return nil // now a function, now a program
	}
	if a.funcs[args[0].Pattern] != nil {
		return sc.dirs
	}
	switch args[0].Pattern {
	case "cd", "pushd":
	case "popd":
		return nil
	default:
		return sc.dirs
	}
	args = args[1:]
	for len(args) > 0 && args[0].Known() && len(args[0].Pattern) > 1 && args[0].Pattern[0] == '-' {
		if args[0].Pattern == "-P" {
			return nil // symlinks decide
		}
		args = args[1:]
	}
	target := Word{Pattern: a.opts.Home}
	if len(args) > 0 {
		target = args[0]
	}
	if !target.Known() || target.Pattern == "" || target.Pattern == "-" || len(args) > 1 {
		return nil
	}
	var dirs []string
	for _, f := range a.file(nil, File{}, target.Pattern, sc.dirs) {
		if strings.ContainsAny(f.Path, Wild) {
			return nil
		}
		if d := path.Clean(f.Path); !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// interpreters run code that stands in their arguments.
func interpreter(name string) bool {
	switch strings.TrimRight(name, "0123456789.") {
	case "", "python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "Rscript", "osascript", "tclsh", "awk", "gawk", "mawk", "nawk", "sed", "bash", "sh", "dash", "zsh", "ksh",
		"ash", "fish", "pwsh", "powershell", "vim", "vi", "nvim", "ex", "ed", "emacs", "sqlite", "psql", "mysql", "jshell", "ghci", "irb", "julia", "R", "eval", "ssh", "su", "parallel", "script", "expect", "gdb":
		return true
	}
	return false
}

// mention collects the pieces of arguments that may be names of files. Prose is taken apart only where it may be code.
func (c *Command) mention(args []Word, feed *string) {
	const seams = "\"'`()[]{}<>|&;,=:$!?*@#%^+\\" + Wild
	add := func(s, cut string) {
		for _, m := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(cut, r) }) {
			if len(c.Mentions) < 256 && strings.Trim(m, "-/") != "" && !slices.Contains(c.Mentions, m) {
				c.Mentions = append(c.Mentions, m)
			}
		}
	}
	code := interpreter(c.Name)
	for _, w := range args {
		if code {
			add(w.Pattern, " \t\n\r"+seams)
		}
		if !strings.ContainsAny(w.Pattern, " \t\n"+Wild) {
			add(strings.TrimLeft(w.Pattern, "-@"), "") // whole, because names may hold any of these characters
			add(w.Pattern, "=@:,")
		}
	}
	if code && feed != nil {
		add(*feed, " \t\n\r"+seams)
	}
}
