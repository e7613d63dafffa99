package find_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gofer/internal/tool"
	"gofer/internal/tool/find"
)

func made(name, doc string) *tool.Tool {
	return tool.Raw(tool.RawSpec{Name: name, Doc: doc, Deferred: true, Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Text(c.Tool.Name + " got " + string(c.Input)), nil
		}})
}

// rig offers some tools, and one more once somebody has waited.
func rig(waits *int) *tool.Set {
	all := []*tool.Tool{made("mcp__github__create_issue", "Opens an issue"), made("mcp__github__list_issues", "Lists issues of a repository"),
		made("mcp__mail__send", "Sends a message, also about an issue"), made("mcp__files__readFile", "Shows a file")}
	var set *tool.Set
	env := find.Env{
		Tools: func() []*tool.Tool { return all },
		Find:  func(name string) (*tool.Tool, error) { return set.Find(name) },
		Wait: func(context.Context) []string {
			if *waits++; *waits == 1 {
				all = append(all, made("mcp__late__draw", "Draws a picture"))
			}
			return []string{"The MCP server broken cannot be used: it is gone"}
		},
	}
	set = tool.NewSet(append(slices.Clone(all), find.Tools(env)...)...)
	return set
}

func run(t *testing.T, set *tool.Set, name, input string) (string, error) {
	t.Helper()
	f, err := set.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Bind("1", json.RawMessage(input))
	if err != nil {
		return "", err
	}
	res, err := tool.Run(t.Context(), c)
	return res.Text(), err
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"select:mcp__mail__send,mcp__github__list_issues": "mcp__mail__send mcp__github__list_issues",
		"select:send":                         "mcp__mail__send",
		"select: MCP__mail__send":             "mcp__mail__send",
		"issue":                               "mcp__github__create_issue mcp__github__list_issues mcp__mail__send",
		"+mail issue":                         "mcp__mail__send",
		"readfile":                            "mcp__files__readFile",
		"mcp__github__create_issue":           "mcp__github__create_issue",
		"draw a picture":                      "mcp__late__draw", // it comes late
		"select:mcp__late__draw,nothing_like": "mcp__late__draw",
		"zebra":                               "",
	} {
		waits := 0
		text, err := run(t, rig(&waits), find.SearchName, fmt.Sprintf(`{"query":%q,"max_results":3}`, query))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(text) {
			var def struct{ Name, Description string }
			if json.Unmarshal([]byte(line), &def) == nil {
				names = append(names, def.Name)
			}
		}
		got := strings.Join(names, " ")
		if got != want {
			t.Errorf("%s found %q, want %q", query, got, want)
		}
		if want == "" && (!strings.Contains(text, "No tool fits") || !strings.Contains(text, "broken cannot be used")) {
			t.Errorf("%s: %s", query, text)
		}
		if found := got != "" && !strings.Contains(query, "late") && !strings.Contains(query, "draw"); found && waits != 0 {
			t.Errorf("%s waited for servers that it did not need", query)
		}
	}
}

func TestUseToolIsTheToolItNames(t *testing.T) {
	t.Parallel()
	waits := 0
	set := rig(&waits)
	for _, input := range []string{`{"name":"mcp__mail__send","input":{"to":"you"}}`, `{"name":"mcp__mail__send","input":"{\"to\":\"you\"}"}`} {
		text, err := run(t, set, find.UseName, input)
		if err != nil || text != `mcp__mail__send got {"to":"you"}` {
			t.Errorf("%s: %q, %v", input, text, err)
		}
	}
	use, err := set.Find(find.UseName)
	if err != nil {
		t.Fatal(err)
	}
	c, err := use.Bind("1", json.RawMessage(`{"name":"mcp__mail__send"}`))
	if err != nil || c.Tool.Name != "mcp__mail__send" {
		t.Errorf("the call is one of %+v, %v", c.Tool, err)
	}
	for input, want := range map[string]string{
		`{"name":"nobody","input":{}}`: "there is no tool",
		`{"input":{}}`:                 "must be",
		`[]`:                           "must be",
		`{"name":"UseTool","input":{"name":"UseTool"}}`: "only names other tools",
		`{"name":"mcp__mail__send","input":[1]}`:        "not a JSON object",
	} {
		if _, err := run(t, set, find.UseName, input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
}
