package shellsyntax

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed commands.txt
var commandsText string

// A program is one line of the table.
type program struct {
	role     string
	readOnly bool
	all      bool
	flags    map[string]string // flag to its effects
}

// table is parsed when it is first needed: a start of gofer must not pay for it.
var table = sync.OnceValue(func() map[string]*program {
	programs := map[string]*program{}
	readOnly := false
	for line := range strings.Lines(commandsText) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `\ `, "\x00")
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			readOnly = line == "[read-only]"
			continue
		}
		fields := strings.Fields(line)
		p := &program{role: fields[1], readOnly: readOnly, flags: map[string]string{}}
		for _, f := range fields[2:] {
			if f == "*" {
				p.all = true
				continue
			}
			end := strings.IndexAny(f, ":<>|^@!=")
			if end < 0 {
				end = len(f)
			}
			p.flags[f[:end]] = strings.ReplaceAll(f[end:], "=", ":")
		}
		for name := range strings.SplitSeq(fields[0], ",") {
			name = strings.ReplaceAll(name, "\x00", " ")
			if programs[name] == nil || readOnly == programs[name].readOnly {
				programs[name] = p
			} else {
				programs[name+"\x00files"] = p
			}
		}
	}
	return programs
})

// lookup finds the program, first with its subcommand.
func lookup(c *Command) (p *program, args []Word) {
	t := table()
	if len(c.Args) > 1 && c.Args[1].Known() {
		if p := t[c.Name+" "+c.Args[1].Pattern]; p != nil {
			return p, c.Args[2:]
		}
	}
	return t[c.Name], c.Args[1:]
}

// An invocation is a command line taken apart by the table.
type invocation struct {
	operands  []Word
	given     bool   // the pattern came with a flag
	below     bool   // it goes below folders
	bad       string // the first flag that is not harmless
	runs      string // a flag that runs a program
	flags     []string
	separator bool
}

// take reads args as p says, and adds the files that flags name to c.
func (a *analysis) take(c *Command, p *program, args []Word, sc *scope) invocation {
	var in invocation
	for i := 0; i < len(args); i++ {
		w := args[i]
		if in.separator || !w.maybeFlag() || w.Pattern == "-" {
			in.operands = append(in.operands, w)
			continue
		}
		if w.Pattern == "--" {
			in.separator = true
			continue
		}
		if w.Pattern[0] != '-' { // a word that may turn out to be a flag
			if !p.all {
				in.bad = w.quote()
			}
			in.operands = append(in.operands, w)
			continue
		}
		i += a.flag(c, p, &in, args[i:], sc)
	}
	return in
}

// flag handles args[0], which is a flag or a group of them, and returns how many of the next words it takes.
func (a *analysis) flag(c *Command, p *program, in *invocation, args []Word, sc *scope) int {
	w := args[0].Pattern
	if strings.HasPrefix(w, "--") || p.flags[w] != "" {
		name, value, attached := strings.Cut(w, "=")
		in.flags = append(in.flags, name)
		effect, known := p.long(name)
		if !known && !p.all {
			in.mark(name)
		}
		return a.effects(c, in, name, effect, value, attached, args[1:], sc)
	}
	if _, listed := p.flags[w]; listed && len(w) > 2 { // go list -json, rpm -qa
		in.flags = append(in.flags, w)
		return 0
	}
	if name, value, ok := strings.Cut(w, "="); ok && len(name) > 2 { // go list -mod=mod
		if effect, listed := p.flags[name]; listed {
			in.flags = append(in.flags, name)
			return a.effects(c, in, name, effect, value, true, args[1:], sc)
		}
	}
	for i := 1; i < len(w); i++ {
		name := "-" + w[i:i+1]
		in.flags = append(in.flags, name)
		effect, known := p.flags[name]
		if w[i] >= '0' && w[i] <= '9' { // head -5, diff -3
			known = true
		}
		if w[i] <= AnyPath {
			known = false
		}
		if !known && !p.all {
			in.mark(name)
		}
		if strings.ContainsAny(effect, ":<>|") {
			return a.effects(c, in, name, effect, w[i+1:], i+1 < len(w), args[1:], sc)
		}
		a.effects(c, in, name, effect, "", false, nil, sc)
	}
	return 0
}

// long finds a long flag, also by the beginning of its name, as programs do.
func (p *program) long(name string) (effect string, known bool) {
	if effect, known = p.flags[name]; known {
		return effect, true
	}
	if len(name) < 4 {
		return "", false
	}
	for full, e := range p.flags {
		if e != "" && strings.HasPrefix(full, name) && strings.ContainsAny(e, "<>|!@") {
			return e, true
		}
	}
	return "", false
}

func (in *invocation) mark(flag string) {
	if in.bad == "" {
		in.bad = flag
	}
}

func (a *analysis) effects(c *Command, in *invocation, name, effect, value string, attached bool, rest []Word, sc *scope) (taken int) {
	next := func() Word {
		if attached {
			attached = false
			return Word{Pattern: value}
		}
		if taken < len(rest) {
			taken++
			return rest[taken-1]
		}
		return Word{}
	}
	for i := 0; i < len(effect); i++ {
		switch effect[i] {
		case ':':
			next()
		case '<':
			c.Files = a.file(c.Files, File{Use: Read}, next().Pattern, sc.dirs)
		case '>':
			c.Files = a.file(c.Files, File{Use: Write, Aside: true}, next().Pattern, sc.dirs)
		case '|':
			next()
			in.runs = name
		case '^':
			in.given = true
		case '@':
			in.below = true
		case '!':
			in.mark(name)
		}
	}
	return taken
}
