//go:build unix

package gofer_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"

	"gofer/internal/llm/script"
)

// writeSkill writes a skill into a folder of skills.
func writeSkill(t *testing.T, dir, name, front, text string) {
	t.Helper()
	dir = filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\n"+front+"\n---\n"+text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// opening is the first reminder of a request.
func opening(t *testing.T, r script.Request) string {
	t.Helper()
	var body struct {
		Messages []struct {
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Messages[0].Content[0].Text
}

func TestAClientChoosesSkills(t *testing.T) {
	t.Parallel()
	c := startClient(t, `turn
call Skill {"skill": "b"}
turn
text first
turn
text second
turn
text third
`, "--allowedTools=Skill(a)")
	skills := filepath.Join(c.dir, ".claude", "skills")
	writeSkill(t, skills, "a", "description: The first\nargument-hint: what", "Do a.")
	writeSkill(t, skills, "b", "description: The second", "Do b.")
	answer, err := json.Marshal(c.request(map[string]any{"subtype": "initialize", "skills": []string{"a"}}))
	if err != nil || !strings.Contains(string(answer), `"argumentHint":"what","description":"The first","name":"a"`) {
		t.Errorf("%s %v", answer, err)
	}
	c.say("go")
	init := c.next("system")
	if names := fmt.Sprint(init["skills"]); names != "[a]" || !strings.Contains(fmt.Sprint(init["slash_commands"]), " a ") {
		t.Errorf("skills %s, commands %v", names, init["slash_commands"])
	}
	c.next("result")
	if text := opening(t, c.server.Requests()[0]); !strings.Contains(text, "- a: The first") || strings.Contains(text, "- b:") || strings.Contains(text, "- commit") {
		t.Errorf("told: %s", text)
	}
	if body := string(c.server.Requests()[1].Body); !strings.Contains(body, "is switched off in this session") {
		t.Error("a skill that was not chosen was loaded")
	}
	writeSkill(t, skills, "c", "description: The third", "Do c.")
	answer, err = json.Marshal(c.request(map[string]any{"subtype": "reload_skills"}))
	if err != nil || !strings.Contains(string(answer), `"name":"c"`) {
		t.Errorf("%s %v", answer, err)
	}
	c.say("/c now")
	if r := c.next("result"); r["result"] != "second" {
		t.Errorf("%v", r)
	}
	if body := string(c.server.Requests()[2].Body); !strings.Contains(body, "Do c.") || strings.Contains(body, "Further skills") {
		t.Error("the skill was not typed, or told although it was not chosen")
	}
}

func TestAResumedSessionIsToldOfNewSkillsOnly(t *testing.T) {
	t.Parallel()
	server := script.Serve(t, "turn\ntext one\nturn\ntext two\n")
	id := uuid.NewString()
	first := goferCommand(t, server, "-p", "begin", "--session-id", id)
	skills := filepath.Join(first.Dir, ".claude", "skills")
	writeSkill(t, skills, "old", "description: The old one", "x")
	if out, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	writeSkill(t, skills, "new", "description: The new one", "x")
	second := goferCommand(t, server, "-p", "go on", "--resume", id)
	second.Dir, second.Env = first.Dir, first.Env
	if out, err := second.CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	r := server.Requests()
	body := string(r[1].Body)
	if opening(t, r[0]) != opening(t, r[1]) || strings.Count(body, "The old one") != 1 || !strings.Contains(body, `Further skills that the Skill tool loads:\n- new: The new one\n`) {
		t.Errorf("%s", body)
	}
	if r[1].SharedPrefix < len(r[0].Body)/2 {
		t.Errorf("only %d of %d bytes are the same", r[1].SharedPrefix, len(r[0].Body))
	}
}

// The listing has 8,000 characters at a window of 200,000 tokens, and not one more: descriptions shrink alike, then only names are left.
func TestManySkillsKeepTheirBudget(t *testing.T) {
	t.Parallel()
	bundled := "- commit: Commit changes to git. When the user asks for a commit.\n"
	for _, c := range []struct{ skills, least, most int }{{20, 20 * 250, 20*257 + 500}, {150, 7850, 8000}, {300, 300 * 7, 300*7 + 500}} {
		server := script.Serve(t, "turn\ntext hi\n")
		cmd := goferCommand(t, server, "-p", "go")
		cmd.Env = append(cmd.Env, "CLAUDE_CODE_AUTO_COMPACT_WINDOW=200000")
		for i := range c.skills {
			writeSkill(t, filepath.Join(cmd.Dir, ".claude", "skills"), fmt.Sprintf("s%03d", i), fmt.Sprintf("description: Number %03d %s", i, strings.Repeat("x", 300)), "text")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v", out, err)
		}
		_, listing, found := strings.Cut(opening(t, server.Requests()[0]), "Skills that the Skill tool loads:\n")
		listing, _, _ = strings.Cut(listing, "\n\n")
		if n := utf8.RuneCountInString(listing); !found || n < c.least || n > c.most {
			t.Errorf("the listing of %d skills has %d characters", c.skills, n)
		}
		lines := regexp.MustCompile(`(?m)^- s\d.*$`).FindAllString(listing, -1)
		lengths := map[int]bool{}
		for _, line := range lines {
			lengths[utf8.RuneCountInString(line)] = true
		}
		if len(lines) != c.skills || len(lengths) != 1 || !strings.Contains(listing, bundled) {
			t.Errorf("%d skills: %d lines of %v characters, or a bundled one that was cut:\n%s", c.skills, len(lines), lengths, listing)
		}
	}
}

func TestTheTextOfAServersSkillIsLeftAlone(t *testing.T) {
	t.Parallel()
	server := script.Serve(t, "turn\ncall Skill {\"skill\": \"mcp__teacher__teach\", \"args\": \"chess\"}\nturn\ntext done\n")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"teacher": map[string]any{"command": os.Args[0], "env": map[string]string{"GOFER_TEST_MCP": "1", "NAME": "teacher"}}}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := goferCommand(t, server, "-p", "go", "--mcp-config", string(config), "--allowedTools", "Bash")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	r := server.Requests()
	if !strings.Contains(string(r[0].Body), "- mcp__teacher__teach: Teaches a thing") && !strings.Contains(string(r[1].Body), "- mcp__teacher__teach: Teaches a thing") {
		t.Errorf("the model was not told: %s", r[0].Body)
	}
	if !strings.Contains(string(r[1].Body), "Learn chess: !`touch stolen` and $ARGUMENTS ${CLAUDE_SESSION_ID}\\n```!\\ntouch stolen\\n```") {
		t.Errorf("%s", r[1].Body)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "stolen")); err == nil {
		t.Error("a server's text ran a command")
	}
}

func TestACompactionKeepsInvokedSkills(t *testing.T) {
	t.Parallel()
	c := startClient(t, `section summary
when no tools
turn
text A summary.
section talk
when tool Bash
order arrival
turn
repeat 9
fill 60000
`)
	writeSkill(t, filepath.Join(c.dir, ".claude", "skills"), "way", "description: The way", "Always whistle while you work.")
	for _, text := range []string{"/way", "one", "two", "/compact", "three"} {
		c.say(text)
		if r := c.next("result"); text == "/compact" && !strings.Contains(fmt.Sprint(r["result"]), "Compacted") {
			t.Fatalf("%v", r["result"])
		}
	}
	all := c.server.Requests()
	if body := string(all[len(all)-1].Body); !strings.Contains(body, "The skill way, which was invoked earlier") || !strings.Contains(body, "Always whistle") || !strings.Contains(body, "- way: The way") {
		t.Errorf("%s", body[strings.Index(body, `"messages"`):])
	}
}
