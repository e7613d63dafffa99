package guard

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"gofer/internal/guard/shellsyntax"
	"gofer/internal/tool"
)

// suggest lists the changes that would let a call like this one pass without asking. Nothing is suggested for what is always
// asked for.
func (p *Policy) suggest(f Facts, d Decision) []Update {
	if firm(d.Kind) || d.Kind == ByHook {
		return nil
	}
	var list []Update
	add := func(u Update) {
		if !slices.ContainsFunc(list, func(have Update) bool { return have.equal(u) }) {
			list = append(list, u)
		}
	}
	if strings.HasPrefix(f.Tool, "mcp__") || len(f.Access) == 0 {
		add(ruleUpdate(FromLocal, RuleValue{ToolName: f.Tool}))
		return list
	}
	for _, a := range f.Access {
		switch a.Verb {
		case tool.Exec:
			p.suggestCommand(f, d, a.Target, add)
		case tool.Write:
			if !p.inside(path.Clean(slash(a.Target))) {
				add(Update{Type: AddDirectories, Directories: []string{path.Dir(path.Clean(slash(a.Target)))}, Destination: FromSession})
			}
			add(Update{Type: SetMode, Mode: AcceptEdits, Destination: FromSession})
		case tool.Read:
			if !p.inside(path.Clean(slash(a.Target))) {
				add(readUpdate(path.Clean(slash(a.Target)), !f.folder()))
			}
		case tool.Fetch:
			if u, err := url.Parse(a.Target); err == nil && u.Hostname() != "" {
				add(ruleUpdate(FromLocal, RuleValue{ToolName: f.Tool, RuleContent: "domain:" + strings.ToLower(u.Hostname())}))
			}
		case tool.Use:
			add(ruleUpdate(FromLocal, RuleValue{ToolName: f.Tool, RuleContent: a.Target}))
		}
	}
	return list
}

// folder reports whether the tool reads a whole folder.
func (f Facts) folder() bool { return f.Tool == "Grep" || f.Tool == "Glob" || f.Tool == "LS" }

func (u Update) equal(v Update) bool {
	return u.Type == v.Type && u.Mode == v.Mode && u.Destination == v.Destination && slices.Equal(u.Rules, v.Rules) && slices.Equal(u.Directories, v.Directories)
}

func ruleUpdate(to Source, rules ...RuleValue) Update {
	b := Allow
	return Update{Type: AddRules, Rules: rules, Behavior: &b, Destination: to}
}

func readUpdate(file string, isFile bool) Update {
	folder := file
	if isFile {
		folder = path.Dir(file)
	}
	return ruleUpdate(FromSession, RuleValue{ToolName: "Read", RuleContent: "/" + strings.TrimSuffix(folder, "/") + "/**"})
}

// suggestCommand suggests a rule for every part that is not allowed yet, all in one update, and what the paths need.
func (p *Policy) suggestCommand(f Facts, d Decision, command string, add func(Update)) {
	if f.Tool == "PowerShell" {
		add(ruleUpdate(FromLocal, RuleValue{ToolName: f.Tool, RuleContent: command}))
		return
	}
	s := &shellCase{p: p, name: f.Tool}
	var rules []RuleValue
	edits := false
	below := -1 // the depth of a command whose rule covers what it runs
	for i, c := range d.commands {
		part := &d.Parts[i]
		if below >= 0 && part.Depth > below {
			continue
		}
		below = -1
		if part.Behavior != Ask || firm(part.Kind) {
			continue
		}
		if part.Path != "" && (c.ReadOnly && c.Doubt == "" || s.onlyAside(c)) {
			edits = p.suggestPath(c, add) || edits
			continue
		}
		if v, ok := ruleFor(c); ok && !slices.Contains(rules, v) {
			rules = append(rules, v)
		}
		if c.Kind == shellsyntax.Elevating {
			below = part.Depth
		}
	}
	if len(rules) > 0 && len(rules) <= 5 {
		add(ruleUpdate(FromLocal, rules...))
	}
	if edits {
		add(Update{Type: SetMode, Mode: AcceptEdits, Destination: FromSession})
	}
}

// onlyAside reports whether the command itself is allowed and only a file that it writes aside is not.
func (s *shellCase) onlyAside(c *shellsyntax.Command) bool {
	plain := *c
	plain.Files = slices.DeleteFunc(slices.Clone(c.Files), func(f shellsyntax.File) bool { return f.Aside })
	return s.own(&plain, nil).Behavior == Allow
}

// suggestPath suggests what a path needs, and reports whether that is to accept edits.
func (p *Policy) suggestPath(c *shellsyntax.Command, add func(Update)) (edits bool) {
	for _, f := range c.Files {
		given, _ := p.fileNames(f)
		if wild(given) {
			continue
		}
		if f.Use == shellsyntax.Write {
			if _, asks := p.writeFile(f); !asks {
				continue
			}
			if !p.inside(given) {
				add(Update{Type: AddDirectories, Directories: []string{path.Dir(given)}, Destination: FromSession})
			}
			edits = true
			continue
		}
		if _, asks := p.readFile(f); asks {
			add(readUpdate(given, f.Use == shellsyntax.Read && !f.Below))
		}
	}
	return edits
}

// ruleFor makes the rule that "always" would add for a command. It is a prefix of the program and its subcommand where that
// says what is done, and the exact command for everything that can run anything.
func ruleFor(c *shellsyntax.Command) (RuleValue, bool) {
	text := c.Text
	if text == "" {
		return RuleValue{}, false
	}
	exact := RuleValue{ToolName: "Bash", RuleContent: strings.ReplaceAll(text, "*", `\*`)}
	if strings.Contains(text, "\n") || strings.HasSuffix(text, ":") {
		return RuleValue{}, false
	}
	if len(c.Args) == 0 || !c.Args[0].Known() || c.Doubt != "" || len(c.Assigns) > 0 {
		return exact, true
	}
	if runsAnything(c.Name) {
		return exact, true
	}
	words := []string{c.Args[0].Pattern}
	for _, w := range c.Args[1:] {
		if c.ByPath || !w.Known() || !plainWord(w.Pattern) {
			break
		}
		words = append(words, w.Pattern)
		if len(words) == 2 && !(w.Pattern == "run" || w.Pattern == "exec" || w.Pattern == "compose") || len(words) == 3 {
			break
		}
	}
	if len(words) == 1 && (len(c.Args) > 1 && !c.ByPath || strings.ContainsAny(words[0], "* ")) {
		return exact, true // its options or files are all that says what it does
	}
	if n := len(words); n > 1 && (words[n-1] == "run" || words[n-1] == "exec") {
		return exact, true
	}
	return RuleValue{ToolName: "Bash", RuleContent: strings.Join(words, " ") + " *"}, true
}

// plainWord reports whether a word looks like a subcommand or a name, and not like an option, a path or a text.
func plainWord(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_:") == ""
}

// runsAnything reports whether a prefix rule for the program would allow everything.
func runsAnything(name string) bool {
	switch strings.TrimRight(name, "0123456789.") {
	case "python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "awk", "gawk", "mawk", "nawk", "osascript", "tclsh", "expect", "Rscript", "julia",
		"bash", "sh", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "pwsh", "powershell", "eval", "exec", "source", "trap", "alias",
		"sudo", "doas", "su", "pkexec", "runuser", "gosu", "su-exec", "env", "xargs", "parallel", "timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "time", "watch", "command", "builtin",
		"chroot", "unshare", "nsenter", "strace", "ltrace", "script", "ssh", "flock", "systemd-run", "busybox", "toybox", "find", "fd", "fdfind", "npx", "bunx", "pnpx", "uvx", "rm", "dd", "curl", "wget", "nc", "socat", "gdb", "vim", "vi", "nvim", "emacs", "ed", "ex", "":
		return true
	}
	return false
}
