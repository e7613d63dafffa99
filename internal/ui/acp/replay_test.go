package acp

import (
	"context"
	"strings"
	"testing"

	"gofer/internal/llm"
)

// A pastStage opens sessions that have a past.
type pastStage struct {
	stage
	past []llm.Message
}

func (s *pastStage) Open(ctx context.Context, o Opening) (*Session, error) {
	one, err := s.stage.Open(ctx, o)
	one.History = func(yield func(llm.Message) bool) error {
		for _, m := range s.past {
			if !yield(m) {
				break
			}
		}
		return nil
	}
	return one, err
}

// What gofer itself told the model is no prompt of the user.
func TestThePastHasOnlyThePromptsOfTheUser(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := start(t, ctx, &pastStage{stage: stage{source: "turn\ntext x\n"}, past: []llm.Message{llm.UserText("<system-reminder>a</system-reminder>"), llm.UserText("the prompt"),
		llm.UserText("<task-notification>\n<task-id>b1</task-id>\n</task-notification>")}}, nil)
	id := c.send("session/load", map[string]any{"sessionId": "0b7e1f8a-0000-4000-8000-000000000001", "cwd": t.TempDir(), "mcpServers": []any{}})
	var told []string
	m := c.until(func(m message) bool {
		if m.Method == "session/update" && strings.Contains(string(m.Params), "user_message_chunk") {
			told = append(told, string(m.Params))
		}
		return string(m.ID) == id && m.Method == ""
	})
	if m.Error != nil || len(told) != 1 || !strings.Contains(told[0], "the prompt") {
		t.Errorf("%v, %s", m.Error, told)
	}
	c.in.Close()
	<-c.done
}
