package gofer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveTestTools is an MCP server with so many tools. Each start is noted in the file that STARTS names.
func serveTestTools(tools string) int {
	if f, err := os.OpenFile(os.Getenv("STARTS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, os.Getenv("NAME"))
		f.Close()
	}
	n, _ := strconv.Atoi(tools)
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	for i := range n {
		sdk.AddTool(s, &sdk.Tool{Name: fmt.Sprintf("do_%02d", i), Description: "Does thing number " + strconv.Itoa(i) + ". " + strings.Repeat("It is described at length. ", 20)},
			func(ctx context.Context, r *sdk.CallToolRequest, in struct {
				Text string `json:"text" jsonschema:"what to say"`
			}) (*sdk.CallToolResult, any, error) {
				if in.Text == "ask" {
					a, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Which one?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"which":{"type":"string"}}}`)})
					if err != nil {
						return nil, nil, err
					}
					in.Text = fmt.Sprint(a.Action, " ", a.Content["which"])
				}
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: os.Getenv("NAME") + " did " + in.Text}}}, nil, nil
			})
	}
	switch os.Getenv("NAME") {
	case "judge":
		addJudge(s)
	case "teacher":
		addTeacher(s)
	}
	if s.Run(context.Background(), &sdk.StdioTransport{}) != nil {
		return 1
	}
	return 0
}

// addJudge adds tools that answer for permissions and for hooks, and a resource.
func addJudge(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "permit"}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		Name  string         `json:"tool_name"`
		Input map[string]any `json:"input"`
		ID    string         `json:"tool_use_id"`
	}) (*sdk.CallToolResult, any, error) {
		answer := map[string]any{"behavior": "allow", "updatedInput": in.Input}
		if strings.Contains(fmt.Sprint(in.Input["command"]), "never") || in.Name != "Bash" || in.ID == "" {
			answer = map[string]any{"behavior": "deny", "message": "the judge says no"}
		}
		text, err := json.Marshal(answer)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil, err
	})
	sdk.AddTool(s, &sdk.Tool{Name: "scan"}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		Pattern string `json:"pattern"`
	}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: `{"decision":"block","reason":"no looking for ` + in.Pattern + `"}`}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "think"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		//lint:ignore SA1019 servers of today ask the model
		a, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{SystemPrompt: "Be brief.", MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "What is the capital?"}}}})
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Model + " says " + a.Content.(*sdk.TextContent).Text}}}, nil, nil
	})
	s.AddResource(&sdk.Resource{URI: "note:1", Name: "note"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "note:1", Text: "remember the milk"}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "review", Arguments: []*sdk.PromptArgument{{Name: "file", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Please review " + r.Params.Arguments["file"]}}}}, nil
	})
}
