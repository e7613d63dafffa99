package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// defaults is Settings with nothing but the defaults of the tags. It holds no lists and no maps, so a copy is deep.
var defaults = sync.OnceValue(func() Settings {
	var s Settings
	fillDefaults(settingsShape(), reflect.ValueOf(&s).Elem())
	return s
})

// resolve lays the texts over the defaults.
func resolve(opts Options, texts []*text) *Snapshot {
	snap := &Snapshot{Settings: defaults(), entries: map[string]*entry{}, texts: texts, opts: opts}
	var managed []*text
	for _, t := range texts {
		if t.layer == Managed {
			managed = append(managed, t)
		}
	}
	root := reflect.ValueOf(&snap.Settings).Elem()
	for _, t := range texts {
		d := &decoder{snap: snap, text: t, trust: opts.Trust, managed: managed}
		if t.fault != nil {
			snap.Problems = append(snap.Problems, *t.fault)
		}
		if t.loose != nil {
			d.problem(Warning, int(t.loose.off), "", "%s stands here; gofer reads it, but Claude Code refuses the whole file", t.loose.msg)
		}
		d.object(t.root, settingsShape(), root, "")
	}
	snap.enforce()
	snap.findInert()
	return snap
}

// enforce applies the switches by which managed settings keep a list or the hooks to themselves. It comes last, because a
// switch may stand in a stronger text than what it takes away.
func (s *Snapshot) enforce() {
	c := &s.Settings
	if c.Permissions.DefaultMode == "manual" {
		c.Permissions.DefaultMode = "default"
	}
	if c.AllowManagedPermissionRulesOnly {
		c.Permissions.Allow = s.keepManaged("permissions.allow", "allowManagedPermissionRulesOnly")
		c.Permissions.AdditionalDirectories = s.keepManaged("permissions.additionalDirectories", "allowManagedPermissionRulesOnly")
	}
	if c.Sandbox.Network.ManagedDomainsOnly {
		c.Sandbox.Network.AllowedDomains = s.keepManaged("sandbox.network.allowedDomains", "sandbox.network.allowManagedDomainsOnly")
	}
	if c.Sandbox.Filesystem.ManagedReadPathsOnly {
		c.Sandbox.Filesystem.AllowRead = s.keepManaged("sandbox.filesystem.allowRead", "sandbox.filesystem.allowManagedReadPathsOnly")
	}
	if c.AllowManagedMCPOnly {
		s.keepManaged("allowedMcpServers", "allowManagedMcpServersOnly")
		if e := s.entries["allowedMcpServers"]; e == nil || len(e.items) == 0 {
			c.AllowedMCPServers = nil
		}
	}
	s.enforceHooks()
}

func (s *Snapshot) enforceHooks() {
	c := &s.Settings
	byManaged := c.DisableAllHooks && s.entries["disableAllHooks"].origin.Layer == Managed
	switch {
	case byManaged:
		c.Hooks = nil
	case c.DisableAllHooks || c.AllowManagedHooksOnly:
		switchKey := "disableAllHooks"
		if c.AllowManagedHooksOnly {
			switchKey = "allowManagedHooksOnly"
		}
		for event, groups := range c.Hooks {
			s.keepManaged(join("hooks", event), switchKey)
			c.Hooks[event] = slices.DeleteFunc(slices.Clone(groups), func(g HookGroup) bool { return g.Origin.Layer != Managed })
		}
	}
	if c.DisableAllHooks {
		if e := s.entries["statusLine"]; byManaged || e == nil || e.origin.Layer != Managed {
			c.StatusLine = nil
		}
		c.SubagentStatusLine = nil
	}
}

// keepManaged drops the items of a list that do not come from managed settings, and returns the rest.
func (s *Snapshot) keepManaged(key, because string) []string {
	e := s.entries[key]
	if e == nil {
		return nil
	}
	var kept []item
	texts := []string{}
	for _, it := range e.items {
		if it.origin.Layer != Managed {
			s.Problems = append(s.Problems, Problem{Note, it.origin, key, fmt.Sprintf("has no effect: %s is set at %s", because, s.entries[because].origin)})
			continue
		}
		kept = append(kept, it)
		if !slices.Contains(texts, it.node.text) {
			texts = append(texts, it.node.text)
		}
	}
	e.items = kept
	return texts
}

// steers reports whether a variable changes which program runs, which server gets the keys, or what gofer itself does. Such a
// variable from a project waits for trust, also in a headless run.
func steers(name string) bool {
	name = strings.ToUpper(name)
	for _, prefix := range strings.Fields("ANTHROPIC_ OPENAI_ GEMINI_ GOOGLE_ AWS_ AZURE_ VERTEX_ CLOUD_ML_ CLAUDE_ GOFER_ MCP_ OTEL_ LD_ DYLD_ GIT_ NODE_ NPM_ PYTHON PERL RUBY JAVA_ GO_ SSH_ SSL_ CURL_ XDG_ BASH_FUNC") {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	for _, part := range []string{"_PROXY", "_API_KEY", "_BASE_URL", "_TOKEN", "_ENDPOINT"} {
		if strings.HasSuffix(name, part) {
			return true
		}
	}
	return slices.Contains(strings.Fields("PATH HOME SHELL ENV BASH_ENV ZDOTDIR IFS PS4 PROMPT_COMMAND EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER "+
		"GOFLAGS GOPROXY GOPATH GOROOT GOTOOLCHAIN CLASSPATH CDPATH SHELLOPTS BASHOPTS TMPDIR IS_SANDBOX REQUESTS_CA_BUNDLE RUSTC_WRAPPER MAKEFLAGS CC CXX"), name)
}
