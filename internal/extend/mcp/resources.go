package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/tool"
)

//go:embed list.md
var listDoc string

//go:embed read.md
var readDoc string

// Names of the tools that the model reads resources with.
const (
	ListName = "ListMcpResources"
	ReadName = "ReadMcpResource"
)

type listInput struct {
	Server string `json:"server,omitempty" desc:"only this server"`
}

type readInput struct {
	Server string `json:"server" desc:"the server's name"`
	URI    string `json:"uri" desc:"the resource's uri, as listed"`
}

// A Resource is something a server lets be read.
type Resource struct {
	Server      string `json:"server"`
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Template    bool   `json:"template,omitempty"` // the uri has places to fill in
}

// ResourceTools returns the tools by which the model lists and reads resources. Both are deferred: few sessions need them.
func (h *Hub) ResourceTools() []*tool.Tool {
	return []*tool.Tool{
		tool.Define(tool.Spec[listInput]{Name: ListName, Aliases: []string{"ListMcpResourcesTool"}, Doc: listDoc, Hint: "list resources of MCP servers", Deferred: true,
			Traits: func(listInput) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
			Run: func(ctx context.Context, in listInput, _ tool.Call) (tool.Result, error) {
				list, problems, err := h.Resources(ctx, in.Server)
				if err != nil {
					return tool.Result{}, err
				}
				var b strings.Builder
				for _, r := range list {
					line, err := json.Marshal(r)
					if err != nil {
						return tool.Result{}, err
					}
					b.Write(append(line, '\n'))
				}
				if len(list) == 0 {
					b.WriteString("There are no resources.\n")
				}
				for _, p := range problems {
					b.WriteString(p + "\n")
				}
				return tool.Text(b.String()), nil
			}}),
		tool.Define(tool.Spec[readInput]{Name: ReadName, Aliases: []string{"ReadMcpResourceTool"}, Doc: readDoc, Hint: "read a resource of an MCP server", Deferred: true,
			Traits: func(readInput) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
			Run: func(ctx context.Context, in readInput, c tool.Call) (tool.Result, error) {
				return h.ReadResource(ctx, c.ID, in.Server, in.URI)
			}}),
	}
}

// Resources lists the resources of one server, or of all that have some. A server that cannot be asked is a problem, not an error, unless it
// is the one asked for.
func (h *Hub) Resources(ctx context.Context, only string) (list []Resource, problems []string, err error) {
	servers := h.all()
	if only != "" {
		s, err := h.mustFind(only)
		if err != nil {
			return nil, nil, fmt.Errorf("there is no MCP server %q; the servers are %s", only, strings.Join(h.Names(), ", "))
		}
		servers = []*server{s}
	}
	for _, s := range servers {
		if st := s.status(); only == "" && (st.State == Disabled || st.Known && !st.Resources) {
			continue
		}
		found, err := s.resources(ctx)
		if err != nil && only != "" {
			return nil, nil, err
		}
		if err != nil {
			problems = append(problems, err.Error())
		}
		list = append(list, found...)
	}
	return list, problems, nil
}

// HasResources reports whether a server has resources, and whether one may have some of which nothing is known yet.
func (h *Hub) HasResources() (some, maybe bool) {
	for _, s := range h.all() {
		s.mu.Lock()
		if !s.off {
			some = some || s.known != nil && s.known.Resources
			maybe = maybe || s.known == nil
		}
		s.mu.Unlock()
	}
	return some, maybe
}

func (s *server) resources(ctx context.Context) ([]Resource, error) {
	l, err := s.connection(ctx)
	if err != nil {
		return nil, err
	}
	if r := l.session.InitializeResult(); r == nil || r.Capabilities == nil || r.Capabilities.Resources == nil {
		return nil, nil
	}
	var list []Resource
	for r, err := range l.session.Resources(ctx, nil) {
		if err != nil {
			s.judge(l, err)
			return list, fmt.Errorf("the resources of the MCP server %s cannot be listed: %w", s.cfg.Name, err)
		}
		if len(list) < mostListed {
			list = append(list, Resource{Server: s.cfg.Name, URI: r.URI, Name: r.Name, Description: cutText(r.Description, 300), MIMEType: r.MIMEType})
		}
	}
	for r, err := range l.session.ResourceTemplates(ctx, nil) {
		if err != nil {
			break // many servers have resources but no templates, and say so with an error
		}
		if len(list) < mostListed {
			list = append(list, Resource{Server: s.cfg.Name, URI: r.URITemplate, Name: r.Name, Description: cutText(r.Description, 300), MIMEType: r.MIMEType, Template: true})
		}
	}
	return list, nil
}

// ReadResource reads a resource for the model.
func (h *Hub) ReadResource(ctx context.Context, callID, server, uri string) (tool.Result, error) {
	s := h.find(server)
	if s == nil {
		return tool.Result{}, fmt.Errorf("there is no MCP server %q; the servers are %s", server, strings.Join(h.Names(), ", "))
	}
	l, err := s.connection(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	res, err := l.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
		s.judge(l, err)
		return tool.Result{}, fmt.Errorf("the MCP server %s could not read %s: %w. %s lists what there is", server, uri, err, ListName)
	}
	w := resultWriter{hub: h, call: callID}
	for _, r := range res.Contents {
		w.resource(r)
	}
	if len(w.blocks) == 0 {
		w.text("The resource is empty.")
	}
	return tool.Result{Content: w.blocks}, nil
}
