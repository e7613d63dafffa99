package app

import (
	"context"
	"path/filepath"
	"strings"

	"gofer/internal/config"
	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/tool"
)

// openHooks makes the hook engine of what the settings say.
func (e *engine) openHooks() {
	snap := e.settings.Current()
	set := snap.Settings
	managedOff := false
	if v, ok := snap.Value("disableAllHooks"); ok {
		managedOff = set.DisableAllHooks && v.Origin.Layer == config.Managed
	}
	e.hooks = hook.New(hook.Options{
		Groups: append(hookGroups(set.Hooks), e.pluginHooks()...), Off: set.DisableAllHooks || e.flags.Bare || e.flags.SafeMode, AllOff: managedOff,
		ManagedOnly: set.AllowManagedHooksOnly,
		Facts:       e.hookFacts, Emit: e.emit, Late: e.lateHook,
		Env:      e.world.environ,
		StateDir: filepath.Join(e.place.config, "session-env", e.place.session),
		Matches:  e.meetsRule, AllowedURLs: set.AllowedHTTPHookURLs, AllowedEnv: set.HTTPHookAllowedEnvVars,
		Model: e.brain.model, SmallModel: firstOf(set.SmallModel, "haiku"), Book: e.ledger.Book,
		MCP: e.hookTool,
	})
	e.closers = append(e.closers, func() { e.hooks.Close(context.Background()) })
}

func hookGroups(settings map[string][]config.HookGroup) []hook.Group {
	var groups []hook.Group
	for _, name := range hook.Events() {
		for _, g := range settings[string(name)] {
			group := hook.Group{Event: name, Matcher: g.Matcher, Source: hook.Source{Name: g.Origin.String(), Managed: g.Origin.Layer == config.Managed}}
			for _, h := range g.Hooks {
				group.Hooks = append(group.Hooks, hook.Hook(h))
			}
			groups = append(groups, group)
		}
	}
	return groups
}

func (e *engine) hookFacts() hook.Facts {
	p := e.policy.Policy()
	mode := p.Mode
	if mode == "" {
		mode = guard.Default
	}
	return hook.Facts{SessionID: e.place.session, TranscriptPath: e.place.transcript(), Cwd: e.dir.Cwd(), ProjectDir: e.place.configRoot(),
		PermissionMode: string(mode), PromptID: e.promptID.Load().(string), Effort: e.brain.request().Effort}
}

// meetsRule says whether a call meets a permission rule, for the condition of a hook.
func (e *engine) meetsRule(rule string, c tool.Call) (bool, error) {
	r, err := guard.ParseRule(rule)
	if err != nil {
		return false, err
	}
	r.Behavior, r.Source, r.Root = guard.Deny, guard.FromSession, e.place.cwd
	p := e.policy.Policy()
	// A rule that denies is met when any part of a command meets it, which is what a condition means.
	p.Rules = guard.Compile([]guard.Rule{r}, guard.Anchors{Dir: p.Dir, Home: p.Home})
	p.File, p.Parent = nil, nil
	d := guard.Decide(p, guard.Facts{Tool: c.Tool.Name, Access: c.Access(), Traits: c.Traits, Dir: e.dir.Cwd()})
	return d.Behavior == guard.Deny && d.Kind == guard.ByRule, nil
}

// lateHook takes what a hook in the background said after all.
func (e *engine) lateHook(o hook.Outcome) {
	text := strings.Join(append(o.Context, o.Reason), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	e.session.Submit(e.ctx, session.Input{Notice: true, Quiet: !o.Wake, Blocks: []llm.Block{llm.TextBlock(loop.Reminder("A hook in the background says: " + text))}})
}

// beforePrompt runs the hooks of a prompt. It returns what they add, or why they refuse.
func (e *engine) beforePrompt(ctx context.Context, text string) (added []string, refused string) {
	o := e.hooks.UserPromptSubmit(ctx, text)
	switch {
	case o.Block:
		return nil, "UserPromptSubmit operation blocked by hook: " + o.Reason
	case o.Stop:
		return nil, "Operation stopped by hook: " + o.StopReason
	}
	return o.Context, ""
}

// sessionStarted runs the hooks of the session's start.
func (e *engine) sessionStarted(ctx context.Context, source string) []string {
	return e.hooks.SessionStart(ctx, source, e.brain.info().ID).Context
}

// afterReply asks the stop hooks.
func (e *engine) afterReply(ctx context.Context, s loop.Stopping) loop.StopVerdict {
	o := e.hooks.Stop(ctx, hook.Stopping{Active: s.Active, LastMessage: s.Text, Crons: e.scheduledJobs()})
	switch {
	case o.Stop:
		return loop.StopVerdict{Prevent: true, Reason: o.StopReason}
	case o.Block:
		return loop.StopVerdict{Block: true, Message: o.Feedback()}
	case len(o.Context) > 0:
		return loop.StopVerdict{Block: true, Message: strings.Join(o.Context, "\n")}
	}
	return loop.StopVerdict{}
}
