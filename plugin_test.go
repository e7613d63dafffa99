package gofer_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// putDeep writes a file and the folders above it.
func putDeep(c *client, name, content string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(c.dir, name)), 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.put(name, content)
}

// putPlugin writes a plugin that brings one thing of each kind.
func putPlugin(c *client, dir string) {
	putDeep(c, dir+"/.claude-plugin/plugin.json", `{"name": "kit", "description": "k", "mcpServers": {"inner": {"command": "/no/such/program"}}}`)
	putDeep(c, dir+"/commands/hello.md", "Say hello.")
	putDeep(c, dir+"/agents/checker.md", "---\nname: checker\ndescription: Checks\nhooks:\n  Stop: []\npermissionMode: bypassPermissions\n---\nCheck.")
	putDeep(c, dir+"/hooks/hooks.json", `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "touch marked"}]}]}}`)
	putDeep(c, dir+"/output-styles/pirate.md", "Arr.")
}

const onePluginCall = `
turn
  call Bash {"command": "true", "description": "Nothing"}
turn
  text done
turn
  call Bash {"command": "true", "description": "Nothing"}
turn
  text done
`

func TestPluginsAreReloaded(t *testing.T) {
	t.Parallel()
	c := startClient(t, onePluginCall, "--allowedTools", "Bash")
	putPlugin(c, "market/kit")
	putDeep(c, "market/.claude-plugin/marketplace.json", `{"name": "own", "owner": {"name": "t"}, "plugins": [{"name": "kit", "source": "./kit"}]}`)
	names := func(answer map[string]any) string {
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := names(c.request(map[string]any{"subtype": "initialize"})); strings.Contains(got, "kit:") || !strings.Contains(got, `"available_output_styles":["default","explanatory","learning"]`) {
		t.Errorf("at the start: %s", got)
	}
	settings := func(on bool) {
		putDeep(c, "home/.claude/settings.json", fmt.Sprintf(`{"extraKnownMarketplaces": {"own": {"source": {"source": "directory", "path": %q}}}, "enabledPlugins": {"kit@own": %v, "gone@own": %v}}`,
			filepath.Join(c.dir, "market"), on, on))
	}
	settings(true)
	got := names(c.request(map[string]any{"subtype": "reload_plugins"}))
	for _, want := range []string{`"name":"kit:hello"`, `"name":"kit:checker"`, `"plugins":[{"name":"kit","path":"`, `"name":"plugin:kit:inner"`, `"error_count":1`} {
		if !strings.Contains(got, want) {
			t.Errorf("after the plugin was enabled the answer lacks %s: %s", want, got)
		}
	}
	c.say("go")
	c.next("result")
	if !c.exists("marked") {
		t.Error("the hook of the plugin did not run")
	}
	if err := os.Remove(filepath.Join(c.dir, "marked")); err != nil {
		t.Fatal(err)
	}
	settings(false)
	if got = names(c.request(map[string]any{"subtype": "reload_plugins"})); strings.Contains(got, "kit:hello") || strings.Contains(got, "kit:checker") || !strings.Contains(got, `"plugins":[]`) {
		t.Errorf("after it was disabled: %s", got)
	}
	c.say("go")
	c.next("result")
	if c.exists("marked") {
		t.Error("the hook of a disabled plugin ran")
	}
}

func TestPluginsOfTheClient(t *testing.T) {
	t.Parallel()
	c := startClient(t, onePluginCall, "--await-initialize", "--allowedTools", "Bash")
	putPlugin(c, "kit")
	answer := c.request(map[string]any{"subtype": "initialize", "plugins": []any{map[string]any{"type": "local", "path": filepath.Join(c.dir, "kit")}}})
	if text := fmt.Sprint(answer); !strings.Contains(text, "kit:hello") || !strings.Contains(text, "kit:checker") || !strings.Contains(text, "kit:pirate") {
		t.Errorf("answer %s", text)
	}
	c.say("go")
	if first := c.next("system"); !strings.Contains(fmt.Sprint(first["plugins"]), filepath.Join("kit")) {
		t.Errorf("plugins %v", first["plugins"])
	}
	c.next("result")
	if !c.exists("marked") {
		t.Error("the hook of the plugin did not run")
	}
	c.end()
	if text := c.stderr.String(); !strings.Contains(text, "checker.md: hooks, permissionMode and mcpServers of an agent of a plugin count for nothing") {
		t.Errorf("what does not count is not said: %s", text)
	}
}

func TestAPluginFromAnAddress(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, text := range map[string]string{"kit-main/.claude-plugin/plugin.json": `{"name": "kit"}`, "kit-main/commands/hello.md": "Say hello."} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, text)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/kit.zip" {
			http.NotFound(w, r)
			return
		}
		w.Write(packed.Bytes())
	}))
	defer server.Close()
	c := startClient(t, onePluginCall, "--plugin-url", server.URL+"/kit.zip", "--plugin-url="+server.URL+"/none.zip")
	answer := fmt.Sprint(c.request(map[string]any{"subtype": "initialize"}))
	if !strings.Contains(answer, "kit:hello") {
		t.Errorf("answer %s", answer)
	}
	plugins := c.request(map[string]any{"subtype": "reload_plugins"})["response"].(map[string]any)["plugins"].([]any)
	path := plugins[0].(map[string]any)["path"].(string)
	c.end()
	if !strings.Contains(c.stderr.String(), "none.zip: it cannot be had: the server answered 404") {
		t.Errorf("what cannot be had is not said: %s", c.stderr.String())
	}
	if left, _ := os.ReadDir(filepath.Dir(filepath.Dir(path))); left != nil {
		t.Errorf("%s is left behind", path)
	}
}

func TestAReloadDoesNotGoBehindTrust(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		c := startClient(t, onePluginCall, "--await-initialize")
		putPlugin(c, "market/kit")
		putDeep(c, "market/.claude-plugin/marketplace.json", `{"name": "own", "owner": {"name": "t"}, "plugins": [{"name": "kit", "source": "./kit"}]}`)
		putDeep(c, ".claude/settings.json", `{"extraKnownMarketplaces": {"own": {"source": {"source": "directory", "path": "./market"}}}, "enabledPlugins": {"kit@own": true}}`)
		dir, err := filepath.EvalSymlinks(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		putDeep(c, "home/.claude.json", fmt.Sprintf(`{"projects": {%q: {"hasTrustDialogAccepted": %v}}}`, dir, trusted))
		if got := fmt.Sprint(c.request(map[string]any{"subtype": "initialize"})); strings.Contains(got, "kit:hello") != trusted {
			t.Errorf("trusted %v: %s", trusted, got)
		}
		if got := fmt.Sprint(c.request(map[string]any{"subtype": "reload_plugins"})); strings.Contains(got, "kit:hello") != trusted {
			t.Errorf("trusted %v, reloaded: %s", trusted, got)
		}
		putDeep(c, "market/kit/hooks/hooks.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch other"}]}]}}`)
		answer := c.request(map[string]any{"subtype": "reload_plugins"})
		if trusted && (answer["subtype"] != "error" || !strings.Contains(fmt.Sprint(answer["error"]), "have changed since it was trusted")) {
			t.Errorf("changed: %v", answer)
		}
		c.end()
	}
}
