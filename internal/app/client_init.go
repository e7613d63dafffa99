package app

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"gofer/internal/guard"
	"gofer/internal/hook"
	"gofer/internal/llm/catalog"
	"gofer/internal/ui/control"
)

func newID() string { return uuid.NewString() }

// capabilities are what a program may rely on without looking at versions.
func capabilities() []string {
	return []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1", "sdk_mcp_manifests", "mcp_read_resource_v1", "mcp_call_result_not_for_model_v1",
		"mcp_call_check_permissions_v1"}
}

// initialize is what a client says first. It may say it again: then its hooks take the place of those before, and the rest is added.
//
// Four fields change nothing here: perTaskStopAffordance (agents in the background outlive an interrupt in any case), agentProgressSummaries (task_progress says what an agent does without asking a model), supportedDialogKinds
// (gofer opens no dialog besides the questions for permissions) and systemPromptSnapshot: true (it is always so).
type initialize struct {
	Hooks map[string][]struct {
		Matcher   string   `json:"matcher"`
		Callbacks []string `json:"hookCallbackIds"`
		Timeout   float64  `json:"timeout"`
		OnFailure string   `json:"onFailure"`
	} `json:"hooks"`
	System         []string `json:"systemPrompt"`
	AppendSystem   string   `json:"appendSystemPrompt"`
	Snapshot       *bool    `json:"systemPromptSnapshot"`
	ExcludeDynamic bool     `json:"excludeDynamicSections"`
	clientServers
	ServerConfigs map[string]serverConfig `json:"sdkMcpServerConfigs"`

	Agents      json.RawMessage `json:"agents"`
	ForwardText bool            `json:"forwardSubagentText"`

	Title       string            `json:"title"`
	Plan        string            `json:"planModeInstructions"`
	Aliases     map[string]string `json:"toolAliases"`
	Skills      []string          `json:"skills"` // nil: all
	Suggestions bool              `json:"promptSuggestions"`
	Plugins     []clientPlugin    `json:"plugins"`
}

// A clientPlugin is a plugin that a client brings.
type clientPlugin struct {
	Path  string `json:"path"`
	NoMCP bool   `json:"skipMcpDiscovery"`
}

// serverConfig is what a client says of one of its servers, besides what the server says itself.
type serverConfig struct {
	Timeout int `json:"timeout"` // of a call, in milliseconds
	Tools   []struct {
		Name   string `json:"name"`
		Policy string `json:"permission_policy"`
	} `json:"tools"`
}

func (e *engine) initialize(conn *control.Conn, r initialize) (any, error) {
	e.takeHooks(conn, r)
	if r.System != nil || r.AppendSystem != "" {
		e.setSystem(r.System, r.AppendSystem)
	}
	if r.ExcludeDynamic {
		e.told.system.Exclude = true
	}
	if r.Snapshot != nil && !*r.Snapshot {
		e.flags.wishes.change(func(w *wishes) { w.fresh = true })
	}
	e.addAgents(r.Agents, r.ForwardText)
	parked, err := e.takeServers(r)
	if err != nil {
		return nil, err
	}
	e.flags.wishes.change(func(w *wishes) {
		w.plan, w.aliases = firstOf(r.Plan, w.plan), maps.Clone(r.Aliases)
		w.suggests = w.suggests || r.Suggestions
	})
	if r.Skills != nil {
		e.onlySkills(r.Skills)
	}
	if r.Title != "" && e.resumed == nil {
		if err := e.rename(r.Title); err != nil {
			return nil, err
		}
	}
	answer := e.initialized()
	if r.Hooks != nil {
		answer["hooks_applied"] = true
	}
	if parked != nil {
		answer["sdk_mcp_manifests_parked"] = parked
	}
	if len(r.Plugins) > 0 {
		answer["plugins_applied"] = e.hasPlugins(r.Plugins)
	}
	return control.Reply{Response: answer, Beside: map[string]any{
		"pending_permission_requests": conn.Pending("can_use_tool"), "pending_user_dialog_requests": []any{},
	}}, nil
}

// initialized is what a client learns of the session when it begins.
func (e *engine) initialized() map[string]any {
	commands := e.commandList()
	e.commands.note(commands)
	return map[string]any{
		"commands": commands, "agents": e.agentList(), "output_style": e.outputStyle(), "available_output_styles": e.outputStyles(),
		"models": e.modelList(), "account": e.account(), "pid": os.Getpid(),
		"claude_code_version": Protocol, "gofer_version": Version, "current_permission_mode": e.hookFacts().PermissionMode,
		"hook_on_failure_supported": true, "fast_mode_state": "off", "session_state": idle, "capabilities": capabilities(),
	}
}

// takeHooks registers the client's hooks in the place of those that it registered before.
func (e *engine) takeHooks(conn *control.Conn, r initialize) {
	if r.Hooks == nil {
		return
	}
	var old, undo []func()
	for name, groups := range r.Hooks {
		for _, g := range groups {
			for _, id := range g.Callbacks {
				undo = append(undo, e.hooks.Register(hook.Callback{Event: hook.Event(name), Matcher: g.Matcher, OnFailure: g.OnFailure,
					Timeout: time.Duration(g.Timeout * float64(time.Second)), Call: callHook(conn, id)}))
			}
		}
	}
	e.flags.wishes.change(func(w *wishes) { old, w.unhook = w.unhook, undo })
	for _, remove := range old {
		remove()
	}
}

// takeServers takes the servers inside the client, and what it says about calls of their tools. It returns what became of the manifests.
func (e *engine) takeServers(r initialize) (map[string]string, error) {
	e.addClientServers(r.clientServers, r.ServerConfigs)
	ask, deny := guard.Ask, guard.Deny
	for name, c := range r.ServerConfigs {
		if !slices.Contains(r.Names, name) {
			continue
		}
		if err := e.policy.Apply(policyUpdates(name, c, &ask, &deny)); err != nil {
			return nil, err
		}
	}
	if r.Manifests == nil || len(r.Names) == 0 {
		return nil, nil
	}
	parked := map[string]string{}
	for _, name := range r.Names {
		if m, ok := r.Manifests[name]; ok {
			parked[name] = "parked"
			if m.Tools == nil {
				parked[name] = "malformed"
			}
		}
	}
	return parked, nil
}

func (e *engine) account() map[string]string {
	key, token := e.keySource(), "none"
	if key == "ANTHROPIC_AUTH_TOKEN" {
		key, token = "none", key
	}
	return map[string]string{"apiKeySource": key, "tokenSource": token, "apiProvider": "firstParty"}
}

// modelList is the models that the session can use, the default one first.
func (e *engine) modelList() []any {
	list := []any{modelInfo("default", "Default", e.brain.catalog.Lookup("default"))}
	for _, m := range e.brain.catalog.All() {
		list = append(list, modelInfo(m.ID, m.ID, m))
	}
	return list
}

func modelInfo(value, name string, m catalog.Model) map[string]any {
	return map[string]any{"value": value, "resolvedModel": m.ID, "displayName": name, "description": priceText(m), "supportsEffort": m.Efforts != nil,
		"supportedEffortLevels": m.Efforts, "supportsAdaptiveThinking": m.Thinking == catalog.Adaptive, "supportsThinkingOff": !m.AlwaysThinks, "supportsAutoMode": true}
}
