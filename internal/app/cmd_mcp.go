package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gofer/internal/config"
	"gofer/internal/extend/mcp"
	"gofer/internal/guard/trust"
	"gofer/internal/proc"
)

const mcpHelp = `Usage: gofer mcp COMMAND

  add [options] NAME COMMAND [ARG…]   a server that runs here; write -- before a command with options
  add -t http|sse NAME URL            a server elsewhere
  add-json NAME JSON                  the same as a line of .mcp.json
  list                                all servers, and whether they answer
  get NAME                            one of them
  remove NAME                         forget one
  login NAME                          log in to a server elsewhere, in a browser
  logout NAME                         forget the log-in
  reset-project-choices               forget what was accepted and refused of this folder's .mcp.json
  serve                               offer gofer's own tools over standard input and output

Options of add, add-json and remove:
  -s, --scope local|user|project      for you in this folder (local, if not given), for you everywhere, or for everyone here (.mcp.json)
  -t, --transport stdio|http|sse
  -e, --env NAME=VALUE                a variable of the server; may be repeated
  -H, --header "NAME: VALUE"          a header; may be repeated
`

// runMCP is gofer mcp.
func runMCP(ctx context.Context, w World, args []string) error {
	if len(args) == 0 || slices.Contains([]string{"help", "--help", "-h"}, args[0]) {
		fmt.Fprint(w.Stdout, mcpHelp)
		return nil
	}
	if args[0] == "serve" {
		return serveTools(ctx, w, args[1:])
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	c := mcpCommand{w, p, config.OpenState(p.config, p.chosen, p.home)}
	switch args[0] {
	case "add":
		return c.add(args[1:])
	case "add-json":
		return c.addJSON(args[1:])
	case "remove", "rm":
		return c.remove(args[1:])
	case "list", "ls":
		return c.list(ctx)
	case "get":
		return c.get(ctx, args[1:])
	case "login":
		return c.login(ctx, args[1:])
	case "logout":
		return c.logout(ctx, args[1:])
	case "reset-project-choices":
		return c.reset()
	}
	return usage("mcp knows add, add-json, list, get, remove, login, logout, serve and reset-project-choices, not %q", args[0])
}

// mcpCommand is what the subcommands work with.
type mcpCommand struct {
	w     World
	p     place
	state *config.State
}

// noServer says that there is no such server, in the words that scripts look for.
func noServer(name string) error {
	text := "No MCP server found with name: " + name
	return errors.New(text)
}

func (c mcpCommand) add(args []string) error {
	o, err := readWords(args)
	if err != nil {
		return err
	}
	if len(o.words) < 2 {
		return usage("add needs a name and a command or address: gofer mcp add NAME COMMAND [ARG…]")
	}
	s := mcp.Config{Name: o.words[0], Type: firstOf(o.transport, "stdio")}
	if o.transport == "" && isURL(o.words[1]) {
		s.Type = transportOf(o.words[1])
	}
	if s.Type == "stdio" {
		s.Command, s.Args, s.Env = o.words[1], o.words[2:], o.env
	} else {
		if len(o.words) > 2 {
			return usage("a server elsewhere takes an address and nothing behind it, but got %q", o.words[2])
		}
		s.URL, s.Headers = o.words[1], o.headers
	}
	return c.keep(s, o.scope)
}

func (c mcpCommand) addJSON(args []string) error {
	o, err := readWords(args)
	if err != nil {
		return err
	}
	if len(o.words) != 2 {
		return usage("add-json needs a name and a JSON object: gofer mcp add-json NAME '{\"command\": …}'")
	}
	parsed := mcp.ParseMap(map[string]json.RawMessage{o.words[0]: json.RawMessage(o.words[1])}, o.scope)[0]
	return c.keep(parsed, o.scope)
}

// keep writes a server to its scope.
func (c mcpCommand) keep(s mcp.Config, scope string) error {
	if s.Problem != "" {
		return fmt.Errorf("the server %s cannot be added: %s", s.Name, s.Problem)
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("the server %s cannot be added: %w", s.Name, err)
	}
	path, file := c.where(scope, s.Name)
	if scope == scopeProject {
		if err := editProjectFile(file, func(servers map[string]json.RawMessage) error {
			if _, there := servers[s.Name]; there {
				return fmt.Errorf("MCP server %s already exists in %s", s.Name, file)
			}
			text, err := json.Marshal(s)
			servers[s.Name] = text
			return err
		}); err != nil {
			return err
		}
	} else {
		values, err := c.state.Lookup(path)
		if err != nil {
			return err
		}
		if values[0] != nil {
			return fmt.Errorf("MCP server %s already exists in %s config", s.Name, scope)
		}
		if err := c.state.Set(s, path...); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.w.Stdout, "Added the %s MCP server %s (%s) to the %s scope\nFile: %s\n", s.Kind(), s.Name, commandHint(s), scope, file)
	return nil
}

// where is the place of a server: a path in the state file, and the file.
func (c mcpCommand) where(scope, name string) (path []string, file string) {
	switch scope {
	case scopeUser:
		return []string{"mcpServers", name}, c.state.File()
	case scopeProject:
		return nil, filepath.Join(c.p.cwd, ".mcp.json")
	}
	return []string{"projects", realPath(c.p.cwd), "mcpServers", name}, c.state.File()
}

func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (c mcpCommand) remove(args []string) error {
	o, err := readWords(args)
	if err != nil {
		return err
	}
	if len(o.words) != 1 {
		return usage("remove needs one name")
	}
	name, scopes := o.words[0], []string{scopeLocal, scopeProject, scopeUser}
	if slices.ContainsFunc(args, func(a string) bool { return a == "-s" || strings.HasPrefix(a, "--scope") }) {
		scopes = []string{o.scope}
	}
	var found []string
	for _, scope := range scopes {
		there, err := c.has(scope, name)
		if err != nil {
			return err
		}
		if there {
			found = append(found, scope)
		}
	}
	switch len(found) {
	case 0:
		return noServer(name)
	case 1:
	default:
		return fmt.Errorf("the MCP server %s exists in the scopes %s: say which with --scope", name, strings.Join(found, ", "))
	}
	path, file := c.where(found[0], name)
	if found[0] == scopeProject {
		err = editProjectFile(file, func(servers map[string]json.RawMessage) error {
			delete(servers, name)
			return nil
		})
	} else {
		err = c.state.Remove(path...)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.w.Stdout, "Removed the MCP server %s from the %s scope\nFile: %s\n", name, found[0], file)
	return nil
}

func (c mcpCommand) has(scope, name string) (bool, error) {
	path, file := c.where(scope, name)
	if scope == scopeProject {
		_, servers, err := readProjectFile(file)
		return servers[name] != nil, err
	}
	values, err := c.state.Lookup(path)
	return err == nil && values[0] != nil, err
}

// open reads the servers as a session in this folder would. Those of a project that is not trusted are listed, but not started.
func (c mcpCommand) open(ctx context.Context, only string, change func(*mcp.Options)) (*mcp.Hub, func(), error) {
	e := &engine{ctx: ctx, world: c.w, place: c.p}
	var err error
	if e.settings, err = e.openSettings(); err != nil {
		return nil, nil, err
	}
	e.servers.granted = e.trusted
	e.runner = proc.New(proc.Self())
	env := environment(c.w, e.settings.Current())
	o := mcp.Options{Runner: e.runner, Dir: c.p.cwd, Roots: e.workDirs, Environ: e.serverEnv, Version: Version, TokenDir: tokenDir(c.p), ConnectTimeout: milliseconds(env("MCP_TIMEOUT"))}
	if change != nil {
		change(&o)
	}
	hub := mcp.New(ctx, o)
	list := e.allServers(nil)
	if only != "" {
		list = slices.DeleteFunc(list, func(s mcp.Config) bool { return s.Name != only })
	}
	hub.Add(list...)
	hub.Settle(ctx, o.ConnectTimeout+2*time.Minute, true)
	return hub, func() {
		hub.Close()
		e.runner.Close()
	}, nil
}

func (c mcpCommand) list(ctx context.Context) error {
	hub, done, err := c.open(ctx, "", nil)
	if err != nil {
		return err
	}
	defer done()
	all := hub.Status()
	if len(all) == 0 {
		fmt.Fprintln(c.w.Stdout, "No MCP servers configured. Use `gofer mcp add` to add a server.")
		return nil
	}
	for _, st := range all {
		fmt.Fprintf(c.w.Stdout, "%s: %s - %s\n", st.Name, commandHint(st.Config), health(st))
	}
	return ctx.Err()
}

func health(st mcp.Status) string {
	switch st.State {
	case mcp.Connected:
		return fmt.Sprintf("✓ Connected (%d tools)", len(st.Tools))
	case mcp.NeedsAuth:
		return "! Needs authentication"
	case mcp.Disabled:
		return "○ Disabled"
	}
	first, _, _ := strings.Cut(st.Error, "\n")
	return "✗ Failed to connect: " + firstOf(first, "it did not answer")
}

func (c mcpCommand) get(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("get needs one name")
	}
	hub, done, err := c.open(ctx, args[0], nil)
	if err != nil {
		return err
	}
	defer done()
	all := hub.Status()
	if len(all) == 0 {
		return noServer(args[0])
	}
	st := all[0]
	fmt.Fprintf(c.w.Stdout, "%s:\n  Scope: %s\n  Status: %s\n  Type: %s\n", st.Name, st.Scope, health(st), st.Config.Kind())
	if st.Config.Kind() == "stdio" {
		fmt.Fprintf(c.w.Stdout, "  Command: %s\n  Args: %s\n", st.Config.Command, strings.Join(st.Config.Args, " "))
	} else {
		fmt.Fprintf(c.w.Stdout, "  URL: %s\n", st.Config.URL)
	}
	for _, t := range st.Tools {
		fmt.Fprintf(c.w.Stdout, "  Tool: %s\n", t.Name)
	}
	if st.Error != "" {
		fmt.Fprintf(c.w.Stdout, "  Error: %s\n", strings.ReplaceAll(st.Error, "\n", "\n    "))
	}
	return ctx.Err()
}

// reset forgets what was accepted here, so that the next session asks.
func (c mcpCommand) reset() error {
	err := c.state.Merge(map[string]any{"enabledMcpjsonServers": []string{}, "disabledMcpjsonServers": []string{}}, "projects", realPath(c.p.cwd))
	err = errors.Join(err, trust.New(c.state, c.p.home).Revoke(c.p.cwd))
	if err != nil {
		return err
	}
	fmt.Fprintln(c.w.Stdout, "All choices about this folder's .mcp.json are forgotten, and with them the trust in the folder. gofer asks again when it is next started in a terminal here.")
	return nil
}

// serveTools is gofer mcp serve. Its options are those of a run: rules and mode decide what clients may do.
func serveTools(ctx context.Context, w World, args []string) error {
	f, words, err := parseFlags(args)
	if err != nil {
		return err
	}
	if words != "" {
		return usage("mcp serve takes options only, but got %q", words)
	}
	f.StrictMCP, f.NoPersist = true, true
	p, err := newPlace(w, f)
	if err != nil {
		return err
	}
	e, err := newEngine(ctx, w, f, p, people{})
	if err != nil {
		return err
	}
	defer e.close()
	return mcp.Serve(ctx, mcp.Offer{Version: Version, Tools: e.tools, Handle: e.session.Loop.Handle, Spill: e.spill}, w.Stdin, w.Stdout)
}
