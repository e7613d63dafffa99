package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/session/transcript"
	"gofer/internal/ui/control"
	"gofer/internal/work/job"
)

// sessionHandlers answer what a client asks about the session as a whole.
func (e *engine) sessionHandlers() map[string]control.Handler {
	return map[string]control.Handler{
		"interrupt":               handle(e.interruptRequest),
		"cancel_async_message":    handle(e.cancelMessageRequest),
		"set_model":               handle(e.setModelRequest),
		"set_permission_mode":     handle(e.setModeRequest),
		"set_max_thinking_tokens": handle(e.setThinkingRequest),
		"rename_session":          handle(e.renameRequest),
		"end_session":             handle(e.endRequest),
		"get_usage":               handle(e.usageRequest),
		"get_session_cost":        handle(e.costRequest),
		"get_binary_version":      handle(versionRequest),
		"get_task_output":         handle(e.taskOutputRequest),
		"background_tasks":        handle(e.backgroundRequest),
		"stop_task":               handle(e.stopTaskRequest),
		// gofer holds no line back, so it is all the same to it whether somebody watches.
		"set_has_subscribers": handle(func(context.Context, struct{}) (any, error) { return nil, nil }),
	}
}

// interruptRequest ends the turn. Agents in the background go on: stop_task ends them.
func (e *engine) interruptRequest(ctx context.Context, r struct {
	CancelQueued bool `json:"cancel_queued"`
}) (any, error) {
	answer := map[string]any{}
	if r.CancelQueued {
		answer["cancelled"] = e.session.WithdrawAll(ctx) // before the turn ends, so that none of them begins
	}
	answer["still_queued"] = e.session.Queued(ctx) // what the turn's end sets free: asked afterwards, the first of them may have begun
	e.session.Interrupt(ctx)
	return answer, nil
}

func (e *engine) cancelMessageRequest(ctx context.Context, r struct {
	UUID string `json:"message_uuid"`
}) (any, error) {
	return map[string]any{"cancelled": e.session.Withdraw(ctx, r.UUID)}, nil
}

func (e *engine) setModelRequest(_ context.Context, r struct{ Model *string }) (any, error) {
	name := ""
	if r.Model != nil && *r.Model != "default" {
		name = *r.Model
	}
	if name == "" { // as the session began
		env := environment(e.world, e.settings.Current())
		name = firstOf(e.flags.Model, env("ANTHROPIC_MODEL"), e.settings.Current().Settings.Model)
	}
	e.brain.setModel(name)
	id := e.brain.info().ID
	e.emit(event.User{UUID: newID(), Timestamp: time.Now().UTC().Truncate(time.Millisecond), Prompt: true, IsReplay: true,
		Message: llm.UserText("<local-command-stdout>Set model to " + id + "</local-command-stdout>")})
	return map[string]any{"model": id}, nil
}

func (e *engine) setModeRequest(_ context.Context, r struct{ Mode string }) (any, error) {
	mode, err := e.setMode(r.Mode)
	if err != nil {
		return nil, &control.Error{Code: "invalid_mode", Text: err.Error()}
	}
	return map[string]any{"mode": mode}, nil
}

// setThinkingRequest changes how the model thinks. An absent budget leaves it, null goes back to how the session began.
func (e *engine) setThinkingRequest(_ context.Context, r map[string]json.RawMessage) (any, error) {
	var budget *int
	var display *string
	if err := json.Unmarshal(orNull(r["max_thinking_tokens"]), &budget); err != nil {
		return nil, fmt.Errorf("max_thinking_tokens must be a number or null: %w", err)
	}
	if err := json.Unmarshal(orNull(r["thinking_display"]), &display); err != nil {
		return nil, fmt.Errorf("thinking_display must be a text or null: %w", err)
	}
	begun, err := thinkingMode(e.flags, environment(e.world, e.settings.Current()))
	if err != nil {
		return nil, err
	}
	_, hasBudget := r["max_thinking_tokens"]
	_, hasDisplay := r["thinking_display"]
	e.brain.changeThinking(func(now *llm.ThinkingMode) *llm.ThinkingMode {
		next := now
		switch {
		case !hasBudget:
		case budget == nil:
			next = begun
		case *budget <= 0:
			next = &llm.ThinkingMode{Disabled: true}
		default:
			next = &llm.ThinkingMode{Budget: max(*budget, 1024), Display: displayOf(now, begun)}
		}
		if hasDisplay && next != nil {
			shown := *next
			shown.Display = ""
			if display != nil {
				shown.Display = *display
			}
			next = &shown
		}
		return next
	})
	return nil, nil
}

func displayOf(modes ...*llm.ThinkingMode) string {
	for _, m := range modes {
		if m != nil && m.Display != "" {
			return m.Display
		}
	}
	return ""
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// changeThinking changes how the model thinks from the next request on; nil leaves it to the model.
func (b *brain) changeThinking(f func(*llm.ThinkingMode) *llm.ThinkingMode) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.thinking = f(b.thinking)
}

func (e *engine) renameRequest(_ context.Context, r struct {
	Title   string `json:"title"`
	Session string `json:"session_id"`
}) (any, error) {
	switch {
	case r.Session != "" && r.Session != e.place.session:
		return nil, fmt.Errorf("this is the session %s and not %s", e.place.session, r.Session)
	case strings.TrimSpace(r.Title) == "":
		return nil, errors.New("a title must have at least one character")
	}
	return nil, e.rename(r.Title)
}

// rename gives the session a title.
func (e *engine) rename(title string) error {
	title = strings.TrimSpace(title)
	if e.transcript != nil {
		if err := e.transcript.Rename(e.ctx, title); err != nil {
			return fmt.Errorf("the title could not be kept: %w", err)
		}
	}
	e.emit(event.TitleChanged{Title: title})
	return nil
}

// endRequest lets the session end when the turn that runs has ended.
func (e *engine) endRequest(ctx context.Context, _ struct{}) (any, error) {
	e.session.Finish(ctx)
	return nil, nil
}

// usageRequest tells what the session has used. Plans and their limits belong to subscriptions, which gofer knows nothing of.
func (e *engine) usageRequest(context.Context, struct{}) (any, error) {
	added, removed := e.changedLines()
	t := e.ledger.Total()
	return map[string]any{
		"session": map[string]any{
			"total_cost_usd": t.USD, "total_api_duration_ms": t.APITime.Milliseconds(), "total_duration_ms": time.Since(e.flags.wishes.began()).Milliseconds(),
			"total_lines_added": added, "total_lines_removed": removed, "model_usage": e.ledger.ByModel(),
		},
		"subscription_type": nil, "rate_limits_available": false, "rate_limits": nil, "behaviors": nil,
	}, nil
}

// changedLines counts the lines of files that the session has changed, as they are now against how they were.
func (e *engine) changedLines() (added, removed int) {
	ctx, cancel := context.WithTimeout(e.ctx, time.Second)
	defer cancel()
	first := e.flags.wishes.firstPrompt()
	if first == "" {
		return 0, 0
	}
	plan, err := e.previewRewind(ctx, first)
	if err != nil {
		return 0, 0
	}
	return plan.Deletions, plan.Insertions // a rewind would do the contrary
}

func (e *engine) costRequest(ctx context.Context, _ struct{}) (any, error) {
	text, _, err := e.slashCost(ctx, "")
	return map[string]any{"text": text}, err
}

func versionRequest(context.Context, struct{}) (any, error) {
	built := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				built = s.Value
			}
		}
	}
	return map[string]any{"version": Version, "buildTime": built, "protocol": Protocol}, nil
}

// taskTail is how much of a task's output a client gets.
const taskTail = 8 << 10

func (e *engine) taskOutputRequest(_ context.Context, r struct {
	ID string `json:"task_id"`
}) (any, error) {
	j, ok := e.jobs.Get(r.ID)
	if !ok || j.Kind == job.Agent || j.OutputFile == "" {
		return nil, fmt.Errorf("there is no command in the background with the id %q in this session", r.ID)
	}
	f, err := os.Open(j.OutputFile)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]any{"output": "", "total_bytes": 0, "truncated": false}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the output cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the output cannot be read: %w", err)
	}
	size := info.Size()
	buf := make([]byte, min(size, taskTail))
	n, err := f.ReadAt(buf, size-int64(len(buf)))
	if n < len(buf) && err != nil {
		return nil, fmt.Errorf("the output cannot be read: %w", err)
	}
	return map[string]any{"output": strings.ToValidUTF8(string(buf), "\uFFFD"), "total_bytes": size, "truncated": size > taskTail}, nil
}

// stopTaskRequest ends a task. One that is not there needs no end.
func (e *engine) stopTaskRequest(ctx context.Context, r struct {
	ID string `json:"task_id"`
}) (any, error) {
	if _, ok := e.jobs.Get(r.ID); ok {
		if _, err := e.jobs.Stop(ctx, "client", r.ID); err != nil { // the model has not stopped it, so it is told
			return nil, err
		}
	}
	return map[string]any{}, nil
}

// titleRequest lets the small model name the session, and keeps the name if that is wanted. Without an answer there is no name.
func (e *engine) titleRequest(ctx context.Context, r struct {
	Description string `json:"description"`
	Persist     bool   `json:"persist"`
}) (any, error) {
	title, err := transcript.Title(ctx, e.brain.model, e.brain.catalog.Lookup(e.helper.name).ID, r.Description)
	if err != nil || title == "" {
		return map[string]any{"title": nil}, nil
	}
	if r.Persist && e.transcript != nil {
		err = e.transcript.Describe(ctx, title)
	}
	return map[string]any{"title": title}, err
}
