package app

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"gofer/internal/guard"
	"gofer/internal/llm"
)

//go:embed ui_review.md
var reviewPrompt string

//go:embed ui_security.md
var securityPrompt string

// textCommands are the commands that answer in words, wherever they are typed: in the terminal UI, in scripts and over the protocol. The UI
// shows some of them as a dialog instead.
func (e *engine) textCommands() []slashCommand {
	return []slashCommand{
		{"agents", "list the kinds of agents", "", e.textOf(e.agentsText)},
		{"hooks", "list the hooks", "", e.textOf(e.hooksText)},
		{"memory", "list the instruction and memory files", "", e.textOf(e.memoryText)},
		{"model", "show or change the model of this session", "[model]", e.slashModel},
		{"permissions", "list the permission rules", "", e.textOf(e.rulesText)},
		{"rename", "give the session a title", "TITLE", e.slashRename},
		{"export", "write the conversation to a file", "FILE", e.slashExport},
		{"status", "version, session, model, settings, servers", "", e.textOf(e.statusText)},
		{"tasks", "list the work in the background", "", e.textOf(e.jobsText)},
		{"todos", "list the open steps of the work", "", e.slashTodos},
	}
}

// reviewCommands are prompts of gofer's own. They come last, because a skill or command of the same name that a user or a project has
// written is the one they mean.
func (e *engine) reviewCommands() []slashCommand {
	return []slashCommand{
		{"review", "review the changes of this branch, or what you name", "[what]", e.asks(reviewPrompt)},
		{"security-review", "look for weaknesses in the changes of this branch", "[what]", e.asks(securityPrompt)},
	}
}

type slashRun = func(context.Context, string) (string, []llm.Block, error)

func (e *engine) textOf(text func() string) slashRun {
	return func(context.Context, string) (string, []llm.Block, error) {
		return firstOf(strings.TrimRight(text(), "\n"), "There is none."), nil, nil
	}
}

// asks sends a prompt of gofer's own to the model.
func (e *engine) asks(prompt string) slashRun {
	return func(_ context.Context, args string) (string, []llm.Block, error) {
		t, err := template.New("").Parse(prompt)
		if err != nil {
			return "", nil, err
		}
		var b strings.Builder
		if err := t.Execute(&b, struct{ Args string }{args}); err != nil {
			return "", nil, err
		}
		return "", []llm.Block{llm.TextBlock(strings.TrimSpace(b.String()))}, nil
	}
}

func (e *engine) agentsText() string {
	var b strings.Builder
	for _, d := range e.definitions().All() {
		fmt.Fprintf(&b, "- %s (%s): %s\n", d.Name, d.Origin, oneLine(d.Description, 200))
	}
	return b.String()
}

func (e *engine) hooksText() string {
	var b strings.Builder
	hooks := e.settings.Current().Settings.Hooks
	for _, event := range sortedKeys(hooks) {
		for _, g := range hooks[event] {
			for _, h := range g.Hooks {
				fmt.Fprintf(&b, "- %s %s: %s (%s)\n", event, g.Matcher, oneLine(firstOf(h.Command, h.Prompt, h.URL, h.Tool), 200), g.Origin)
			}
		}
	}
	return b.String()
}

func (e *engine) memoryText() string {
	var b strings.Builder
	for _, f := range e.memoryFiles() {
		fmt.Fprintf(&b, "- %s (%s)\n", f[0], f[1])
	}
	return b.String()
}

func (e *engine) rulesText() string {
	var b strings.Builder
	for _, behavior := range []guard.Behavior{guard.Deny, guard.Ask, guard.Allow} {
		for _, r := range e.policy.Policy().Rules.Rules() {
			if r.Behavior == behavior {
				fmt.Fprintf(&b, "- %s %s (%s)\n", behavior, r, firstOf(r.Origin, string(r.Source)))
			}
		}
	}
	return b.String()
}

func (e *engine) statusText() string {
	var b strings.Builder
	for _, r := range e.statusRows() {
		fmt.Fprintf(&b, "- %s: %s\n", r[0], r[1])
	}
	return b.String()
}

func (e *engine) jobsText() string {
	var b strings.Builder
	for _, j := range e.jobs.List() {
		fmt.Fprintf(&b, "- %s (%s): %s, %s\n", j.ID, j.Kind, j.Description, j.State)
	}
	return b.String()
}

func (e *engine) slashTodos(ctx context.Context, _ string) (string, []llm.Block, error) {
	return firstOf(e.steps.Open(ctx), "There are no open steps."), nil, nil
}

// slashModel changes the model for this session only: a script must not change what its user has chosen.
func (e *engine) slashModel(_ context.Context, name string) (string, []llm.Block, error) {
	if name == "" {
		return "The model is " + e.brain.info().ID + ".", nil, nil
	}
	m := e.brain.catalog.Lookup(name)
	if only := e.settings.Current().Settings.AvailableModels; !mayChoose(m, only) && name != "default" {
		return "", nil, fmt.Errorf("the model %s may not be used here; these may: %s", name, strings.Join(only, ", "))
	}
	e.brain.setModel(name)
	return "The model is " + m.ID + " now.", nil, nil
}

func (e *engine) slashRename(ctx context.Context, title string) (string, []llm.Block, error) {
	switch {
	case e.transcript == nil:
		return "", nil, errors.New("this session leaves no record, so there is nothing to name")
	case title == "":
		return "", nil, errors.New("say what to call it: /rename TITLE")
	}
	return "The session is called " + title + " now.", nil, e.transcript.Rename(ctx, title)
}

func (e *engine) slashExport(_ context.Context, file string) (string, []llm.Block, error) {
	if file == "" {
		return "", nil, errors.New("say where to: /export FILE")
	}
	said, err := e.exportTo(file)
	return said, nil, err
}
