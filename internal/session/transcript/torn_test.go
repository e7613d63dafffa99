package transcript_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/session/transcript"
)

func TestAFileCutAtEveryByteOfItsLastRecordShowsAllBefore(t *testing.T) {
	t.Parallel()
	_, w := create(t, meta())
	smallSession(t, w)
	text := fileText(t, w.Path()) // ends with the reply "done again"
	last := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	path := filepath.Join(t.TempDir(), "55555555-5555-4555-8555-555555555555.jsonl")
	before := strings.TrimSuffix(smallSaid, " | a:done again")
	for cut := last; cut <= len(text); cut++ {
		writeFile(t, path, text[:cut])
		s := load(t, path)
		want := before
		if cut >= len(text)-1 { // only the line end is missing, or nothing
			want = smallSaid
		}
		if got := said(s.Messages); got != want {
			t.Fatalf("cut at byte %d of %d: %s", cut-last, len(text)-last, got)
		}
		if torn := cut > last && cut < len(text)-1; torn != (len(s.Notices) > 0) {
			t.Fatalf("cut at byte %d: the notices are %q", cut-last, s.Notices)
		}
		if cut%40 != 0 && cut < len(text)-2 {
			continue
		}
		// Whoever goes on begins on a line of its own.
		again, _, err := transcript.Open(path, "", meta())
		if err != nil {
			t.Fatal(err)
		}
		add(t, again, prompt("after the cut"))
		closeWriter(t, again)
		if got := said(load(t, path).Messages); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "after the cut") {
			t.Fatalf("cut at byte %d, then continued: %s", cut-last, got)
		}
	}
}

func TestBrokenLinesCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	_, w := create(t, meta())
	smallSession(t, w)
	closeWriter(t, w)
	lines := strings.SplitAfter(fileText(t, w.Path()), "\n")
	damage := map[string]func([]string, int) string{
		"zeros": func(l []string, i int) string {
			l[i] = strings.Repeat("\x00", len(l[i])-1) + "\n"
			return strings.Join(l, "")
		},
		"half":    func(l []string, i int) string { l[i] = l[i][:len(l[i])/2] + "\n"; return strings.Join(l, "") },
		"joined":  func(l []string, i int) string { l[i] = l[i][:len(l[i])/2]; return strings.Join(l, "") },
		"gone":    func(l []string, i int) string { l[i] = ""; return strings.Join(l, "") },
		"no json": func(l []string, i int) string { l[i] = "hello\n"; return strings.Join(l, "") },
		"blank":   func(l []string, i int) string { l[i] += "\n\r\n"; return strings.Join(l, "") },
		"unknown": func(l []string, i int) string {
			l[i] += `{"type":"from-the-future","x":[1,{}]}` + "\n"
			return strings.Join(l, "")
		},
		"crlf":   func(l []string, _ int) string { return strings.ReplaceAll(strings.Join(l, ""), "\n", "\r\n") },
		"prefix": func(l []string, i int) string { l[i] = "\x00\x00\x00" + l[i]; return strings.Join(l, "") },
	}
	harmless := []string{"blank", "unknown", "crlf", "prefix"}
	parts := strings.Split(smallSaid, " | ")
	for name, broken := range damage {
		for i, line := range lines {
			if !strings.Contains(line, `"uuid"`) {
				continue
			}
			path := filepath.Join(t.TempDir(), "x.jsonl")
			writeFile(t, path, broken(append([]string{}, lines...), i))
			got := said(load(t, path).Messages)
			lost := 0
			for _, p := range parts {
				if !strings.Contains(got, p) {
					lost++
				}
			}
			allowed := 1
			switch {
			case slices.Contains(harmless, name):
				allowed = 0
			case strings.Contains(line, `"tool_use"`):
				allowed = 2 // the result of a call that is gone is of no use
			}
			if lost > allowed {
				t.Errorf("%s in line %d: %d parts missing: %s", name, i+1, lost, got)
			}
		}
	}
}

func TestResultsOfParallelCallsAreAllThereInWhateverOrderTheyCame(t *testing.T) {
	t.Parallel()
	_, w := create(t, meta())
	add(t, w, prompt("go"))
	blocks := reply("msg_1", call("c1", "Bash", `{}`), call("c2", "Bash", `{}`), call("c3", "Bash", `{}`))
	a := answers(blocks, "x")
	// As Claude Code writes them: when they are done, some before the last block of the reply, each hanging on its call.
	add(t, w, blocks[0], blocks[1], a[1], blocks[2], a[2], a[0])
	add(t, w, reply("msg_2", llm.TextBlock("end"))...)
	closeWriter(t, w)
	var hanging strings.Builder
	for _, r := range records(t, w.Path()) {
		if holder, ok := r["sourceToolAssistantUUID"]; ok {
			r["parentUuid"] = holder
		}
		if r["uuid"] == blocks[2].UUID {
			r["parentUuid"] = blocks[1].UUID
		}
		hanging.WriteString(encode(t, r) + "\n")
	}
	writeFile(t, w.Path(), hanging.String())
	if got := said(load(t, w.Path()).Messages); got != "u:go | a:Bash#c1+Bash#c2+Bash#c3 | u:=c2+=c3+=c1 | a:end" {
		t.Error(got)
	}
}
