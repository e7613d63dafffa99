package transcript

import (
	"context"
	"fmt"
	"maps"
	"time"

	"gofer/internal/llm"
)

type (
	headFields struct {
		Prompt  string `json:"firstPrompt"`
		Cwd     string `json:"cwd"`
		Branch  string `json:"gitBranch"`
		Program string `json:"gofer"`
		At      string `json:"timestamp"`
	}
	titleFields struct {
		Title string `json:"customTitle"`
	}
	summaryFields struct {
		Summary string `json:"summary"`
		Leaf    string `json:"leafUuid"`
	}
	promptFields struct {
		Prompt   string `json:"lastPrompt"`
		Leaf     string `json:"leafUuid"`
		Messages int    `json:"goferMessages"`
	}
	leafFields struct {
		Leaf string `json:"leafUuid"`
	}
	stateFields struct {
		State map[string]string `json:"state"`
	}
	queueFields struct {
		Operation string `json:"operation"`
		At        string `json:"timestamp"`
		Content   string `json:"content,omitempty"`
	}
)

// Totals is what a session has cost and done up to some moment.
type Totals struct {
	USD          float64               `json:"totalCostUSD"`
	APITime      time.Duration         `json:"apiNanos"`
	ToolTime     time.Duration         `json:"toolNanos"`
	LinesAdded   int                   `json:"linesAdded"`
	LinesRemoved int                   `json:"linesRemoved"`
	Models       map[string]ModelTotal `json:"models"`
}

// ModelTotal is what one model was used for.
type ModelTotal struct {
	Usage llm.Usage `json:"usage"`
	USD   float64   `json:"costUSD"`
}

// EndTurn books the totals of the session after a turn, so that they survive a resume.
func (w *Writer) EndTurn(_ context.Context, t Totals) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil // a turn that was refused before it was recorded
	}
	buf := w.plainRecord(nil, costRecord, struct {
		At string `json:"timestamp"`
		Totals
	}{time.Now().UTC().Format(timeForm), t})
	if w.since > tailEvery {
		buf = w.tailRecords(buf)
	} else {
		buf = w.plainRecord(buf, "last-prompt", promptFields{w.prompt, w.leaf, w.messages})
	}
	long := w.since > tailEvery
	if err := w.write(buf); err != nil {
		return err
	}
	if w.dirty = false; long {
		w.since = 0
	}
	w.settle()
	return nil
}

// Rename gives the session a title that its user chose.
func (w *Writer) Rename(_ context.Context, title string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.title = w.meta.Mask.Text(shorten(title, 200))
	return w.later(w.plainRecord(nil, "custom-title", titleFields{w.title}))
}

// Describe gives the session a title that a model made. One that its user chose is shown instead of it.
func (w *Writer) Describe(_ context.Context, title string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.summary = w.meta.Mask.Text(shorten(title, 200))
	return w.later(w.plainRecord(nil, "summary", summaryFields{w.summary, w.leaf}))
}

// Keep records a value that a resumed session needs (its model, agent, worktree, task list, …) under a name.
func (w *Writer) Keep(_ context.Context, name, value string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	value = w.meta.Mask.Text(value)
	if old, ok := w.kept[name]; ok && old == value {
		return nil
	}
	w.kept[name] = value
	return w.later(w.plainRecord(nil, stateRecord, stateFields{w.kept}))
}

// later writes a record, unless there is no message yet: then it comes with the first one.
func (w *Writer) later(record []byte) error {
	if w.file == nil {
		return nil
	}
	return w.write(record)
}

// FileSnapshot records which copies hold what files were when a message of the user came.
func (w *Writer) FileSnapshot(_ context.Context, messageID string, snapshot any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.later(w.plainRecord(nil, "file-history-snapshot", struct {
		MessageID string `json:"messageId"`
		Snapshot  any    `json:"snapshot"`
		Update    bool   `json:"isSnapshotUpdate"`
	}{messageID, snapshot, false}))
}

// Queue records that a message waits for its turn (enqueue), or no longer does (dequeue).
func (w *Writer) Queue(_ context.Context, operation, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.later(w.plainRecord(nil, "queue-operation", queueFields{operation, time.Now().UTC().Format(timeForm), w.meta.Mask.Text(text)}))
}

// Rewind takes the conversation back: the next message hangs on the record uuid, "" being the beginning. Nothing is lost, the
// records behind it are a branch of their own from now on.
func (w *Writer) Rewind(_ context.Context, uuid string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return fmt.Errorf("there is nothing to take back")
	}
	if err := w.write(w.plainRecord(nil, leafRecord, leafFields{uuid})); err != nil {
		return err
	}
	w.leaf = uuid
	w.settle()
	return nil
}

// headRecords are the first lines of a file.
func (w *Writer) headRecords(buf []byte) []byte {
	f := headFields{Prompt: w.prompt, Branch: w.branch, Program: w.meta.Program, At: time.Now().UTC().Format(timeForm)}
	if w.meta.Cwd != nil {
		f.Cwd = w.meta.Cwd()
	}
	buf = w.plainRecord(buf, headRecord, f)
	return w.stateRecords(buf)
}

// tailRecords repeat what lists and resumes look for, so that it is never far from the end of the file.
func (w *Writer) tailRecords(buf []byte) []byte {
	return w.plainRecord(w.stateRecords(buf), "last-prompt", promptFields{w.prompt, w.leaf, w.messages})
}

func (w *Writer) stateRecords(buf []byte) []byte {
	if len(w.kept) > 0 {
		buf = w.plainRecord(buf, stateRecord, stateFields{maps.Clone(w.kept)})
	}
	if w.summary != "" {
		buf = w.plainRecord(buf, "summary", summaryFields{w.summary, w.leaf})
	}
	if w.title != "" {
		buf = w.plainRecord(buf, "custom-title", titleFields{w.title})
	}
	return buf
}
