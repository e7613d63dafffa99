package guard

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"gofer/internal/guard/shellsyntax"
)

// Anchors tell a RuleSet what its patterns are relative to.
type Anchors struct {
	Dir       string // the working directory of the session
	Home      string
	Untrusted bool // the project is not trusted: its rules that allow do not count
}

// A RuleSet is a list of rules made ready for many decisions. It does not change.
type RuleSet struct {
	rules   []Rule
	deny    tier
	ask     tier
	managed tier // the rules of ask that come from an administrator
	allow   tier
	places  places
	ignored int
}

// Compile makes rules ready. Rules that allow and come from an untrusted project are left out; Ignored counts them.
func Compile(rules []Rule, at Anchors) *RuleSet {
	s := &RuleSet{rules: append([]Rule(nil), rules...)}
	s.places = places{dir: slash(at.Dir), home: slash(at.Home), fold: runtime.GOOS == "darwin" || runtime.GOOS == "windows"}
	for i := range s.rules {
		r := &s.rules[i]
		if r.Tool == "Task" {
			r.Tool = "Agent"
		}
		switch r.Behavior {
		case Deny:
			s.deny.add(r, s.places)
		case Ask:
			s.ask.add(r, s.places)
			if r.Source == FromManaged {
				s.managed.add(r, s.places)
			}
		case Allow:
			if at.Untrusted && r.Source == FromProject {
				s.ignored++
				continue
			}
			s.allow.add(r, s.places)
		}
	}
	return s
}

// Rules returns what the set was made of.
func (s *RuleSet) Rules() []Rule {
	if s == nil {
		return nil
	}
	return s.rules
}

// Ignored is the number of rules that do not count because the project is not trusted.
func (s *RuleSet) Ignored() int { return s.ignored }

// Removes reports whether a rule denies every call of a tool, so that the model need not know the tool.
func (s *RuleSet) Removes(tool string) bool { return s != nil && s.deny.wholeTool(tool, true) != nil }

// HidesFile reports whether reading the file is denied. Tools that search folders leave such files out.
func (s *RuleSet) HidesFile(file string) bool {
	return s != nil && s.deny.read.find(s.places, slash(file)) != nil
}

// HidesAny reports whether HidesFile can be true for any file.
func (s *RuleSet) HidesAny() bool { return s != nil && s.deny.read.len() > 0 }

func slash(p string) string {
	if p == "" {
		return ""
	}
	return filepath.ToSlash(p)
}

// A tier holds the rules of one behavior, found by what they are about.
type tier struct {
	whole    map[string]*Rule
	servers  []*Rule // mcp__server, mcp__server__*
	byFirst  map[string][]*commandRule
	anyFirst []*commandRule
	power    []*commandRule // PowerShell
	read     pathIndex
	write    pathIndex
	only     map[string]*pathIndex // rules such as Write(x), for one tool
	domains  map[string]*Rule
	under    []*Rule // domain:*.x
	uses     map[string][]*commandRule
}

func (t *tier) add(r *Rule, at places) {
	if r.Content == "" {
		t.addWhole(r, at)
		return
	}
	switch {
	case r.Tool == "Bash":
		c := newCommandRule(r)
		if c.first == "" {
			t.anyFirst = append(t.anyFirst, c)
			return
		}
		if t.byFirst == nil {
			t.byFirst = map[string][]*commandRule{}
		}
		t.byFirst[c.first] = append(t.byFirst[c.first], c)
	case r.Tool == "PowerShell":
		t.power = append(t.power, newCommandRule(r))
	case r.Tool == "Read":
		t.read.add(at.compile(r))
	case r.Tool == "Edit":
		t.write.add(at.compile(r))
	case isFileTool(r.Tool):
		if r.Behavior == Allow {
			return // see Rule.Warning
		}
		if t.only == nil {
			t.only = map[string]*pathIndex{}
		}
		if t.only[r.Tool] == nil {
			t.only[r.Tool] = &pathIndex{}
		}
		t.only[r.Tool].add(at.compile(r))
	case r.Tool == "WebFetch":
		t.addDomain(r)
	default:
		if t.uses == nil {
			t.uses = map[string][]*commandRule{}
		}
		t.uses[r.Tool] = append(t.uses[r.Tool], newCommandRule(r))
	}
}

// addWhole adds a rule for all calls of a tool. To deny or to ask for Read or Edit as a whole is a rule for all paths.
func (t *tier) addWhole(r *Rule, at places) {
	if strings.HasPrefix(r.Tool, "mcp__") && (strings.HasSuffix(r.Tool, "*") || strings.Count(r.Tool, "__") == 1) {
		t.servers = append(t.servers, r)
		return
	}
	if t.whole == nil {
		t.whole = map[string]*Rule{}
	}
	if t.whole[r.Tool] == nil {
		t.whole[r.Tool] = r
	}
	everywhere := func(index *pathIndex) { index.add(pathPattern{rule: r, anywhere: true, elements: []string{"**"}}) }
	switch {
	case r.Tool == "Read":
		everywhere(&t.read)
	case r.Tool == "Edit" && r.Behavior != Allow:
		everywhere(&t.write)
	}
}

func (t *tier) addDomain(r *Rule) {
	domain := strings.ToLower(strings.TrimPrefix(r.Content, "domain:"))
	if strings.HasPrefix(domain, "*.") {
		t.under = append(t.under, r)
		return
	}
	if t.domains == nil {
		t.domains = map[string]*Rule{}
	}
	t.domains[domain] = r
}

// wholeTool finds the rule for all calls of a tool.
func (t *tier) wholeTool(name string, restrict bool) *Rule {
	if r := t.whole[name]; r != nil {
		return r
	}
	if restrict && writes(name) {
		if r := t.whole["Edit"]; r != nil {
			return r
		}
	}
	if !strings.HasPrefix(name, "mcp__") {
		return nil
	}
	for _, r := range t.servers {
		prefix := strings.TrimSuffix(r.Tool, "*")
		if strings.HasSuffix(r.Tool, "*") && strings.HasPrefix(name, prefix) || name == r.Tool || strings.HasPrefix(name, r.Tool+"__") {
			return r
		}
	}
	return nil
}

// command finds a rule that fits one of the texts.
func (t *tier) command(texts ...string) *commandRule {
	if len(t.byFirst) == 0 && len(t.anyFirst) == 0 {
		return nil
	}
	for _, text := range texts {
		if text == "" {
			continue
		}
		if strings.Contains(text, "  ") || strings.ContainsAny(text, "\t\n") {
			text = strings.Join(strings.Fields(text), " ")
		}
		first, _, _ := strings.Cut(text, " ")
		for _, c := range t.byFirst[first] {
			if c.fits(text) {
				return c
			}
		}
		for _, c := range t.anyFirst {
			if c.fits(text) {
				return c
			}
		}
	}
	return nil
}

// mayCommand finds a rule that fits for some value of the unknown words of pattern.
func (t *tier) mayCommand(pattern string) *Rule {
	first, _, _ := strings.Cut(pattern, " ")
	for _, c := range t.byFirst[first] {
		if c.mayFit(pattern) {
			return c.rule
		}
	}
	for _, c := range t.anyFirst {
		if c.mayFit(pattern) {
			return c.rule
		}
	}
	return nil
}

func (t *tier) host(host string) *Rule {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if r := t.domains[host]; r != nil {
		return r
	}
	for _, r := range t.under {
		if strings.HasSuffix(host, strings.ToLower(strings.TrimPrefix(r.Content, "domain:*"))) {
			return r
		}
	}
	return nil
}

func (t *tier) use(tool, target string) *Rule {
	for _, c := range t.uses[tool] {
		if c.fits(target) || c.open && strings.HasPrefix(target, c.exact) && c.parts == nil {
			return c.rule
		}
	}
	return nil
}

// A pathIndex finds the patterns that fit a path without trying them all.
type pathIndex struct {
	names    map[string]*Rule // a literal name at any depth
	suffixes map[string]*Rule // *.ext at any depth
	folders  map[string]*Rule // a literal path and all below it
	rest     []pathPattern
	all      []pathPattern
}

func (x *pathIndex) len() int { return len(x.all) }

func (x *pathIndex) add(p pathPattern) {
	x.all = append(x.all, p)
	put := func(m *map[string]*Rule, key string) {
		if *m == nil {
			*m = map[string]*Rule{}
		}
		if (*m)[key] == nil {
			(*m)[key] = p.rule
		}
	}
	if p.anywhere && len(p.elements) == 2 && p.elements[0] == "**" {
		name := p.elements[1]
		if !strings.ContainsAny(name, `*?[\`) {
			put(&x.names, name)
			return
		}
		if ext := strings.TrimPrefix(name, "*"); strings.HasPrefix(ext, ".") && strings.Count(ext, ".") == 1 && !strings.ContainsAny(ext, `*?[\`) {
			put(&x.suffixes, ext)
			return
		}
	}
	if p.literal && !p.anywhere {
		put(&x.folders, p.folder)
		return
	}
	x.rest = append(x.rest, p)
}

// find returns the rule of a pattern that fits the absolute, cleaned path or a folder above it.
func (x *pathIndex) find(at places, file string) *Rule {
	if len(x.all) == 0 {
		return nil
	}
	file = at.lower(file)
	if len(x.folders) > 0 {
		for p := file; ; p = path.Dir(p) {
			if r := x.folders[p]; r != nil {
				return r
			}
			if p == "/" || p == "." {
				break
			}
		}
	}
	if len(x.names) > 0 || len(x.suffixes) > 0 {
		for rest := file; rest != ""; {
			var name string
			name, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
			if r := x.names[name]; r != nil {
				return r
			}
			if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
				if r := x.suffixes[name[dot:]]; r != nil {
					return r
				}
			}
		}
	}
	if len(x.rest) == 0 {
		return nil
	}
	elements := split(file)
	for i := range x.rest {
		p := &x.rest[i]
		if (p.folder == "" || within(file, p.folder)) && p.fits(elements) {
			return p.rule
		}
	}
	return nil
}

// may returns the rule of a pattern that fits for some value of what is wild in the path.
func (x *pathIndex) may(at places, pattern string) *Rule {
	if len(x.all) == 0 {
		return nil
	}
	pattern = at.lower(pattern)
	root := pattern[:max(strings.IndexAny(pattern, shellsyntax.Wild), 0)]
	root = "/" + strings.Trim(root[:strings.LastIndexByte(root, '/')+1], "/")
	elements := split(pattern)
	for i := range x.all {
		p := &x.all[i]
		if p.folder != "" && !within(root, p.folder) && !within(p.folder, root) {
			continue // they part in what is literal
		}
		if p.mayFit(elements) {
			return p.rule
		}
	}
	return nil
}

func split(file string) []string {
	list := make([]string, 0, 16)
	for e := range strings.SplitSeq(file, "/") {
		if e != "" {
			list = append(list, e)
		}
	}
	return list
}

// within reports whether file is folder or below it.
func within(file, folder string) bool {
	if folder == "/" {
		return strings.HasPrefix(file, "/")
	}
	return strings.HasPrefix(file, folder) && (len(file) == len(folder) || file[len(folder)] == '/')
}
