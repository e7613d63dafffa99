// Command bench measures what gofer costs, and prints a table: start, memory, overhead of a turn, parallel calls, size of the
// first request, use of the prompt cache, searches against ripgrep, and a very long session.
//
//	go run ./bench              gofer alone
//	go run ./bench -peers       side by side with the other programs that are installed
//	go run ./bench -quick       fewer and smaller runs
//	go run ./bench -only turn   one group of figures: start, turn, bash, read, sleep, cache, search, long
//
// The model is the scripted one, in this process, so that all programs get the same answers at once and nothing leaves the
// machine. Runs of different programs are interleaved, so that a busy moment hits all of them; medians are compared, and the
// least is shown beside them. The bench says what it saw; it never passes or fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// options are what a user may choose.
type options struct {
	program string
	peers   bool
	quick   bool
	asJSON  bool
	only    string
	runs    int
	dump    string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == launchWord {
		os.Exit(launch(os.Args[2:]))
	}
	var o options
	flag.StringVar(&o.program, "gofer", "bin/gofer", "the gofer to measure")
	flag.BoolVar(&o.peers, "peers", false, "measure the other programs that are installed too")
	flag.BoolVar(&o.quick, "quick", false, "fewer and smaller runs")
	flag.BoolVar(&o.asJSON, "json", false, "print JSON")
	flag.StringVar(&o.only, "only", "", "groups to measure, with commas: "+strings.Join(groupNames(), ", "))
	flag.IntVar(&o.runs, "runs", 0, "runs of each kind; 0: as many as fit the kind")
	flag.StringVar(&o.dump, "dump", "", "folder to keep the first request of each program in")
	flag.Parse()
	// A signal ends the run that is under way and removes what it has made.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// bench measures what was asked for and prints it.
func bench(ctx context.Context, o options) error {
	b, err := newRunner(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	wanted := strings.Split(o.only, ",")
	for _, g := range groups() {
		if o.only != "" && !slices.Contains(wanted, g.name) || o.peers && g.alone {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", g.name)
		g.measure(ctx, b)
		if ctx.Err() != nil {
			return errors.New("stopped")
		}
	}
	if o.asJSON {
		return b.table.writeJSON(os.Stdout)
	}
	return b.table.write(os.Stdout)
}

// A group is figures that are measured together.
type group struct {
	name    string
	alone   bool // of gofer only
	measure func(context.Context, *runner)
}

func groups() []group {
	return []group{
		{"start", false, measureStart},
		{"turn", false, measureTurn},
		{"bash", false, measureShell},
		{"read", false, measureRead},
		{"sleep", false, measureSleeps},
		{"cache", false, measureCache},
		{"search", true, measureSearch},
		{"long", true, measureLong},
	}
}

func groupNames() []string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return names
}
