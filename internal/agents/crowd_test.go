package agents_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"gofer/internal/agents"
	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/llm/anthropic"
	"gofer/internal/llm/script"
)

func TestTwoHundredAgentsAtOnce(t *testing.T) {
	// Not parallel: it looks at the memory of the process.
	const n = 200
	var src strings.Builder
	src.WriteString("turn\n")
	for i := range n {
		fmt.Fprintf(&src, "  call Agent {\"description\": \"task %d\", \"prompt\": \"Task number %d.\"}\n", i, i)
	}
	src.WriteString(`turn
  text done
section tasks
  when first_user ~ Task number
  turn
    call Hold {}
  turn
    let number from first_user ~ number (\d+)
    text Answer {{number}}
`)
	server := script.Serve(t, src.String(), script.KeepBodies(1))
	client := anthropic.New(anthropic.Config{BaseURL: server.URL(), APIKey: "k"})
	r := newRig(t, src.String(), setup{mode: guard.Bypass, model: client, limits: agents.Limits{MaxParallel: n}})
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	go func() {
		for range n { // all of them are at work now
			<-r.holds
		}
		runtime.GC()
		runtime.ReadMemStats(&during)
		close(r.hold)
	}()
	if end := r.say(t.Context(), "go"); end.Text != "done" {
		t.Fatalf("got %+v", end)
	}
	view := r.log.View()
	results := view[len(view)-2].Blocks
	if len(results) != n {
		t.Fatalf("%d results", len(results))
	}
	for i, b := range results {
		if text, want := b.Result.Text(), fmt.Sprintf("Answer %d\n", i); !strings.HasPrefix(text, want) {
			t.Fatalf("result %d is %q", i, text)
		}
	}
	each := (int64(during.HeapAlloc+during.StackInuse) - int64(before.HeapAlloc+before.StackInuse)) / n
	t.Logf("%d KB for each agent, the scripted server and both ends of its connection included", each>>10)
	if each > 1<<20 {
		t.Errorf("%d bytes for each agent", each)
	}
	var sum llm.Usage
	for _, q := range server.Requests() {
		sum = sum.Add(q.Usage)
	}
	booked := 0
	for _, m := range r.ledger.ByModel() {
		booked += m.InputTokens + m.OutputTokens + m.CacheReadInputTokens + m.CacheCreationInputTokens
	}
	if booked != sum.Prompt()+sum.Output {
		t.Errorf("%d tokens are booked, the server counted %d", booked, sum.Prompt()+sum.Output)
	}
}

func TestTheOthersWaitInTheOrderOfTheirCalls(t *testing.T) {
	t.Parallel()
	const n = 8
	var src strings.Builder
	src.WriteString("turn\n")
	for i := range n {
		fmt.Fprintf(&src, "  call Agent {\"description\": \"task %d\", \"prompt\": \"Task number %d.\"}\n", i, i)
	}
	src.WriteString(`turn
  text done
section tasks
  when first_user ~ Task number
  turn
    call Hold {}
  turn
    text ok
`)
	r := newRig(t, src.String(), setup{mode: guard.Bypass, limits: agents.Limits{MaxParallel: 2}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.say(t.Context(), "go")
	}()
	for range n {
		<-r.holds
		if working := len(r.holds); working > 1 {
			t.Errorf("%d more work already", working)
		}
		r.hold <- struct{}{}
	}
	<-done
	if got := len(resultsOf(r.last())); got != n {
		t.Errorf("%d results", got)
	}
}
