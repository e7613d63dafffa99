package shellsyntax

import (
	"slices"
	"strings"
)

// git is judged by its subcommand and by the flags that write a file or run a program.
func (a *analysis) git(c *Command, sc *scope) {
	args, ok := c.gitGlobals()
	if !ok || len(args) == 0 {
		c.ReadOnly = ok && len(c.Args) == 2 && c.Args[1].Pattern == "--version"
		return
	}
	sub := args[0]
	if !sub.Known() {
		c.Doubt = "the subcommand of git is known only when it runs"
		return
	}
	flags, operands, unknown := c.gitFlags(args[1:])
	a.gitFiles(c, sub.Pattern, args[1:], operands, sc)
	if unknown {
		c.Doubt = "an unknown word may be an option of git that writes or runs something"
		return
	}
	for _, f := range flags {
		if why := gitDanger(f); why != "" && !(f == "-O" && sub.Pattern != "grep") {
			c.Doubt = why
			return
		}
	}
	c.ReadOnly = c.ReadOnly || c.Doubt == "" && gitReads(sub.Pattern, flags, operands)
}

// gitGlobals returns what follows the options before the subcommand; ok is false if they change what git does.
func (c *Command) gitGlobals() (args []Word, ok bool) {
	args, ok = c.Args[1:], true
	for len(args) > 0 && strings.HasPrefix(args[0].Pattern, "-") {
		switch name, _, attached := strings.Cut(args[0].Pattern, "="); name {
		case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--icase-pathspecs", "--no-advice", "--no-lazy-fetch":
		case "--version", "--help", "-h", "-v", "--html-path", "--man-path", "--info-path":
			return nil, true
		case "-c", "-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source", "--list-cmds", "--exec-path":
			ok = false
			if name != "-C" && name != "--work-tree" {
				c.Doubt = "git's option " + name + " may make it run other programs"
			}
			if !attached && name != "--exec-path" && name != "--list-cmds" && len(args) > 1 {
				args = args[1:]
			}
		default:
			ok = false
		}
		args = args[1:]
	}
	if !ok && len(args) > 0 && args[0].Known() && c.Doubt == "" {
		c.Doubt = "git is told to work elsewhere"
	}
	return args, ok
}

// Plainly is the text of the command without the options that git takes before its subcommand. Rules that deny a
// subcommand meet it however git is called.
func (c *Command) Plainly() string {
	if c.Name != "git" || len(c.Args) < 2 || !strings.HasPrefix(c.Args[1].Pattern, "-") {
		return ""
	}
	probe := *c
	args, _ := probe.gitGlobals()
	if len(args) == 0 {
		return ""
	}
	return "git " + joinWords(args)
}

func (c *Command) gitFlags(args []Word) (flags []string, operands []Word, unknown bool) {
	for i, w := range args {
		switch {
		case w.Pattern == "--":
			return flags, append(operands, args[i+1:]...), unknown
		case i > 0 && gitValue(args[i-1].Pattern) && !w.Many: // the text of a message, the format of a list
		case strings.HasPrefix(w.Pattern, "-") && w.Pattern != "-" && (w.Known() || gitAttached(w)):
			name, _, _ := strings.Cut(w.Pattern, "=")
			if !strings.HasPrefix(name, "--") && len(name) > 2 {
				name = name[:2]
			}
			flags = append(flags, name)
		case w.maybeFlag() && w.Pattern != "-":
			unknown = true
			operands = append(operands, w)
		default:
			operands = append(operands, w)
		}
	}
	return flags, operands, unknown
}

// gitValue reports whether the flag takes the next word, whatever that is.
func gitValue(flag string) bool {
	switch flag {
	case "-m", "-am", "--message", "--author", "--date", "--grep", "--since", "--until", "--after", "--before", "--format", "--pretty", "--max-count", "--trailer":
		return true
	}
	return false
}

// gitAttached reports whether only the value of a flag is unknown.
func gitAttached(w Word) bool {
	name, _, ok := strings.Cut(w.Pattern, "=")
	return ok && !w.Many && !strings.ContainsAny(name, Wild)
}

// gitDanger says why a flag is not harmless with any subcommand. Git takes the beginning of a long flag for the whole.
func gitDanger(flag string) string {
	begins := func(full string, least int) bool { return len(flag) >= least && strings.HasPrefix(full, flag) }
	switch {
	case begins("--output", 4) || begins("--output-directory", 4):
		return "git writes a file with " + flag
	case begins("--ext-diff", 5), begins("--exec", 6), begins("--upload-pack", 4), begins("--receive-pack", 5), begins("--open-files-in-pager", 4), flag == "-O",
		begins("--extcmd", 5), begins("--tool", 4), begins("--gui", 4), begins("--config", 6), begins("--template", 4):
		return "git runs another program with " + flag
	}
	return ""
}

// gitReads reports whether the subcommand, with these flags and operands, changes nothing.
func gitReads(sub string, flags []string, operands []Word) bool {
	first := ""
	if len(operands) > 0 {
		first = operands[0].Pattern
	}
	only := func(allowed ...string) bool {
		return !slices.ContainsFunc(flags, func(f string) bool { return !slices.Contains(allowed, f) })
	}
	any := func(list ...string) bool {
		return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(list, f) })
	}
	switch sub {
	case "status", "log", "diff", "show", "shortlog", "blame", "annotate", "rev-parse", "rev-list", "ls-files", "ls-tree", "cat-file", "describe", "name-rev",
		"merge-base", "show-ref", "for-each-ref", "grep", "count-objects", "check-ignore", "check-attr", "check-mailmap", "check-ref-format", "diff-tree", "diff-index", "diff-files", "whatchanged", "cherry",
		"version", "help", "show-branch", "range-diff", "var", "column", "get-tar-commit-id", "verify-commit", "verify-tag", "patch-id":
		return !(sub == "help" && any("-w", "--web")) && !(sub == "cat-file" && any("--textconv", "--filters"))
	case "branch":
		listing := any("-l", "--list", "-a", "--all", "-r", "--remotes", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--show-current")
		return only("-l", "--list", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--show-current",
			"--sort", "--format", "--color", "--no-color", "--column", "--no-column", "--abbrev", "--no-abbrev", "-i", "--ignore-case", "-q") && (len(operands) == 0 || listing && !any("-a", "-r", "--all", "--remotes") || any("--list", "-l", "--contains", "--merged", "--no-merged", "--no-contains", "--points-at"))
	case "tag":
		return only("-l", "--list", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort", "--format", "--color", "--column", "--no-column", "-i", "--ignore-case") &&
			(len(operands) == 0 || any("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"))
	case "remote":
		return only("-v", "--verbose", "--all", "--push") && (first == "" || first == "get-url")
	case "stash":
		return first == "list" || first == "show"
	case "reflog":
		return first == "" || first == "show" || first == "exists" || strings.HasPrefix(first, "HEAD")
	case "worktree":
		return first == "list"
	case "submodule":
		return first == "status" || first == "summary"
	case "notes":
		return first == "list" || first == "show"
	case "bisect":
		return first == "log"
	case "config":
		return any("--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch") && only("--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch", "--show-origin", "--show-scope",
			"--global", "--local", "--system", "--worktree", "-z", "--null", "--name-only", "--type", "--bool", "--int", "--path", "--includes", "--default") || (first == "get" || first == "list") && only("--all", "--show-origin", "--show-scope", "--global", "--local", "--system")
	}
	return false
}

// gitFiles lists the files whose content git shows or that it writes, as far as the words name them.
func (a *analysis) gitFiles(c *Command, sub string, args, operands []Word, sc *scope) {
	use := Read
	switch sub {
	case "diff", "show", "log", "blame", "annotate", "cat-file", "grep", "archive", "add", "apply", "am", "hash-object", "whatchanged", "stash", "commit", "difftool":
	case "rm", "mv", "checkout", "restore", "clean", "clone", "init", "worktree":
		use = Write
	default:
		return
	}
	if sub == "grep" && len(operands) > 0 && !slices.ContainsFunc(args, func(w Word) bool { return strings.HasPrefix(w.Pattern, "-e") || strings.HasPrefix(w.Pattern, "-f") }) {
		operands = operands[1:]
	}
	for _, w := range operands {
		if w.Pattern == "-" {
			continue
		}
		p := w.Pattern
		if rev, file, ok := strings.Cut(p, ":"); ok && !strings.Contains(rev, "/") && file != "" {
			p = strings.TrimPrefix(file, "(top)")
			for strings.HasPrefix(p, "/") || strings.HasPrefix(p, ":") {
				p = p[1:]
			}
		}
		if use == Read && strings.Contains(p, "..") && !strings.Contains(p, "../") { // a range of commits
			continue
		}
		c.Files = a.file(c.Files, File{Use: use}, p, sc.dirs)
	}
	for i, w := range args {
		name, value, attached := strings.Cut(w.Pattern, "=")
		switch {
		case len(name) >= 4 && strings.HasPrefix("--output", name):
			if !attached && i+1 < len(args) {
				value = args[i+1].Pattern
			}
			c.Files = a.file(c.Files, File{Use: Write, Aside: true}, value, sc.dirs)
		case name == "-F" || name == "--file" || name == "-f" || name == "--pathspec-from-file" || name == "--contents" || name == "--ignore-revs-file":
			if !attached && i+1 < len(args) {
				value = args[i+1].Pattern
			}
			c.Files = a.file(c.Files, File{Use: Read}, value, sc.dirs)
		case strings.HasPrefix(w.Pattern, "-f") && len(w.Pattern) > 2 && sub == "grep":
			c.Files = a.file(c.Files, File{Use: Read}, w.Pattern[2:], sc.dirs)
		}
	}
}
