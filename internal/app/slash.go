package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/prompt"
)

// A slashCommand is what a prompt that begins with its name does, instead of going to the model.
type slashCommand struct {
	name, help, hint string
	// run returns the answer, or other blocks for the model.
	run func(ctx context.Context, args string) (answer string, blocks []llm.Block, err error)
}

func (e *engine) slashCommands() []slashCommand {
	return withoutDoubles(append([]slashCommand{
		{"compact", "make the conversation smaller, keeping what matters", "[what to keep]", e.slashCompact},
		{"context", "show what fills the model's window", "", e.slashContext},
		{"cost", "show what the session has cost", "", e.slashCost},
		{"dream", "distil the daily logs of the memory into memories", "", e.slashDream},
		{"init", "look at the project and write its instruction file", "", e.slashInit},
	}, slices.Concat(e.textCommands(), e.pluginCommands(), e.scheduleCommands(), e.serverCommands(), e.skillCommands(), e.reviewCommands())...))
}

func (e *engine) slashNames() []string {
	names := []string{}
	for _, c := range e.slashCommands() {
		names = append(names, c.name)
	}
	return names
}

// command finds the command that a prompt is, nil if it is none: it may be a path, or meant for the model.
func (e *engine) command(text string) (c *slashCommand, args string) {
	name, args := firstWord(text)
	if !strings.HasPrefix(name, "/") || e.flags.NoSlash {
		return nil, ""
	}
	list := e.slashCommands()
	i := slices.IndexFunc(list, func(c slashCommand) bool { return "/"+c.name == name })
	if i < 0 {
		return nil, ""
	}
	return &list[i], strings.TrimSpace(args)
}

func (e *engine) isCommand(text string) bool {
	c, _ := e.command(text)
	return c != nil
}

// slash runs a command, if the prompt is one.
func (e *engine) slash(ctx context.Context, text string) (answer string, blocks []llm.Block, handled bool) {
	c, args := e.command(text)
	if c == nil {
		return "", nil, false
	}
	answer, blocks, err := c.run(ctx, args)
	if err != nil {
		return fmt.Sprintf("/%s: %v", c.name, err), nil, true
	}
	return answer, blocks, true
}

func (e *engine) slashCompact(ctx context.Context, focus string) (string, []llm.Block, error) {
	r, err := e.compactor.Compact(ctx, e.session.Log, focus)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("Compacted: about %d tokens became %d.", r.Before, r.After), nil, nil
}

func (e *engine) slashContext(context.Context, string) (string, []llm.Block, error) {
	return e.contextReport().Text(), nil, nil
}

func (e *engine) slashCost(context.Context, string) (string, []llm.Block, error) {
	t := e.ledger.Total()
	var b strings.Builder
	fmt.Fprintf(&b, "The session has cost $%.4f; requests took %s.\n", t.USD, t.APITime.Round(1e6))
	for _, model := range slices.Sorted(maps.Keys(t.Models)) {
		m := t.Models[model]
		fmt.Fprintf(&b, "- %s: %d in, %d out, %d from cache, %d to cache: $%.4f\n", model, m.Usage.Input, m.Usage.Output, m.Usage.CacheRead, m.Usage.CacheWrite, m.USD)
	}
	if stats := e.cache.Stats(); stats.Requests > 0 || len(t.Models) == 0 { // after a resume there was none yet, but the session has cost something
		b.WriteString(stats.Text())
	}
	return b.String(), nil, nil
}

func (e *engine) slashDream(ctx context.Context, _ string) (string, []llm.Block, error) {
	if e.told.memory == nil {
		return "", nil, errors.New("memory is switched off in this session")
	}
	done, err := e.told.memory.Dream(ctx, memoryAsker{e.helper})
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("Kept %d memories, removed %d.", len(done.Saved), len(done.Removed)), nil, nil
}

func (e *engine) slashInit(context.Context, string) (string, []llm.Block, error) {
	file := prompt.ProjectFile(prompt.ProjectRoot(e.place.cwd))
	return "", []llm.Block{llm.TextBlock(prompt.InitPrompt(e.told.language, file))}, nil
}
