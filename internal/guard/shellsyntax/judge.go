package shellsyntax

import (
	"path"
	"slices"
	"strings"
)

// judge says what the program of c reads and writes, and whether it is known to change nothing.
func (a *analysis) judge(c *Command, feed *string, sc *scope) {
	if special := specials(c.Name); special != nil {
		special(a, c, sc)
	} else {
		a.byTable(c, feed, sc)
	}
	if c.ByPath {
		c.ReadOnly = false // a program of the same name may lie there
		if !systemPath(c.Args[0].Pattern) && !c.Foreign {
			c.Foreign = true
			c.mention(c.Args[1:], feed)
		}
	}
}

// systemPath reports whether the program lies where the system keeps its own.
func systemPath(file string) bool {
	dir, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(file, "/usr"), "/local"), "bin/")
	return dir == "/" || dir == "/s"
}

func specials(name string) func(*analysis, *Command, *scope) {
	switch name {
	case "git":
		return (*analysis).git
	case "sed", "gsed":
		return (*analysis).sed
	case "awk", "gawk", "mawk", "nawk":
		return (*analysis).awk
	case "date", "gdate":
		return (*analysis).date
	case "dd":
		return (*analysis).dd
	case "tar", "gtar", "bsdtar":
		return (*analysis).tar
	case "cd", "pushd", "popd":
		return (*analysis).cd
	case "set":
		return (*analysis).set
	}
	return nil
}

func (a *analysis) byTable(c *Command, feed *string, sc *scope) {
	p, args := lookup(c)
	if p == nil {
		c.Foreign = true
		c.mention(c.Args[1:], feed)
		return
	}
	in := a.take(c, p, args, sc)
	c.ReadOnly = p.readOnly && in.bad == "" && in.runs == ""
	if in.runs != "" {
		c.Doubt = "its option " + in.runs + " runs another program"
	}
	switch c.Name {
	case "test", "[", "printf", "read", "wait", "mapfile", "readarray", "getopts":
		c.evaluates(args)
	case "source", ".":
		c.Doubt = "it runs what is in a file"
	case "jq":
		for _, w := range in.operands {
			if strings.Contains(w.Pattern, "import") || strings.Contains(w.Pattern, "include") {
				c.Doubt = "the filter of jq reads other files"
			}
		}
	case "less", "more":
		for _, w := range in.operands {
			if strings.HasPrefix(w.Pattern, "+") {
				c.Doubt = "the pager is given commands"
			}
		}
	case "hash":
		c.ReadOnly = c.ReadOnly && len(args) == 0
	case "curl", "wget", "sqlite3", "vim", "vi", "nvim", "ed", "ex", "emacs", "ffmpeg":
		c.mention(args, feed)
	}
	if p.role == "none" && len(in.operands) > 0 || p.role == "none" && len(args) != 1 && c.Name != "hostname" {
		c.ReadOnly = false
		c.Foreign = true
		c.mention(args, feed)
		if other := table()[c.Name+"\x00files"]; other != nil {
			c.Foreign = false
			in = a.take(c, other, args, sc)
			p = other
		} else {
			return
		}
	}
	a.operands(c, p, in, sc)
}

// evaluates marks a builtin whose arguments name variables: a[$(cmd)] in such a name runs cmd.
func (c *Command) evaluates(args []Word) {
	for i, w := range args {
		names := c.Name != "printf" && c.Name != "test" && c.Name != "[" || i > 0 && args[i-1].Pattern == "-v" || strings.HasPrefix(w.Pattern, "-v")
		if names && strings.ContainsAny(w.Pattern, "[") && smuggles(w.Pattern) {
			c.Doubt = "the name of a variable holds a command"
		}
		if names && strings.ContainsRune(w.Pattern, AnyText) && (c.Name == "printf" || c.Name == "test" || c.Name == "[") {
			c.Doubt = "the name of a variable is known only when it runs"
		}
	}
}

// operands turns the operands into files, by the role that the table gives them.
func (a *analysis) operands(c *Command, p *program, in invocation, sc *scope) {
	ops := in.operands
	add := func(f File, list ...Word) {
		for _, w := range list {
			if w.Pattern == "-" && f.Use == Read {
				continue
			}
			c.Files = a.file(c.Files, f, w.Pattern, sc.dirs)
		}
	}
	has := func(flags ...string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(in.flags, f) })
	}
	switch p.role {
	case "read":
		add(File{Use: Read, Below: in.below, Hidden: true}, ops...)
	case "look":
		if len(ops) == 0 {
			ops = []Word{{Pattern: "."}}
		}
		add(File{Use: Look}, ops...)
	case "pattern":
		a.searched(c, in, ops, add, has)
	case "write":
		add(File{Use: Write}, ops...)
	case "remove":
		add(File{Use: Write, Remove: true, Below: in.below || c.Name == "rmdir"}, ops...)
	case "mode":
		if len(ops) > 0 {
			add(File{Use: Write, Below: in.below}, ops[1:]...)
		}
	case "copy", "move":
		last := len(ops)
		if !has("-t", "--target-directory") && last > 1 {
			last--
			add(File{Use: Write}, ops[last])
		}
		if last == len(ops) && last == 1 && c.Name == "ln" {
			add(File{Use: Write}, Word{Pattern: "."})
		}
		add(File{Use: Read, Below: in.below, Hidden: true}, ops[:last]...)
		a.into(c, in, ops, last, sc)
		if p.role == "move" {
			add(File{Use: Write, Remove: true}, ops[:last]...)
		}
	case "copyback":
		if len(ops) > 0 {
			add(File{Use: Write}, ops[0])
			add(File{Use: Read, Below: true, Hidden: true}, ops[1:]...)
		}
	case "inout":
		if len(ops) > 0 {
			add(File{Use: Read}, ops[0])
		}
		if len(ops) > 1 {
			add(File{Use: Write, Aside: true}, ops[1:]...)
		}
	}
}

// into lists the files that a copy makes when its target is a folder.
func (a *analysis) into(c *Command, in invocation, ops []Word, last int, sc *scope) {
	var targets []string
	if last < len(ops) {
		targets = append(targets, ops[last].Pattern)
	}
	for _, f := range c.Files {
		if f.Use == Write && f.Aside { // --target-directory
			targets = append(targets, f.Path)
		}
	}
	for _, to := range targets {
		for _, w := range ops[:last] {
			name := path.Base(w.Pattern)
			if name == "." || name == ".." || strings.HasSuffix(w.Pattern, "/") && in.below { // all that is in it, with names that begin with a dot
				c.Files = a.file(c.Files, File{Use: Write}, to+"/."+string(AnyName), sc.dirs)
			}
			if name != "." && name != ".." && name != "/" {
				c.Files = a.file(c.Files, File{Use: Write}, to+"/"+name, sc.dirs)
			}
		}
	}
}

// searched handles programs with a pattern and files, which may search whole folders.
func (a *analysis) searched(c *Command, in invocation, ops []Word, add func(File, ...Word), has func(...string) bool) {
	if !in.given && len(ops) > 0 && !(c.Name == "rg" && has("--files", "--type-list", "--version")) {
		ops = ops[1:]
	}
	f := File{Use: Read, Below: in.below, Hidden: true}
	switch c.Name {
	case "rg", "ag":
		f.Below = true
		f.Hidden = has("--hidden", "-.", "-u", "-uu", "-uuu", "--unrestricted", "--no-ignore")
	case "fd", "fdfind":
		f = File{Use: Look, Below: true}
	case "jq":
		if has("--args", "--jsonargs") {
			return
		}
	}
	if len(ops) == 0 && f.Below {
		ops = []Word{{Pattern: "."}}
	}
	add(f, ops...)
}
