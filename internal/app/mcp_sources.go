package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gofer/internal/config"
	"gofer/internal/extend/mcp"
)

// Where servers come from, weakest first; of two with one name the stronger counts.
const (
	scopeUser    = "user"
	scopeProject = "project"
	scopeLocal   = "local"
	scopeFlag    = "dynamic"
	scopeManaged = "enterprise"
)

// flagServers reads --mcp-config: files, or JSON texts.
func (e *engine) flagServers() ([]mcp.Config, error) {
	var list []mcp.Config
	for _, value := range e.flags.MCP.Values {
		text, where := []byte(value), "--mcp-config"
		if !strings.HasPrefix(strings.TrimSpace(value), "{") {
			var err error
			where += " " + value
			if text, err = os.ReadFile(value); err != nil {
				return nil, usage("--mcp-config: the file cannot be read: %v", err)
			}
		}
		parsed, err := mcp.Parse(text, scopeFlag)
		if err != nil {
			return nil, usage("%s is no MCP configuration: %v", where, err)
		}
		for _, c := range parsed {
			if c.Problem != "" {
				return nil, usage("%s: the server %s: %s", where, c.Name, c.Problem)
			}
		}
		list = append(list, parsed...)
	}
	return list, nil
}

// allServers collects the servers of all sources, as they may be used.
func (e *engine) allServers(given []mcp.Config) []mcp.Config {
	var list []mcp.Config
	off := map[string]bool{}
	if managed, ok := e.managedServers(); ok {
		list, given = managed, nil // an administrator who lists servers lists all of them
	} else if !e.flags.StrictMCP {
		list, off = e.configuredServers()
	}
	byName := map[string]int{}
	var kept []mcp.Config
	for _, c := range append(list, given...) {
		if i, ok := byName[c.Name]; ok {
			kept[i] = c
			continue
		}
		byName[c.Name] = len(kept)
		kept = append(kept, c)
	}
	for i, c := range kept {
		kept[i].Off = off[c.Name] && c.Scope != scopeFlag
	}
	return e.usable(kept)
}

// usable are descriptions with their variables replaced, and with a problem where the settings forbid the server.
func (e *engine) usable(list []mcp.Config) []mcp.Config {
	for i, c := range list {
		c = c.Expand(e.lookupEnv)
		if reason := e.serverForbidden(c); reason != "" && c.Problem == "" {
			c.Problem = reason
		}
		list[i] = c
	}
	return list
}

func (e *engine) lookupEnv(name string) (string, bool) {
	if v := environment(e.world, e.settings.Current())(name); v != "" {
		return v, true
	}
	if name == "CLAUDE_PROJECT_DIR" {
		return e.place.configRoot(), true
	}
	return e.world.lookup(name)
}

// configuredServers reads what is not from the command line, weakest first, and which servers the user has switched off.
func (e *engine) configuredServers() (list []mcp.Config, off map[string]bool) {
	off = map[string]bool{}
	set := e.settings.Current().Settings
	for name, m := range set.MCPServers {
		list = append(list, settingsServer(name, m))
	}
	slices.SortFunc(list, func(a, b mcp.Config) int { return strings.Compare(a.Name, b.Name) })
	list = append(list, e.pluginServers()...)
	kept, err := e.readState()
	if err != nil {
		fmt.Fprintf(e.world.Stderr, "The MCP servers of the user are not known: %v\n", err)
	}
	if e.readsSource(scopeUser) && !e.flags.Bare {
		list = append(list, mcp.ParseMap(kept.user, scopeUser)...)
	}
	if e.readsSource(scopeProject) && !e.flags.Bare && !e.flags.SafeMode {
		list = append(list, e.projectFile()...)
	}
	if e.readsSource(scopeLocal) && !e.flags.Bare {
		list = append(list, mcp.ParseMap(kept.local, scopeLocal)...)
	}
	for _, name := range slices.Concat(kept.off, kept.refused, set.DisabledMCPJSONServers) {
		off[name] = true
	}
	return list, off
}

func settingsServer(name string, m config.MCPServer) mcp.Config {
	c := mcp.Config{Name: name, Type: m.Type, Command: m.Command, Args: m.Args, Env: m.Env, Cwd: m.Cwd, URL: m.URL, Headers: m.Headers,
		HeadersHelper: m.HeadersHelper, Timeout: m.Timeout, AlwaysLoad: m.AlwaysLoad}
	if m.OAuth != nil {
		c.OAuth = &mcp.OAuth{}
		if err := json.Unmarshal(m.OAuth, c.OAuth); err != nil {
			c.Problem = "its oauth cannot be read: " + err.Error()
		}
	}
	switch m.Origin.Layer {
	case config.Project:
		c.Scope = scopeProject
	case config.Local:
		c.Scope = scopeLocal
	case config.Flag:
		c.Scope = scopeFlag
	case config.Managed:
		c.Scope = scopeManaged
	default:
		c.Scope = scopeUser
	}
	if err := c.Check(); err != nil && c.Problem == "" {
		c.Problem = err.Error()
	}
	return c
}

// projectFile reads .mcp.json. Its servers run only as far as the folder is trusted.
func (e *engine) projectFile() []mcp.Config {
	file := filepath.Join(e.place.configRoot(), ".mcp.json")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []mcp.Config
	if err == nil {
		list, err = mcp.Parse(data, scopeProject)
	}
	if err != nil {
		fmt.Fprintf(e.world.Stderr, "%s counts for nothing: %v\n", file, err)
		return nil
	}
	set := e.settings.Current().Settings
	approved := func(name string) bool {
		return e.servers.granted || set.EnableAllProjectMCP || slices.Contains(set.EnabledMCPJSONServers, name)
	}
	for i := range list {
		if !approved(list[i].Name) {
			list[i].Problem = "this folder is not trusted, or its servers have changed since. Run gofer in it from a terminal and accept it"
		}
	}
	return list
}

// managedServers reads the servers that an administrator lists in managed-mcp.json; ok is false if there is no such file. A file that cannot be
// read lists none: nobody gets more than the administrator wanted.
func (e *engine) managedServers() (list []mcp.Config, ok bool) {
	for _, dir := range config.ManagedDirs() {
		file := filepath.Join(dir, "managed-mcp.json")
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		ok = true
		var found []mcp.Config
		if err == nil {
			found, err = mcp.Parse(data, scopeManaged)
		}
		if err != nil {
			fmt.Fprintf(e.world.Stderr, "%s cannot be used, so there are no MCP servers: %v\n", file, err)
		}
		list = append(list, found...)
	}
	return list, ok
}

// keptServers is what the state file says about servers.
type keptServers struct {
	user, local  map[string]json.RawMessage
	off, refused []string
}

// readState reads the servers of the user and of the user in this folder.
func (e *engine) readState() (keptServers, error) {
	var k keptServers
	folder := e.place.cwd
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	state := config.OpenState(e.place.config, e.place.chosen, e.place.home)
	values, err := state.Lookup([]string{"mcpServers"}, []string{"projects", folder, "mcpServers"},
		[]string{"projects", folder, "disabledMcpServers"}, []string{"projects", folder, "disabledMcpjsonServers"})
	if err != nil {
		return k, err
	}
	var problems []error
	for i, into := range []any{&k.user, &k.local, &k.off, &k.refused} {
		if values[i] != nil {
			problems = append(problems, json.Unmarshal(values[i], into))
		}
	}
	return k, errors.Join(problems...)
}

// serverForbidden says why the settings do not let a server be used; "" if they do.
func (e *engine) serverForbidden(c mcp.Config) string {
	set := e.settings.Current().Settings
	fits := func(m config.MCPMatch) bool { return serverFits(m, c) }
	switch {
	case slices.ContainsFunc(set.DeniedMCPServers, fits):
		return "the settings forbid it (deniedMcpServers)"
	case set.AllowedMCPServers != nil && !slices.ContainsFunc(set.AllowedMCPServers, fits):
		return "the settings do not allow it (allowedMcpServers)"
	}
	return ""
}

func serverFits(m config.MCPMatch, c mcp.Config) bool {
	switch {
	case m.ServerName != "":
		return m.ServerName == c.Name
	case len(m.ServerCommand) > 0:
		return c.Kind() == "stdio" && slices.Equal(m.ServerCommand, append([]string{c.Command}, c.Args...))
	case m.ServerURL != "":
		return c.URL != "" && wildcard(m.ServerURL, c.URL)
	}
	return false
}

// wildcard reports whether s fits pattern, in which * stands for anything.
func wildcard(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
