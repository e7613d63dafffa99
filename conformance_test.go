package gofer_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gofer/internal/llm/script"
)

// The scenarios of the official suite for clients, and the tool that each of them wants to be called.
var conformance = map[string]string{
	"initialize": "", "tools_call": `add_numbers {"a":5,"b":3}`, "elicitation-sep1034-client-defaults": "test_client_elicitation_defaults {}", "sse-retry": "test_reconnection {}",
	"auth/metadata-default": "test-tool {}", "auth/metadata-var1": "test-tool {}", "auth/metadata-var2": "test-tool {}", "auth/metadata-var3": "test-tool {}",
	"auth/basic-cimd": "test-tool {}", "auth/scope-from-www-authenticate": "test-tool {}", "auth/scope-from-scopes-supported": "test-tool {}",
	"auth/scope-omitted-when-undefined": "test-tool {}", "auth/scope-step-up": "test-tool {}", "auth/scope-retry-limit": "test-tool {}",
	"auth/token-endpoint-auth-basic": "test-tool {}", "auth/token-endpoint-auth-post": "test-tool {}", "auth/token-endpoint-auth-none": "test-tool {}",
	"auth/offline-access-scope": "test-tool {}", "auth/offline-access-not-supported": "test-tool {}", "auth/cross-app-access-complete-flow": "test-tool {}", "auth/resource-mismatch": "test-tool {}", "auth/pre-registration": "test-tool {}", "auth/2025-03-26-oauth-metadata-backcompat": "test-tool {}",
	"auth/2025-03-26-oauth-endpoint-fallback": "test-tool {}", "auth/client-credentials-jwt": "test-tool {}", "auth/client-credentials-basic": "test-tool {}",
}

// The suite starts a client for each scenario: this test binary, which logs in with gofer mcp login where it has to, and then lets gofer call the tool.
func TestConformance(t *testing.T) {
	t.Parallel()
	program, node := npmServer(t, "conformance"), newNode(t)
	for scenario := range conformance {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, program, "client", "--command", os.Args[0], "--scenario", scenario, "--timeout", "50000")
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "GOFER_TEST_CONFORMANCE="+cmd.Dir, "GORACE="+quickExit)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// npmServer is the program of an MCP server that test/tools.sh took from npm.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("test", "mcp", "node_modules", "@modelcontextprotocol", name, "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%s is not installed: run test/tools.sh", name)
	}
	return file
}

// newNode is a Node.js that is new enough for the suite: the one of this machine, or the one that test/tools.sh took from npm.
func newNode(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join("test", "mcp", "node_modules", "node-*", "bin", "node"))
	for _, node := range append([]string{"node"}, found...) {
		if abs, err := filepath.Abs(node); err == nil && node != "node" {
			node = abs
		}
		out, err := exec.Command(node, "-p", "process.versions.node.split('.')[0] >= 22").Output()
		if err == nil && strings.TrimSpace(string(out)) == "true" {
			return node
		}
	}
	if runtime.GOOS == "linux" { // test/tools.sh takes one from npm there
		t.Fatal("the conformance suite needs Node.js 22: run test/tools.sh")
	}
	t.Skip("the conformance suite needs Node.js 22, and there is none")
	return ""
}

// beClient is the client of one scenario: the suite gives the address of its server as the last argument.
func beClient(dir string) int {
	scenario, url := os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[len(os.Args)-1]
	if err := playScenario(dir, scenario, url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func playScenario(dir, scenario, url string) error {
	src := "turn\n  text hello\n"
	if call := conformance[scenario]; call != "" {
		src = "turn\n  call mcp__t__" + call + "\nturn\n  text done\n"
	}
	parsed, err := script.Parse("scenario", []byte(src))
	if err != nil {
		return err
	}
	model := script.NewServer(parsed)
	address, err := model.Start()
	if err != nil {
		return err
	}
	defer model.Close()
	browser := filepath.Join(dir, "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\nGOFER_TEST_CONFORMANCE= GOFER_TEST_BROWSER=1 exec '"+os.Args[0]+"' \"$1\"\n"), 0o700); err != nil {
		return err
	}
	server := map[string]any{"type": "http", "url": url}
	addContext(server, scenario, os.Getenv("MCP_CONFORMANCE_CONTEXT"))
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"t": server}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".claude.json"), config, 0o600); err != nil {
		return err
	}
	gofer := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = append(os.Environ(), "GOFER_TEST_CONFORMANCE=", "GOFER_TEST_MAIN=1", "HOME="+dir, "BROWSER="+browser, "ANTHROPIC_BASE_URL="+address, "ANTHROPIC_API_KEY=x", "CLAUDE_CONFIG_DIR=", "GORACE="+quickExit)
		return cmd
	}
	if strings.HasPrefix(scenario, "auth/") {
		if err := gofer("mcp", "login", "t").Run(); err != nil {
			return err
		}
	}
	session := []string{"--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool=stdio", "--allowedTools", "mcp__t"}
	if scenario == "auth/scope-step-up" {
		// The call wants more than was granted. A person reads so, logs in again and goes on.
		if err := errors.Join(agreeToAll(gofer(session...)), gofer("mcp", "login", "t").Run()); err != nil {
			return err
		}
	}
	return agreeToAll(gofer(session...))
}

// agreeToAll says one prompt and accepts whatever servers ask, without filling in anything.
func agreeToAll(cmd *exec.Cmd) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Fprintln(in, `{"type":"user","message":{"role":"user","content":"go"}}`)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m struct {
			Type string
			ID   string `json:"request_id"`
		}
		json.Unmarshal(lines.Bytes(), &m)
		switch m.Type {
		case "control_request":
			fmt.Fprintf(in, `{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"action":"accept","content":{}}}}`+"\n", m.ID)
		case "result":
			in.Close()
		}
		fmt.Fprintln(os.Stderr, lines.Text())
	}
	return cmd.Wait()
}

// addContext gives the server what the suite has registered beforehand.
func addContext(server map[string]any, scenario, text string) {
	var c struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		PrivateKey   string `json:"private_key_pem"`
		IDPIssuer    string `json:"idp_issuer"`
		IDPClient    string `json:"idp_client_id"`
		IDToken      string `json:"idp_id_token"`
	}
	json.Unmarshal([]byte(text), &c)
	oauth := map[string]any{}
	for name, value := range map[string]string{"clientId": c.ClientID, "clientSecret": c.ClientSecret, "privateKey": c.PrivateKey} {
		if value != "" {
			oauth[name] = value
		}
	}
	if strings.HasPrefix(scenario, "auth/client-credentials") {
		oauth["grantType"] = "client_credentials"
	}
	if scenario == "auth/basic-cimd" {
		oauth["clientMetadataUrl"] = "https://conformance-test.local/client-metadata.json"
	}
	if c.IDPIssuer != "" {
		oauth["identity"] = map[string]any{"issuer": c.IDPIssuer, "clientId": c.IDPClient, "tokenHelper": "echo " + c.IDToken}
	}
	if len(oauth) > 0 {
		server["oauth"] = oauth
	}
}

// browse follows an address like a browser whose user agrees to everything.
func browse(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 1
	}
	resp.Body.Close()
	return 0
}
