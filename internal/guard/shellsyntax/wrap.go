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
		names := []string{arg.Pattern}
		if strings.HasPrefix(arg.Pattern, "--") {
			names[0], _, _ = strings.Cut(arg.Pattern, "=")
		} else if len(arg.Pattern) > 1 {
			names = names[:0]
			for _, letter := range arg.Pattern[1:] {
				names = append(names, "-"+string(letter))
			}
		}
		for _, name := range names {
			if w.bad != "" && strings.Contains(w.bad, " "+name+" ") || len(name) > 4 && strings.Contains(w.bad, " "+name) {
				c.Doubt = "its option " + name + " makes it do more than run a command"
				c.Foreign = true
				c.mention(c.Args[1:], feed)
			}
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
		rest = a.appended(c, rest, sc.stdin)
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
		*a.lost = true
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
func (a *analysis) appended(c *Command, rest []Word, stdin []string) []Word {
	marker := ""
	if len(c.Files) > 0 {
		stdin = nil // it reads a file instead
	}
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
	return placed(rest, marker, stdin)
}

func placed(rest []Word, marker string, names []string) []Word {
	list := append([]Word(nil), rest...)
	if marker == "" && len(names) > 0 {
		for _, n := range names {
			list = append(list, Word{Pattern: n, Source: "…", Many: true})
		}
		return list
	}
	if marker == "" {
		return append(list, Word{Pattern: string(AnyText), Source: "…", Many: true})
	}
	for i, w := range list {
		if w.Pattern == marker && len(names) == 1 {
			list[i] = Word{Pattern: names[0], Source: marker}
		} else if strings.Contains(w.Pattern, marker) {
			list[i] = Word{Pattern: strings.ReplaceAll(w.Pattern, marker, string(AnyText)), Source: w.quote()}
		}
	}
	return list
}
