package mcp_test

import (
	"strings"
	"testing"

	"gofer/internal/extend/mcp"
)

func TestConfigurations(t *testing.T) {
	t.Parallel()
	list, err := mcp.Parse([]byte(`{"mcpServers":{"b":{"command":"x","args":["${A}","${B:-two}","${A:-no}","$A","${open"],"env":{"K":"${EMPTY}"}},
		"a":{"url":"https://${HOST:-h}/mcp","headers":{"X":"${NONE} ${OTHER}"}}, "c":{"type":"sse","url":"ftp://x"}, "d":{"type":"stdio"}, "e":7, "f":{"type":"ws","url":"http://x"}}}`), "user")
	if err != nil || len(list) != 6 {
		t.Fatalf("%v %v", list, err)
	}
	env := map[string]string{"A": "one", "EMPTY": ""}
	for i, c := range list {
		list[i] = c.Expand(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	}
	if b := list[1]; b.Name != "b" || b.Scope != "user" || b.Kind() != "stdio" || strings.Join(b.Args, "|") != "one|two|one|$A|${open" || b.Env["K"] != "" || b.Problem != "" {
		t.Errorf("b is %+v", b)
	}
	if a := list[0]; a.Kind() != "http" || a.URL != "https://h/mcp" || !strings.Contains(a.Problem, "not set: NONE, OTHER.") {
		t.Errorf("a is %+v", a)
	}
	for i, want := range map[int]string{2: "must begin with http", 3: `needs a "command"`, 4: "cannot be read", 5: "must begin with ws"} {
		if !strings.Contains(list[i].Problem, want) {
			t.Errorf("%s: %q, want %q", list[i].Name, list[i].Problem, want)
		}
	}
	for _, text := range []string{``, `[]`, `{}`, `{"mcpServers":[]}`, `{"mcpServers":null}`} {
		if _, err := mcp.Parse([]byte(text), "user"); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestNamesFitEveryProvider(t *testing.T) {
	t.Parallel()
	for in, want := range map[[2]string]string{
		{"git hub.com", "läßt/us"}: "mcp__git_hub_com__l__t_us",
		{"a", "b\nc"}:              "mcp__a__b_c",
	} {
		if got := mcp.ToolName(in[0], in[1]); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
	one, two := mcp.ToolName("s", strings.Repeat("x", 200)+"1"), mcp.ToolName("s", strings.Repeat("x", 200)+"2")
	if len(one) != 128 || one == two {
		t.Errorf("%d characters, the same: %v", len(one), one == two)
	}
}

// A client's manifest is not ours: whatever its schemas are, providers get objects.
func TestSchemasFitEveryProvider(t *testing.T) {
	t.Parallel()
	m, err := mcp.ReadManifest([]byte(`{"tools":[{"name":"a","inputSchema":{"$schema":"x","anyOf":[{}],"properties":{"p":{"anyOf":[{"type":"string"}]}},"required":["p"]}},
		{"name":"b"},{"name":"c","inputSchema":{"type":"string","properties":7}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"properties":{"p":{"anyOf":[{"type":"string"}]}},"required":["p"],"type":"object"}`, `{"properties":{},"type":"object"}`, `{"properties":{},"type":"object"}`}
	for i, tool := range m.Tools {
		if string(tool.Schema) != want[i] {
			t.Errorf("%s: %s", tool.Name, tool.Schema)
		}
	}
	if _, err := mcp.ReadManifest([]byte(`nonsense`)); err == nil {
		t.Error("nonsense was taken")
	}
}
