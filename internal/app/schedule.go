package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/tool"
	"gofer/internal/tool/find"
	"gofer/internal/tool/schedule"
	"gofer/internal/work/cron"
)

// openSchedule makes the schedule of a session that lives on. Where a single prompt is answered nothing would ever be due.
func (e *engine) openSchedule() {
	if !e.staysOpen() {
		return
	}
	o := cron.Options{
		Idle: func(ctx context.Context) error { return e.session.Idle(ctx) }, Fire: e.notify(false), Tell: e.notify(true),
		Warn: func(doing string, err error) {
			e.emit(event.Info{Level: "warning", Content: fmt.Sprintf("%s: %v", doing, err)})
		},
	}
	if !e.flags.NoPersist {
		o.File = filepath.Join(e.place.projectDir(), "schedules.json")
	}
	e.schedule = cron.New(o)
}

// runSchedule hands over what is due, as long as the session is there.
func (e *engine) runSchedule() {
	if e.schedule == nil {
		return
	}
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.schedule.Run(ctx)
	}()
	e.closers = append(e.closers, func() {
		cancel()
		<-done
	})
}

// scheduleTools are the tools for later times. Only the main agent has them: the others are gone by then.
func (e *engine) scheduleTools() []*tool.Tool {
	if e.schedule == nil {
		return nil
	}
	return schedule.Tools(toolSchedule{e.schedule}, func(ctx context.Context) error { return e.session.Awaited(ctx) })
}

// canWait says whether the model can do without a tool until it searches for it.
func canWait(t *tool.Tool) bool {
	switch t.Name {
	case "CronCreate", "CronDelete", "CronList", "Monitor", "Sleep", "EnterPlanMode", "EnterWorktree", "ExitWorktree", "LSP", "NotebookEdit", "Revert", "SendMessage", "TaskGet", "TaskStop":
		return true
	}
	return false
}

// atHand are the built-in tools that the model sees from the start. With a search the seldom ones are left to it.
func (e *engine) atHand(searching bool) []*tool.Tool {
	list := slices.Clone(e.tools.All())
	if searching {
		list = slices.DeleteFunc(list, canWait)
	}
	return list
}

// nameWaiting lets the search say which built-in tools it finds.
func (e *engine) nameWaiting(search []*tool.Tool) {
	var names []string
	for _, t := range e.tools.All() {
		if canWait(t) {
			names = append(names, t.Name)
		}
	}
	for i, t := range search {
		if t.Name == find.SearchName && names != nil {
			more := *t
			more.Doc = strings.TrimSpace(t.Doc) + "\nIt also finds " + strings.Join(names, ", ") + "."
			search[i] = &more
		}
	}
}

// notifier gives an agent a text to read, for the main agent of a session that lives on; others are not woken.
func (e *engine) notifier(d desk) func(context.Context, string) error {
	if d.owner != "" || !e.staysOpen() {
		return nil
	}
	return e.notify(false)
}

// notify gives the main agent a text of gofer's own. A quiet one does not wake it.
func (e *engine) notify(quiet bool) func(context.Context, string) error {
	return func(ctx context.Context, text string) error {
		return e.session.Submit(ctx, session.Input{Notice: true, Quiet: quiet, Blocks: []llm.Block{llm.TextBlock(text)}})
	}
}

// toolSchedule is the schedule as the tools know it.
type toolSchedule struct{ schedule *cron.Schedule }

func (s toolSchedule) Create(ctx context.Context, when, prompt string, recurring, durable bool) (schedule.Job, error) {
	entry, err := s.schedule.Add(ctx, when, prompt, recurring, durable)
	return toolJob(entry), err
}

func (s toolSchedule) Delete(ctx context.Context, id string) (schedule.Job, error) {
	j, err := s.schedule.Delete(ctx, id)
	return toolJob(cron.Entry{Job: j}), err
}

func (s toolSchedule) List(context.Context) ([]schedule.Job, error) {
	entries, err := s.schedule.List()
	list := make([]schedule.Job, len(entries))
	for i, entry := range entries {
		list[i] = toolJob(entry)
	}
	return list, err
}

func toolJob(j cron.Entry) schedule.Job {
	return schedule.Job{ID: j.ID, Cron: j.Cron, Prompt: j.Prompt, Recurring: j.Recurring, Durable: j.Durable, Next: j.Next}
}

// scheduleCommands are the slash commands for later times.
func (e *engine) scheduleCommands() []slashCommand {
	if e.schedule == nil {
		return nil
	}
	return []slashCommand{{"loop", "run a prompt now and again and again", "[interval, such as 10m] PROMPT", e.slashLoop}}
}

// usualLoop is the interval of a loop for which none was given.
const usualLoop = "10m"

// slashLoop schedules a prompt and lets the model answer it for the first time.
func (e *engine) slashLoop(ctx context.Context, args string) (string, []llm.Block, error) {
	every, prompt := loopInterval(args)
	if prompt == "" {
		return "", nil, errors.New("say what to do, and how often: /loop 10m look whether the build is green")
	}
	j, err := e.schedule.Add(ctx, "@every "+every, prompt, true, false)
	if err != nil {
		return "", nil, err
	}
	note := fmt.Sprintf("The user wants this again and again: it is now the scheduled job %s, every %s, until the session ends, for seven days, or until CronDelete removes it. "+
		"This is the first time; carry it out now, and do not schedule it again.", j.ID, every)
	return "", []llm.Block{llm.TextBlock(prompt), llm.TextBlock(loop.Reminder(note))}, nil
}

// loopInterval takes the interval off the words of a loop. Days are ours: Go's durations end at hours.
func loopInterval(args string) (every, prompt string) {
	first, rest, _ := strings.Cut(args, " ")
	if days, ok := strings.CutSuffix(first, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 1000 {
			first = strconv.Itoa(24*n) + "h"
		}
	}
	if first == "" || first[0] < '0' || first[0] > '9' {
		return usualLoop, args
	}
	return first, strings.TrimSpace(rest)
}

// scheduledJobs is what hooks are told of the schedule.
func (e *engine) scheduledJobs() []any {
	if e.schedule == nil {
		return nil
	}
	entries, _ := e.schedule.List() // a file that cannot be read is told of elsewhere
	var list []any
	for _, j := range entries {
		list = append(list, map[string]any{"id": j.ID, "cron": j.Cron, "prompt": j.Prompt, "recurring": j.Recurring, "durable": j.Durable})
	}
	return list
}
