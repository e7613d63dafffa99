// Package cost adds up what requests to models cost, and shows it.
//
// It promises that a request counts once, in however many copies of a session it is found, and that the rows of a report add up to
// its total, whatever it is sorted by.
package cost

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"gofer/internal/llm"
)

// A Request is one request to a model. It has the fields of transcript.Request, so that one converts to the other.
type Request struct {
	ID      string
	Time    time.Time
	Session string
	Project string
	Agent   string
	Model   string
	Usage   llm.Usage
	Tools   []string
}

// Prices knows what usage costs in dollars.
type Prices interface {
	Cost(model string, u llm.Usage) float64
}

// By says what the rows of a report stand for.
type By string

const (
	Day     By = "day"
	Model   By = "model"
	Project By = "project"
	Agent   By = "agent"
	Tool    By = "tool"
)

// Orders are all that a report can be made by.
func Orders() []By { return []By{Day, Model, Project, Agent, Tool} }

// ParseBy reads the name of an order.
func ParseBy(s string) (By, error) {
	if by := By(s); slices.Contains(Orders(), by) {
		return by, nil
	}
	var names []string
	for _, o := range Orders() {
		names = append(names, string(o))
	}
	return "", fmt.Errorf("costs can be shown by %s, not by %q", strings.Join(names, ", "), s)
}

// noTool is the row of replies that called no tool.
const noTool = "(answer)"

// A Row is a share of the costs. Counts are whole, except that a reply with several calls is shared among their tools.
type Row struct {
	Key        string  `json:"key"`
	Requests   float64 `json:"requests"`
	Input      float64 `json:"inputTokens"`
	Output     float64 `json:"outputTokens"`
	CacheWrite float64 `json:"cacheCreationInputTokens"`
	CacheRead  float64 `json:"cacheReadInputTokens"`
	USD        float64 `json:"costUSD"`
}

// CacheShare is the part of what the models read that came from the cache, from 0 to 1.
func (r Row) CacheShare() float64 {
	all := r.Input + r.CacheWrite + r.CacheRead
	if all == 0 {
		return 0
	}
	return r.CacheRead / all
}

func (r Row) plus(o Row) Row {
	return Row{r.Key, r.Requests + o.Requests, r.Input + o.Input, r.Output + o.Output, r.CacheWrite + o.CacheWrite, r.CacheRead + o.CacheRead, r.USD + o.USD}
}

func (r Row) times(share float64) Row {
	return Row{r.Key, r.Requests * share, r.Input * share, r.Output * share, r.CacheWrite * share, r.CacheRead * share, r.USD * share}
}

// A Report adds up requests. It is used by one goroutine.
type Report struct {
	by     By
	prices Prices
	zone   *time.Location
	rows   map[string]Row
	total  Row
	seed   maphash.Seed
	seen   map[uint64]struct{}
}

// New makes an empty report. Days are those of zone.
func New(by By, p Prices, zone *time.Location) *Report {
	return &Report{by: by, prices: p, zone: zone, rows: map[string]Row{}, seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
}

// Add counts a request, unless it was counted before.
func (r *Report) Add(q Request) {
	id := maphash.String(r.seed, q.ID)
	if _, twice := r.seen[id]; twice {
		return
	}
	r.seen[id] = struct{}{}
	u := q.Usage
	row := Row{Requests: 1, Input: float64(u.Input), Output: float64(u.Output), CacheWrite: float64(u.CacheWrite), CacheRead: float64(u.CacheRead),
		USD: r.prices.Cost(q.Model, u)}
	r.total = r.total.plus(row)
	keys := r.keys(q)
	for _, key := range keys {
		sum := r.rows[key].plus(row.times(1 / float64(len(keys))))
		sum.Key = key
		r.rows[key] = sum
	}
}

// keys are the rows that share a request.
func (r *Report) keys(q Request) []string {
	switch r.by {
	case Model:
		return []string{q.Model}
	case Project:
		return []string{q.Project}
	case Agent:
		return []string{q.Agent}
	case Tool:
		if len(q.Tools) == 0 {
			return []string{noTool}
		}
		return q.Tools
	}
	return []string{q.Time.In(r.zone).Format(time.DateOnly)}
}

// Rows returns the rows: days in order, anything else by cost, the dearest first.
func (r *Report) Rows() []Row {
	list := make([]Row, 0, len(r.rows))
	for _, row := range r.rows {
		list = append(list, row)
	}
	slices.SortFunc(list, func(a, b Row) int {
		if r.by != Day {
			if c := cmp.Compare(b.USD, a.USD); c != 0 {
				return c
			}
		}
		return strings.Compare(a.Key, b.Key)
	})
	return list
}

// Total is the sum of all rows.
func (r *Report) Total() Row {
	t := r.total
	t.Key = "total"
	return t
}
