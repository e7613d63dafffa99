//go:build unix

package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/proc"
)

// The test binary is also the supervisor of package proc and, with serverVar set, a real MCP server of one of several sorts.
const serverVar = "GOFER_TEST_SERVER"

func TestMain(m *testing.M) {
	if proc.IsSupervisor(os.Args) {
		os.Exit(proc.Supervise())
	}
	if sort := os.Getenv(serverVar); sort != "" {
		os.Exit(serve(sort))
	}
	os.Exit(m.Run())
}

// serve is a server of the given sort, on standard input and output.
func serve(sort string) int {
	count(os.Getenv("STARTS"))
	switch sort {
	case "hang":
		select {} // neither reads nor writes
	case "crash":
		fmt.Fprintln(os.Stderr, "the database is missing")
		return 3
	case "noise":
		fmt.Println("Welcome to the noisy server\n{not json}\n[1, 2")
	case "flood":
		line := strings.Repeat("x", 1023) + "\n"
		go func() {
			for {
				fmt.Fprint(os.Stderr, line)
			}
		}()
	case "stubborn":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		child := exec.Command("sh", "-c", "trap '' INT TERM; setsid sleep 1000 & echo $! > "+os.Getenv("PIDS")+"; wait")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if child.Start() != nil {
			return 1
		}
		newServer().Run(context.Background(), &sdk.StdioTransport{})
		select {} // it stays when its input has ended
	case "once":
		once.Store(true)
	}
	if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// once makes the server leave after its first call.
var once atomic.Bool

// count notes a start of the server in a file.
func count(file string) {
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	}
}

func starts(t *testing.T, file string) int {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
	}
	return n
}

type text struct {
	Text string `json:"text"`
}

func said(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// newServer is a server with something of everything.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "everything", Version: "1.2"}, &sdk.ServerOptions{Instructions: "Ask me anything."})
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again " + strings.Repeat("and again ", 500), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, Title: "Echo"}},
		func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
			if once.Load() {
				// The answer leaves before the server does.
				defer time.AfterFunc(20*time.Millisecond, func() { os.Exit(0) })
			}
			return said("echo: " + in.Text), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "die", Description: "Ends the server"}, func(_ context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "cannot go on")
		os.Exit(4)
		return nil, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "wait", Description: "Waits until it is cancelled"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "waiting", Progress: 1, Total: 2})
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(s, &sdk.Tool{Name: "mixed", Description: "Text, a picture, a sound, a link, a resource"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "words"}, &sdk.ImageContent{Data: largePicture(), MIMEType: "image/png"}, &sdk.AudioContent{Data: []byte("RIFF"), MIMEType: "audio/wav"},
			&sdk.ResourceLink{URI: "x:y", Name: "why"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a:b", Text: "embedded"}}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "structured", Description: "Data"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, map[string]int, error) {
		return nil, map[string]int{"answer": 42}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail", Description: "Fails", Annotations: &sdk.ToolAnnotations{DestructiveHint: new(bool)}}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("it went wrong")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask", Description: "Asks the user"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		a, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Which colour?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}}}`)})
		if err != nil {
			return nil, nil, err
		}
		return said(fmt.Sprintf("%s %v", a.Action, a.Content["colour"])), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "roots", Description: "Lists roots"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		//lint:ignore SA1019 servers of today ask for roots
		l, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		var uris []string
		for _, root := range l.Roots {
			uris = append(uris, root.URI)
		}
		return said(strings.Join(uris, " ")), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow", Description: "Adds a tool"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown", Description: "New"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return said("new"), nil, nil
		})
		return said("grew"), nil, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "review", Description: "Reviews", Arguments: []*sdk.PromptArgument{{Name: "file", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Review " + r.Params.Arguments["file"] + " " + r.Params.Arguments["how"]}}}}, nil
		})
	s.AddResource(&sdk.Resource{URI: "note:1", Name: "note"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "note:1", Text: "remember the milk"}}}, nil
	})
	return s
}

// largePicture is larger than what is sent to a model.
func largePicture() []byte {
	var out bytes.Buffer
	png.Encode(&out, image.NewGray(image.Rect(0, 0, 3000, 30)))
	return out.Bytes()
}
