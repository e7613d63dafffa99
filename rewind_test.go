package gofer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const rewindScript = `
turn
call Read {"file_path":"A"}
turn
call Edit {"file_path":"A","old_string":"old A","new_string":"new A"}
turn
call Bash {"command":"rm B; mv C D; mkdir -p deep; echo E > deep/E; cat F"}
turn
call Write {"file_path":"made/by/write","content":"x"}
turn
text changed
turn
call Bash {"command":"echo second >> A"}
turn
text changed again
turn
text told
turn
text copied
`

func (c *client) put(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// tree is what is in the project.
func (c *client) tree() string {
	c.t.Helper()
	var lines []string
	filepath.WalkDir(c.dir, func(path string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(c.dir, path)
		switch {
		case err != nil:
			return err
		case rel == "home" || rel == ".git":
			return filepath.SkipDir
		case e.IsDir():
			lines = append(lines, rel+"/")
		default:
			content, _ := os.ReadFile(path)
			lines = append(lines, rel+"="+string(content))
		}
		return nil
	})
	return strings.Join(lines, "|")
}

func (c *client) run(name string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.cmd.Env
	if name == "gofer" {
		cmd = exec.Command(os.Args[0], args...)
		cmd.Dir, cmd.Env = c.dir, c.cmd.Env
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "failed: " + stderr.String()
	}
	return string(out)
}

func (c *client) tell(uuid, text string) {
	c.t.Helper()
	c.send(map[string]any{"type": "user", "uuid": uuid, "message": map[string]any{"role": "user", "content": text}})
	if r := c.next("result"); r["is_error"] != false {
		c.t.Fatalf("the turn failed: %v", r)
	}
}

// A program rewinds the files of a session while it lives, and a person does so after it has ended.
func TestFilesAreRewound(t *testing.T) {
	t.Parallel()
	c := startClient(t, rewindScript, "--allowedTools", "Bash", "Edit", "Write", "--session-id", "44444444-4444-4444-8444-444444444444")
	for _, name := range []string{"A", "B", "C", "F"} {
		c.put(name, "old "+name+"\n")
	}
	c.run("git", "init", "-q")
	c.run("git", "add", "A", "B")
	before := c.tree()
	const first, second = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
	c.tell(first, "go")
	c.put("F", "the user's F\n")
	middle := c.tree()
	c.tell(second, "on")
	after := c.tree()
	if middle == before || after == middle {
		t.Fatalf("nothing was changed: %s", after)
	}
	back := strings.Replace(before, "old F", "the user's F", 1)

	dry := c.request(map[string]any{"subtype": "rewind_files", "user_message_id": first, "dry_run": true})["response"].(map[string]any)
	if dry["canRewind"] != true || len(dry["filesChanged"].([]any)) != 6 || dry["insertions"] != 3.0 || dry["deletions"] != 5.0 || c.tree() != after {
		t.Errorf("the dry run says %v", dry)
	}
	done := c.request(map[string]any{"subtype": "rewind_files", "user_message_id": second})["response"].(map[string]any)
	if done["canRewind"] != true || c.tree() != middle {
		t.Errorf("to the second message: %v\ngot  %s\nwant %s", done, c.tree(), middle)
	}
	c.request(map[string]any{"subtype": "rewind_files", "user_message_id": first})
	if c.tree() != back {
		t.Errorf("to the first message:\ngot  %s\nwant %s", c.tree(), back)
	}
	c.request(map[string]any{"subtype": "rewind_files", "user_message_id": done["checkpoint"]})
	if c.tree() != after {
		t.Errorf("forward:\ngot  %s\nwant %s", c.tree(), after)
	}
	wrong := c.request(map[string]any{"subtype": "rewind_files", "user_message_id": "nonsense"})["response"].(map[string]any)
	if wrong["canRewind"] != false || wrong["error"] == "" {
		t.Errorf("an unknown message: %v", wrong)
	}
	c.tell("aaaaaaaa-0000-4000-8000-000000000003", "what now?")
	requests := c.server.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, "taken back changes of files") {
		t.Error("the model was not told")
	}
	busy := c.run("gofer", "--resume", "44444444-4444-4444-8444-444444444444", "--rewind-files", first)
	if !strings.Contains(busy, "another gofer has this session open") {
		t.Errorf("a live session was rewound: %s", busy)
	}
	if code := c.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.stderr.String())
	}
	said := c.run("gofer", "--resume", "44444444-4444-4444-8444-444444444444", "--rewind-files", first)
	if c.tree() != back || !strings.Contains(said, "brought back B (+1 -0)") || strings.Contains(said, "F:") {
		t.Errorf("it said\n%s\ngot  %s\nwant %s", said, c.tree(), back)
	}
	redo := regexp.MustCompile(`--rewind-files (rewind-\S+)`).FindStringSubmatch(said)
	if redo == nil {
		t.Fatalf("it does not say how to take it back: %s", said)
	}
	c.run("gofer", "--resume", "44444444-4444-4444-8444-444444444444", "--rewind-files", redo[1])
	if c.tree() != after {
		t.Errorf("taken back:\ngot  %s\nwant %s", c.tree(), after)
	}
	if said := c.run("gofer", "--rewind-files", first); !strings.Contains(said, "needs --resume") {
		t.Errorf("without a session it said %s", said)
	}
	// A copy of the session has the history too.
	fork := c.run("gofer", "-p", "x", "--resume", "44444444-4444-4444-8444-444444444444", "--fork-session", "--session-id", "55555555-5555-4555-8555-555555555555", "--output-format", "json")
	if !json.Valid([]byte(fork)) {
		t.Fatalf("the fork says %s", fork)
	}
	c.run("gofer", "--resume", "55555555-5555-4555-8555-555555555555", "--rewind-files", first)
	if c.tree() != back {
		t.Errorf("by the copy:\ngot  %s\nwant %s", c.tree(), back)
	}
}

// What a command does in the background after its call has returned is named, and left.
func TestChangesInTheBackgroundAreNamed(t *testing.T) {
	t.Parallel()
	c := startClient(t, `
turn
call Bash {"command":"until [ -e go ]; do sleep 0.02; done; echo late > A; rm go", "run_in_background": true}
turn
call Bash {"command":"echo now > B"}
turn
text waiting
loop
turn
text noticed
`, "--allowedTools", "Bash")
	c.put("A", "old A\n")
	c.put("B", "old B\n")
	c.run("git", "init", "-q")
	const id = "aaaaaaaa-0000-4000-8000-000000000001"
	c.tell(id, "go")
	c.put("go", "")
	for m := c.next("system"); m["subtype"] != "task_notification"; m = c.next("system") {
	}
	c.next("result")
	done := c.request(map[string]any{"subtype": "rewind_files", "user_message_id": id})["response"].(map[string]any)
	left, _ := json.Marshal(done["leftAlone"])
	if !strings.Contains(string(left), filepath.Join(c.dir, "A")) || !strings.Contains(string(left), "in the background") || strings.Contains(string(left), `/B"`) {
		t.Errorf("got %v", done)
	}
	if got := c.tree(); !strings.Contains(got, "A=late") || !strings.Contains(got, "B=old B") {
		t.Errorf("got %s", got)
	}
}
