package app

import (
	"encoding/json"
	"fmt"

	"gofer/internal/guard"
	"gofer/internal/guard/sandbox"
	"gofer/internal/tool"
)

// openSandbox builds the walls around commands, if the settings want them.
func (e *engine) openSandbox() error {
	snap := e.settings.Current()
	if !snap.Settings.Sandbox.Enabled {
		return nil
	}
	if err := e.world.canWall(); err != nil {
		return err
	}
	box, err := sandbox.New(sandboxPolicy(snap, e.place, e.workDirs()[1:]...))
	if err != nil {
		return fmt.Errorf("the sandbox: %w", err)
	}
	e.closers = append(e.closers, func() { box.Close() })
	if r := box.Report(); r.State != sandbox.Enforced {
		fmt.Fprintln(e.world.Stderr, r)
	}
	e.box = box
	return nil
}

// sandboxed says whether commands run inside walls that hold, and may therefore run without asking.
func (e *engine) sandboxed() bool {
	return e.box != nil && e.box.Enforced() && e.settings.Current().Settings.Sandbox.AutoAllow
}

// maySkipSandbox says whether the model may ask to run a command outside.
func (e *engine) maySkipSandbox() bool {
	return e.box != nil && e.settings.Current().Settings.Sandbox.AllowUnsandboxed
}

// excluded says whether the settings want a command to run outside the sandbox: all of its parts must be such commands.
func (e *engine) excluded(command string) bool {
	patterns := e.settings.Current().Settings.Sandbox.ExcludedCommands
	if e.box == nil || len(patterns) == 0 {
		return false
	}
	p := e.policy.Policy()
	var rules []guard.Rule
	for _, pattern := range patterns {
		r, err := guard.ParseRule("Bash(" + pattern + ")")
		if err != nil {
			continue // config lint names it
		}
		r.Behavior, r.Source = guard.Allow, guard.FromSession
		rules = append(rules, r)
	}
	p.Rules = guard.Compile(rules, guard.Anchors{Dir: p.Dir, Home: p.Home})
	p.Mode, p.File, p.Parent, p.Sandboxed = guard.Default, nil, nil, false
	d := guard.Decide(p, guard.Facts{Tool: "Bash", Access: []tool.Access{{Verb: tool.Exec, Target: command}}, Dir: e.dir.Cwd()})
	return d.Behavior == guard.Allow && d.Kind == guard.ByRule
}

// outside says whether a call would run outside the sandbox.
func (e *engine) outside(c tool.Call) bool {
	if e.box == nil || c.Tool.Name != "Bash" {
		return false
	}
	var in struct {
		Command   string `json:"command"`
		NoSandbox bool   `json:"dangerouslyDisableSandbox"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return true
	}
	return in.NoSandbox || e.excluded(in.Command)
}
