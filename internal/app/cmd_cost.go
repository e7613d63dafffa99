package app

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"gofer/internal/cli"
	"gofer/internal/config"
	"gofer/internal/llm"
	"gofer/internal/llm/catalog"
	"gofer/internal/session/cost"
	"gofer/internal/session/transcript"
)

// costFlags are the options of gofer cost.
type costFlags struct {
	By   string `flag:"by" enum:"day|model|project|agent|tool" help:"what the rows stand for; day if not given"`
	Days int    `flag:"days" arg:"n" help:"the last so many days; all if not given"`
	JSON bool   `flag:"json" help:"for programs"`
	Plot bool   `flag:"plot" help:"draw bars"`
	Help bool   `flag:"help,h" help:"print this"`
}

// runCost is gofer cost: what all sessions of all folders have cost, as their transcripts tell.
func runCost(ctx context.Context, w World, args []string) error {
	var f costFlags
	words, err := cli.Parse(args, &f, nil)
	switch {
	case err != nil:
		return err
	case f.Help:
		fmt.Fprint(w.Stdout, "Usage: gofer cost [--by day|model|project|agent|tool] [--json|--plot]\n\n"+cli.Help(&f))
		return nil
	case len(words) > 0:
		return usage("cost takes no argument, but got %q", words[0])
	case f.JSON && f.Plot:
		return usage("--json and --plot cannot be used together")
	case f.Days < 0:
		return usage("--days must not be negative")
	}
	by, err := cost.ParseBy(firstOf(f.By, string(cost.Day)))
	if err != nil {
		return err
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	prices, err := newPrices(p)
	if err != nil {
		return err
	}
	var since time.Time
	if f.Days > 0 {
		since = time.Now().AddDate(0, 0, -f.Days)
	}
	report := cost.New(by, prices, time.Local)
	if err := transcript.Root(p.config).Requests(ctx, since, func(q transcript.Request) { report.Add(cost.Request(q)) }); err != nil {
		return err
	}
	return showCost(w.Stdout, f, report, columns(w))
}

func showCost(out io.Writer, f costFlags, r *cost.Report, width int) error {
	switch {
	case f.JSON:
		return r.WriteJSON(out)
	case f.Plot:
		return r.WritePlot(out, width)
	}
	return r.WriteTable(out)
}

// columns is how wide the terminal is, as far as the environment tells.
func columns(w World) int {
	if n, err := strconv.Atoi(w.Env("COLUMNS")); err == nil && n >= 40 {
		return min(n, 200)
	}
	return 80
}

// prices knows what models cost, also those that the settings describe.
type prices struct{ catalog catalog.Catalog }

func newPrices(p place) (prices, error) {
	store, err := config.Open(config.Options{ConfigDir: p.config, ProjectDir: p.cwd, Trust: config.Trusted})
	if err != nil {
		return prices{}, err
	}
	c, err := catalog.Catalog{}.Describe(descriptions(store.Current().Settings.Models))
	if err != nil {
		return prices{}, fmt.Errorf("settings: %w", err)
	}
	return prices{c}, nil
}

// Cost prices the usage of one request.
func (p prices) Cost(model string, u llm.Usage) float64 {
	return catalog.Cost(p.catalog.Lookup(model), u)
}

var _ cost.Prices = prices{}
