package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/tui"
	"gofer/internal/work/job"
)

// tasks shows the work in the background.
func (u *uiDesk) tasks(ctx context.Context) tui.Action {
	return tui.Action{Dialog: &dialogs.Manager{Title: "Work in the background", Load: func() ([]dialogs.Section, error) {
		return []dialogs.Section{{Items: u.jobItems(ctx), Empty: "Nothing runs in the background."}}, nil
	}}}
}

func (u *uiDesk) jobItems(ctx context.Context) []dialogs.Item {
	tones := map[job.State]dialogs.Tone{job.Running: dialogs.Info, job.Waiting: dialogs.Warn, job.Completed: dialogs.Good, job.Failed: dialogs.Bad, job.Killed: dialogs.Muted}
	var items []dialogs.Item
	for _, j := range slices.Backward(u.e.jobs.List()) {
		ended := j.Ended
		if ended.IsZero() {
			ended = time.Now()
		}
		item := dialogs.Item{ID: j.ID, Name: j.Description, Detail: fmt.Sprintf("%s, %s", kindWord(j.Kind), ended.Sub(j.Started).Round(time.Second)),
			State: string(j.State), Tone: tones[j.State], Live: !j.State.Ended(), Tail: true, Read: func() (dialogs.Page, error) { return jobPage(u.e.jobs, j.ID) }}
		if !j.State.Ended() {
			item.Acts = []dialogs.Act{{Key: "x", Name: "stop", Do: func(string) (string, error) {
				_, err := u.e.jobs.Stop(ctx, "person", j.ID)
				return u.say("%s is stopped.", j.Description), err
			}}}
		}
		items = append(items, item)
	}
	return items
}

func kindWord(k job.Kind) string {
	switch k {
	case job.Bash:
		return "command"
	case job.Agent:
		return "agent"
	case job.Teammate:
		return "teammate"
	case job.Monitor:
		return "watch"
	}
	return string(k)
}

// outputTail is how much of the end of an output is shown.
const outputTail = 64 << 10

// jobPage shows how a job stands and the end of what it printed. It does not count as having read it: the model is told all the same.
func jobPage(jobs *job.Registry, id string) (dialogs.Page, error) {
	j, ok := jobs.Get(id)
	if !ok {
		return nil, fmt.Errorf("there is no job %s any more", id)
	}
	text := fmt.Sprintf("%s  %s", j.ID, j.State)
	if j.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *j.ExitCode)
	}
	if j.Usage != nil {
		text += fmt.Sprintf(", %s tokens, %d tool calls", dialogs.Tokens(j.Usage.Tokens), j.Usage.ToolUses)
	}
	text += "\n" + j.OutputFile + "\n\n"
	if j.Result != "" {
		return dialogs.Text(text + j.Result), nil
	}
	tail, err := fileTail(j.OutputFile, outputTail)
	if err != nil && j.OutputFile != "" {
		return nil, err
	}
	return dialogs.Text(text + tail), nil
}

// fileTail reads the end of a file.
func fileTail(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-most, 0)
	data, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if from > 0 {
		return "…" + string(data), err
	}
	return string(data), err
}
