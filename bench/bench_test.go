package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"gofer/internal/llm/script"
)

// The process in between is this program, also when this program is the test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launchWord {
		os.Exit(launch(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestEveryScriptCanBePlayed(t *testing.T) {
	t.Parallel()
	where, err := newPlace()
	if err != nil {
		t.Fatal(err)
	}
	defer where.close()
	for _, s := range append(peers(), gofer("gofer")) {
		plays := map[string]play{"hello": hello(), "shell": shellTurns(3), "sleeps": sleeps(8), "long": longTurns(3)}
		if s.read != nil {
			plays["read"] = readTurns(3)
		}
		for name, p := range plays {
			if _, err := script.Parse(name, []byte(p.script(s, where))); err != nil {
				t.Errorf("%s, %s: %v", s.name, name, err)
			}
		}
	}
}

func TestSizesOfEveryProtocol(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body          string
		tools, system int
	}{
		"anthropic": {`{"model":"m","system":[{"type":"text","text":"s"}],"tools":[{"name":"a"}],"messages":[]}`, 14, 28},
		"responses": {`{"instructions":"you","input":[{"role":"developer","content":"x"},{"role":"user","content":"y"}],"tools":[{"name":"a"}]}`, 14, 5 + 34},
		"chat":      {`{"messages":[{"role":"system","content":"x"},{"role":"user","content":"y"}],"tools":[{"name":"a"}]}`, 14, 31},
		"gemini":    {`{"systemInstruction":{"parts":[]},"tools":[{"name":"a"}],"contents":[]}`, 14, 12},
		"no tools":  {`{"messages":[],"tools":[]}`, 0, 0},
		"no JSON":   {`hello`, 0, 0},
	} {
		got := sizesOf([]byte(tt.body))
		if want := (sizes{len(tt.body), tt.tools, tt.system}); got != want {
			t.Errorf("%s: %+v, expected %+v", name, got, want)
		}
	}
}

func TestSlopeLeavesTheStartOut(t *testing.T) {
	t.Parallel()
	const start, turn = 500 * time.Millisecond, 7 * time.Millisecond
	if got := slope(start+20*turn, start+60*turn, 40); got != turn {
		t.Errorf("a turn costs %v, expected %v", got, turn)
	}
	if m := median([]int{9, 1, 5}); m != 5 {
		t.Errorf("the median of 9, 1, 5 is %d", m)
	}
}

func TestTableIsAligned(t *testing.T) {
	t.Parallel()
	tab := newTable()
	tab.subject("gofer", "1")
	tab.subject("other", "2.0.1")
	r := tab.add("one turn", "ms", "≤ 1/8")
	r.times("gofer", []time.Duration{5 * time.Millisecond, 4 * time.Millisecond, 9 * time.Millisecond})
	r.times("other", []time.Duration{450 * time.Millisecond})
	tab.add("a figure with a long name", "MB", "")
	tab.note("other: has no tool")
	var out bytes.Buffer
	if err := tab.write(&out); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "\n\n")
	want := `                               gofer  other  best other ÷ gofer  goal
one turn                   ms  5 (4)    450               90.0×  ≤ 1/8
a figure with a long name  MB      –      –

- other: has no tool
`
	if got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

func TestSearchReportIsTakenOver(t *testing.T) {
	t.Parallel()
	tab := newTable()
	tab.searches(`2 cores, rg -j2, 3 interleaved runs, warm cache; ms are medians

Go source tree
                        gofer ms     rg ms   ratio    best     cpu    answers
literal                     97.7     142.1    0.69    0.70    0.66      = 321
literal -i                  17.7      14.2    1.25    1.20    1.10  12/13?
Glob *.go                   30.0      10.0    3.00    3.10    2.90     = 7709  above the goal of 1.5
`)
	if len(tab.Rows) != 3 || len(tab.Notes) != 1 {
		t.Fatalf("rows %+v, notes %q", tab.Rows, tab.Notes)
	}
	if r := tab.Rows[0]; r.Figure != "Grep literal, Go source tree" || r.Values["gofer"].Median != 97.7 || r.Values["rg"].Median != 142.1 || r.Goal != "≤ 1.5 × rg (CPU: 0.66 × rg)" {
		t.Errorf("first row %+v", r)
	}
	if r := tab.Rows[1]; strings.Contains(r.Goal, "1.5") {
		t.Errorf("a search without a goal has one: %+v", r)
	}
	if r := tab.Rows[2]; r.Figure != "Glob *.go, Go source tree" || r.ratio() != "0.3×" {
		t.Errorf("last row %+v, ratio %s", r, r.ratio())
	}
}

func TestQuarters(t *testing.T) {
	t.Parallel()
	m := meter{samples: []int64{1, 2, 3, 9, 5, 6, 7, 8}}
	if q := m.quarters(); q != [4]int64{2, 9, 6, 8} {
		t.Errorf("quarters %v", q)
	}
}
