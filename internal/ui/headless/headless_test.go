package headless_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"gofer/internal/event"
	"gofer/internal/session"
	"gofer/internal/ui/headless"
)

func TestResultsAreNumberedAndRequestsToldOnlyWithPartialMessages(t *testing.T) {
	t.Parallel()
	text := "x"
	records := []session.Record{
		{Seq: 0, UUID: "u0", Event: event.Requesting{}},
		{Seq: 1, UUID: "u1", Event: event.Result{Subtype: event.Success, Result: &text}},
		{Seq: 2, UUID: "u2", Event: event.ToolProgress{ToolUseID: "t", ToolName: "Bash", Elapsed: 30, Heartbeat: true}},
		{Seq: 3, UUID: "u3", Event: event.Result{Subtype: event.Success, Result: &text}},
	}
	const requesting = `{"type":"system","subtype":"status","status":"requesting","session_id":"s","uuid":"u0"}`
	for _, partial := range []bool{false, true} {
		var out bytes.Buffer
		last, err := headless.Write(&out, "s", slices.Values(records), headless.Options{Format: headless.StreamJSON, Partial: partial})
		if err != nil || last == nil || *last.Index != 1 {
			t.Fatalf("%v %+v", err, last)
		}
		if strings.Contains(out.String(), requesting) != partial || strings.Contains(out.String(), "requesting") != partial {
			t.Errorf("partial messages %v:\n%s", partial, out.String())
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if n := len(lines); !strings.Contains(lines[n-3], `"result_index":0`) || !strings.Contains(lines[n-1], `"result_index":1`) {
			t.Errorf("results are not numbered:\n%s", out.String())
		}
		const progress = `{"type":"tool_progress","tool_use_id":"t","tool_name":"Bash","parent_tool_use_id":null,"elapsed_time_seconds":30,"heartbeat":true,"session_id":"s","uuid":"u2"}`
		if !slices.Contains(lines, progress) {
			t.Errorf("no progress:\n%s", out.String())
		}
	}
}
