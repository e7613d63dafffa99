package report_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/prompt/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

func input() report.Input {
	house := strings.Repeat("House rule. ", 200)
	memory := strings.Repeat("- [Tabs](tabs.md) — the user hates tabs\n", 20)
	result := func(id string, n int) llm.Block { return llm.ResultBlock(id, strings.Repeat("x", n), false) }
	call := func(id, name string) llm.Block {
		return llm.Block{Kind: llm.ToolUse, Call: &llm.Call{ID: id, Name: name, Input: []byte(`{"file_path":"/p/a.go"}`)}}
	}
	return report.Input{
		Model: "claude-x", Window: 200_000, Threshold: 167_000,
		System: []report.Section{{Name: "rules", Text: strings.Repeat("Be good. ", 1000)}, {Name: "memory", Text: "Memories:\n" + memory}},
		Tools: []llm.ToolDef{{Name: "Bash", Description: strings.Repeat("runs ", 800)}, {Name: "Read", Description: strings.Repeat("reads ", 300)},
			{Name: "mcp__github__list", Description: strings.Repeat("lists ", 500)}, {Name: "mcp__jira__list", Description: strings.Repeat("lists ", 100)}},
		Deferred: []llm.ToolDef{{Name: "mcp__github__close", Description: strings.Repeat("closes ", 300)}, {Name: "WebFetch", Description: strings.Repeat("fetches ", 100)}},
		Messages: []llm.Message{
			llm.UserText("<system-reminder>\n"+house+"\nToday is Monday.\n</system-reminder>", "Please fix the bug."),
			{Role: llm.Assistant, Blocks: []llm.Block{{Kind: llm.Thinking, Text: strings.Repeat("hm ", 2000), Signature: "s"}, llm.TextBlock("I look."), call("1", "Read"), call("2", "Bash")}},
			{Role: llm.User, Blocks: []llm.Block{result("1", 120_000), result("2", 40_000)}},
			{Role: llm.Assistant, Blocks: []llm.Block{llm.TextBlock(strings.Repeat("It is fixed. ", 300))}},
		},
		Instructions: []report.File{{Path: "/p/CLAUDE.md", Type: "Project", Text: house}, {Path: "/p/sub/CLAUDE.md", Type: "Project", Text: "not told yet"}},
		Memory:       []report.File{{Path: "/m/MEMORY.md", Type: "Memory", Text: memory}},
		Commands:     []report.Named{{Name: "deploy", Text: "not told"}},
		Usage:        &llm.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40},
	}
}

func TestAddsUp(t *testing.T) {
	t.Parallel()
	for _, scale := range []float64{0, 0.8, 1.3, 2} {
		in := input()
		in.Scale = scale
		r := report.Make(in)
		sum, used := 0, 0
		for _, c := range r.Categories {
			if !c.IsDeferred {
				sum += c.Tokens
			}
			if c.Name != report.FreeSpace && c.Name != report.Buffer && !c.IsDeferred {
				used += c.Tokens
			}
		}
		if sum != r.MaxTokens || used != r.TotalTokens {
			t.Errorf("scale %v: categories add up to %d of %d, used %d of %d", scale, sum, r.MaxTokens, used, r.TotalTokens)
		}
		// What is counted by its own name is not counted where it stands as well.
		raw := 0
		for _, s := range in.System {
			raw += len(s.Text)
		}
		for _, x := range in.Tools {
			raw += len(x.Name) + len(x.Description)
		}
		raw += 164_000 + 6_000 + 2_400 // messages
		if want := float64(raw) / 4 * max(scale, 0.8); scale != 0 && (float64(r.TotalTokens) < want*0.97 || float64(r.TotalTokens) > want*1.05) {
			t.Errorf("scale %v: %d tokens, want about %.0f", scale, r.TotalTokens, want)
		}
		squares := 0
		for _, row := range r.GridRows {
			squares += len(row)
		}
		if squares != 100 {
			t.Errorf("%d squares", squares)
		}
	}
}

func TestOverfullWindow(t *testing.T) {
	t.Parallel()
	in := input()
	in.Window, in.Threshold = 30_000, 20_000
	r := report.Make(in)
	for _, c := range r.Categories {
		if c.Tokens < 0 || c.Name == report.Buffer && c.Tokens > 0 {
			t.Errorf("%s has %d", c.Name, c.Tokens)
		}
	}
	if r.Percentage <= 100 || len(r.GridRows) != 10 || len(r.GridRows[9]) != 10 {
		t.Errorf("%d%%, %d rows", r.Percentage, len(r.GridRows))
	}
	if empty := report.Make(report.Input{}); empty.Text() == "" || len(empty.GridRows) != 10 {
		t.Error("an empty report")
	}
	big := report.Make(report.Input{Window: 1_000_000})
	if len(big.GridRows[0]) != 20 {
		t.Error("a very large window")
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs:\n%s", name, got)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	golden(t, "context.txt", []byte(report.Make(input()).Text()))
}

// Programs rely on these names.
func TestJSON(t *testing.T) {
	t.Parallel()
	r := report.Make(input())
	r.GridRows = r.GridRows[:1]
	r.GridRows[0] = r.GridRows[0][:1]
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "context.json", append(got, '\n'))
	for _, key := range []string{"categories", "totalTokens", "maxTokens", "rawMaxTokens", "percentage", "model", "gridRows", "memoryFiles", "mcpTools", "agents",
		"slashCommands", "skills", "autoCompactThreshold", "isAutoCompactEnabled", "messageBreakdown", "apiUsage"} {
		if !strings.Contains(string(got), `"`+key+`":`) {
			t.Errorf("no %s", key)
		}
	}
}
