// Package schedule has the tools by which the model plans for later: CronCreate, CronDelete and CronList keep prompts for set times, and Sleep waits.
// They only read the model's words; whoever is handed in as Jobs keeps the times.
package schedule

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"gofer/internal/tool"
)

//go:embed croncreate.md
var createDoc string

//go:embed crondelete.md
var deleteDoc string

//go:embed cronlist.md
var listDoc string

// A Job is a prompt that comes at set times.
type Job struct {
	ID        string    `json:"id"`
	Cron      string    `json:"cron"`
	Prompt    string    `json:"prompt"`
	Recurring bool      `json:"recurring"`
	Durable   bool      `json:"durable"`
	Next      time.Time `json:"next"`
}

// Jobs keeps the scheduled jobs. Errors are for the model.
type Jobs interface {
	Create(ctx context.Context, cron, prompt string, recurring, durable bool) (Job, error)
	Delete(ctx context.Context, id string) (Job, error)
	List(ctx context.Context) ([]Job, error)
}

// Tools returns the tools of one agent. awaited waits until something waits for the turn that runs.
func Tools(jobs Jobs, awaited func(context.Context) error) []*tool.Tool {
	return []*tool.Tool{create(jobs), remove(jobs), list(jobs), sleep(awaited)}
}

type createIn struct {
	Cron      string `json:"cron" minlen:"1" desc:"When, in local time"`
	Prompt    string `json:"prompt" minlen:"1" desc:"What to do then"`
	Recurring *bool  `json:"recurring,omitempty" desc:"Default true"`
	Durable   bool   `json:"durable,omitempty" desc:"Default false"`
}

func create(jobs Jobs) *tool.Tool {
	return tool.Define(tool.Spec[createIn]{
		Name: "CronCreate", Doc: createDoc, Hint: "schedule a prompt for later, cron, timer, reminder, loop, repeat",
		// A job of the session changes nothing outside gofer, and what it does later is guarded then. A durable one outlives the session: that is for the user to
		// allow.
		Traits: func(in createIn) tool.Traits { return tool.Traits{ReadOnly: !in.Durable} },
		Title:  func(in createIn) string { return fmt.Sprintf("Scheduling %q: %s", in.Cron, short(in.Prompt)) },
		Run: func(ctx context.Context, in createIn, _ tool.Call) (tool.Result, error) {
			j, err := jobs.Create(ctx, in.Cron, in.Prompt, in.Recurring == nil || *in.Recurring, in.Durable)
			if err != nil {
				return tool.Result{}, err
			}
			return told("Scheduled job "+describe(j), j), nil
		},
	})
}

type deleteIn struct {
	ID string `json:"id" desc:"The id of the job"`
}

func remove(jobs Jobs) *tool.Tool {
	return tool.Define(tool.Spec[deleteIn]{
		Name: "CronDelete", Doc: deleteDoc, Hint: "remove, cancel a scheduled job",
		Traits: func(deleteIn) tool.Traits { return tool.Traits{ReadOnly: true} }, // of what gofer keeps, and nothing else
		Title:  func(in deleteIn) string { return "Removing the scheduled job " + in.ID },
		Run: func(ctx context.Context, in deleteIn, _ tool.Call) (tool.Result, error) {
			j, err := jobs.Delete(ctx, strings.TrimSpace(in.ID))
			if err != nil {
				return tool.Result{}, err
			}
			return told(fmt.Sprintf("Removed the scheduled job %s (%s): %s", j.ID, j.Cron, short(j.Prompt)), map[string]string{"id": j.ID}), nil
		},
	})
}

func list(jobs Jobs) *tool.Tool {
	return tool.Define(tool.Spec[struct{}]{
		Name: "CronList", Doc: listDoc, Hint: "list scheduled jobs",
		Traits: func(struct{}) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Title:  func(struct{}) string { return "Listing scheduled jobs" },
		Run: func(ctx context.Context, _ struct{}, _ tool.Call) (tool.Result, error) {
			all, err := jobs.List(ctx)
			if err != nil {
				return tool.Result{}, err
			}
			lines := []string{}
			for _, j := range all {
				lines = append(lines, describe(j))
			}
			if len(lines) == 0 {
				return told("Nothing is scheduled.", map[string]any{"jobs": []Job{}}), nil
			}
			r := told(strings.Join(lines, "\n"), map[string]any{"jobs": all})
			r.Display = tool.Display{Summary: fmt.Sprintf("%d scheduled", len(all)), Body: strings.Join(lines, "\n")}
			return r, nil
		},
	})
}

// describe is a job in one line.
func describe(j Job) string {
	kind := "recurring"
	if !j.Recurring {
		kind = "once"
	}
	if j.Durable {
		kind += ", durable"
	}
	return fmt.Sprintf("%s (%s, %s), next at %s: %s", j.ID, j.Cron, kind, j.Next.Local().Format("Mon 2006-01-02 15:04:05 MST"), short(j.Prompt))
}

// short is the beginning of a prompt in one line.
func short(prompt string) string {
	line := []rune(strings.Join(strings.Fields(prompt), " "))
	if len(line) > 120 {
		return string(line[:120]) + "…"
	}
	return string(line)
}

func told(text string, data any) tool.Result {
	r := tool.Text(text)
	r.Data, r.Display.Summary = data, text
	return r
}
