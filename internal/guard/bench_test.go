package guard

import (
	"fmt"
	"testing"

	"gofer/internal/tool"
)

// manyRules is 500 rules of all kinds, none of which fits what is decided.
func manyRules() []Rule {
	var rules []Rule
	for i := range 125 {
		for j, text := range []string{"Bash(tool%d sub:*)", "Read(/secret%d/**)", "Edit(src%d/*.gen)", "WebFetch(domain:h%d.example.com)"} {
			r, err := ParseRule(fmt.Sprintf(text, i))
			if err != nil {
				panic(err)
			}
			r.Behavior = []Behavior{Allow, Deny, Deny, Allow}[j]
			r.Source = FromUser
			rules = append(rules, r)
		}
	}
	return rules
}

func BenchmarkFileTool500Rules(b *testing.B) {
	p := policyOf(Default, manyRules(), false)
	f := Facts{Tool: "Edit", Access: []tool.Access{{Verb: tool.Write, Target: "/home/me/work/internal/guard/decide.go"}}}
	b.ReportAllocs()
	for b.Loop() {
		Decide(p, f)
	}
}

func BenchmarkFileToolOnDisk500Rules(b *testing.B) {
	p := policyOf(Default, manyRules(), false)
	p.Disk = Real{}
	dir := b.TempDir()
	p.Dir, p.WorkDirs = dir, WorkDirs(p.Disk, dir)
	f := Facts{Tool: "Read", Access: []tool.Access{{Verb: tool.Read, Target: dir + "/a.go"}}}
	b.ReportAllocs()
	for b.Loop() {
		Decide(p, f)
	}
}

const command200 = `cd internal && for f in *.go; do grep -n "func Test" "$f" | head -n 20; done; git log --oneline -20 -- internal/guard | sort -u && go test ./internal/guard/... 2>&1 | tail -n 30 && echo "all is done" | tee out.txt`

func BenchmarkCommand500Rules(b *testing.B) {
	p := policyOf(Default, manyRules(), false)
	f := Facts{Tool: "Bash", Access: []tool.Access{{Verb: tool.Exec, Target: command200}}}
	b.ReportAllocs()
	for b.Loop() {
		Decide(p, f)
	}
}
