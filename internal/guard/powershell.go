package guard

import (
	"fmt"
	"strings"
)

// judgePowerShell knows no syntax tree: only rules for the whole text count.
func (p *Policy) judgePowerShell(f Facts, name, command string) Decision {
	text := strings.Join(strings.Fields(command), " ")
	fits := func(t *tier) *Rule {
		for _, c := range t.power {
			if c.fits(text) {
				return c.rule
			}
		}
		return nil
	}
	if r := fits(&p.Rules.deny); r != nil {
		return denied(r, fmt.Sprintf("the rule %s denies it", r), "")
	}
	if r := fits(p.askTier()); r != nil {
		return Decision{Kind: ByRule, Rule: r, Reason: fmt.Sprintf("the rule %s asks for it", r)}
	}
	if p.mode() == Plan {
		return p.planned("a command of PowerShell may change anything")
	}
	if p.mode() == Bypass {
		return byMode(Bypass)
	}
	if r := p.Rules.allow.wholeTool(name, false); r != nil {
		return allowed(r)
	}
	if r := fits(&p.Rules.allow); r != nil && !strings.ContainsAny(command, ";|&\n$(){}`<>") {
		return allowed(r)
	}
	return Decision{Kind: ByDefault, Reason: "no rule allows this command"}
}
