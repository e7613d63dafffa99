package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"gofer/internal/agents"
	"gofer/internal/guard"
)

// spender is a script with a number of agents that spend ten thousand tokens with every request.
func spender(children int) string {
	var b strings.Builder
	b.WriteString("turn\n  usage input=1 output=1 cache_read=0 cache_write=0\n")
	for i := range children {
		fmt.Fprintf(&b, "  call Agent {\"description\": \"spend %d\", \"prompt\": \"Spend, number %d.\"}\n", i, i)
	}
	b.WriteString(`turn
  usage input=1 output=1 cache_read=0 cache_write=0
  text done
section spenders
  when first_user ~ Spend, number
  turn
    repeat 50
    usage input=9000 output=1000 cache_read=0 cache_write=0
    text So far: step {{n}}.
    call Glob {"pattern": "*"}
`)
	return b.String()
}

func TestBudgetsOfAgentsAndOfTheTree(t *testing.T) {
	t.Parallel()
	r := newRig(t, spender(5), setup{mode: guard.Bypass, limits: agents.Limits{Tokens: 35_000, TreeTokens: 100_000}})
	if end := r.say(t.Context(), "go"); end.Text != "done" {
		t.Fatalf("got %+v", end)
	}
	total, stopped, refused := 0, 0, 0
	for i := range 5 {
		n := len(r.sentTo(fmt.Sprintf("number %d.", i))) * 10_000
		total += n
		if n > 45_000 {
			t.Errorf("agent %d spent %d tokens", i, n)
		}
		text := r.result(i)
		must(t, text, "budget")
		switch {
		case n > 0:
			stopped++
			must(t, text, fmt.Sprintf("The last it said:\n\nSo far: step %d.", n/10_000))
		default:
			refused++
			must(t, text, "was not started")
		}
	}
	if total < 100_000 || total > 120_000 {
		t.Errorf("all together spent %d tokens", total)
	}
	if stopped < 3 || refused == 0 {
		t.Errorf("%d were stopped and %d not started", stopped, refused)
	}
	booked := 0
	for _, m := range r.ledger.ByModel() {
		booked += m.InputTokens + m.OutputTokens
	}
	if booked != total+4 {
		t.Errorf("%d tokens are booked, %d were spent", booked, total+4)
	}
}

func TestABudgetInDollarsStopsToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, spender(1), setup{mode: guard.Bypass, limits: agents.Limits{USD: 0.025}}) // a cent for a request
	r.say(t.Context(), "go")
	must(t, r.result(0), "its budget of $0.03 is spent")
	if n := len(r.sentTo("number 0.")); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestWhatOneLeavesAnotherMaySpend(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "a", "prompt": "Frugal 1."}
  call Agent {"description": "b", "prompt": "Frugal 2."}
  call Agent {"description": "c", "prompt": "Frugal 3."}
turn
  text done
section frugal
  when first_user ~ Frugal
  turn
    usage input=900 output=100 cache_read=0 cache_write=0
    text little
`, setup{mode: guard.Bypass, limits: agents.Limits{Tokens: 35_000, TreeTokens: 36_000}})
	r.say(t.Context(), "go")
	for i := range 3 {
		must(t, r.result(i), "little")
	}
}

func TestAnAgentPaysForThoseItStarts(t *testing.T) {
	t.Parallel()
	r := newRig(t, `
turn
  call Agent {"description": "boss", "prompt": "Boss."}
turn
  text done
section boss
  when first_user ~ Boss
  turn
    usage input=900 output=100 cache_read=0 cache_write=0
    text I delegate.
    call Agent {"description": "a", "prompt": "Spend, number 7."}
  turn
    text never
section spenders
  when first_user ~ Spend, number
  turn
    repeat 50
    usage input=9000 output=1000 cache_read=0 cache_write=0
    text step {{n}}
    call Glob {"pattern": "*"}
`, setup{mode: guard.Bypass, limits: agents.Limits{Tokens: 35_000, TreeTokens: 100_000}})
	r.say(t.Context(), "go")
	if n := len(r.sentTo("number 7.")); n != 4 {
		t.Errorf("%d requests", n)
	}
	must(t, r.result(0), "I delegate.")
	must(t, r.result(0), "its budget of 35000 tokens is spent")
}
