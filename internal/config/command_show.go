package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// shown is a value in JSON output.
type shown struct {
	Key      string          `json:"key"`
	Value    json.RawMessage `json:"value"`
	Set      bool            `json:"set"`
	Origin   *shownOrigin    `json:"origin,omitempty"`
	Overrode []shownPast     `json:"overrode,omitempty"`
	Items    []shownPast     `json:"items,omitempty"`
	Withheld []shownOrigin   `json:"withheld,omitempty"`
}

type shownPast struct {
	Value  json.RawMessage `json:"value"`
	Origin shownOrigin     `json:"origin"`
}

type shownOrigin struct {
	Layer  string `json:"layer"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

func show(o Origin) shownOrigin {
	line, column := o.Position()
	return shownOrigin{o.Layer.String(), o.File, line, column}
}

func (c *command) printJSON(v any) {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	enc.Encode(v)
}

func (c *command) get(key string, explain bool) error {
	s, err := Load(c.Options)
	if err != nil {
		return err
	}
	v, ok := s.Value(key)
	if !ok {
		path := splitKey(key)
		_, at, _ := lookup(path)
		return noSuchKey(key, path, at)
	}
	switch {
	case c.flags["json"]:
		c.printJSON(s.shown(v))
	case explain:
		c.explain(s, v)
	default:
		var text string
		if json.Unmarshal(v.JSON, &text) == nil {
			fmt.Fprintln(c.Out, text)
		} else {
			fmt.Fprintf(c.Out, "%s\n", v.JSON)
		}
	}
	return nil
}

func (s *Snapshot) shown(v Value) shown {
	out := shown{Key: v.Key, Value: v.JSON, Set: v.Set}
	if v.Set && v.Origin.src != nil {
		o := show(v.Origin)
		out.Origin = &o
	}
	for _, p := range v.Overrode {
		out.Overrode = append(out.Overrode, shownPast{p.JSON, show(p.Origin)})
	}
	for _, it := range v.Items {
		out.Items = append(out.Items, shownPast{it.JSON, show(it.Origin)})
	}
	for _, h := range s.withheld(v.Key) {
		out.Withheld = append(out.Withheld, show(h.Origin))
	}
	return out
}

func (s *Snapshot) withheld(key string) (out []Withheld) {
	for _, h := range s.Withheld {
		if h.Key == key || strings.HasPrefix(key, h.Key+".") {
			out = append(out, h)
		}
	}
	return out
}

func (c *command) explain(s *Snapshot, v Value) {
	fmt.Fprintf(c.Out, "%s = %s\n", v.Key, v.JSON)
	if v.Desc != "" {
		fmt.Fprintf(c.Out, "  %s\n", v.Desc)
	}
	switch {
	case v.Items != nil:
		for _, it := range v.Items {
			fmt.Fprintf(c.Out, "  %-12s %s  %s\n", it.Origin.Layer, it.JSON, it.Origin)
		}
	case !v.Set:
		fmt.Fprintln(c.Out, "  default      no file sets it")
	case v.Origin.src != nil:
		fmt.Fprintf(c.Out, "  set by       %s  %s\n", v.Origin.Layer, v.Origin)
	default:
		for _, key := range s.Keys() {
			if strings.HasPrefix(key, v.Key+".") {
				fmt.Fprintf(c.Out, "  %-12s %s  %s\n", s.entries[key].origin.Layer, key, s.entries[key].origin)
			}
		}
	}
	for _, p := range v.Overrode {
		fmt.Fprintf(c.Out, "  replaced     %s  %s  %s\n", p.Origin.Layer, p.JSON, p.Origin)
	}
	for _, h := range s.withheld(v.Key) {
		fmt.Fprintf(c.Out, "  waiting      %s  %s  counts when the folder is trusted\n", h.Origin.Layer, h.Origin)
	}
	for _, p := range s.Problems {
		if p.Key == v.Key || strings.HasPrefix(p.Key, v.Key+"[") {
			fmt.Fprintf(c.Out, "  %-12s %s  %s\n", p.Severity, p.Origin, p.Message)
		}
	}
}

func (c *command) list() error {
	s, err := Load(c.Options)
	if err != nil {
		return err
	}
	keys := s.Keys()
	if c.flags["all"] {
		for _, key := range allKeys(settingsShape(), "") {
			if !slices.Contains(keys, key) && !slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, key+".") }) {
				keys = append(keys, key)
			}
		}
	}
	if len(keys) == 0 && !c.flags["json"] {
		fmt.Fprintln(c.Out, "Nothing is set: everything is as gofer comes. gofer config list --all shows that too.")
		return nil
	}
	values := []shown{}
	for _, key := range keys {
		v, _ := s.Value(key)
		if secret(key) && !c.flags["show-secrets"] && string(v.JSON) != "null" {
			v.JSON, v.Overrode = json.RawMessage(`"********"`), nil
		}
		if c.flags["json"] {
			values = append(values, s.shown(v))
			continue
		}
		where := v.Origin.String()
		if !v.Set {
			where = "default"
		}
		fmt.Fprintf(c.Out, "%s = %s  (%s)\n", key, v.JSON, where)
	}
	if c.flags["json"] {
		c.printJSON(values)
		return nil
	}
	for _, p := range s.Problems {
		if p.Severity > Note {
			fmt.Fprintln(c.Err, p)
		}
	}
	if n := len(s.Withheld); n > 0 {
		fmt.Fprintf(c.Err, "%d values of the project's files wait until the folder is trusted\n", n)
	}
	return nil
}

// secret reports that a value should not be shown on a screen unasked.
func secret(key string) bool {
	path := splitKey(key)
	name := strings.ToLower(path[len(path)-1])
	if len(path) < 2 || path[0] != "env" && path[len(path)-2] != "headers" && path[len(path)-2] != "env" {
		return false
	}
	return slices.ContainsFunc([]string{"key", "token", "secret", "password", "authorization", "credential", "cookie", "headers"}, func(s string) bool {
		return strings.Contains(name, s)
	})
}

// allKeys lists every key that has no keys below it.
func allKeys(s *shape, prefix string) (keys []string) {
	for _, f := range s.fields() {
		if f.shape.kind == kindObject && !f.replace {
			keys = append(keys, allKeys(f.shape, join(prefix, f.name))...)
		} else {
			keys = append(keys, join(prefix, f.name))
		}
	}
	return keys
}

// shownProblem is a problem in JSON output.
type shownProblem struct {
	shownOrigin
	Severity string `json:"severity"`
	Key      string `json:"key,omitempty"`
	Message  string `json:"message"`
}

func (c *command) lint(files []string) error {
	var problems []Problem
	if len(files) == 0 {
		var err error
		if problems, err = Lint(c.Options, c.CheckRule); err != nil {
			return err
		}
	}
	for _, file := range files {
		problems = append(problems, LintFile(c.Options, file, c.CheckRule)...)
	}
	bad := slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity > Note })
	if c.flags["json"] {
		out := []shownProblem{}
		for _, p := range problems {
			out = append(out, shownProblem{show(p.Origin), p.Severity.String(), p.Key, p.Message})
		}
		c.printJSON(out)
	} else {
		for _, p := range problems {
			fmt.Fprintln(c.Out, p)
		}
		if len(problems) == 0 {
			fmt.Fprintln(c.Out, "nothing is wrong")
		}
	}
	if bad {
		return errFound{}
	}
	return nil
}

func (c *command) importPolicy(files []string) error {
	return c.change(func(s *Store, l Layer) error {
		settings, err := c.Options.Path(l)
		if err != nil {
			return err
		}
		file := filepath.Join(filepath.Dir(settings), PolicyFile)
		if len(files) == 1 {
			file = files[0]
		}
		data, _, err := readRegular(file, maxFile)
		if err != nil {
			return fmt.Errorf("%s cannot be read: %s", file, reason(err))
		}
		rules, problems := parsePolicy(l, file, data)
		for _, p := range problems {
			fmt.Fprintln(c.Err, p)
		}
		failed := len(problems) > 0
		for _, r := range rules {
			texts, err := rulesFor(r.Pattern, r.List == "allow")
			if err != nil {
				fmt.Fprintf(c.Err, "%s: %q cannot be written as a rule; it stays in force through %s\n", r.Origin, r.Pattern, PolicyFile)
				failed = true
				continue
			}
			for _, text := range texts {
				fmt.Fprintf(c.Out, "%s %s", r.List, text)
				if r.Reason != "" {
					fmt.Fprintf(c.Out, "  (%s)", r.Reason)
				}
				fmt.Fprintln(c.Out)
				if !c.flags["dry-run"] {
					if err := s.AddRule(l, r.List, text); err != nil {
						return err
					}
				}
			}
		}
		if failed {
			return errFound{}
		}
		return nil
	})
}
