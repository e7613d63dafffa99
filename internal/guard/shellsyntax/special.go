package shellsyntax

import (
	"strings"
)

// awk is read-only when its program is known and has nothing in it that writes, reads other files or runs programs.
func (a *analysis) awk(c *Command, sc *scope) {
	args := c.Args[1:]
	program, found, bad := "", false, ""
	for len(args) > 0 && !found {
		w := args[0]
		p := w.Pattern
		args = args[1:]
		switch {
		case p == "-F" || p == "-v":
			if len(args) > 0 {
				args = args[1:]
			}
		case p == "--":
		case strings.HasPrefix(p, "-F") || strings.HasPrefix(p, "-v"):
		case w.maybeFlag():
			bad = "an option of awk is not known to be harmless"
			if p == "-f" && len(args) > 0 {
				c.Files = a.file(c.Files, File{Use: Read}, args[0].Pattern, sc.dirs)
				args = args[1:]
				found = true
			}
		default:
			program, found = p, true
		}
	}
	for _, w := range args {
		if name, _, ok := strings.Cut(w.Pattern, "="); ok && isName(name) || w.Pattern == "-" {
			continue
		}
		c.Files = a.file(c.Files, File{Use: Read}, w.Pattern, sc.dirs)
	}
	plain := strings.ReplaceAll(program, "||", "")
	for _, word := range []string{"system", "|", ">", "getline", "@", "ARGV", "ARGC", "close", "ENVIRON", string(AnyText)} {
		if strings.Contains(plain, word) {
			bad = "the program of awk may write files or run commands"
		}
	}
	c.ReadOnly = found && bad == ""
	if bad != "" {
		c.Doubt = bad
		a.awkTargets(c, program, sc)
		c.mention([]Word{{Pattern: program}}, nil)
	}
}

// awkTargets finds the files that a program of awk names behind > and getline <.
func (a *analysis) awkTargets(c *Command, program string, sc *scope) {
	for rest := program; ; {
		i := strings.IndexAny(rest, "<>")
		if i < 0 {
			return
		}
		use := Read
		if rest[i] == '>' {
			use = Write
		}
		rest = strings.TrimLeft(rest[i+1:], "> \t")
		if name, ok := strings.CutPrefix(rest, `"`); ok {
			if name, _, ok = strings.Cut(name, `"`); ok {
				c.Files = a.file(c.Files, File{Use: use, Aside: true}, name, sc.dirs)
			}
		}
	}
}

// date only shows the time unless it is told to set it.
func (a *analysis) date(c *Command, sc *scope) {
	p := &program{flags: map[string]string{"-u": "", "-R": "", "-I": "", "-j": "", "-n": "", "--utc": "", "--universal": "", "--rfc-email": "", "--iso-8601": "", "--rfc-3339": "",
		"-d": ":", "--date": ":", "-r": "<", "--reference": "<", "-f": "<", "--file": "<", "-v": ":", "--debug": "", "--help": "", "--version": "", "--resolution": ""}}
	args := c.Args[1:]
	for i, w := range args { // -Iseconds and its like
		if strings.HasPrefix(w.Pattern, "-I") {
			args = append(append([]Word{}, args[:i]...), args[i+1:]...)
			break
		}
	}
	in := a.take(c, p, args, sc)
	c.ReadOnly = in.bad == ""
	for _, w := range in.operands {
		if !strings.HasPrefix(w.Pattern, "+") {
			c.ReadOnly = false
		}
	}
}

func (a *analysis) dd(c *Command, sc *scope) {
	for _, w := range c.Args[1:] {
		switch name, value, _ := strings.Cut(w.Pattern, "="); name {
		case "if":
			c.Files = a.file(c.Files, File{Use: Read}, value, sc.dirs)
		case "of":
			c.Files = a.file(c.Files, File{Use: Write}, value, sc.dirs)
		}
	}
}

// tar reads or writes by its mode. Listing an archive is the one thing that changes nothing.
func (a *analysis) tar(c *Command, sc *scope) {
	args := c.Args[1:]
	p := &program{all: true, flags: map[string]string{"-C": ":", "--directory": ":", "-T": "<", "--files-from": "<", "-X": "<", "--exclude-from": "<", "--exclude": ":", "-I": "|", "--use-compress-program": "|",
		"--to-command": "|", "--checkpoint-action": "|", "--info-script": "|", "--new-volume-script": "|", "--rsh-command": "|", "--rmt-command": "|", "-F": "|", "--transform": ":", "--xform": ":", "--owner": ":", "--group": ":", "--strip-components": ":"}}
	archive, mode, below := "", byte(0), "."
	var ops []Word
	for i := 0; i < len(args); i++ {
		w := args[i].Pattern
		bundle := i == 0 && w != "" && w[0] != '-' && w[0] > AnyPath
		switch {
		case bundle || len(w) > 1 && w[0] == '-' && w[1] != '-':
			letters := strings.TrimPrefix(w, "-")
			for j := 0; j < len(letters); j++ {
				switch l := letters[j]; l {
				case 'c', 'x', 't', 'r', 'u', 'A':
					mode = l
				case 'f':
					if j+1 < len(letters) && !bundle {
						archive = letters[j+1:]
						j = len(letters)
					} else if i+1 < len(args) {
						i++
						archive = args[i].Pattern
					}
				case 'C', 'T', 'X', 'I', 'F':
					if i+1 < len(args) {
						i++
					}
					switch l {
					case 'C':
						below = args[i].Pattern
					case 'I', 'F':
						c.Doubt = "tar runs another program"
					default:
						c.Files = a.file(c.Files, File{Use: Read}, args[i].Pattern, sc.dirs)
					}
				}
			}
		case strings.HasPrefix(w, "--"):
			name, value, attached := strings.Cut(w, "=")
			switch name {
			case "--create", "--extract", "--get", "--list", "--append", "--update":
				mode = map[string]byte{"--create": 'c', "--extract": 'x', "--get": 'x', "--list": 't', "--append": 'r', "--update": 'u'}[name]
			case "--file":
				if !attached && i+1 < len(args) {
					i++
					value = args[i].Pattern
				}
				archive = value
			default:
				var in invocation
				i += a.flag(c, p, &in, args[i:], sc)
				if in.runs != "" {
					c.Doubt = "tar runs another program"
				}
				if name == "--directory" {
					below = value
					if !attached {
						below = args[min(i, len(args)-1)].Pattern
					}
				}
			}
		default:
			ops = append(ops, args[i])
		}
	}
	a.tarFiles(c, mode, archive, below, ops, sc)
}

func (a *analysis) tarFiles(c *Command, mode byte, archive, below string, ops []Word, sc *scope) {
	use := Write
	if mode == 'x' || mode == 't' {
		use = Read
	}
	if strings.Contains(archive, ":") {
		c.Doubt = "the archive may be on another machine, which tar reaches by another program"
	}
	if archive != "" && archive != "-" {
		c.Files = a.file(c.Files, File{Use: use}, archive, sc.dirs)
	}
	switch mode {
	case 'x':
		c.Files = a.file(c.Files, File{Use: Write, Below: true}, below, sc.dirs)
	case 't':
		c.ReadOnly = c.Doubt == "" && !mayBeFlags(ops)
	default:
		for _, w := range ops {
			inner := w.Pattern
			if below != "." && !strings.HasPrefix(inner, "/") {
				inner = below + "/" + inner
			}
			c.Files = a.file(c.Files, File{Use: Read, Below: true, Hidden: true}, inner, sc.dirs)
		}
	}
}

func mayBeFlags(list []Word) bool {
	for _, w := range list {
		if w.maybeFlag() {
			return true
		}
	}
	return false
}

// cd changes nothing but the place of later commands; where it goes is looked at like a folder that is listed.
func (a *analysis) cd(c *Command, sc *scope) {
	c.ReadOnly = true
	args := c.Args[1:]
	for len(args) > 0 && (args[0].Pattern == "-L" || args[0].Pattern == "-P" || args[0].Pattern == "-e" || args[0].Pattern == "--" || args[0].Pattern == "-n") {
		args = args[1:]
	}
	switch {
	case len(args) > 0 && args[0].Pattern != "-":
		c.Files = a.file(c.Files, File{Use: Look}, args[0].Pattern, sc.dirs)
	case len(args) == 0 && c.Name == "cd":
		home := a.opts.Home
		if home == "" {
			home = string(AnyText)
		}
		c.Files = a.file(c.Files, File{Use: Look}, home, sc.dirs)
	}
}

// set with options such as -e or -o pipefail changes only how the rest runs.
func (a *analysis) set(c *Command, _ *scope) {
	c.ReadOnly = true
	for i, w := range c.Args[1:] {
		p := w.Pattern
		switch {
		case !w.Known():
			c.Doubt = "the options of the shell are known only when it runs"
		case p == "--" || p == "-" || !strings.HasPrefix(p, "-") && !strings.HasPrefix(p, "+"):
			if i > 0 && strings.HasSuffix(c.Args[i].Pattern, "o") && !strings.Contains(" pipefail errexit nounset noglob xtrace noclobber errtrace ", " "+p+" ") {
				c.Doubt = "the option " + p + " changes what later commands do"
			}
		case strings.Trim(p[1:], "eufxvECo") != "":
			c.Doubt = "the option " + p + " changes what later commands do"
		}
	}
}
