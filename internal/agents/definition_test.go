package agents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/agents"
	"gofer/internal/guard"
	"gofer/internal/hook"
)

func parse(text string) (*agents.Definition, []string, error) {
	return agents.ParseMarkdown([]byte(text), hook.Source{Name: "test"})
}

func TestEveryFieldIsRead(t *testing.T) {
	t.Parallel()
	d, warnings, err := parse("\ufeff---\r\n" + `name: reviewer
description: Reviews changes. Use it when: a change is done, "and" before it is committed.
tools: Read, Grep, Bash(git diff:*), Agent(Explore, Plan)
disallowedTools: [Write, "Bash(rm:*)"]
model: sonnet
effort: high
permissionMode: acceptEdits
hooks:
  Stop:
    - hooks: [{type: command, command: "true"}]
maxTurns: 7
background: true
isolation: worktree
color: blue
initialPrompt: Begin.
memory: user
skills: [a, b]
mcpServers:
  - github
requiredMcpServers: github
future: 1
---
You review.

---
All of it.
`)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(d.Name, "|", d.Description, "|", d.Tools, d.Types, d.Without, len(d.Denied), d.Denied[0].String(), "|", d.Model, d.Effort, d.Mode, d.Hooks[0].Event, d.MaxTurns,
		d.Background, d.Isolation, d.Color, d.InitialPrompt, d.Memory, d.Skills, string(d.MCPServers), d.RequiredMCP, "|", d.Prompt)
	want := `reviewer|Reviews changes. Use it when: a change is done, "and" before it is committed.|[Read Grep Bash Agent Write Edit] [Explore Plan] [Write] 1 Bash(rm:*)|sonnet high acceptEdits Stop 7 true worktree blue Begin. user [a b] ["github"] [github]|You review.

---
All of it.`
	if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if text := strings.Join(warnings, "\n"); len(warnings) != 2 || !strings.Contains(text, "Bash(git diff:*) gives the whole tool") || !strings.Contains(text, `"future" is not known`) {
		t.Errorf("warnings: %s", text)
	}
}

func TestBadDefinitionsSayWhy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"You review.":                         "it has no front matter",
		"---\nname: a\ndescription: b\n":      "does not end",
		"---\ndescription: b\n---\nx":         "it has no name",
		"---\nname: a\n---\nx":                "it has no description",
		"---\nname: a\ndescription: b\n---\n": "it has no prompt",
		"---\nname: a\ndescription: b\npermissionMode: readonly\n---\nx":                             `permissionMode: "readonly" is not a permission mode`,
		"---\nname: a\ndescription: b\ntools: {a: b}\n---\nx":                                        "the field tools cannot be read",
		"---\nname: a\ndescription: b\nmaxTurns: many\n---\nx":                                       "the field maxTurns cannot be read",
		"---\nname: a\ndescription: b\nmaxTurns: -1\n---\nx":                                         "negative",
		"---\nname: a\ndescription: b\nhooks:\n  PreToolUse:\n    - hooks: [{type: comand}]\n---\nx": `there is no hook type "comand"`,
		"---\nname: a\ndescription: b\nisolation: vm\n---\nx":                                        "isolation",
		"---\nname: fork\ndescription: b\n---\nx":                                                    "is taken",
		"---\nname: a<b>\ndescription: b\n---\nx":                                                    "may not have",
		"---\n\t\x00\n---\nx":          "not a text file",
		"---\nname: a\n  b: [\n---\nx": "not valid YAML",
		"---\nname: a\ndescription: b\nx: &a [1]\ny: [*a,*a]\neffort: [1]\n---\nx": "effort",
		"---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n---\nx": "excessive aliasing",
	} {
		_, _, err := parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text[:min(len(text), 80)], err, want)
		}
	}
}

func TestStrongerPlacesHideWeakerOnesAndBadFilesHideNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(place, file, name, prompt string) {
		path := filepath.Join(dir, place, file)
		os.MkdirAll(filepath.Dir(path), 0o700)
		os.WriteFile(path, []byte("---\nname: "+name+"\ndescription: d\n---\n"+prompt), 0o600)
	}
	for _, place := range []string{"managed", "project", "user", "plugin"} {
		put(place, "all.md", "all", "from "+place)
	}
	put("project", "deep/er/two.md", "two", "from project")
	put("user", "two.md", "two", "from user")
	put("user", "Explore.md", "Explore", "my own")
	put("plugin", "p.md", "p", "from plugin")
	put("project", "z-again.md", "two", "again")
	put("project", "README.md", "readme", "for people")
	os.WriteFile(filepath.Join(dir, "project", "bad.md"), []byte("no front matter"), 0o600)
	os.WriteFile(filepath.Join(dir, "project", "huge.md"), make([]byte, 1<<20), 0o600)
	pipes := makePipe(filepath.Join(dir, "project", "pipe.md"))
	l := agents.Load(
		agents.Source{Origin: agents.Plugin, Dir: filepath.Join(dir, "plugin")},
		agents.Source{Origin: agents.User, Dir: filepath.Join(dir, "user")},
		agents.Source{Origin: agents.Project, Dir: filepath.Join(dir, "project")},
		agents.Source{Origin: agents.Managed, Dir: filepath.Join(dir, "managed")},
		agents.Source{Origin: agents.User, Dir: filepath.Join(dir, "nowhere")},
		agents.Source{Origin: agents.Flag, Name: "--agents", JSON: []byte(`{"two": {"description": "d", "prompt": "from flag", "tools": ["Read"]}, "bad": {"prompt": "p"}, "worse": 7}`)},
	)
	for name, want := range map[string]string{"all": "from managed", "two": "from flag", "p": "from plugin", "Explore": "my own"} {
		d, err := l.Find(name)
		if err != nil || d.Prompt != want {
			t.Errorf("%s: got %+v, %v", name, d, err)
		}
	}
	var problems []string
	for _, p := range l.Problems() {
		problems = append(problems, strings.ReplaceAll(p.String(), dir, ""))
	}
	all := strings.Join(problems, "\n")
	for _, want := range []string{"/project/bad.md: this agent cannot be used: it has no front matter", "/project/huge.md: this agent cannot be used: it has 1048576 bytes", "--agents: bad: this agent cannot be used: it has no description",
		"--agents: worse: this agent cannot be used: it must be an object"} {
		must(t, all, want)
	}
	if pipes == 1 {
		must(t, all, "/project/pipe.md: this agent cannot be used: it is not a regular file")
	}
	if len(problems) != 4+pipes {
		t.Errorf("problems:\n%s", all)
	}
	if got := strings.Join(l.Names(), " "); got != "Explore Plan all general-purpose gofer-guide p two verification" {
		t.Errorf("names: %s", got)
	}
	if l := agents.Load(agents.Source{Origin: agents.Flag, Name: "--agents", JSON: []byte(`[`)}); len(l.Problems()) != 1 || len(l.Names()) != 5 {
		t.Errorf("got %v", l.Problems())
	}
}

func TestBuiltInAgents(t *testing.T) {
	t.Parallel()
	l := agents.Load()
	for _, name := range []string{"Explore", "Plan"} {
		d, err := l.Find(name)
		if err != nil || d.Mode != guard.Plan {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	v, err := l.Find("verification")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"VERDICT: PASS", "VERDICT: FAIL", "VERDICT: PARTIAL"} {
		must(t, v.Prompt, want)
	}
	listing := l.Listing(nil, func(name string) bool { return name == "Plan" })
	must(t, listing, "- Explore: ")
	if strings.Contains(listing, "- Plan:") || len(listing) > 1500 {
		t.Errorf("%d bytes: %s", len(listing), listing)
	}
	if got := l.Listing([]string{"Plan"}, nil); strings.Count(got, "\n- ") != 1 {
		t.Errorf("got %s", got)
	}
}

func FuzzParseMarkdown(f *testing.F) {
	f.Add([]byte("---\nname: a\ndescription: b: c\ntools: [A, 'B(c, d)']\nhooks: {Stop: []}\n---\nx"))
	f.Add([]byte("---\r\n? [a]\r\n: b\r\n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _, err := agents.ParseMarkdown(data, hook.Source{})
		if err == nil && (d.Name == "" || d.Prompt == "" || d.Description == "") {
			t.Errorf("%q gave %+v", data, d)
		}
	})
}

// BenchmarkLoad is what the built-in agents cost a session that starts.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		agents.Load()
	}
}
