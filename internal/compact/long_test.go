package compact_test

import (
	"fmt"
	"strings"
	"testing"

	"gofer/internal/compact"
	"gofer/internal/event"
	"gofer/internal/loop"
)

const longScript = `window 20000
order arrival
turn
  repeat %d
  text Step {{n}}.
  call Read {"file_path":"/project/file{{n}}.go"}
turn
  text all done

section summaries
  when no tools
  loop
  turn
    %s
`

// A window of 20,000 tokens, 300 replies with results of 4 KB: it finishes, whatever becomes of the summaries.
func TestLongSessionFinishes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		summary string
		known   int // the window as gofer knows it
		turns   int
	}{
		"summaries work":                     {"text ## Task\n    text Rename Foo.", 20_000, 90},
		"every summary fails":                {"error 500 api_error broken", 20_000, 300},
		"summaries are empty":                {"empty", 20_000, 90},
		"unknown window":                     {"text ## Task rename", 200_000, 300},
		"unknown window, all summaries fail": {"error 500 api_error broken", 200_000, 90},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fmt.Sprintf(longScript, c.turns, c.summary), func(r *rig, o *compact.Options) {
				r.window.Tokens = c.known
				o.Reinject = func() []compact.Part {
					return []compact.Part{{Kind: compact.Instructions, Text: "House rules: never use tabs."}, {Kind: compact.Todos, Text: "1. [open] rename Foo in file7.go"}}
				}
			})
			end := r.Run(t.Context())
			if end.Reason != loop.Completed || end.Text != "all done" {
				t.Fatalf("ended with %s %q: %v", end.Reason, end.Text, end.Err)
			}
			most := 0
			if c.known > 20_000 {
				most = 1
			}
			if r.refused > most {
				t.Errorf("%d requests were refused as too long, want at most %d", r.refused, most)
			}
			kinds := r.kinds()
			if kinds[compact.KindMicro] == 0 || kinds[compact.KindSummary]+kinds[compact.KindMechanical] == 0 {
				t.Errorf("compactions: %v", kinds)
			}
			if kinds["cut"] > 0 {
				t.Errorf("rounds were simply cut")
			}
			for i, sent := range r.sent {
				if n := strings.Count(sent, firstPrompt); n != 1 {
					t.Fatalf("request %d holds the first prompt %d times:\n%.3000s", i, n, sent)
				}
				if !strings.Contains(sent, "never use tabs") {
					t.Fatalf("request %d has lost the instructions", i)
				}
			}
			last := r.sent[len(r.sent)-1]
			for _, want := range []string{"1. [open] rename Foo in file7.go", fmt.Sprintf("file%d.go", c.turns), "<touched-files>", fmt.Sprintf("read /project/file%d.go", c.turns-40)} {
				if !strings.Contains(last, want) {
					t.Errorf("the last request has lost %q", want)
				}
			}
			if n := len(r.store.entries); n != c.turns*3+1 {
				t.Errorf("the transcript has %d entries, want %d", n, c.turns*3+1)
			}
			checkValid(t, r.log.View()[:len(r.log.View())-1])
			fails := 0
			for _, e := range r.events {
				if i, ok := e.(event.Info); ok && strings.Contains(i.Content, "could not be summarised") {
					fails++
				}
			}
			if want := map[bool]int{true: 3, false: 0}[c.summary[0] == 'e']; fails > want || want > 0 && fails == 0 {
				t.Errorf("%d failures were told, want at most %d", fails, want)
			}
			t.Logf("compactions %v, requests %d, %s", kinds, len(r.sent), strings.SplitN(r.watch.Stats().Text(), "\n", 2)[0])
		})
	}
}
