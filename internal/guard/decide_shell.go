package guard

import (
	"fmt"
	"strings"

	"gofer/internal/guard/shellsyntax"
)

// judgeCommand decides about a shell command: it is denied if any part of it is, and allowed only if every part is.
func (p *Policy) judgeCommand(f Facts, name, command string) Decision {
	if name == "PowerShell" {
		return p.judgePowerShell(f, name, command)
	}
	dir := f.Dir
	if dir == "" {
		dir = p.Dir
	}
	script := shellsyntax.Parse(command, shellsyntax.Options{Dir: slash(dir), Home: slash(p.Home)})
	var disk *limited
	if p.Disk != nil {
		disk = newLimited(p.Disk)
		real := p.Disk
		p.Disk = disk
		defer func() { p.Disk = real }()
	}
	s := &shellCase{p: p, name: name, whole: p.Rules.allow.wholeTool(name, false)}
	if s.whole == nil && name != "Bash" {
		s.whole = p.Rules.allow.wholeTool("Bash", false)
	}
	all := Decision{Behavior: Allow, Kind: ByReading, Reason: "it changes nothing"}
	if script.Partial {
		return Decision{Behavior: Deny, Kind: BySafety, Reason: "the command is too long or too entangled to be checked; write it to a script and run that, or do it in several commands"}
	}
	if name != "Bash" {
		if r := p.Rules.deny.wholeTool("Bash", true); r != nil {
			return denied(r, fmt.Sprintf("the rule %s denies every command", r), "")
		}
	}
	if script.Err != nil {
		all = s.unparsed(script.Err)
	}
	first := script.Err == nil
	for _, c := range script.Commands {
		d := s.command(c, 0, nil)
		if first {
			all, first = d, false
			continue
		}
		all = worse(all, d)
	}
	if disk.spent() {
		all = worse(all, Decision{Behavior: Deny, Kind: BySafety, Reason: "the command names more files than can be checked; name fewer, or do it in several commands"})
	}
	all = p.whole(all, command)
	all.Parts, all.commands = s.parts, s.seen
	if all.Behavior == Ask && !firm(all.Kind) && p.Sandboxed && !f.Open && p.mode() != Plan {
		all.Behavior, all.Kind, all.Reason = Allow, BySandbox, "it runs inside the sandbox"
	}
	return all
}

// whole lets permissions.yaml see the command as one text, for what it denies and asks.
func (p *Policy) whole(d Decision, command string) Decision {
	if p.File == nil || d.Behavior == Deny {
		return d
	}
	return p.File.restrict(p, d, "Bash", command)
}

// A shellCase is one command being judged.
type shellCase struct {
	p     *Policy
	name  string // of the tool
	whole *Rule  // the rule that allows every command
	parts []Part
	seen  []*shellsyntax.Command // the command of each part
}

func (s *shellCase) unparsed(err error) Decision {
	switch {
	case s.p.mode() == Plan:
		return s.p.planned("the command could not be parsed: " + err.Error())
	case s.p.mode() == Bypass:
		return byMode(Bypass)
	case s.whole != nil:
		return allowed(s.whole)
	}
	return Decision{Kind: ByDoubt, Reason: "the command could not be parsed: " + err.Error()}
}

// command decides about one simple command and all that it runs. by is the rule that already allowed a wrapper around it.
func (s *shellCase) command(c *shellsyntax.Command, depth int, by *Rule) Decision {
	at := len(s.parts)
	s.parts = append(s.parts, Part{Text: textOf(c), Via: c.Via, Depth: depth})
	s.seen = append(s.seen, c)
	d := s.own(c, by)
	part := &s.parts[at]
	part.Behavior, part.Kind, part.Rule, part.Reason, part.Path = d.Behavior, d.Kind, d.Rule, d.Reason, d.BlockedPath
	if d.Behavior == Allow && d.Rule != nil && (by != nil || d.Kind == ByRule && c.Kind != shellsyntax.Plain) {
		by = d.Rule
	} else {
		by = nil
	}
	for _, in := range c.Inner {
		if c.Dormant {
			in.Dormant = true
		}
		d = worse(d, s.command(in, depth+1, by))
	}
	return d
}

func textOf(c *shellsyntax.Command) string {
	if c.Text == "" {
		return c.Source
	}
	return c.Text
}

// own decides about the command itself, without those that it runs.
func (s *shellCase) own(c *shellsyntax.Command, by *Rule) Decision {
	p := s.p
	if d, stop := s.refused(c); stop {
		return d
	}
	asked, must := s.asked(c)
	mode := p.mode()
	switch {
	case c.Dormant:
		if must {
			return asked
		}
		return Decision{Behavior: Allow, Kind: ByReading, Reason: "it is only defined here"}
	case mode == Plan && !c.Dormant:
		if d, stop := s.planned(c); stop {
			return d
		}
	}
	if must {
		return asked
	}
	if mode == Bypass {
		return byMode(mode)
	}
	if d, asks := s.guardedWrites(c); asks {
		return d
	}
	if s.whole != nil {
		return allowed(s.whole)
	}
	if by != nil {
		return s.withWrites(c, allowed(by), false)
	}
	return s.permitted(c)
}

// refused finds what denies the command.
func (s *shellCase) refused(c *shellsyntax.Command) (Decision, bool) {
	p := s.p
	if r := p.Rules.deny.command(variants(c)...); r != nil {
		return denied(r.rule, fmt.Sprintf("the rule %s denies %s", r.rule, textOf(c)), ""), true
	}
	if p.File != nil {
		if d, stop := p.File.part(Deny, c); stop {
			return d, true
		}
	}
	for _, f := range c.Files {
		if f.Use == shellsyntax.Write && f.Remove && f.Below {
			given, resolved := p.fileNames(f)
			for _, n := range []string{given, resolved} {
				if why := p.removalRefused(n); why != "" {
					return Decision{Behavior: Deny, Kind: BySafety, Reason: fmt.Sprintf("%s is refused in every mode: %s", textOf(c), why), BlockedPath: given}, true
				}
			}
		}
		if r, file := p.deniedFile(f); r != nil {
			return denied(r, fmt.Sprintf("%s would use %s, which the rule %s denies", textOf(c), shown(file), r), shown(file)), true
		}
	}
	if len(c.Mentions) > 0 && p.Rules.deny.read.len() > 0 {
		if r, file := p.deniedMention(c); r != nil {
			return denied(r, fmt.Sprintf("%s names %s, which the rule %s denies", textOf(c), file, r), file), true
		}
	}
	return Decision{}, false
}

// variants are the texts under which a rule that denies or asks may know the command.
func variants(c *shellsyntax.Command) []string {
	if len(c.Args) == 0 {
		return []string{c.Text}
	}
	loose := make([]string, len(c.Args))
	for i, w := range c.Args {
		loose[i] = w.Pattern
	}
	texts := []string{c.Text, strings.Join(loose, " ")}
	if c.ByPath && c.Name != "" {
		_, rest, _ := strings.Cut(texts[1], " ")
		texts = append(texts, strings.TrimSuffix(c.Name+" "+rest, " "))
	}
	if plain := c.Plainly(); plain != "" {
		texts = append(texts, plain)
	}
	if c.Source != "" && c.Source != c.Text {
		texts = append(texts, strings.Join(strings.Fields(c.Source), " "))
	}
	if c.Foreign { // what it is may be a wrapper: any end of it may be a command
		for i := 1; i < len(loose) && i < 64; i++ {
			texts = append(texts, strings.Join(loose[i:], " "))
		}
	}
	return texts
}

// asked finds the rule that asks, or a rule that denies and might fit for some value of an unknown word.
func (s *shellCase) asked(c *shellsyntax.Command) (Decision, bool) {
	p := s.p
	tier := p.askTier()
	if r := tier.command(variants(c)...); r != nil {
		return Decision{Kind: ByRule, Rule: r.rule, Reason: fmt.Sprintf("the rule %s asks for %s", r.rule, textOf(c))}, true
	}
	if p.File != nil && p.mode() != Bypass {
		if d, stop := p.File.part(Ask, c); stop {
			return d, true
		}
	}
	for _, f := range c.Files {
		given, resolved := p.fileNames(f)
		index := &tier.read
		if f.Use == shellsyntax.Write {
			index = &tier.write
		} else if f.Use == shellsyntax.Look {
			continue
		}
		for _, n := range []string{given, resolved} {
			r := index.find(p.Rules.places, n)
			if wild(n) {
				r = index.may(p.Rules.places, n)
			}
			if r != nil {
				return Decision{Kind: ByRule, Rule: r, Reason: fmt.Sprintf("the rule %s asks for %s", r, shown(n)), BlockedPath: shown(n)}, true
			}
		}
	}
	if p.mode() == Bypass || s.whole != nil || len(p.Rules.deny.byFirst)+len(p.Rules.deny.anyFirst) == 0 || c.Name == "" {
		return Decision{}, false
	}
	unknown := false
	loose := make([]string, len(c.Args))
	for i, w := range c.Args {
		loose[i] = w.Pattern
		unknown = unknown || strings.IndexByte(w.Pattern, shellsyntax.AnyText) >= 0
	}
	if unknown {
		if r := p.Rules.deny.mayCommand(strings.Join(loose, " ")); r != nil {
			return Decision{Kind: ByDoubt, Rule: r, Reason: fmt.Sprintf("with some values of its variables %s is what the rule %s denies", textOf(c), r)}, true
		}
	}
	return Decision{}, false
}

// planned decides what plan mode says: only what changes nothing passes.
func (s *shellCase) planned(c *shellsyntax.Command) (Decision, bool) {
	own := *c
	own.Inner, own.Files = nil, nil
	for _, f := range c.Files {
		if given, resolved := s.p.fileNames(f); f.Use != shellsyntax.Write || !s.p.isPlan(given, resolved) {
			own.Files = append(own.Files, f)
		}
	}
	if own.Harmless() {
		return Decision{}, false
	}
	d := s.p.planned(fmt.Sprintf("%s is not known to change nothing", textOf(c)))
	if c.Doubt != "" {
		d.Reason += " (" + c.Doubt + ")"
	}
	return d, true
}

// guardedWrites asks for changes of files that decide what runs later.
func (s *shellCase) guardedWrites(c *shellsyntax.Command) (Decision, bool) {
	for _, f := range c.Files {
		if f.Use != shellsyntax.Write {
			continue
		}
		given, resolved := s.p.fileNames(f)
		if s.p.writable(given) && s.p.writable(resolved) || s.p.isPlan(given, resolved) {
			continue
		}
		if d, asks := s.p.guarded(shown(given), given, resolved); asks {
			return d, true
		}
		if wild(given) && mayProtect(given) {
			return Decision{Kind: BySafety, Reason: fmt.Sprintf("%s may be a file whose change is always asked for", shown(given)), BlockedPath: shown(given)}, true
		}
	}
	return Decision{}, false
}

// mayProtect reports whether a glob that begins with a dot may stand for a protected name.
func mayProtect(file string) bool {
	for _, e := range split(file) {
		if strings.HasPrefix(e, ".") && strings.ContainsAny(e, shellsyntax.Wild) {
			for _, name := range []string{".git", ".claude", ".vscode", ".bashrc", ".profile", ".zshrc", ".gitconfig", ".mcp.json", ".ssh"} {
				if overlapText(escapeGlob(name), e) {
					return true
				}
			}
		}
	}
	return false
}

// permitted finds what allows the command: a rule, that it changes nothing, or the mode.
func (s *shellCase) permitted(c *shellsyntax.Command) Decision {
	p := s.p
	if r := p.Rules.allow.command(c.Text, strings.Join(strings.Fields(c.Source), " ")); r != nil && !c.Function && covers(r, c) {
		return s.withWrites(c, allowed(r.rule), r.whole())
	}
	if p.File != nil && c.Doubt == "" {
		if d, stop := p.File.part(Allow, c); stop {
			return s.withWrites(c, d, false)
		}
	}
	if c.Doubt != "" {
		return Decision{Kind: ByDoubt, Reason: fmt.Sprintf("what %s does cannot be known: %s", textOf(c), c.Doubt)}
	}
	if c.Kind == shellsyntax.Elevating {
		return Decision{Kind: ByDefault, Reason: fmt.Sprintf("no rule allows %s", textOf(c))}
	}
	if c.Kind == shellsyntax.Wrapper || c.ReadOnly {
		return s.withReads(c)
	}
	if p.mode() == AcceptEdits {
		if d, ok := s.edits(c); ok {
			return d
		}
	}
	return Decision{Kind: ByDefault, Reason: fmt.Sprintf("no rule allows %s", textOf(c))}
}

// covers reports whether a rule that fits says enough about the command. A rule that leaves words open does not cover what
// cannot be known, nor a removal of a folder that is not named.
func covers(r *commandRule, c *shellsyntax.Command) bool {
	if r.whole() {
		return true
	}
	if c.Doubt != "" {
		return false
	}
	for _, f := range c.Files {
		if f.Remove && f.Below && strings.HasPrefix(f.Path, string(shellsyntax.AnyText)) {
			return false
		}
	}
	return true
}

// withReads is the decision for a command that changes nothing: it passes if it reads where reading is free.
func (s *shellCase) withReads(c *shellsyntax.Command) Decision {
	p := s.p
	d := Decision{Behavior: Allow, Kind: ByReading, Reason: "it changes nothing"}
	if c.Kind == shellsyntax.Wrapper {
		d.Reason = "it only runs what follows"
	}
	for _, f := range c.Files {
		if f.Use == shellsyntax.Write {
			continue
		}
		if q, asks := p.readFile(f); asks {
			return q
		}
	}
	return s.withWrites(c, d, false)
}

// withWrites adds to a decision that allows what redirections and options write: a rule for the command does not cover that.
func (s *shellCase) withWrites(c *shellsyntax.Command, d Decision, all bool) Decision {
	for _, f := range c.Files {
		if f.Use == shellsyntax.Write && f.Aside {
			if q, asks := s.p.writeFile(f); asks {
				return q
			}
		}
	}
	return d
}

// edits is what acceptEdits adds: plain file commands inside the working directories.
func (s *shellCase) edits(c *shellsyntax.Command) (Decision, bool) {
	switch c.Name {
	case "touch", "mkdir", "rm", "rmdir", "cp", "mv", "sed":
	default:
		return Decision{}, false
	}
	if c.ByPath || len(c.Files) == 0 {
		return Decision{}, false
	}
	for _, f := range c.Files {
		ask := s.p.readFile
		if f.Use == shellsyntax.Write {
			ask = s.p.writeFile
		}
		if q, asks := ask(f); asks {
			return q, true
		}
		if f.Remove {
			given, resolved := s.p.fileNames(f)
			for _, w := range s.p.WorkDirs {
				if given == w || resolved == w {
					return Decision{Kind: BySafety, Reason: "it would remove the working directory itself", BlockedPath: given}, true
				}
			}
		}
	}
	return byMode(AcceptEdits), true
}
