package guard

import (
	"os"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"gofer/internal/guard/shellsyntax"
	"gofer/internal/tool"
)

func seeds(f *testing.F) {
	for _, name := range []string{"testdata/bash.table", "testdata/files.table", "shellsyntax/testdata/readonly.txt", "shellsyntax/testdata/writing.txt"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSpace(line)
			for _, b := range []string{"allow ", "ask ", "deny "} {
				line = strings.TrimPrefix(line, b)
			}
			f.Add(strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
}

// holds reports whether the tree has a simple command whose first word is, quotes aside, the name. It is made apart from the analysis that
// it checks.
func holds(command, name string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return false
	}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && plainText(call.Args[0].Parts) == name {
			found = true
		}
		return true
	})
	return found
}

func plainText(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			if p.Dollar && strings.Contains(p.Value, `\`) {
				return "\n"
			}
		case *syntax.DblQuoted:
			b.WriteString(plainText(p.Parts))
		default:
			return "\n"
		}
	}
	if strings.Contains(b.String(), `\`) {
		return "\n"
	}
	return b.String()
}

func shellFacts(command string) Facts {
	return Facts{Tool: "Bash", Access: []tool.Access{{Verb: tool.Exec, Target: command}}}
}

// FuzzADeniedCommandNeverPasses: whatever the text, if its tree holds a denied command it is not allowed, though everything else is.
func FuzzADeniedCommandNeverPasses(f *testing.F) {
	seeds(f)
	policies := []Policy{testPolicy(f, Default, "allow Bash", "deny Bash(rm:*)"), testPolicy(f, Bypass, "deny Bash(rm:*)"), testPolicy(f, AcceptEdits, "allow Bash(*x*)", "deny Bash(rm:*)")}
	f.Fuzz(func(t *testing.T, text string) {
		for _, command := range []string{text, text + "; rm x", "echo $(" + text + "\n)`rm x`"} {
			denied := holds(command, "rm")
			for _, p := range policies {
				if d := Decide(p, shellFacts(command)); denied && d.Behavior == Allow {
					t.Errorf("%q is allowed in mode %s", command, p.Mode)
				}
			}
		}
	})
}

// FuzzReadOnlyNeverWrites: what is taken as read-only has no program in it that is known to write, and no redirection to a file.
func FuzzReadOnlyNeverWrites(f *testing.F) {
	seeds(f)
	p := testPolicy(f, Default)
	p.PlanFile = ""
	f.Fuzz(func(t *testing.T, text string) {
		d := Decide(p, shellFacts(text))
		read := shellsyntax.Parse(text, shellsyntax.Options{Dir: p.Dir, Home: p.Home}).ReadOnly()
		if d.Behavior == Allow && !read {
			t.Errorf("%q is allowed without a rule, and is not read-only", text)
		}
		if !read {
			return
		}
		for _, name := range []string{"rm", "touch", "tee", "cp", "mv", "python", "eval", "source"} {
			if holds(text, name) && !holds("true", name) && !defines(text) {
				t.Errorf("%q is read-only with %s in it", text, name)
			}
		}
	})
}

// defines reports whether the text defines functions, whose bodies do not run unless they are called.
func defines(text string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	found := err != nil
	if err == nil {
		syntax.Walk(file, func(n syntax.Node) bool {
			_, ok := n.(*syntax.FuncDecl)
			found = found || ok
			return true
		})
	}
	return found
}

// FuzzPathsAndRules: no path and no rule makes a decision fail.
func FuzzPathsAndRules(f *testing.F) {
	f.Add("src/**", "/home/me/work/src/a")
	f.Add("*a*a*a*a*a*a*a*a*b", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add("[a-", "x")
	f.Add(`\`, `\`)
	f.Fuzz(func(t *testing.T, pattern, file string) {
		for _, name := range []string{"Read", "Edit", "Bash", "WebFetch", "Skill"} {
			r, err := ParseRule(name + "(" + pattern + ")")
			if err != nil {
				continue
			}
			again, err := ParseRule(r.String())
			if err != nil || again.String() != r.String() {
				t.Errorf("%q is read back as %q, %v", r, again, err)
			}
			r.Behavior = Deny
			p := policyOf(Default, []Rule{r}, false)
			for _, v := range []tool.Verb{tool.Read, tool.Write, tool.Exec, tool.Fetch, tool.Use} {
				Decide(p, Facts{Tool: name, Access: []tool.Access{{Verb: v, Target: file}}})
			}
			Decide(p, shellFacts("cat *"+file))
		}
	})
}
