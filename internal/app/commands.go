package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"gofer/internal/cli"
	"gofer/internal/config"
	"gofer/internal/guard"
)

// runConfig is gofer config.
func runConfig(_ context.Context, w World, args []string) error {
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	code := config.Command(args, config.CommandEnv{
		Out: w.Stdout, Err: w.Stderr,
		Options:   config.Options{ConfigDir: p.config, ProjectDir: p.cwd, Trust: config.Trusted},
		CheckRule: checkRule,
	})
	if code != 0 {
		return errResult // it has said what is wrong
	}
	return nil
}

// checkRule says what is wrong with a permission rule.
func checkRule(_, rule string) error {
	r, err := guard.ParseRule(rule)
	if err != nil {
		return err
	}
	if text := r.Warning(); text != "" {
		return errors.New(text)
	}
	return nil
}

// runPerms is gofer perms: what the rules of this folder say about a command, or about a table of them.
func runPerms(_ context.Context, w World, args []string) error {
	const form = "gofer perms explain 'COMMAND', or gofer perms test FILE"
	if len(args) == 0 {
		return usage("perms needs to know what to do: %s", form)
	}
	var f Flags
	words, err := cli.Parse(args[1:], &f, nil)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return usage("expected one argument: %s", form)
	}
	p, err := newPlace(w, f)
	if err != nil {
		return err
	}
	e := &engine{world: w, flags: f, place: p}
	e.plan = newPlanMode(e)
	if e.settings, err = e.openSettings(); err != nil {
		return err
	}
	base, err := e.guardBase()
	if err != nil {
		return err
	}
	policy := guard.NewLive(base).Policy()
	switch args[0] {
	case "explain":
		explain(w, guard.Explain(policy, words[0]))
		return nil
	case "test":
		return testTable(w, policy, words[0])
	}
	return usage("perms knows explain and test, not %q: %s", args[0], form)
}

func explain(w World, d guard.Decision) {
	for _, part := range d.Parts {
		rule := ""
		if part.Rule != nil {
			rule = "  by " + part.Rule.String() + " (" + firstOf(part.Rule.Origin, string(part.Rule.Source)) + ")"
		}
		fmt.Fprintf(w.Stdout, "%-5s  %s%s\n", part.Behavior, strings.ReplaceAll(part.Text, "\n", "\n       "), rule)
		if part.Reason != "" {
			fmt.Fprintf(w.Stdout, "       %s\n", part.Reason)
		}
	}
	fmt.Fprintf(w.Stdout, "=> %s: %s\n", d.Behavior, d.Reason)
}

func testTable(w World, policy guard.Policy, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("reading the table: %w", err)
	}
	defer file.Close()
	rows, err := guard.TestTable(policy, name, file)
	if err != nil {
		return err
	}
	wrong := 0
	for _, r := range rows {
		if !r.OK() {
			wrong++
			fmt.Fprintf(w.Stdout, "%s:%d: %s: got %s (%s), want %s\n", name, r.Line, r.Call, r.Got, r.Reason, r.Want)
		}
	}
	fmt.Fprintf(w.Stdout, "%d of %d as expected\n", len(rows)-wrong, len(rows))
	if wrong > 0 {
		return errResult
	}
	return nil
}
