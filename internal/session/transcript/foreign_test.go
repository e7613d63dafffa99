package transcript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session/transcript"
)

// The files in testdata have the records that Claude Code was seen to write.
func TestSessionsOfClaudeCodeAreRead(t *testing.T) {
	t.Parallel()
	s := load(t, "testdata/claude-code.jsonl")
	want := "u:please look at a.txt | a:Let me look.+I will look.+Bash#toolu_1+Bash#toolu_2+Read#toolu_3 | u:=toolu_3+=toolu_1+=toolu_2 | a:Done with it. | " +
		"u:now edit @a.txt+" + loop.Reminder("The user attached the file /home/dev/shop/a.txt. Its content:\nalpha\n") +
		" | a:Edit#toolu_4 | u:=toolu_4 | a:Edited. | u:and then?"
	if got := said(s.Messages); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := sprint(s.CustomTitle, s.Mode, s.Model, s.Branch, s.Cwd, s.LastPrompt, len(s.Notices)); got != "The shop acceptEdits claude-sonnet-4-5 main /home/dev/shop please look at a.txt 0" {
		t.Error(got)
	}
	var sum llm.Usage
	for _, u := range s.Unbooked {
		sum = sum.Add(u.Usage)
	}
	if len(s.Unbooked) != 4 || sum.Output != 47+3+23+1 || sum.CacheRead != 28687+28871+28936 {
		t.Errorf("%d requests, %+v", len(s.Unbooked), sum)
	}
	if len(s.Files) != 1 || s.Files[0].Path != "/home/dev/shop/a.txt" {
		t.Errorf("the files are %v", s.Files)
	}
	if b := s.Messages[1].Blocks[0]; b.Kind != llm.Thinking || b.Signature != "c2lnbmF0dXJl" {
		t.Errorf("the thinking is %+v", b)
	}
}

func TestACompactedSessionOfClaudeCodeBeginsWithItsSummaryAndKeepsWhatWasPreserved(t *testing.T) {
	t.Parallel()
	s := load(t, "testdata/claude-code-compacted.jsonl")
	want := "u:A summary of what was before. | a:Edited. | u:a caveat+<local-command-stdout>Compacted</local-command-stdout>+typed while it worked | a:After compaction."
	if got := said(s.Messages); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestASessionBegunElsewhereGoesOnHere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a0782579-e1e6-4b0e-a4dd-cb35ca58d078.jsonl")
	data, err := os.ReadFile("testdata/claude-code.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, string(data))
	w, s, err := transcript.Open(path, "", meta())
	if err != nil {
		t.Fatal(err)
	}
	add(t, w, prompt("from gofer"))
	closeWriter(t, w)
	if text := fileText(t, path); !strings.HasPrefix(text, string(data)) {
		t.Error("what was there was changed")
	}
	if got := said(load(t, path).Messages); got != said(s.Messages)+"+from gofer" {
		t.Error(got)
	}
	if c, err := transcript.Verify(path); err != nil || len(c.Problems) > 0 || c.Unknown > 0 {
		t.Errorf("%v %+v", err, c)
	}
}
