package mcp

import (
	"context"
	"encoding/base64"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/llm"
)

// sample lets the model answer a question of the server.
//
//lint:ignore SA1019 the newest protocol drops sampling, but the servers of today use it
func (s *server) sample(ctx context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
	q := Sampling{Server: s.cfg.Name, System: r.Params.SystemPrompt, MaxTokens: int(r.Params.MaxTokens)}
	for _, m := range r.Params.Messages {
		var b llm.Block
		switch c := m.Content.(type) {
		case *sdk.TextContent:
			b = llm.TextBlock(c.Text)
		case *sdk.ImageContent:
			b = llm.Block{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: c.MIMEType, Data: base64.StdEncoding.EncodeToString(c.Data)}}
		default:
			return nil, errors.New("only texts and pictures can be asked about")
		}
		q.Messages = append(q.Messages, llm.Message{Role: llm.Role(m.Role), Blocks: []llm.Block{b}})
	}
	a, err := s.hub.o.Sample(ctx, q)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 as above
	return &sdk.CreateMessageResult{Role: "assistant", Model: a.Model, StopReason: "endTurn", Content: &sdk.TextContent{Text: a.Text}}, nil
}
