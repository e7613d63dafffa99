package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gofer/internal/cli"
	"gofer/internal/config"
)

// runAgents is gofer agents: which agents there are in this folder.
func runAgents(_ context.Context, w World, args []string) error {
	var f struct {
		JSON   bool   `flag:"json" help:"as JSON"`
		Agents string `flag:"agents" arg:"json-or-file" help:"more agents, as for a run"`
	}
	words, err := cli.Parse(args, &f, nil)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		return usage("agents takes no words, but got %q", words[0])
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	e := &engine{world: w, flags: Flags{Agents: f.Agents}, place: p}
	e.agents.hooked = true // nothing runs here
	store, err := config.Open(config.Options{ConfigDir: p.config, ProjectDir: p.cwd})
	if err != nil {
		return err
	}
	e.settings = store
	if f.JSON {
		return json.NewEncoder(w.Stdout).Encode(e.agentDetails())
	}
	for _, d := range e.definitions().All() {
		where := d.Origin.String()
		if d.File != "" {
			where += ", " + d.File
		}
		fmt.Fprintf(w.Stdout, "%s  (%s)\n  %s\n", oneLine(d.Name, 60), where, oneLine(d.Description, 160))
		for _, line := range [][2]string{{"tools", strings.Join(d.Tools, ", ")}, {"without", strings.Join(d.Without, ", ")}, {"model", d.Model}, {"mode", string(d.Mode)}} {
			if line[1] != "" {
				fmt.Fprintf(w.Stdout, "  %s: %s\n", line[0], line[1])
			}
		}
		for _, text := range d.Missing(true, anyServer{}) {
			fmt.Fprintf(w.Stdout, "  note: %s\n", text)
		}
	}
	return nil
}

// anyServer stands for the MCP servers where none are started: which there are is not known then.
type anyServer struct{}

func (anyServer) Has(string) bool                       { return true }
func (anyServer) Await(context.Context, []string) error { return nil }

// agentDetails is what programs read of the agents.
func (e *engine) agentDetails() []any {
	list := []any{}
	for _, d := range e.definitions().All() {
		list = append(list, map[string]any{"name": d.Name, "description": d.Description, "source": d.Origin.String(), "file": d.File, "tools": d.Tools,
			"disallowedTools": d.Without, "model": d.Model, "permissionMode": string(d.Mode), "background": d.Background, "isolation": d.Isolation, "color": d.Color})
	}
	return list
}
