package guard

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"gofer/internal/tool"
)

// Decide says whether the call may run. The order is: a rule that denies, a rule that asks, the safety checks, the mode, a rule
// that allows, what a hook said, and then ask. For an agent that another one started, all policies of the chain must allow.
func Decide(p Policy, f Facts) Decision {
	d := p.settle(f, p.judge(f))
	for up := p.Parent; up != nil; up = up.Parent {
		above := *up
		above.Parent = nil
		above.AlwaysAsk = p.AlwaysAsk
		f := f
		if f.Dir == "" {
			f.Dir = p.Dir
		}
		d = worse(d, above.settle(f, above.judge(f)))
	}
	if d.Behavior == Ask && d.Suggestions == nil {
		d.Suggestions = p.suggest(f, d)
	}
	return d
}

// worse returns the stricter of two decisions, the first if they are alike.
func worse(a, b Decision) Decision {
	if rank(b) > rank(a) {
		if b.Parts == nil {
			b.Parts, b.commands = a.Parts, a.commands
		}
		return b
	}
	return a
}

// rank orders decisions by how hard they are to pass. What a person must be asked by a rule or for safety is above what is
// only not yet allowed.
func rank(d Decision) int {
	switch {
	case d.Behavior == Deny:
		return 3
	case d.Behavior == Ask && firm(d.Kind):
		return 2
	case d.Behavior == Ask:
		return 1
	}
	return 0
}

// firm reports whether a question rests on something that neither a hook nor a classifier may answer.
func firm(k Kind) bool { return k == ByRule || k == ByPolicy || k == BySafety || k == ByPerson }

// settle lets the hook and the mode have their say about what the rules gave.
func (p *Policy) settle(f Facts, d Decision) Decision {
	switch {
	case d.Behavior == Deny:
	case f.Hook == tool.VerdictDeny:
		d.Behavior, d.Kind, d.Rule = Deny, ByHook, nil
		d.Reason = withReason("a hook refused the call", f.Why)
	case f.Hook == tool.VerdictAsk && d.Behavior == Allow:
		d.Behavior, d.Kind, d.Rule = Ask, ByHook, nil
		d.Reason = withReason("a hook wants a person to decide", f.Why)
	case f.Hook == tool.VerdictAllow && d.Behavior == Ask && !firm(d.Kind):
		d.Behavior, d.Kind = Allow, ByHook
		d.Reason = withReason("a hook allowed the call", f.Why)
	}
	if d.Behavior == Ask && p.mode() == DontAsk {
		d.Behavior, d.Kind = Deny, ByMode
		d.Reason = fmt.Sprintf("nobody is asked in this mode, and it would have to be: %s", d.Reason)
	}
	return d
}

func withReason(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// judge decides by rules, safety and mode, without the hook.
func (p *Policy) judge(f Facts) Decision {
	rules := p.Rules
	if rules == nil {
		rules = &RuleSet{}
		p.Rules = rules
	}
	name := f.Tool
	if name == "Task" {
		name = "Agent"
	}
	if r := rules.deny.wholeTool(name, true); r != nil {
		return denied(r, fmt.Sprintf("the rule %s denies every use of %s", r, f.Tool), "")
	}
	if slices.Contains(p.AlwaysAsk, f.Tool) {
		return Decision{Behavior: Ask, Kind: ByPerson, Reason: f.Tool + " is a question to you", Suggestions: []Update{}}
	}
	d := p.judgeAccess(f, name)
	if d.Behavior == Deny {
		return d
	}
	if r := p.askTier().wholeTool(name, true); r != nil {
		return worse(d, Decision{Behavior: Ask, Kind: ByRule, Rule: r, Reason: fmt.Sprintf("the rule %s asks for every use of %s", r, f.Tool), Parts: d.Parts, commands: d.commands})
	}
	return d
}

// askTier is the rules that ask: in bypass mode only an administrator's.
func (p *Policy) askTier() *tier {
	if p.mode() == Bypass {
		return &p.Rules.managed
	}
	return &p.Rules.ask
}

func denied(r *Rule, reason, blocked string) Decision {
	return Decision{Behavior: Deny, Kind: ByRule, Rule: r, Reason: reason, BlockedPath: blocked}
}

// judgeAccess decides each thing that the call touches; the strictest counts.
func (p *Policy) judgeAccess(f Facts, name string) Decision {
	if len(f.Access) == 0 {
		return p.judgeBare(f, name)
	}
	var all Decision
	for i, a := range f.Access {
		var d Decision
		switch a.Verb {
		case tool.Read:
			d = p.judgeFile(f, name, a.Target, false)
		case tool.Write:
			d = p.judgeFile(f, name, a.Target, true)
		case tool.Exec:
			d = p.judgeCommand(f, name, a.Target)
		case tool.Fetch:
			d = p.judgeFetch(f, name, a.Target)
		case tool.Use:
			d = p.judgeUse(f, name, a.Target)
		default:
			d = Decision{Kind: ByDefault, Reason: fmt.Sprintf("%s touches something of an unknown kind", f.Tool)}
		}
		d = p.judgePolicyFile(f, a.Target, d)
		if i == 0 {
			all = d
		} else {
			all = worse(all, d)
		}
	}
	return all
}

// judgePolicyFile lets permissions.yaml decide about a call as it is written.
func (p *Policy) judgePolicyFile(f Facts, target string, d Decision) Decision {
	if p.File == nil || d.Behavior == Deny || len(f.Access) > 0 && f.Access[0].Verb == tool.Exec {
		return d
	}
	return p.File.weigh(p, d, f.Tool, target)
}

// judgeBare decides about a call that touches no file, command or host.
func (p *Policy) judgeBare(f Facts, name string) Decision {
	d := p.bare(f, name)
	return p.judgePolicyFile(f, "", d)
}

func (p *Policy) bare(f Facts, name string) Decision {
	server := strings.HasPrefix(name, "mcp__")
	mode := p.mode()
	if mode == Plan && !f.Traits.ReadOnly {
		return p.planned(fmt.Sprintf("%s is not known to change nothing", f.Tool))
	}
	if mode == Bypass {
		return byMode(mode)
	}
	if r := p.Rules.allow.wholeTool(name, false); r != nil {
		return allowed(r)
	}
	if f.Traits.ReadOnly && !server && name != "WebSearch" && name != "WebFetch" {
		return Decision{Behavior: Allow, Kind: ByReading, Reason: "it changes nothing"}
	}
	return Decision{Kind: ByDefault, Reason: fmt.Sprintf("no rule allows %s", f.Tool)}
}

func allowed(r *Rule) Decision {
	return Decision{Behavior: Allow, Kind: ByRule, Rule: r, Reason: fmt.Sprintf("the rule %s allows it", r)}
}

func byMode(m Mode) Decision {
	return Decision{Behavior: Allow, Kind: ByMode, Reason: fmt.Sprintf("the mode %s allows it", m)}
}

func (p *Policy) planned(what string) Decision {
	return Decision{Behavior: Deny, Kind: ByMode, Reason: "in plan mode nothing is changed, and " + what}
}

// judgeFile decides about one path. It is tested as it was given and with its symlinks followed: a rule that denies need fit
// only one of them, a rule that allows must fit both.
func (p *Policy) judgeFile(f Facts, name, file string, write bool) Decision {
	given, resolved := p.names(file)
	rules := p.Rules
	index := func(t *tier) *pathIndex {
		if write {
			return &t.write
		}
		return &t.read
	}
	either := func(t *tier) *Rule {
		for _, x := range []*pathIndex{index(t), t.only[name]} {
			if x == nil {
				continue
			}
			if r := x.find(rules.places, given); r != nil {
				return r
			}
			if given != resolved {
				if r := x.find(rules.places, resolved); r != nil {
					return r
				}
			}
		}
		return nil
	}
	what := "read"
	if write {
		what = "changed"
	}
	if !strings.HasPrefix(given, "/") && !strings.Contains(given, ":") {
		return Decision{Kind: ByDoubt, Reason: fmt.Sprintf("%q is not an absolute path", file), BlockedPath: file}
	}
	if r := either(&rules.deny); r != nil {
		return denied(r, fmt.Sprintf("%s may not be %s: the rule %s denies it", file, what, r), file)
	}
	if r := either(p.askTier()); r != nil {
		return Decision{Kind: ByRule, Rule: r, Reason: fmt.Sprintf("the rule %s asks before %s is %s", r, file, what), BlockedPath: file}
	}
	if write {
		return p.judgeWrite(f, name, file, given, resolved)
	}
	return p.judgeRead(name, file, given, resolved)
}

func (p *Policy) judgeRead(name, file, given, resolved string) Decision {
	if p.mode() == Bypass {
		return byMode(Bypass)
	}
	if r := p.Rules.allow.wholeTool(name, false); r != nil {
		return allowed(r)
	}
	if p.readable(given) && p.readable(resolved) {
		return Decision{Behavior: Allow, Kind: ByWorkDir, Reason: "it only reads in the working directories"}
	}
	if r := p.allowedPath(&p.Rules.allow.read, given, resolved); r != nil {
		return allowed(r)
	}
	return Decision{Kind: ByWorkDir, Reason: fmt.Sprintf("%s is outside the working directories", outside(p, file, given, resolved)), BlockedPath: file}
}

func outside(p *Policy, file, given, resolved string) string {
	if given != resolved && p.inside(given) {
		return fmt.Sprintf("%s leads to %s, which", file, resolved)
	}
	return file
}

func (p *Policy) readable(file string) bool {
	return p.inside(file) || insideAny(file, p.FreeRead, p.Rules) || p.writable(file) || p.PlanFile != "" && file == slash(p.PlanFile)
}

func (p *Policy) writable(file string) bool { return insideAny(file, p.FreeWrite, p.Rules) }

// allowedPath returns the rule that allows the path, if one allows it under both of its names.
func (p *Policy) allowedPath(x *pathIndex, given, resolved string) *Rule {
	r := x.find(p.Rules.places, given)
	if r != nil && given != resolved && x.find(p.Rules.places, resolved) == nil {
		return nil
	}
	return r
}

func (p *Policy) judgeWrite(f Facts, name, file, given, resolved string) Decision {
	mode := p.mode()
	switch {
	case p.isPlan(given, resolved):
		return Decision{Behavior: Allow, Kind: ByPlanFile, Reason: "it is the plan file"}
	case mode == Plan:
		d := p.planned(fmt.Sprintf("%s would be", file))
		d.BlockedPath = file
		return d
	case mode == Bypass:
		return byMode(mode)
	case p.writable(given) && p.writable(resolved):
		return Decision{Behavior: Allow, Kind: ByWorkDir, Reason: "it is in a folder kept for the agent"}
	}
	if d, asks := p.guarded(file, given, resolved); asks {
		return d
	}
	inside := p.inside(given) && p.inside(resolved)
	if mode == AcceptEdits && inside {
		return byMode(mode)
	}
	if r := p.Rules.allow.wholeTool(name, false); r != nil {
		return allowed(r)
	}
	if r := p.allowedPath(&p.Rules.allow.write, given, resolved); r != nil {
		return allowed(r)
	}
	if inside {
		return Decision{Kind: ByDefault, Reason: fmt.Sprintf("no rule allows to change %s", file), BlockedPath: file}
	}
	return Decision{Kind: ByWorkDir, Reason: fmt.Sprintf("%s is outside the working directories", outside(p, file, given, resolved)), BlockedPath: file}
}

// isPlan reports whether the file is the plan file, and not a link of that name to another.
func (p *Policy) isPlan(given, resolved string) bool {
	return p.PlanFile != "" && given == path.Clean(slash(p.PlanFile)) && path.Base(resolved) == path.Base(given)
}

// guarded returns the question for a file whose change is asked for whatever rules and modes allow.
func (p *Policy) guarded(file, given, resolved string) (Decision, bool) {
	for _, n := range []string{given, resolved} {
		if why := p.protected(n); why != "" {
			return Decision{Kind: BySafety, Reason: fmt.Sprintf("a change of %s is always asked for: %s", file, why), BlockedPath: file}, true
		}
	}
	return Decision{}, false
}

// judgeFetch decides about a URL by its host.
func (p *Policy) judgeFetch(f Facts, name, target string) Decision {
	host := ""
	if u, err := url.Parse(target); err == nil {
		host = u.Hostname()
	}
	if host != "" {
		if r := p.Rules.deny.host(host); r != nil {
			return denied(r, fmt.Sprintf("the rule %s denies %s", r, host), "")
		}
		if r := p.askTier().host(host); r != nil {
			return Decision{Kind: ByRule, Rule: r, Reason: fmt.Sprintf("the rule %s asks for %s", r, host)}
		}
	}
	if p.mode() == Bypass {
		return byMode(Bypass)
	}
	if r := p.Rules.allow.wholeTool(name, false); r != nil {
		return allowed(r)
	}
	if host == "" {
		return Decision{Kind: ByDoubt, Reason: fmt.Sprintf("%q is not a URL with a host", target)}
	}
	if r := p.Rules.allow.host(host); r != nil {
		return allowed(r)
	}
	return Decision{Kind: ByDefault, Reason: fmt.Sprintf("no rule allows to fetch from %s", host)}
}

// judgeUse decides about an agent, a skill or another thing that is used by its name. Agents and skills are free by
// themselves: what they do in turn is judged call by call. A skill that brings permissions or hooks along (it is not read-only) is asked for.
func (p *Policy) judgeUse(f Facts, name, target string) Decision {
	if r := p.Rules.deny.use(name, target); r != nil {
		return denied(r, fmt.Sprintf("the rule %s denies %s", r, target), "")
	}
	if r := p.askTier().use(name, target); r != nil {
		return Decision{Kind: ByRule, Rule: r, Reason: fmt.Sprintf("the rule %s asks for %s", r, target)}
	}
	if r := p.Rules.allow.use(name, target); r != nil && p.mode() != Plan {
		return allowed(r)
	}
	if name == "Agent" || name == "Skill" && f.Traits.ReadOnly {
		return Decision{Behavior: Allow, Kind: ByReading, Reason: "what it does in turn is judged call by call"}
	}
	d := p.bare(f, name)
	if name == "Skill" && d.Kind == ByDefault {
		d.Reason = fmt.Sprintf("the skill %s brings permissions or hooks of its own along", target)
	}
	return d
}
