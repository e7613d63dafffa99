package hook

import (
	"context"
	"encoding/json"
	"testing"

	"gofer/internal/tool"
)

func benchCall(b *testing.B) tool.Call {
	t := tool.Define(tool.Spec[touchInput]{Name: "Touch", Run: func(context.Context, touchInput, tool.Call) (tool.Result, error) { return tool.Text("ok"), nil }})
	c, err := t.Bind("1", json.RawMessage(`{"path":"x"}`))
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// What every call pays in a session without hooks.
func BenchmarkNoHooks(b *testing.B) {
	h := tool.Chain(tool.Run, Wrap(New(Options{}), nil))
	c := benchCall(b)
	b.ReportAllocs()
	for b.Loop() {
		h(b.Context(), c)
	}
}

// … and with a hundred that are for other tools.
func BenchmarkHundredOtherHooks(b *testing.B) {
	var groups []Group
	for range 50 {
		groups = append(groups, on(PreToolUse, "Bash|Write", command("exit 2")), on(PreToolUse, "mcp__.*", command("exit 2")))
	}
	h := tool.Chain(tool.Run, Wrap(New(Options{Groups: groups}), nil))
	c := benchCall(b)
	b.ReportAllocs()
	for b.Loop() {
		h(b.Context(), c)
	}
}

// One command that says nothing.
func BenchmarkOneCommand(b *testing.B) {
	h := tool.Chain(tool.Run, Wrap(New(Options{Groups: []Group{on(PreToolUse, "", command("exit 0"))}}), nil))
	c := benchCall(b)
	for b.Loop() {
		h(b.Context(), c)
	}
}
