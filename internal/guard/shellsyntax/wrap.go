package shellsyntax

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A wrapping says how the command line of a wrapper is read up to the command that it runs.
type wrapping struct {
	values   string // short options with a value
	long     string // long options whose value may be the next word, between blanks
	skip     int    // words before the command: the duration of timeout
	assigns  bool   // NAME=value words may come before the command
	appends  bool   // arguments are added that only the run shows
	elevates bool
	bad      string // options after which nothing can be said, between blanks
}

func wrappingOf(name string) (wrapping, bool) {
	switch name {
	case "timeout", "gtimeout":
		return wrapping{values: "ks", long: " --kill-after --signal ", skip: 1}, true
	case "time":
		return wrapping{values: "fo", long: " --format --output ", bad: " -o --output "}, true
	case "nohup", "setsid", "builtin", "unbuffer", "caffeinate":
		return wrapping{}, true
	case "nice":
		return wrapping{values: "n", long: " --adjustment "}, true
	case "ionice":
		return wrapping{values: "cnpPu", long: " --class --classdata --pid "}, true
	case "stdbuf":
		return wrapping{values: "ioe", long: " --input --output --error "}, true
	case "taskset", "chrt":
		return wrapping{skip: 1, values: "pT"}, true
	case "command":
		return wrapping{}, true
	case "env":
		return wrapping{values: "uC", long: " --unset --chdir ", assigns: true, bad: " -S --split-string -C --chdir "}, true
	case "xargs":
		return wrapping{values: "adEILnPs", long: " --arg-file --delimiter --eof --replace --max-lines --max-args --max-procs --max-chars --process-slot-var ", appends: true}, true
	case "busybox", "toybox":
		return wrapping{elevates: true}, true
	case "sudo", "doas":
		return wrapping{values: "ugphTCDRrt", long: " --user --group --prompt --host --chdir --chroot --role --type --close-from ", assigns: true, elevates: true}, true
	case "chroot", "flock":
		return wrapping{skip: 1, values: "wE", long: " --userspec --groups --timeout ", elevates: true}, true
	case "exec":
		return wrapping{values: "a", elevates: true}, true
	case "pkexec", "runuser", "gosu", "su-exec", "unshare", "nsenter", "strace", "ltrace", "systemd-run", "prlimit", "rlwrap", "xvfb-run":
		return wrapping{values: "ugeopsE", elevates: true}, true
	}
	return wrapping{}, false
}

// wrapper handles the programs that run other commands. It reports false for all others.
func (a *analysis) wrapper(c *Command, feed *string, sc *scope) bool {
	if c.ByPath {
		defer func() {
			if c.Kind == Wrapper { // /tmp/env is not env: it counts as what is inside only for rules that deny
				c.Kind = Elevating
			}
		}()
	}
	switch c.Name {
	case "bash", "sh", "dash", "zsh", "ksh", "ash", "fish":
		return a.shell(c, feed, sc)
	case "eval":
		c.Kind = Elevating
		a.joined(c, c.Args[1:], "eval", sc)
		return true
	case "watch":
		c.Kind = Wrapper
		rest, ok := skipOptions(c.Args[1:], wrapping{values: "n", long: " --interval "})
		if !ok || len(rest) == 0 {
			return false
		}
		a.joined(c, rest, "watch", sc)
		return true
	case "trap":
		if len(c.Args) < 2 {
			return false
		}
		c.Kind = Elevating
		a.nested(c, c.Args[1], "trap", syntax.LangBash, sc)
		return true
	case "su", "ssh", "script":
		return a.lastArgument(c, sc)
	case "alias":
		return a.aliases(c, sc)
	case "find", "gfind":
		return a.find(c, sc)
	case "fd", "fdfind":
		return a.fd(c, sc)
	case "parallel":
		return a.parallel(c, sc)
	}
	w, ok := wrappingOf(c.Name)
	if !ok {
		return false
	}
	if c.Name == "command" && len(c.Args) > 1 && (c.Args[1].Pattern == "-v" || c.Args[1].Pattern == "-V") {
		return false
	}
	return a.unwrap(c, w, feed, sc)
}

func (a *analysis) unwrap(c *Command, w wrapping, feed *string, sc *scope) bool {
	for _, arg := range c.Args[1:] {
		if arg.Known() && len(arg.Pattern) > 1 && arg.Pattern[0] != '-' {
			break
		}
		name, _, _ := strings.Cut(arg.Pattern, "=")
		if strings.HasPrefix(arg.Pattern, "-") && !strings.HasPrefix(arg.Pattern, "--") && len(arg.Pattern) > 2 {
			name = arg.Pattern[:2]
		}
		if w.bad != "" && strings.Contains(w.bad, " "+name+" ") {
			c.Doubt = "its option " + name + " makes it do more than run a command"
		}
	}
	rest, ok := skipOptions(c.Args[1:], w)
	if !ok {
		c.Doubt = "which command it runs is known only when it runs"
		c.Foreign = true
		c.mention(c.Args[1:], feed)
		return true
	}
	if w.assigns {
		for len(rest) > 0 {
			name, _, found := strings.Cut(rest[0].Pattern, "=")
			if !found || !isName(name) {
				break
			}
			c.Assigns = append(c.Assigns, name)
			if !harmlessVariable(name) {
				c.Doubt = name + " may change what the command does"
			}
			rest = rest[1:]
		}
	}
	if len(rest) < w.skip+1 {
		if c.Name == "xargs" {
			c.Kind, c.ReadOnly = Wrapper, true // it echoes
			return true
		}
		return false
	}
	rest = rest[w.skip:]
	if w.appends {
		a.xargsFiles(c, sc)
		rest = a.appended(c, rest)
		feed = nil
	}
	c.Kind = Wrapper
	if w.elevates {
		c.Kind = Elevating
	}
	a.descend(c, rest, c.Name, feed, sc)
	return true
}

// descend adds the command args as one that c runs.
func (a *analysis) descend(c *Command, args []Word, via string, feed *string, sc *scope) {
	a.depth++
	defer func() { a.depth-- }()
	if a.depth > maxDepth {
		c.Doubt = "commands are wrapped too deeply"
		return
	}
	for _, in := range a.simple(args, nil, feed, sc.clone()) {
		in.Via = via
		in.Source = in.Text
		c.Inner = append(c.Inner, in)
	}
}

// skipOptions returns what follows the options of a wrapper; ok is false if that cannot be told.
func skipOptions(args []Word, w wrapping) (rest []Word, ok bool) {
	for len(args) > 0 {
		arg := args[0]
		if !arg.Known() {
			return args, !arg.maybeFlag()
		}
		p := arg.Pattern
		switch {
		case p == "--":
			return args[1:], true
		case len(p) < 2 || p[0] != '-':
			return args, true
		case strings.HasPrefix(p, "--"):
			if strings.Contains(w.long, " "+p+" ") {
				args = args[1:]
			}
		default:
			if i := strings.IndexAny(p[1:], w.values); w.values != "" && i >= 0 && i+2 == len(p) {
				args = args[1:]
			}
		}
		if len(args) == 0 {
			return nil, true
		}
		args = args[1:]
	}
	return nil, true
}

// xargsFiles notes the file from which xargs reads.
func (a *analysis) xargsFiles(c *Command, sc *scope) {
	for i, arg := range c.Args[1:] {
		name, value := "", ""
		switch {
		case arg.Pattern == "-a" || arg.Pattern == "--arg-file":
			if i+2 < len(c.Args) {
				name, value = "-a", c.Args[i+2].Pattern
			}
		case strings.HasPrefix(arg.Pattern, "--arg-file="):
			name, value = "-a", strings.TrimPrefix(arg.Pattern, "--arg-file=")
		case !strings.HasPrefix(arg.Pattern, "-"):
			return
		}
		if name != "" {
			c.Files = a.file(c.Files, File{Use: Read}, value, sc.dirs)
		}
	}
}

// appended is the command of xargs with the arguments that it will add: at the end, or where the placeholder stands.
func (a *analysis) appended(c *Command, rest []Word) []Word {
	marker := ""
	for i, arg := range c.Args[1:] {
		switch p := arg.Pattern; {
		case p == "-I" || p == "--replace":
			if i+2 < len(c.Args) {
				marker = c.Args[i+2].Pattern
			}
			if p == "--replace" {
				marker = "{}"
			}
		case strings.HasPrefix(p, "--replace="):
			marker = strings.TrimPrefix(p, "--replace=")
		case strings.HasPrefix(p, "-I"):
			marker = p[2:]
		case p == "-i":
			marker = "{}"
		}
	}
	return placed(rest, marker)
}

func placed(rest []Word, marker string) []Word {
	list := append([]Word(nil), rest...)
	if marker == "" {
		return append(list, Word{Pattern: string(AnyText), Source: "…", Many: true})
	}
	for i, w := range list {
		if strings.Contains(w.Pattern, marker) {
			list[i] = Word{Pattern: strings.ReplaceAll(w.Pattern, marker, string(AnyText)), Source: w.quote()}
		}
	}
	return list
}

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
	if len(args) == 0 && feed != nil && !strings.ContainsAny(*feed, wildBytes) {
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
		c.Doubt = "shells are wrapped too deeply"
		return
	}
	inner := &analysis{opts: a.opts, budget: a.budget, depth: a.depth + 1, via: via, wild: a.wild, globs: a.globs}
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
			list = append(list, Word{Pattern: p + "/" + string(AnyText) + "/" + name, Source: "{}"})
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
				a.descend(c, placed(rest, ""), "fd "+w.Pattern, nil, sc)
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
