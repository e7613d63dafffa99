package job

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gofer/internal/proc/spool"
	"gofer/internal/tool"
)

// Begin registers a background command, of whose output its owner has seen the first shown bytes. end is to be called
// with its exit code and one line about how it ended.
func (r *Registry) Begin(owner, callID, description string, out *spool.Spool, shown int64, stop func()) (id, file string, end func(code int, summary string)) {
	h := r.Add(Spec{Kind: Bash, Owner: owner, CallID: callID, Description: description, Output: out, Stop: stop})
	r.mu.Lock()
	h.e.read[owner] = shown
	r.mu.Unlock()
	j := h.Job()
	return j.ID, j.OutputFile, func(code int, summary string) {
		state := Completed
		if code != 0 {
			state = Failed
		}
		h.End(state, Outcome{ExitCode: &code, Summary: summary})
	}
}

// view is the structured form of a job for programs.
type view struct {
	ID          string `json:"task_id"`
	Kind        Kind   `json:"task_type"`
	State       State  `json:"status"`
	Description string `json:"description"`
	Output      string `json:"output"`
	ExitCode    *int   `json:"exitCode,omitempty"`
	Result      string `json:"result,omitempty"`
	OutputFile  string `json:"outputFile,omitempty"`
}

type outputData struct {
	Retrieval string `json:"retrieval_status"` // success, timeout, not_ready
	Task      view   `json:"task"`
}

// rawFactor is how many bytes are read for each character that is shown: escape sequences and redrawn lines vanish.
const rawFactor = 8

// Output tells how a job is doing, with what it has printed since the same reader asked last. It waits for the end of the job up to
// wait. The error is for the model.
func (r *Registry) Output(ctx context.Context, reader, id string, wait time.Duration) (tool.Result, error) {
	e, err := r.find(id)
	if err != nil {
		return tool.Result{}, err
	}
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-e.done:
		case <-t.C:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v := view{ID: id, Kind: e.job.Kind, State: e.job.State, Description: e.job.Description, ExitCode: e.job.ExitCode, Result: e.job.Result, OutputFile: e.job.OutputFile}
	if e.output != nil {
		part := e.output.Since(e.read[reader], r.limit*rawFactor)
		v.Output = part.Text(r.limit, e.whole())
		e.read[reader] = part.End
	}
	data := outputData{Retrieval: "success", Task: v}
	if e.job.State.Ended() {
		r.told(id, reader)
	} else if data.Retrieval = "not_ready"; wait > 0 {
		data.Retrieval = "timeout"
	}
	res := tool.Text(data.text(e.job.Summary))
	res.Data = data
	res.Display = tool.Display{Summary: fmt.Sprintf("%s: %s", id, v.State), Body: v.Output}
	return res, nil
}

// whole says where the whole output is.
func (e *entry) whole() string {
	path, err := e.output.Path()
	switch {
	case err != nil:
		return fmt.Sprintf("the rest could not be kept on disk (%v)", err)
	case path != "":
		return "the whole output is in " + path
	}
	return ""
}

func (d outputData) text(summary string) string {
	var b strings.Builder
	line := func(tag, text string) {
		if text != "" {
			fmt.Fprintf(&b, "<%s>%s</%[1]s>\n", tag, text)
		}
	}
	line("retrieval_status", d.Retrieval)
	line("task_id", d.Task.ID)
	line("task_type", string(d.Task.Kind))
	line("status", string(d.Task.State))
	if d.Task.ExitCode != nil {
		line("exit_code", fmt.Sprint(*d.Task.ExitCode))
	}
	line("summary", summary)
	line("output_file", d.Task.OutputFile)
	line("result", d.Task.Result)
	switch {
	case d.Task.Output != "":
		fmt.Fprintf(&b, "<output>\n%s\n</output>\n", strings.TrimRight(d.Task.Output, "\n"))
	case d.Task.Result == "":
		b.WriteString("No new output.\n")
	}
	if !d.Task.State.Ended() {
		b.WriteString("It is still running. You will be told when it ends; do not poll.\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (r *Registry) find(id string) (*entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.jobs[strings.TrimSpace(id)]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("there is no background task %q; %s", id, r.names())
}

// stopWait is how long Stop waits for work that was told to end.
const stopWait = 5 * time.Second

type stopData struct {
	Message string `json:"message"`
	ID      string `json:"task_id"`
	Kind    Kind   `json:"task_type"`
	Command string `json:"command"`
}

// Stop ends a job and returns when it has ended. The error is for the model.
func (r *Registry) Stop(ctx context.Context, reader, id string) (tool.Result, error) {
	e, err := r.find(id)
	if err != nil {
		return tool.Result{}, err
	}
	r.mu.Lock()
	if j := e.job; j.State.Ended() {
		r.told(j.ID, reader)
		r.mu.Unlock()
		return tool.Result{}, fmt.Errorf("the background task %s has already ended (%s); there is nothing to stop", j.ID, j.State)
	}
	e.stopping, e.stopper = true, &reader
	stop := e.stop
	r.mu.Unlock()
	if stop != nil {
		stop()
	}
	t := time.NewTimer(stopWait)
	defer t.Stop()
	select {
	case <-e.done:
	case <-t.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	r.end(e, Killed, Outcome{Summary: "stopped"})
	r.told(e.job.ID, reader)
	j := e.job
	r.mu.Unlock()
	r.tell()
	text := fmt.Sprintf("Stopped the background task %s (%s).", j.ID, j.Description)
	res := tool.Text(text)
	res.Data = stopData{Message: text, ID: j.ID, Kind: j.Kind, Command: j.Description}
	res.Display.Summary = "stopped " + j.ID
	return res, nil
}

// Collect removes output files in dir that were last written before a time. Files that a running session still writes to
// are newer than that.
func Collect(dir string, before time.Time) error {
	files, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	for _, f := range files {
		info, statErr := f.Info()
		if statErr != nil || !info.Mode().IsRegular() || !strings.HasSuffix(f.Name(), ".output") || !info.ModTime().Before(before) {
			continue
		}
		if rmErr := os.Remove(filepath.Join(dir, f.Name())); rmErr != nil && err == nil {
			err = rmErr
		}
	}
	return err
}
