package mcp

import (
	"context"
	"encoding/base64"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/llm"
	"gofer/internal/tool"
)

// An Offer is what gofer lets other programs use.
type Offer struct {
	Version string
	Tools   *tool.Set
	Handle  tool.Handler // hooks, permissions and the tool itself
	Spill   tool.Spill
}

// Serve offers gofer's tools over in and out until in ends or ctx does. Every call passes Handle.
func Serve(ctx context.Context, o Offer, in io.ReadCloser, out io.WriteCloser) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "gofer", Version: o.Version}, nil)
	for _, def := range o.Tools.Defs() {
		server.AddTool(&sdk.Tool{Name: def.Name, Description: def.Description, InputSchema: def.Schema}, o.call)
	}
	err := server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: maxMessage})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (o Offer) call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	failed := func(err error) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}, nil
	}
	t, err := o.Tools.Find(r.Params.Name)
	if err != nil {
		return failed(err)
	}
	input := r.Params.Arguments
	if len(input) == 0 {
		input = []byte("{}")
	}
	id, _ := r.Params.Meta["claudecode/toolUseId"].(string)
	c, err := t.Bind(firstText(id, "mcp-call"), input)
	if err != nil {
		return failed(err)
	}
	if err := c.Check(ctx); err != nil {
		return failed(err)
	}
	res, err := o.Handle(ctx, c)
	if err != nil {
		return failed(err)
	}
	res = c.Cap(res, o.Spill)
	out := &sdk.CallToolResult{IsError: res.IsError}
	for _, b := range res.Content {
		out.Content = append(out.Content, offered(b))
	}
	return out, nil
}

// offered is a block in the form of the protocol.
func offered(b llm.Block) sdk.Content {
	if b.Kind == llm.Text {
		return &sdk.TextContent{Text: b.Text}
	}
	if b.Media != nil && b.Media.Type == "base64" {
		if data, err := base64.StdEncoding.DecodeString(b.Media.Data); err == nil {
			if b.Kind == llm.Image {
				return &sdk.ImageContent{Data: data, MIMEType: b.Media.MediaType}
			}
			return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "gofer:document", MIMEType: b.Media.MediaType, Blob: data}}
		}
	}
	return &sdk.TextContent{Text: "(a block of the kind " + string(b.Kind) + ")"}
}
