package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gofer/internal/config"
	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/llm/catalog"
	"gofer/internal/ui/control"
)

// listHandlers answer what a client asks about settings and about what there is to choose from.
func (e *engine) listHandlers() map[string]control.Handler {
	return map[string]control.Handler{
		"apply_flag_settings":   handle(e.applySettingsRequest),
		"get_settings":          handle(e.getSettingsRequest),
		"update_settings":       handle(e.updateSettingsRequest),
		"list_models":           handle(func(context.Context, struct{}) (any, error) { return map[string]any{"models": e.modelList()}, nil }),
		"list_permission_rules": handle(e.rulesRequest),
		"get_hooks_listing":     handle(e.hooksRequest),
		"reload_output_styles": handle(func(context.Context, struct{}) (any, error) {
			return map[string]any{"available_output_styles": e.outputStyles()}, nil
		}),
		"reload_skills":  handle(thenCommands(e, e.reloadSkillsRequest)),
		"reload_plugins": handle(thenCommands(e, e.reloadPluginsRequest)),
	}
}

// priceText says what a model costs.
func priceText(m catalog.Model) string {
	if m.Price.Input == 0 && m.Price.Output == 0 {
		return ""
	}
	return fmt.Sprintf("$%v for a million tokens in, $%v out", m.Price.Input, m.Price.Output)
}

func (e *engine) applySettingsRequest(_ context.Context, r struct{ Settings json.RawMessage }) (any, error) {
	if _, err := e.settings.ApplyFlag(r.Settings); err != nil {
		return nil, err
	}
	return nil, e.takeSettings()
}

// takeSettings lets the rules of changed settings count.
func (e *engine) takeSettings() error {
	base, err := e.guardBase()
	if err != nil {
		return err
	}
	e.policy.SetBase(base)
	return nil
}

func (e *engine) getSettingsRequest(context.Context, struct{}) (any, error) {
	snap := e.settings.Current()
	sources := []any{}
	for _, s := range snap.Sources() {
		sources = append(sources, map[string]any{"source": s.Layer.Source(), "settings": s.JSON})
	}
	req := e.brain.request()
	return map[string]any{"effective": snap.Effective(), "sources": sources, "applied": map[string]any{"model": req.Model, "effort": req.Effort}}, nil
}

// writableSettings are what a client may write to a file, by the file. Everything else in these files says what may run, and is for people.
func writableSettings(source string) (key, short string) {
	switch source {
	case "localSettings":
		return "outputStyle", "local"
	case "userSettings":
		return "effortLevel", "user"
	}
	return "", ""
}

// updateSettingsRequest writes a setting to a file of the user or the project.
func (e *engine) updateSettingsRequest(_ context.Context, r struct {
	Source   string         `json:"source"`
	Settings map[string]any `json:"settings"`
}) (any, error) {
	key, short := writableSettings(r.Source)
	layer, ok := config.LayerOf(r.Source)
	if key == "" || !ok {
		return nil, fmt.Errorf("update_settings writes localSettings and userSettings, not %q", r.Source)
	}
	var other []string
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		if name != key {
			other = append(other, name)
		}
	}
	value, isText := r.Settings[key].(string)
	switch {
	case len(other) > 0:
		return nil, errors.New("update_settings keys not allowed: " + strings.Join(other, ", "))
	case !isText:
		return nil, fmt.Errorf("update_settings: %s must be a text", key)
	case !e.readsSource(short):
		return nil, fmt.Errorf("update_settings: this session does not read %s (--setting-sources)", r.Source)
	}
	if err := e.settings.Set(layer, key, value); err != nil {
		return nil, err
	}
	return map[string]any{}, e.takeSettings()
}

// rulesRequest lists the permission rules as they count now.
func (e *engine) rulesRequest(context.Context, struct{}) (any, error) {
	rules := []any{}
	for _, r := range e.policy.Policy().Rules.Rules() {
		rules = append(rules, map[string]any{"behavior": r.Behavior.String(), "source": r.Source, "rule": r.String(), "description": describeRule(r), "editability": editability(r.Source)})
	}
	dirs := []any{}
	add := func(source guard.Source, list []string) {
		for _, d := range list {
			dirs = append(dirs, map[string]any{"path": d, "source": source})
		}
	}
	add(guard.FromCLI, e.flags.Dirs.Values)
	for _, s := range e.settings.Current().Sources() {
		var file struct {
			Permissions struct {
				Dirs []string `json:"additionalDirectories"`
			} `json:"permissions"`
		}
		if json.Unmarshal(s.JSON, &file) == nil {
			add(guard.Source(s.Layer.Source()), file.Permissions.Dirs)
		}
	}
	add(guard.FromSession, e.flags.wishes.addedRoots())
	return map[string]any{"state": map[string]any{"rules": rules, "workspaceDirectories": dirs, "originalCwd": e.place.cwd,
		"managedOnly": e.settings.Current().Settings.AllowManagedPermissionRulesOnly}}, nil
}

func editability(s guard.Source) string {
	switch s {
	case guard.FromUser, guard.FromProject, guard.FromLocal:
		return "persistent"
	case guard.FromSession, guard.FromCLI:
		return "session"
	}
	return "readonly"
}

// describeRule is a rule in words, with the part that is the rule's own apart.
func describeRule(r guard.Rule) map[string]string {
	if r.Content == "" {
		return map[string]string{"prefix": "Every call of ", "emphasis": r.Tool}
	}
	return map[string]string{"prefix": "Calls of " + r.Tool + " that fit ", "emphasis": r.Content}
}

// hooksRequest lists the hooks of settings and of whatever else brought some.
func (e *engine) hooksRequest(context.Context, struct{}) (any, error) {
	set := e.settings.Current().Settings
	layers := map[string]string{}
	managed := 0
	for _, groups := range set.Hooks {
		for _, g := range groups {
			layers[g.Origin.String()] = g.Origin.Layer.Source()
			if g.Origin.Layer == config.Managed {
				managed += len(g.Hooks)
			}
		}
	}
	counts := map[hook.Event]int{}
	list := []any{}
	groups := e.hooks.Groups()
	for _, ev := range hook.Events() {
		for _, g := range groups {
			if g.Event != ev {
				continue
			}
			for _, h := range g.Hooks {
				counts[ev]++
				list = append(list, hookEntry(g, h, layers))
			}
		}
	}
	used, all := []any{}, []any{}
	for _, ev := range hook.Events() {
		entry := map[string]any{"name": ev, "summary": ev.Summary(), "supportsMatcher": ev.Matches()}
		all = append(all, entry)
		if counts[ev] > 0 {
			with := maps.Clone(entry)
			with["hookCount"] = counts[ev]
			used = append(used, with)
		}
	}
	return map[string]any{"events": used, "hooks": list, "eventCatalog": all, "policy": map[string]any{
		"disabledByPolicy": false, "managedOnly": set.AllowManagedHooksOnly, "pluginOnly": false, "allDisabled": set.DisableAllHooks, "policyHookCount": managed}}, nil
}

func hookEntry(g hook.Group, h hook.Hook, layers map[string]string) map[string]any {
	label, text := "Command", h.Command
	switch h.Type {
	case "prompt", "agent":
		label, text = "Prompt", h.Prompt
	case "http":
		label, text = "URL", h.URL
	case "mcp_tool":
		label, text = "Tool", h.Server+": "+h.Tool
	}
	entry := map[string]any{"event": g.Event, "matcher": g.Matcher, "source": firstOf(layers[g.Source.Name], "pluginHook"), "sourceLabel": g.Source.Name, "type": h.Type,
		"displayText": oneLine(firstOf(h.StatusMessage, text), 200), "commandText": text, "contentLabel": label}
	for key, value := range map[string]string{"condition": h.If, "statusMessage": h.StatusMessage} {
		if value != "" {
			entry[key] = value
		}
	}
	if h.Timeout > 0 {
		entry["timeout"] = h.Timeout
	}
	if h.Once {
		entry["runsOnce"] = true
	}
	if h.Async {
		entry["runsInBackground"] = true
	}
	return entry
}
