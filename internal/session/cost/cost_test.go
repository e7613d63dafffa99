package cost_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"gofer/internal/llm"
	"gofer/internal/session/cost"
)

// cents prices every output token at a cent, and nothing else.
type cents struct{}

func (cents) Cost(_ string, u llm.Usage) float64 { return float64(u.Output) / 100 }

func requests() []cost.Request {
	day := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC)
	return []cost.Request{
		{ID: "a", Time: day, Project: "/home/dev/shop", Agent: "main", Model: "big", Usage: llm.Usage{Input: 10, Output: 100, CacheRead: 90}, Tools: []string{"Read", "Bash", "Bash"}},
		{ID: "b", Time: day.Add(time.Hour), Project: "/home/dev/shop", Agent: "Explore", Model: "small", Usage: llm.Usage{Input: 100, Output: 50}},
		{ID: "c", Time: day.Add(2 * time.Hour), Project: "/home/dev/other", Agent: "main", Model: "big", Usage: llm.Usage{Output: 400, CacheWrite: 100}, Tools: []string{"Edit"}},
		{ID: "a", Time: day, Project: "/home/dev/copy", Agent: "main", Model: "big", Usage: llm.Usage{Output: 100}}, // the same in a fork
	}
}

func TestRowsAddUpToTheTotal(t *testing.T) {
	t.Parallel()
	want := map[cost.By]string{
		cost.Day:     "2026-03-01=1.00 2026-03-02=4.50",
		cost.Model:   "big=5.00 small=0.50",
		cost.Project: "/home/dev/other=4.00 /home/dev/shop=1.50",
		cost.Agent:   "main=5.00 Explore=0.50",
		cost.Tool:    "Edit=4.00 Bash=0.67 (answer)=0.50 Read=0.33",
	}
	for _, by := range cost.Orders() {
		r := cost.New(by, cents{}, time.UTC)
		for _, q := range requests() {
			r.Add(q)
		}
		var got []string
		sum, n := 0.0, 0.0
		for _, row := range r.Rows() {
			got = append(got, row.Key+"="+strings.TrimPrefix(cost.Dollars(row.USD), "$"))
			sum, n = sum+row.USD, n+row.Requests
		}
		if s := strings.Join(got, " "); s != want[by] {
			t.Errorf("by %s: %s, want %s", by, s, want[by])
		}
		if total := r.Total(); math.Abs(sum-5.5) > 1e-9 || math.Abs(total.USD-5.5) > 1e-9 || math.Abs(n-3) > 1e-9 || total.CacheShare() != 0.3 {
			t.Errorf("by %s: rows add up to $%v of %v requests, the total is %+v", by, sum, n, total)
		}
	}
}

func TestReportsForPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	r := cost.New(cost.Model, cents{}, time.UTC)
	var empty strings.Builder
	if r.WriteTable(&empty); !strings.Contains(empty.String(), "No requests") {
		t.Errorf("an empty table is %q", empty.String())
	}
	for _, q := range requests() {
		r.Add(q)
	}
	var table, plot, raw strings.Builder
	r.WriteTable(&table)
	r.WritePlot(&plot, 60)
	r.WriteJSON(&raw)
	if s := table.String(); !strings.Contains(s, "$5.00") || !strings.Contains(s, "total") || strings.Count(s, "\n") != 4 {
		t.Errorf("table:\n%s", s)
	}
	lines := strings.Split(plot.String(), "\n")
	if long, short := strings.Count(lines[0], "█"), strings.Count(lines[1], "█"); long < 30 || short*9 > long || short == 0 {
		t.Errorf("bars of %d and %d:\n%s", long, short, plot.String())
	}
	for _, l := range lines {
		if n := len([]rune(l)); n > 60 {
			t.Errorf("a line of the plot has %d columns: %q", n, l)
		}
	}
	var out struct {
		Rows []struct {
			Key   string
			Cost  float64 `json:"costUSD"`
			Share float64 `json:"cacheReadShare"`
		}
	}
	if err := json.Unmarshal([]byte(raw.String()), &out); err != nil || len(out.Rows) != 2 || out.Rows[0].Cost != 5 || out.Rows[0].Share != 0.45 {
		t.Errorf("%v: %s", err, raw.String())
	}
}

func TestAnUnknownOrderIsRefusedWithTheKnownOnes(t *testing.T) {
	t.Parallel()
	if _, err := cost.ParseBy("week"); err == nil || !strings.Contains(err.Error(), "project") {
		t.Errorf("got %v", err)
	}
}
