package task

import (
	"strings"
	"testing"
)

func chartTasks() []Task {
	return []Task{
		{ID: "1", Subject: "Parse", Status: Completed, Owner: "ann", Blocks: []string{"2", "3"}},
		{ID: "2", Subject: "Check\x1b[2J\nforged", Status: InProgress, Owner: "bob", BlockedBy: []string{"1"}, Blocks: []string{"4"}},
		{ID: "3", Subject: `Say "hi"`, Status: Pending, BlockedBy: []string{"1"}, Blocks: []string{"4"}},
		{ID: "4", Subject: "Ship", Status: Pending, BlockedBy: []string{"2", "3"}},
		{ID: "5", Subject: "Alone", Status: Pending},
	}
}

func TestCharts(t *testing.T) {
	t.Parallel()
	c := NewChart(chartTasks())
	for name, pair := range map[string][2]string{
		"list": {c.List(), `✔ #1 Parse  @ann
▸ #2 Check [2J forged  @bob
○ #3 Say "hi"
⊘ #4 Ship  waits for #2, #3
○ #5 Alone
5 tasks: 1 done, 1 doing, 2 ready, 1 blocked
`},
		"tree": {c.Tree(), `✔ #1 Parse  @ann
├─ ▸ #2 Check [2J forged  @bob
│  └─ ⊘ #4 Ship  also after #3
└─ ○ #3 Say "hi"
○ #5 Alone
5 tasks: 1 done, 1 doing, 2 ready, 1 blocked
`},
		"graph": {c.Graph(), `Step 1
  ✔ #1 Parse  @ann  → #2, #3
  ○ #5 Alone
Step 2
  ▸ #2 Check [2J forged  @bob  ← #1  → #4
  ○ #3 Say "hi"  ← #1  → #4
Step 3
  ⊘ #4 Ship  ← #2, #3
5 tasks: 1 done, 1 doing, 2 ready, 1 blocked
`},
		"dot": {c.DOT(), `digraph tasks {
  rankdir=LR;
  node [shape=box];
  1 [label="#1 Parse @ann", style=filled, fillcolor=palegreen];
  2 [label="#2 Check [2J forged @bob", style=filled, fillcolor=khaki];
  3 [label="#3 Say \"hi\""];
  4 [label="#4 Ship", style=dashed];
  5 [label="#5 Alone"];
  1 -> 2;
  1 -> 3;
  2 -> 4;
  3 -> 4;
}
`},
		"empty": {NewChart(nil).Tree(), "no tasks\n"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got\n%s", name, pair[0])
		}
	}
}

func TestChartsOfACircleEnd(t *testing.T) {
	t.Parallel()
	c := NewChart([]Task{
		{ID: "1", Subject: "a", Status: Pending, Blocks: []string{"2"}, BlockedBy: []string{"2"}},
		{ID: "2", Subject: "b", Status: Pending, Blocks: []string{"1"}, BlockedBy: []string{"1"}},
	})
	for _, text := range []string{c.Tree(), c.Graph(), c.List(), c.DOT()} {
		if strings.Count(text, "#1 a") != 1 || strings.Count(text, "#2 b") != 1 {
			t.Errorf("got\n%s", text)
		}
	}
}
