package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/llm"
)

// A Command is a server's prompt as a slash command.
type Command struct {
	Name        string // mcp__server__prompt
	Server      string
	Prompt      string // the server's name for it
	Description string
	Arguments   []Argument
}

// Hint tells a person what to write behind the command.
func (c Command) Hint() string {
	var words []string
	for _, a := range c.Arguments {
		word := "<" + a.Name + ">"
		if !a.Required {
			word = "[" + a.Name + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// Commands returns the prompts that are known, sorted by server.
func (h *Hub) Commands() []Command {
	var list []Command
	for _, s := range h.all() {
		s.mu.Lock()
		if s.known != nil && !s.off {
			for _, p := range s.known.Prompts {
				list = append(list, Command{Name: ToolName(s.cfg.Name, p.Name), Server: s.cfg.Name, Prompt: p.Name, Description: p.Description, Arguments: p.Arguments})
			}
		}
		s.mu.Unlock()
	}
	return list
}

// RunCommand fetches the text of a prompt. Words fill its arguments in order; the last argument takes all that is left. Nothing in the
// text is run or expanded.
func (h *Hub) RunCommand(ctx context.Context, c Command, words []string) ([]llm.Block, error) {
	s, err := h.mustFind(c.Server)
	if err != nil {
		return nil, err
	}
	args := map[string]string{}
	for i, a := range c.Arguments {
		switch {
		case i >= len(words) && a.Required:
			return nil, fmt.Errorf("/%s needs %s", c.Name, c.Hint())
		case i >= len(words):
		case i == len(c.Arguments)-1:
			args[a.Name] = strings.Join(words[i:], " ")
		default:
			args[a.Name] = words[i]
		}
	}
	l, err := s.connection(ctx)
	if err != nil {
		return nil, err
	}
	res, err := l.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: c.Prompt, Arguments: args})
	if err != nil {
		s.judge(l, err)
		return nil, fmt.Errorf("the MCP server %s did not give the prompt %s: %w", c.Server, c.Prompt, err)
	}
	w := resultWriter{hub: h, call: "prompt-" + c.Prompt}
	for _, m := range res.Messages {
		if m != nil && m.Content != nil {
			w.content(m.Content)
		}
	}
	return w.blocks, nil
}
