package plugin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"testing"

	"gofer/internal/extend/plugin"
)

func TestLoadFindsTheUsualPlacesAndThoseOfTheManifest(t *testing.T) {
	t.Parallel()
	dir := put(t, filepath.Join(t.TempDir(), "kit"),
		".claude-plugin/plugin.json", `{"name": "kit", "version": "1.2.3", "author": {"name": "Ann"}, "repository": {"type": "git", "url": "u"},
			"commands": ["./more/special.md", "./extra"], "skills": "./talents", "hooks": ["./h.json", {"Stop": []}],
			"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db", "args": ["--key", "${user_config.key}", "${HOME}"], "timeout": 1234567890123}},
			"lspServers": "./lsp.json", "userConfig": {"key": {"type": "string", "sensitive": true}, "level": {"default": 3}, "must": {"required": true}}}`,
		"commands/not-read.md", "x", "more/special.md", "x", "extra/a.md", "x", "skills/s/SKILL.md", "x", "talents/t/SKILL.md", "x",
		"agents/a.md", "x", "output-styles/o.md", "x", "hooks/hooks.json", `{"hooks": {"PreToolUse": []}}`, "h.json", `{"PostToolUse": []}`,
		".mcp.json", `{"mcpServers": {"files": {"command": "f"}}}`, "lsp.json", `{"go": {"command": "gopls"}}`)
	store := t.TempDir()
	p, err := plugin.Load(dir, plugin.LoadOptions{Marketplace: "m", Store: store, Values: map[string]json.RawMessage{"key": json.RawMessage(`"s3cret"`)}})
	if err != nil {
		t.Fatal(err)
	}
	names := func(parts []plugin.Part) (list []string) {
		for _, part := range parts {
			rel, _ := filepath.Rel(p.Root, part.Path)
			list = append(list, filepath.ToSlash(rel))
		}
		return list
	}
	for what, c := range map[string]struct{ got, want []string }{
		"commands": {names(p.Commands), []string{"more/special.md", "extra"}},
		"skills":   {names(p.Skills), []string{"talents", "skills"}},
		"agents":   {names(p.Agents), []string{"agents"}},
		"styles":   {names(p.Styles), []string{"output-styles"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	if len(p.Hooks) != 3 || len(p.Servers) != 2 || len(p.Languages) != 1 {
		t.Errorf("%d hooks, %d servers, %d language servers", len(p.Hooks), len(p.Servers), len(p.Languages))
	}
	if got, want := string(p.Servers["db"]), `{"args":["--key","s3cret","${HOME}"],"command":"`+p.Root+`/db","timeout":1234567890123}`; got != want {
		t.Errorf("server %s, want %s", got, want)
	}
	if want := []string{"CLAUDE_PLUGIN_ROOT=" + p.Root, "CLAUDE_PLUGIN_DATA=" + filepath.Join(store, "data", "kit-m"), "CLAUDE_PLUGIN_OPTION_KEY=s3cret", "CLAUDE_PLUGIN_OPTION_LEVEL=3"}; !slices.Equal(p.Env(), want) {
		t.Errorf("environment %v, want %v", p.Env(), want)
	}
	if got := p.Expand("${CLAUDE_PLUGIN_ROOT} ${user_config.level} ${user_config.key}"); got != p.Root+" 3 ${user_config.key}" {
		t.Errorf("expanded to %q: a secret must not reach the model", got)
	}
	if len(p.Problems) != 1 || !strings.Contains(p.Problems[0], `"must"`) {
		t.Errorf("problems %q", p.Problems)
	}
	if got := p.Count(); got != "2 commands, 1 agent, 2 skills, 2 MCP servers, 1 language server, 1 output style" {
		t.Errorf("counted %q", got)
	}
}

func TestEntriesAndManifests(t *testing.T) {
	t.Parallel()
	bare := put(t, filepath.Join(t.TempDir(), "bare"), "agents/a.md", "x")
	full := put(t, filepath.Join(t.TempDir(), "full"), ".claude-plugin/plugin.json", `{"name": "full", "hooks": {"Stop": []}}`)
	entry := func(text string) *plugin.Entry {
		var e plugin.Entry
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		return &e
	}
	p, err := plugin.Load(bare, plugin.LoadOptions{})
	if err != nil || p.Name != "bare" || len(p.Agents) != 1 {
		t.Errorf("a plugin without a manifest: %+v, %v", p, err)
	}
	p, err = plugin.Load(bare, plugin.LoadOptions{Entry: entry(`{"name": "called", "version": "2", "strict": false, "hooks": {"Stop": []}}`)})
	if err != nil || p.Name != "called" || p.Version != "2" || len(p.Hooks) != 1 {
		t.Errorf("an entry as the manifest: %+v, %v", p, err)
	}
	p, err = plugin.Load(full, plugin.LoadOptions{Entry: entry(`{"name": "full", "version": "3", "hooks": {"Start": []}}`)})
	if err != nil || len(p.Hooks) != 2 || p.Version != "3" {
		t.Errorf("an entry adds to a manifest: %+v, %v", p, err)
	}
	_, err = plugin.Load(full, plugin.LoadOptions{Entry: entry(`{"name": "full", "strict": false}`)})
	wantError(t, err, `"strict": false`)
	_, err = plugin.Load(full, plugin.LoadOptions{Entry: entry(`{"name": "other"}`)})
	wantError(t, err, `calls itself "full"`)
	_, err = plugin.Load(t.TempDir(), plugin.LoadOptions{})
	wantError(t, err, "is no plugin")
}

func TestHostileManifests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ manifest, want string }{
		"no JSON":       {"{\n\n  nonsense", "line 3"},
		"a name of ..":  {`{"name": ".."}`, "cannot be the name"},
		"a path":        {`{"name": "../../etc"}`, "cannot be the name"},
		"a long name":   {`{"name": "` + strings.Repeat("a", 5000) + `"}`, "5000 characters"},
		"no name":       {`{}`, "no name"},
		"line breaks":   {`{"name": "a\nb"}`, "cannot be the name"},
		"deep nesting":  {`{"name": "x", "hooks": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "depth"},
		"two megabytes": {`{"name": "x", "description": "` + strings.Repeat("a", 2<<20) + `"}`, "more than 1024 KB"},
		"wrong kinds":   {`{"name": "x", "keywords": {"a": 1}}`, "keywords"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := plugin.Load(put(t, t.TempDir(), ".claude-plugin/plugin.json", c.manifest), plugin.LoadOptions{})
			wantError(t, err, c.want)
		})
	}
}

func TestNothingLeadsOutOfThePlugin(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	put(t, base, "secret/secret.md", "secret", "secret/hooks.json", `{"Stop": []}`)
	link := func(dir, name, target string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	dir := put(t, filepath.Join(base, "kit"), ".claude-plugin/plugin.json", `{"name": "kit", "commands": ["../secret", "/etc", "~/x", "./a/../../secret"], "agents": "./gone",
		"hooks": "./hooks/link.json", "mcpServers": ["../secret/hooks.json", 7], "outputStyles": {"a": 1}}`, "skills/ok/SKILL.md", "x", "inner/x.md", "x")
	link(dir, "skills/out", filepath.Join(base, "secret"))
	link(dir, "hooks/link.json", filepath.Join(base, "secret", "hooks.json"))
	p, err := plugin.Load(dir, plugin.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Commands != nil || p.Agents != nil || p.Skills != nil || p.Hooks != nil || p.Servers != nil || p.Styles != nil {
		t.Errorf("something of it is left: %s", jsonOf(t, p))
	}
	text := strings.Join(p.Problems, "\n")
	for _, want := range []string{`"../secret" leads out`, `"/etc" must be relative`, `"~/x" must be relative`, `leads out of the plugin`, "agents: ./gone", "hooks: the path", "skills: the path", "mcpServers must be", "outputStyles must be"} {
		if !strings.Contains(text, want) {
			t.Errorf("no problem says %q:\n%s", want, text)
		}
	}
	os.Remove(filepath.Join(dir, "skills/out"))
	link(dir, "skills/in", filepath.Join(dir, "skills/ok"))
	if p, err = plugin.Load(dir, plugin.LoadOptions{}); err != nil || len(p.Skills) != 1 {
		t.Errorf("a link inside is fine, but: %v, %v", p.Skills, err)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted, version string
		fits            bool
	}{
		{"", "anything", true}, {"*", "1.0.0", true}, {"1.2.3", "1.2.3", true}, {"1.2.3", "1.2.4", false}, {"=1.2.3", "1.2.3", true},
		{"^1.2", "1.2.0", true}, {"^1.2", "1.9.9", true}, {"^1.2", "2.0.0", false}, {"^1.2", "1.1.9", false}, {"^0.2.3", "0.2.9", true}, {"^0.2.3", "0.3.0", false}, {"^0.0.3", "0.0.4", false}, {"^0", "0.9.1", true},
		{"~1.2.3", "1.2.9", true}, {"~1.2.3", "1.3.0", false}, {"~1", "1.9.0", true}, {"~1.2", "1.3.0", false},
		{">=1.0.0 <2.0.0", "1.5.0", true}, {">=1.0.0 <2.0.0", "2.0.0", false}, {">= 1.0.0", "3.0.0", true}, {">1.2.3", "1.2.3", false}, {">1.2.3", "1.2.4", true}, {">1", "1.9.0", false}, {">1", "2.0.0", true}, {"<=1.2", "1.2.9", true}, {"<=1.2.3", "1.2.3", true}, {"<=1.2.3", "1.2.4", false},
		{"1.x", "1.4.0", true}, {"1.x", "2.0.0", false}, {"1.0 - 2.0", "1.5.0", true}, {"1.0.0 - 2.0.0", "2.0.1", false}, {"^1 || ^3", "3.1.0", true}, {"^1 || ^3", "2.0.0", false},
		{"^2.0.0", "2.0.0-beta.1", false}, {"^2.0.0-0", "2.0.0-beta.1", true}, {">=2.0.0-beta.2", "2.0.0-beta.10", true}, {">=2.0.0-beta.2", "2.0.0-beta.1", false}, {"^1", "2.0.0-rc.1", false}, {"^1.0.0-0", "2.0.0-rc.1", false},
		{"^1", "abcdef012345", false}, {"nonsense", "1.0.0", false}, {"^", "1.0.0", false}, {"1.2.3.4", "1.2.3", false}, {"^v1.2", "v1.3.0", true},
	} {
		if got := plugin.Fits(c.wanted, c.version); got != c.fits {
			t.Errorf("Fits(%q, %q) = %v", c.wanted, c.version, got)
		}
	}
}
