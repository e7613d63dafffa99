package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"gofer/internal/agents"
	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/tool"
	"gofer/internal/tool/person"
)

// openGuard reads the permission rules and the mode, and makes the live policy of them.
func (e *engine) openGuard() error {
	base, err := e.guardBase()
	if err != nil {
		return err
	}
	e.policy = guard.NewLive(base)
	e.denials = guard.NewLedger()
	if base.Policy.Mode == guard.Bypass {
		return e.bypassAllowed()
	}
	return nil
}

// bypassAllowed refuses the mode that lets everything pass where it would be reckless.
func (e *engine) bypassAllowed() error {
	if e.settings.Current().Settings.Permissions.DisableBypass == "disable" {
		return errors.New("the mode bypassPermissions is switched off by the settings (permissions.disableBypassPermissionsMode)")
	}
	if runtime.GOOS != "windows" && os.Geteuid() == 0 && e.world.Env("IS_SANDBOX") != "1" {
		return errors.New("the mode bypassPermissions cannot be used as root, because nothing would hold the model back. Use another user, or a container with IS_SANDBOX=1")
	}
	return nil
}

// guardBase is what the settings and the command line say about permissions.
func (e *engine) guardBase() (guard.Base, error) {
	snap := e.settings.Current()
	rules, err := e.guardRules(snap)
	if err != nil {
		return guard.Base{}, err
	}
	mode, err := guard.ParseMode(firstOf(e.flags.Mode, snap.Settings.Permissions.DefaultMode))
	if err != nil {
		return guard.Base{}, usage("--permission-mode: %v", err)
	}
	file, err := policyFile(snap)
	if err != nil {
		return guard.Base{}, err
	}
	disable := snap.Settings.Permissions.DisableBypass == "disable"
	return e.inTree(guard.Base{
		Rules: rules,
		Dirs:  e.workDirs()[1:],
		Policy: guard.Policy{
			File: file, Mode: mode, Dir: e.place.cwd, Home: e.place.home, Disk: guard.Real{}, BypassDisabled: disable, Sandboxed: e.sandboxed(),
			FreeRead: []string{e.place.sessionDir(), e.place.taskDir(), e.memoryDir()}, FreeWrite: []string{e.memoryDir()},
			Protected: e.protected(snap), PlanFile: e.plan.file, AlwaysAsk: []string{person.AskName, person.ExitPlanName},
		},
	}), nil
}

// protected are gofer's own files, whose change is always asked for.
func (e *engine) protected(snap *config.Snapshot) []string {
	list := []string{filepath.Join(e.place.config, "settings.json")}
	for _, f := range snap.Files() {
		list = append(list, f.Path)
	}
	return list
}

func (e *engine) guardRules(snap *config.Snapshot) ([]guard.Rule, error) {
	var rules []guard.Rule
	for _, list := range []guard.Behavior{guard.Deny, guard.Ask, guard.Allow} {
		for _, r := range snap.Rules(list.String()) {
			rule, err := guard.ParseRule(r.Text)
			if err != nil {
				// A rule that cannot be read must not be lost in silence; one that forbids must not be lost at all.
				text := fmt.Sprintf("%s: the rule %q counts for nothing: %v", r.Origin, r.Text, err)
				if list != guard.Allow {
					return nil, errors.New(text)
				}
				fmt.Fprintln(e.world.Stderr, text)
				continue
			}
			rule.Behavior, rule.Source, rule.Root, rule.Origin = list, guard.Source(r.Origin.Layer.Source()), e.ruleRoot(r.Root), r.Origin.String()
			rules = append(rules, rule)
		}
	}
	for _, f := range []struct {
		name     string
		words    []string
		behavior guard.Behavior
	}{{"--allowedTools", e.flags.Allowed.Values, guard.Allow}, {"--disallowedTools", e.flags.Disallowed.Values, guard.Deny}} {
		parsed, err := guard.ParseList(strings.Join(f.words, " "))
		if err != nil {
			return nil, usage("%s: %v", f.name, err)
		}
		for _, rule := range parsed {
			rule.Behavior, rule.Source, rule.Root, rule.Origin = f.behavior, guard.FromCLI, e.place.cwd, f.name
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

func policyFile(snap *config.Snapshot) (*guard.PolicyFile, error) {
	if len(snap.Policy) == 0 {
		return nil, nil
	}
	var entries []guard.PolicyEntry
	for _, r := range snap.Policy {
		b, err := guard.ParseBehavior(r.List)
		if err != nil {
			return nil, err
		}
		line, _ := r.Origin.Position()
		entries = append(entries, guard.PolicyEntry{Behavior: b, Pattern: r.Pattern, Reason: r.Reason, Line: line})
	}
	return guard.NewPolicyFile(config.PolicyFile, entries)
}

// refreshPolicy takes over settings that changed on disk since the last turn.
func (e *engine) refreshPolicy() {
	change, err := e.settings.Reload()
	if err != nil {
		e.session.Emit(event.Info{Level: "warning", Content: "The settings could not be read again: " + err.Error()})
		return
	}
	if change.Empty() {
		return
	}
	for _, p := range change.Problems {
		e.session.Emit(event.Info{Level: "warning", Content: p.String()})
	}
	base, err := e.guardBase()
	if err != nil {
		e.session.Emit(event.Info{Level: "warning", Content: "The permission rules could not be read again, the old ones stay: " + err.Error()})
		return
	}
	e.policy.SetBase(base)
}

// gate is the gate in front of the main agent's calls.
func (e *engine) gate() tool.Middleware {
	return e.gateOf(agents.Post{Policy: e.policy.Policy, Cwd: e.dir.Cwd, Hooks: e.hooks, Tools: e.toolSet})
}

// gateOf is the one gate in front of every call of an agent.
func (e *engine) gateOf(p agents.Post) tool.Middleware {
	p = e.skilledPost(p)
	return e.withSkills(p, e.held(p.Cwd, guard.Gate(guard.Options{
		Policy: p.Policy, AgentID: p.ID, Asker: e.asksPeople(p), Classifier: classifier{helper: e.helper, notes: e.classifierNotes()}, Apply: e.applyUpdates, Dir: p.Cwd, Ledger: e.denials, Open: e.outside,
		Denied: func(ctx context.Context, c tool.Call, d guard.Denied) {
			e.emit(event.Denied{ToolName: c.Tool.Name, ToolUseID: c.ID, ToolInput: c.Input})
			p.Hooks.PermissionDenied(ctx, c, d.Message)
		},
	})))
}

// asksPeople is who answers what no rule decides: hooks, then what was approved with a plan, then a person.
func (e *engine) asksPeople(p agents.Post) guard.Asker {
	last := e.permissionAsker()
	if last == nil {
		last = guard.AskFunc(func(context.Context, guard.Request) (guard.Answer, error) { return guard.Answer{}, guard.ErrNobody })
	}
	return e.askHooks(p, e.askKinds(last))
}

// classifierNotes is what the settings tell the classifier of auto mode.
func (e *engine) classifierNotes() string {
	auto := e.settings.Current().Settings.AutoMode
	var b strings.Builder
	for _, part := range []struct {
		title string
		lines []string
	}{{"The user lets pass", auto.Allow}, {"Stop unless the user asked for it", auto.SoftDeny}, {"Always stop", auto.HardDeny}, {"About this place", auto.Environment}} {
		if len(part.lines) > 0 {
			fmt.Fprintf(&b, "%s:\n- %s\n", part.title, strings.Join(part.lines, "\n- "))
		}
	}
	return b.String()
}

// applyUpdates makes an answer count, and keeps what is to be kept.
func (e *engine) applyUpdates(_ context.Context, updates []guard.Update) error {
	if slices.ContainsFunc(updates, func(u guard.Update) bool { return u.Type == guard.SetMode && u.Mode == guard.Bypass }) {
		if err := e.bypassLater(); err != nil {
			return err
		}
	}
	if err := e.policy.Apply(updates); err != nil {
		return err
	}
	for _, u := range updates {
		if u.Type == guard.SetMode {
			e.session.Emit(event.Status{PermissionMode: string(u.Mode)})
		}
		if !u.Persists() {
			continue
		}
		layer, ok := config.LayerOf(string(u.Destination))
		if !ok {
			return fmt.Errorf("there are no settings called %q", u.Destination)
		}
		if err := e.persist(layer, u); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) persist(layer config.Layer, u guard.Update) error {
	switch u.Type {
	case guard.AddRules, guard.ReplaceRules:
		for _, r := range u.Rules {
			if err := e.settings.AddRule(layer, u.Behavior.String(), r.String()); err != nil {
				return err
			}
		}
	case guard.RemoveRules:
		for _, r := range u.Rules {
			if err := e.settings.RemoveRule(layer, u.Behavior.String(), r.String()); err != nil {
				return err
			}
		}
	case guard.AddDirectories:
		for _, d := range u.Directories {
			if err := e.settings.Add(layer, "permissions.additionalDirectories", d); err != nil {
				return err
			}
		}
	case guard.RemoveDirectories:
		for _, d := range u.Directories {
			if err := e.settings.Remove(layer, "permissions.additionalDirectories", d); err != nil {
				return err
			}
		}
	case guard.SetMode:
		return e.settings.Set(layer, "permissions.defaultMode", string(u.Mode))
	}
	return nil
}

// bypassLater says whether a running session may change to the mode that lets everything pass.
func (e *engine) bypassLater() error {
	if !e.flags.AllowSkip && e.flags.Mode != string(guard.Bypass) {
		return errors.New("the mode bypassPermissions must be allowed when gofer starts: --allow-dangerously-skip-permissions")
	}
	return e.bypassAllowed()
}

// setMode changes the permission mode of the session.
func (e *engine) setMode(name string) (guard.Mode, error) {
	mode, err := guard.ParseMode(name)
	if err != nil {
		return "", err
	}
	if mode == guard.Bypass {
		if err := e.bypassLater(); err != nil {
			return "", err
		}
	}
	if mode == guard.Plan {
		e.plan.remember(e.policy.Policy().Mode)
	}
	e.policy.SetMode(mode)
	e.emit(event.Status{PermissionMode: string(mode)})
	return mode, nil
}

// turnDenials are the calls of the turn that were not let through.
func (e *engine) turnDenials() []event.Denied {
	e.deniedMu.Lock()
	defer e.deniedMu.Unlock()
	out := e.denied
	e.denied = nil
	return out
}
