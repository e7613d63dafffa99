package loop

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"gofer/internal/llm"
)

// valid says what a provider would refuse about msgs, or "".
func valid(msgs []llm.Message) string {
	seen := map[string]bool{}
	for i, m := range msgs {
		if i == 0 && m.Role != llm.User {
			return "the assistant speaks first"
		}
		if i > 0 && msgs[i-1].Role == m.Role {
			return fmt.Sprintf("message %d repeats the role", i)
		}
		if len(m.Blocks) == 0 {
			return fmt.Sprintf("message %d is empty", i)
		}
		var answered []string
		for j, b := range m.Blocks {
			switch b.Kind {
			case llm.Text:
				if b.Text == "" {
					return fmt.Sprintf("block %d of message %d is empty", j, i)
				}
			case llm.ToolUse:
				if seen[b.Call.ID] {
					return "a call is repeated"
				}
				seen[b.Call.ID] = true
			case llm.ToolResult:
				answered = append(answered, b.Result.CallID)
				if j > 0 && m.Blocks[j-1].Kind != llm.ToolResult {
					return "a result stands behind text"
				}
			}
		}
		var open []string
		if i > 0 {
			for _, c := range msgs[i-1].Calls() {
				open = append(open, c.ID)
			}
		}
		if m.Role == llm.User {
			if len(open) != len(answered) {
				return fmt.Sprintf("message %d answers %v, but %v was asked", i, answered, open)
			}
			for _, id := range open {
				n := 0
				for _, a := range answered {
					if a == id {
						n++
					}
				}
				if n != 1 {
					return fmt.Sprintf("call %s has %d results", id, n)
				}
			}
		}
	}
	if n := len(msgs); n > 0 && len(msgs[n-1].Calls()) > 0 {
		return "the last calls have no results"
	}
	return ""
}

// randomHistory makes anything that a crash, a cut or a stranger's file could leave behind.
func randomHistory(rnd *rand.Rand) []llm.Message {
	var msgs []llm.Message
	for range rnd.IntN(8) {
		m := llm.Message{Role: llm.User}
		if rnd.IntN(2) == 0 {
			m.Role = llm.Assistant
			m.ID = fmt.Sprint(rnd.IntN(3))
		}
		for range rnd.IntN(4) {
			id := fmt.Sprint("c", rnd.IntN(5))
			switch rnd.IntN(6) {
			case 0:
				m.Blocks = append(m.Blocks, llm.TextBlock(""))
			case 1, 2:
				if m.Role == llm.Assistant {
					m.Blocks = append(m.Blocks, llm.Block{Kind: llm.ToolUse, Call: &llm.Call{ID: id, Name: "T", Input: []byte("{}")}})
				} else {
					m.Blocks = append(m.Blocks, llm.ResultBlock(id, "r", false))
				}
			case 3:
				if m.Role == llm.Assistant {
					m.Blocks = append(m.Blocks, llm.Block{Kind: llm.Thinking, Text: "t", Signature: "s"})
				}
			default:
				m.Blocks = append(m.Blocks, llm.TextBlock(fmt.Sprint("text", rnd.IntN(100))))
			}
		}
		msgs = append(msgs, m)
	}
	return msgs
}

func TestRepairMakesAnyHistoryValid(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3_000) {
		history := randomHistory(rand.New(rand.NewPCG(seed, 1)))
		before := fmt.Sprintf("%+v", history)
		repaired := Repair(history)
		if why := valid(repaired); why != "" {
			t.Fatalf("seed %d: %s\nfrom %+v\nto   %+v", seed, why, history, repaired)
		}
		if after := fmt.Sprintf("%+v", history); after != before {
			t.Fatalf("seed %d: the history itself was changed", seed)
		}
		if again := Repair(repaired); !reflect.DeepEqual(again, repaired) {
			t.Fatalf("seed %d: a second repair changes it", seed)
		}
		cut, n := CutOldest(repaired, 30)
		if why := valid(cut); why != "" && len(repaired) > 0 {
			t.Fatalf("seed %d: after a cut of %d: %s", seed, n, why)
		}
	}
}

func TestRepairKeepsWhatIsValid(t *testing.T) {
	t.Parallel()
	history := []llm.Message{
		llm.UserText("hi"),
		{Role: llm.Assistant, ID: "1", Blocks: []llm.Block{llm.TextBlock("a"), {Kind: llm.ToolUse, Call: &llm.Call{ID: "x", Name: "T"}}}},
		{Role: llm.User, Blocks: []llm.Block{llm.ResultBlock("x", "", false), llm.TextBlock("reminder")}},
		{Role: llm.Assistant, ID: "2", Blocks: []llm.Block{llm.TextBlock("b")}},
	}
	if got := Repair(history); !reflect.DeepEqual(got, history) {
		t.Errorf("got %+v", got)
	}
}
