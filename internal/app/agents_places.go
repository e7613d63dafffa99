package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/agents"
	"gofer/internal/config"
	"gofer/internal/guard"
	"gofer/internal/guard/trust"
	"gofer/internal/hook"
	"gofer/internal/prompt"
	"gofer/internal/tool"
	"gofer/internal/tool/team"
)

// definitions are the kinds of agents, read when they are first needed.
func (e *engine) definitions() *agents.Definitions {
	a := &e.agents
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.defs != nil {
		return a.defs
	}
	a.defs = agents.Load(e.agentSources(a.given)...)
	for _, d := range a.defs.All() {
		if d.Origin != agents.Project || a.hooked {
			continue
		}
		if len(d.Hooks) > 0 {
			d.Hooks = nil
			fmt.Fprintf(e.world.Stderr, "%s: the hooks of this agent do not run, because this folder is not trusted yet. Run gofer in it from a terminal once and accept it.\n", d.File)
		}
		e.withoutServers(d)
	}
	for _, p := range a.defs.Problems() {
		fmt.Fprintln(e.world.Stderr, p)
	}
	return a.defs
}

// agentSources are all places that may define agents.
func (e *engine) agentSources(given []byte) []agents.Source {
	var list []agents.Source
	for _, dir := range config.ManagedDirs() {
		list = append(list, agents.Source{Origin: agents.Managed, Dir: filepath.Join(dir, ".claude", "agents")}, agents.Source{Origin: agents.Managed, Dir: filepath.Join(dir, "agents")})
	}
	if text := strings.TrimSpace(e.flags.Agents); text != "" {
		data, err := []byte(text), error(nil)
		if text[0] != '{' && text[0] != '[' {
			data, err = os.ReadFile(text)
		}
		if err != nil {
			fmt.Fprintf(e.world.Stderr, "--agents: %v\n", err)
		}
		list = append(list, agents.Source{Origin: agents.Flag, JSON: data, Name: "--agents"})
	}
	list = append(list, agents.Source{Origin: agents.Flag, JSON: given, Name: "agents of the program that drives gofer"})
	if !e.flags.Bare && !e.flags.SafeMode {
		list = append(list, e.projectAgents()...)
	}
	if !e.flags.Bare && e.readsSource("user") {
		list = append(list, agents.Source{Origin: agents.User, Dir: filepath.Join(e.place.config, "agents")})
	}
	return append(list, e.pluginAgents()...)
}

// projectAgents are the folders of the project's agents, from the working directory up to the root of the repository; the nearest counts first.
func (e *engine) projectAgents() []agents.Source {
	if !e.readsSource("project") {
		return nil
	}
	var list []agents.Source
	root := prompt.ProjectRoot(e.place.configRoot())
	for dir := e.place.configRoot(); ; dir = filepath.Dir(dir) {
		list = append(list, agents.Source{Origin: agents.Project, Dir: filepath.Join(dir, ".claude", "agents")})
		if dir == root || dir == filepath.Dir(dir) || !strings.HasPrefix(dir, root) {
			return list
		}
	}
}

// readsSource says whether files of a settings source count in this run.
func (e *engine) readsSource(name string) bool {
	if e.flags.Sources == nil {
		return true
	}
	sources, _ := config.ParseSources(*e.flags.Sources) // checked when the settings were opened
	return slices.Contains(sources, name)
}

// agentSurfaces are the hooks and servers in the project's definitions: code of the project, for which it must be trusted.
func (e *engine) agentSurfaces() []trust.Surface {
	if e.flags.Bare || e.flags.SafeMode {
		return nil
	}
	places := slices.DeleteFunc(e.projectAgents(), func(s agents.Source) bool {
		_, err := os.Stat(s.Dir)
		return err != nil
	})
	if len(places) == 0 {
		return nil
	}
	hooks, servers := map[string][]hook.Group{}, map[string]any{}
	for _, d := range agents.Load(places...).All() {
		if d.Origin != agents.Project {
			continue
		}
		if len(d.Hooks) > 0 {
			hooks[d.File] = d.Hooks
		}
		if own := d.OwnServers(); own != nil {
			servers[d.File] = own
		}
	}
	return append(surfaceOf("hooks of agents", hooks), surfaceOf("MCP servers of agents", servers)...)
}

// addAgents takes over definitions that the program that drives gofer brings.
func (e *engine) addAgents(given json.RawMessage, forward bool) {
	a := &e.agents
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forward = a.forward || forward
	if len(given) > 0 && string(given) != "null" {
		a.given, a.defs = given, nil
	}
}

// agentList is what a client reads of the agents there are.
func (e *engine) agentList() []any {
	list := []any{}
	for _, d := range e.definitions().All() {
		one := map[string]any{"name": d.Name, "description": d.Description}
		if d.Model != "" {
			one["model"] = d.Model
		}
		list = append(list, one)
	}
	return list
}

// agentListing tells the model which agents it may start.
func (e *engine) agentListing() string {
	if _, err := e.tools.Find(team.AgentName); err != nil {
		return ""
	}
	var types []string
	if e.agents.self != nil {
		types = e.agents.self.Types
	}
	return e.definitions().Listing(types, e.deniedAgent)
}

// deniedAgent says whether a rule forbids to start an agent.
func (e *engine) deniedAgent(name string) bool {
	d := guard.Decide(e.policy.Policy(), guard.Facts{Tool: team.AgentName, Access: []tool.Access{{Verb: tool.Use, Target: name}}})
	return d.Behavior == guard.Deny && d.Kind == guard.ByRule
}
