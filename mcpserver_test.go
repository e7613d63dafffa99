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
	if s.Run(context.Background(), &sdk.StdioTransport{}) != nil {
		return 1
	}
	return 0
}
