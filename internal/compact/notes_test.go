package compact_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gofer/internal/compact"
	"gofer/internal/llm"
	"gofer/internal/loop"
)

// small asks the scripted model, as app asks a real one.
func small(r *rig, asked chan<- string) func(context.Context, string, string) (string, error) {
	return func(ctx context.Context, system, text string) (string, error) {
		req := llm.Request{Model: "small", MaxTokens: 4000, System: []llm.SystemBlock{{Text: system}}, Messages: []llm.Message{llm.UserText(text)}}
		var reply strings.Builder
		for d, err := range r.model.Stream(ctx, req) {
			if err != nil {
				return "", err
			}
			if d.Kind == llm.TextDelta {
				reply.WriteString(d.Text)
			}
		}
		defer func() { asked <- text }()
		return reply.String(), nil
	}
}

const notesScript = `order arrival
turn
  text unused
section notes
  when system ~ keep the notes
  order arrival
  loop
  turn
    text <<END
      # Title
      Renaming Foo
      # Current state
      Update {{n}}: half of the files are done.
      # Worklog
      - did this
      # Invented
      goes to the worklog
    END
section summaries
  when no tools
  turn
    error 500 api_error no summary may be asked for
`

func withNotes(t *testing.T, file string) (*rig, *compact.Notes, chan string) {
	asked := make(chan string, 10)
	var notes *compact.Notes
	r := newRig(t, notesScript, func(r *rig, o *compact.Options) {
		wide(r, o)
		notes = compact.NewNotes(compact.NotesOptions{File: file, Ask: small(r, asked), Warn: func(err error) { t.Errorf("warned: %v", err) }})
		o.Notes = notes
	})
	t.Cleanup(notes.Close)
	return r, notes, asked
}

func (r *rig) prepare(t *testing.T) {
	t.Helper()
	if err := r.compactor.Prepare(t.Context(), r.log, loop.EstimateRequest(llm.Request{}, r.log.View()), r.window); err != nil {
		t.Fatal(err)
	}
}

func TestNotesBecomeTheSummary(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "session", "notes.md")
	r, notes, asked := withNotes(t, file)
	view := conversation(20, 4000)
	r.setView(view)
	r.prepare(t)
	if text := <-asked; !strings.Contains(text, firstPrompt) || !strings.Contains(text, "/p/a19.go") || strings.Contains(text, "never use tabs") {
		t.Errorf("the small model was asked %.300q", text)
	}
	r.prepare(t) // nothing new: nothing is asked
	// More happens that the notes do not know, and the conversation is compacted.
	view = append(view, round("rnew", 8000, "/p/new.go")...)
	r.setView(view)
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil {
		t.Fatal(err)
	}
	if len(asked) > 0 || len(r.model.Requests()) != 1 || r.results[0].Kind != compact.KindNotes {
		t.Errorf("%d calls, %v", len(r.model.Requests()), r.kinds())
	}
	got := flat(r.log.View())
	for _, want := range []string{"Update 1: half of the files are done.", firstPrompt, "I read rnew", "# Errors and corrections"} {
		if !strings.Contains(got, want) {
			t.Errorf("the view has no %q", want)
		}
	}
	checkValid(t, r.log.View())
	data, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(data), "# Title\nRenaming Foo\n\n# Current state\n") || !strings.HasPrefix(notes.Text(), "# Title") {
		t.Errorf("the file holds %q: %v", data, err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A process that resumes the session goes on with the notes of the one before.
func TestNotesAfterResume(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes.md")
	first, notes, asked := withNotes(t, file)
	view := conversation(20, 4000)
	first.setView(view)
	first.prepare(t)
	<-asked
	notes.Close()

	second, _, asked := withNotes(t, file)
	second.setView(append(view, round("rnew", 40_000, "/p/n.go", "/p/m.go")...))
	if _, err := second.compactor.Compact(t.Context(), second.log, ""); err != nil {
		t.Fatal(err)
	}
	if len(asked) > 0 || second.results[0].Kind != compact.KindNotes {
		t.Errorf("%v", second.kinds())
	}
	if got := flat(second.log.View()); !strings.Contains(got, "Update 1") || !strings.Contains(got, "I read rnew") {
		t.Error("the notes or the newest round are gone")
	}
}

// Notes that know too little are not used: what they miss would be lost.
func TestStaleNotes(t *testing.T) {
	t.Parallel()
	r, notes, asked := withNotes(t, filepath.Join(t.TempDir(), "notes.md"))
	view := conversation(10, 4000)
	r.setView(view)
	r.prepare(t)
	<-asked
	notes.Close()
	for i := range 10 {
		view = append(view, round(fmt.Sprintf("rlate%d", i), 20_000, fmt.Sprintf("/p/late%d.go", i))...)
	}
	r.setView(view)
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil {
		t.Fatal(err)
	}
	if r.results[0].Kind != compact.KindMechanical { // the script refuses a summary
		t.Errorf("%v", r.kinds())
	}
	if got := flat(r.log.View()); !strings.Contains(got, "/p/late0.go") {
		t.Error("a round that the notes do not know is gone")
	}
}

func TestNotesLimits(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for _, s := range []string{"Title", "Current state", "Task", "Files", "Workflow", "Errors and corrections", "System", "Learnings", "Results", "Worklog"} {
		fmt.Fprintf(&long, "      # %s\n", s)
		for i := range 1000 {
			fmt.Fprintf(&long, "      - line %d of it\n", i)
		}
	}
	before, rest, _ := strings.Cut(notesScript, "      # Title\n")
	_, after, _ := strings.Cut(rest, "worklog\n")
	asked := make(chan string, 1)
	var notes *compact.Notes
	r := newRig(t, before+long.String()+after, wide, func(r *rig, o *compact.Options) {
		notes = compact.NewNotes(compact.NotesOptions{File: filepath.Join(t.TempDir(), "notes.md"), Ask: small(r, asked)})
		o.Notes = notes
	})
	t.Cleanup(notes.Close)
	r.setView(conversation(20, 4000))
	r.prepare(t)
	<-asked
	for i := range 6 {
		r.setView(append(r.log.View(), round(fmt.Sprintf("rn%d", i), 100, "/p/n.go")...))
	}
	if _, err := r.compactor.Compact(t.Context(), r.log, ""); err != nil { // it waits for the update
		t.Fatal(err)
	}
	notes.Close()
	text := notes.Text()
	if len(text)/4 > 12_000 || len(text)/4 < 9_000 {
		t.Errorf("the notes have %d tokens", len(text)/4)
	}
	for part := range strings.SplitSeq(text, "\n# ") {
		if len(part)/4 > 2_010 {
			t.Errorf("a section has %d tokens", len(part)/4)
		}
	}
	if !strings.HasSuffix(text, "- line 999 of it") || !strings.HasPrefix(text, "# Title\n- line 0 of it") {
		t.Error("the worklog lost its newest lines, or another section its first")
	}
	if r.results[0].Kind != compact.KindNotes {
		t.Error(r.kinds())
	}
}
