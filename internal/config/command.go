package config

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// CommandEnv is what gofer config works with.
type CommandEnv struct {
	Out, Err  io.Writer
	Options   Options     // Trust is how far the project's files count now
	CheckRule RuleChecker // may be nil
}

const commandHelp = `Usage: gofer config COMMAND

  get KEY [--explain]       print a value
  explain KEY               print a value, where it was set, and what it replaced
  list [--all]              print every value that is set, with its origin; --all prints defaults too
  set KEY VALUE             write a value (--user, --project or --local; user is the default)
  add KEY VALUE             add an item to a list
  unset KEY                 take a value out of a file
  lint [FILE...]            check all settings, or the files named; exit 1 if anything is wrong
  import-policy [FILE]      turn a permissions.yaml into permission rules; --dry-run only prints them

All take --json. A key is written like sandbox.network.allowedDomains.

  gofer config set permissions.defaultMode plan
  gofer config add --local permissions.allow 'Bash(go test:*)'
  gofer config explain model
`

// command is one call of gofer config.
type command struct {
	CommandEnv
	words []string
	flags map[string]bool
}

// usageError is a mistake in the call itself.
type usageError string

func (e usageError) Error() string { return string(e) }

// errFound says that lint found something; it is said already.
type errFound struct{}

func (errFound) Error() string { return "" }

// Command runs gofer config and returns its exit code: 0 done, 1 failed or problems found, 2 wrong call.
func Command(args []string, env CommandEnv) int {
	c := &command{CommandEnv: env, flags: map[string]bool{}}
	err := c.parse(args)
	if err == nil {
		err = c.run()
	}
	switch err := err.(type) {
	case nil:
		return 0
	case errFound:
		return 1
	case usageError:
		fmt.Fprintf(c.Err, "gofer config: %s\n\n%s", err, commandHelp)
		return 2
	default:
		fmt.Fprintf(c.Err, "gofer config: %s\n", err)
		return 1
	}
}

func (c *command) parse(args []string) error {
	known := []string{"json", "explain", "all", "user", "project", "local", "dry-run", "help", "show-secrets"}
	for i, arg := range args {
		if arg == "--" {
			c.words = append(c.words, args[i+1:]...)
			break
		}
		name, isFlag := strings.CutPrefix(arg, "--")
		switch {
		case arg == "-h":
			c.flags["help"] = true
		case !isFlag || len(c.words) > 1: // behind the key everything is the value, -- or not
			c.words = append(c.words, arg)
		case slices.Contains(known, name):
			c.flags[name] = true
		default:
			return usageError(fmt.Sprintf("there is no flag %s", arg))
		}
	}
	// Flags may also stand last, as people write them.
	for len(c.words) > 2 || len(c.words) == 2 && c.words[0] != "set" && c.words[0] != "add" {
		last := c.words[len(c.words)-1]
		name, isFlag := strings.CutPrefix(last, "--")
		if !isFlag || !slices.Contains(known, name) {
			break
		}
		c.flags[name] = true
		c.words = c.words[:len(c.words)-1]
	}
	return nil
}

func (c *command) run() error {
	if c.flags["help"] || len(c.words) == 0 {
		fmt.Fprint(c.Out, commandHelp)
		return nil
	}
	name, words := c.words[0], c.words[1:]
	need := func(n int, what string) error {
		if len(words) != n {
			return usageError(fmt.Sprintf("%s needs %s", name, what))
		}
		return nil
	}
	switch name {
	case "get", "explain":
		if err := need(1, "a key"); err != nil {
			return err
		}
		return c.get(words[0], name == "explain" || c.flags["explain"])
	case "list":
		if err := need(0, "nothing else"); err != nil {
			return err
		}
		return c.list()
	case "set", "add":
		if err := need(2, "a key and a value"); err != nil {
			return err
		}
		return c.write(name, words[0], words[1])
	case "unset":
		if err := need(1, "a key"); err != nil {
			return err
		}
		return c.change(func(s *Store, l Layer) error { return s.Unset(l, words[0]) })
	case "lint":
		return c.lint(words)
	case "import-policy":
		if len(words) > 1 {
			return usageError("import-policy takes one file")
		}
		return c.importPolicy(words)
	}
	hint := ""
	if near := nearest(name, []string{"get", "explain", "list", "set", "add", "unset", "lint", "import-policy"}); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return usageError(fmt.Sprintf("there is no command %q%s", name, hint))
}

// layer is the layer that the flags choose to write to.
func (c *command) layer() (Layer, error) {
	layer, chosen := User, 0
	for _, l := range []Layer{User, Project, Local} {
		if c.flags[l.String()] {
			layer = l
			chosen++
		}
	}
	if chosen > 1 {
		return layer, usageError("choose one of --user, --project and --local")
	}
	return layer, nil
}

func (c *command) change(do func(*Store, Layer) error) error {
	layer, err := c.layer()
	if err != nil {
		return err
	}
	s, err := Open(c.Options)
	if err != nil {
		return err
	}
	return do(s, layer)
}

func (c *command) write(verb, key, value string) error {
	return c.change(func(s *Store, l Layer) error {
		path, _, err := s.writable(l, key)
		if err != nil {
			return err
		}
		_, shape, _ := lookup(path)
		if verb == "add" {
			if shape.kind != kindList {
				return fmt.Errorf("%s is not a list but %s; use set", key, shape.expected())
			}
			v, err := valueOf(shape.elem, value)
			if err != nil {
				return fmt.Errorf("%s: an item must be %s: %w", key, shape.elem.expected(), err)
			}
			if err := c.checkRule(key, v); err != nil {
				return err
			}
			err = s.Add(l, key, v)
			return c.told(s, l, key, err)
		}
		v, err := valueOf(shape, value)
		if err != nil {
			if shape.kind == kindList {
				return fmt.Errorf("%s must be %s, written as JSON; gofer config add %s %s adds one item", key, shape.expected(), key, quoteShell(value))
			}
			return fmt.Errorf("%s must be %s: %w", key, shape.expected(), err)
		}
		return c.told(s, l, key, s.Set(l, key, v))
	})
}

func (c *command) checkRule(key string, v any) error {
	list, isRule := strings.CutPrefix(key, "permissions.")
	rule, isText := v.(string)
	if !isRule || !isText || c.CheckRule == nil || !slices.Contains([]string{"allow", "ask", "deny"}, list) {
		return nil
	}
	return c.CheckRule(list, rule)
}

// told says when a value was written and still does not count.
func (c *command) told(s *Store, l Layer, key string, err error) error {
	if err != nil {
		return err
	}
	if v, ok := s.Current().Value(key); ok && v.Set && v.Items == nil && v.Origin.Layer > l {
		fmt.Fprintf(c.Err, "note: %s is written, but %s settings decide it: %s\n", key, v.Origin.Layer, v.Origin)
	}
	for _, h := range s.Current().Withheld {
		if h.Key == key && h.Origin.Layer == l {
			fmt.Fprintf(c.Err, "note: %s is written, but does not count before the folder is trusted\n", key)
		}
	}
	return nil
}

// valueOf reads a value as a person types it: texts need no quotes, all else is JSON.
func valueOf(s *shape, text string) (any, error) {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	switch s.kind {
	case kindText, kindWords:
		if _, isText := v.(string); err == nil && (isText || s.kind == kindWords && v != nil) {
			return v, nil
		}
		return text, nil
	case kindSwitch, kindBool:
		if err != nil {
			return nil, fmt.Errorf("it is %q", text)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	return json.RawMessage(text), nil
}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
