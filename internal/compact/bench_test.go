package compact_test

import (
	"strings"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
)

// BenchmarkPrepare is what every request of a long conversation pays.
func BenchmarkPrepare(b *testing.B) {
	r := newRig(b, summaryScript, wide)
	view := conversation(200, 1200)
	r.setView(view)
	raw := loop.EstimateRequest(llm.Request{}, view)
	if raw > r.window.AutoThreshold() || raw < 100_000 {
		b.Fatal(raw)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.compactor.Prepare(b.Context(), r.log, raw, r.window); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMechanical is a whole compaction without a model.
func BenchmarkMechanical(b *testing.B) {
	r := newRig(b, strings.Replace(summaryScript, "text The", "error 500 api_error The", 1), wide)
	view := conversation(300, 1200)
	for b.Loop() {
		r.log = session.NewLog(nil, view)
		if _, err := r.compactor.Shrink(b.Context(), r.log, false); err != nil {
			b.Fatal(err)
		}
	}
}
