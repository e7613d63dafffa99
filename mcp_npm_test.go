//go:build unix

package gofer_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// overNetwork starts server-everything with one of its network transports and returns its port.
func overNetwork(t *testing.T, program, transport string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	cmd := exec.Command("node", program, transport)
	cmd.Env = append(os.Environ(), "PORT="+port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), port) {
			go func() { // it goes on talking, and must not be stopped by a full pipe
				for lines.Scan() {
				}
			}()
			return port
		}
	}
	t.Fatal("the server ended before it listened")
	return ""
}

// The server that shows everything, over each of its transports: tools of all kinds, progress, pictures, resources, prompts as commands, mentions,
// roots, and its questions to the person and to the model.
func TestServerEverything(t *testing.T) {
	t.Parallel()
	program := npmServer(t, "server-everything")
	for _, transport := range []string{"stdio", "streamableHttp", "sse"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			config := map[string]any{"command": "node", "args": []string{program, "stdio"}}
			switch transport {
			case "streamableHttp":
				config = map[string]any{"type": "http", "url": "http://127.0.0.1:" + overNetwork(t, program, transport) + "/mcp"}
			case "sse":
				config = map[string]any{"type": "sse", "url": "http://127.0.0.1:" + overNetwork(t, program, transport) + "/sse"}
			}
			useEverything(t, config)
		})
	}
}

func useEverything(t *testing.T, server map[string]any) {
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"all": server}})
	if err != nil {
		t.Fatal(err)
	}
	c := startClient(t, `turn
  text hello
turn
  call mcp__all__echo {"message":"to and fro"}
  call mcp__all__get-sum {"a":20,"b":22}
  call mcp__all__get-tiny-image {}
  call mcp__all__get-structured-content {"location":"Chicago"}
  call mcp__all__get-resource-links {"count":2}
  call mcp__all__get-resource-reference {"resourceType":"Text","resourceId":1}
  call mcp__all__get-annotated-message {"messageType":"error"}
  call mcp__all__trigger-long-running-operation {"duration":0.2,"steps":2}
  call mcp__all__trigger-elicitation-request {}
  call mcp__all__trigger-sampling-request {"prompt":"the colour of the sea","maxTokens":20}
  call mcp__all__get-roots-list {}
  call ListMcpResources {}
  call ReadMcpResource {"server":"all","uri":"demo://resource/static/document/features.md"}
  call mcp__all__get-sum {"a":"no number"}
turn
  text done
turn
  text prompted
turn
  text mentioned
section sampled
  when first_user ~ colour of the sea
  turn
    text blue, says the model
`, "--permission-prompt-tool=stdio", "--allowedTools", "mcp__all", "ListMcpResources", "ReadMcpResource", "--mcp-config", string(servers))
	asked := 0
	c.answer = func(r map[string]any) any {
		if r["subtype"] != "elicitation" || r["requested_schema"] == nil {
			t.Errorf("gofer asks %v", r)
		}
		asked++
		return map[string]any{"action": "accept", "content": map[string]any{"name": "Ada", "check": true}}
	}
	c.request(map[string]any{"subtype": "initialize"})
	c.say("wait for the server")
	c.next("result")
	c.say("try all of it")
	c.next("result")
	c.say("/mcp__all__args-prompt Paris France")
	c.next("result")
	c.say("what is in @all:demo://resource/static/document/features.md")
	c.next("result")
	if asked != 1 {
		t.Errorf("the person was asked %d times", asked)
	}
	requests := c.server.Requests()
	var bodies []string
	for _, r := range requests {
		bodies = append(bodies, string(r.Body))
	}
	last := bodies[len(bodies)-1]
	for _, want := range []string{"Echo: to and fro", "is 42", `"type":"image"`, "temperature", "demo://resource/dynamic/", "Ada", "blue, says the model", "features.md", "Long running operation completed", "Paris"} {
		if !strings.Contains(last, want) {
			t.Errorf("%q did not reach the model", want)
		}
	}
	if !strings.Contains(last, filepath.Base(c.dir)) {
		t.Error("the server did not learn of the working folder")
	}
	if c.end() != 0 {
		t.Error(c.stderr.String())
	}
}

// Servers that do one thing: files below a folder, and a memory that the next session finds.
func TestServersForFilesAndMemory(t *testing.T) {
	t.Parallel()
	files, memory := npmServer(t, "server-filesystem"), npmServer(t, "server-memory")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"files":  map[string]any{"command": "node", "args": []string{files, dir}},
		"memory": map[string]any{"command": "node", "args": []string{memory}, "env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(src string) string {
		c := startClient(t, src, "--allowedTools", "mcp__files", "mcp__memory", "--add-dir", dir, "--mcp-config", string(servers))
		c.say("go")
		c.next("result")
		c.end()
		all := c.server.Requests()
		return string(all[len(all)-1].Body)
	}
	note := filepath.Join(dir, "note.txt")
	first := run(fmt.Sprintf(`turn
  call mcp__files__write_file {"path":%q,"content":"milk"}
  call mcp__memory__create_entities {"entities":[{"name":"Ada","entityType":"person","observations":["likes engines"]}]}
turn
  call mcp__files__read_text_file {"path":%q}
  call mcp__files__read_text_file {"path":"/etc/hostname"}
turn
  text done
`, note, note))
	if !strings.Contains(first, "milk") || !strings.Contains(first, "ccess denied") && !strings.Contains(first, "not allowed") {
		t.Errorf("files: %s", first[max(0, len(first)-2000):])
	}
	if data, err := os.ReadFile(note); err != nil || string(data) != "milk" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if second := run("turn\n  call mcp__memory__search_nodes {\"query\":\"Ada\"}\nturn\n  text done\n"); !strings.Contains(second, "likes engines") {
		t.Errorf("memory: %s", second[max(0, len(second)-2000):])
	}
}
