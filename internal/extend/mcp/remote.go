package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/proc"
)

// A remote is how a server elsewhere is reached.
type remote struct {
	headers http.Header
	login   *login
	ownAuth bool        // the transport knows nothing of log-ins: the token is added here
	denied  atomic.Bool // the server wants a log-in
}

// RoundTrip adds the headers and notes when a log-in is wanted.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range r.headers {
		req.Header[name] = values
	}
	if r.ownAuth && req.Header.Get("Authorization") == "" {
		if source, err := r.login.TokenSource(req.Context()); err == nil && source != nil {
			if t, err := source.Token(); err == nil {
				t.SetAuthHeader(req)
			}
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		r.denied.Store(true)
	}
	return resp, err
}

func (h *Hub) newRemote(ctx context.Context, c Config) (*remote, sdk.Transport, error) {
	r := &remote{headers: http.Header{}, login: h.newLogin(c), ownAuth: c.Kind() != "http"}
	for name, value := range c.Headers {
		r.headers.Set(name, value)
	}
	if c.HeadersHelper != "" {
		more, err := h.helpHeaders(ctx, c)
		if err != nil {
			return nil, nil, fmt.Errorf("its headersHelper failed: %w", err)
		}
		for name, value := range more {
			r.headers.Set(name, value)
		}
	}
	if c.AuthToken != "" {
		r.headers.Set(editorToken, c.AuthToken)
	}
	client := &http.Client{Transport: r}
	switch c.Kind() {
	case "ws":
		s := &socket{url: c.URL, client: client}
		if h.o.Notice != nil {
			s.notice = func(method string, params json.RawMessage) { h.o.Notice(c.Name, method, params) }
		}
		return r, s, nil
	case "sse":
		return r, &sdk.SSEClientTransport{Endpoint: c.URL, HTTPClient: client, MaxEventSize: maxMessage}, nil
	}
	t := &sdk.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client, MaxEventSize: maxMessage}
	var err error
	switch {
	case r.headers.Get("Authorization") != "":
	case c.OAuth != nil && c.OAuth.GrantType == "client_credentials":
		t.OAuthHandler, err = c.OAuth.credentials()
	case c.OAuth != nil && c.OAuth.Identity != nil:
		t.OAuthHandler, err = h.newIdentityLogin(c)
	default:
		t.OAuthHandler = r.login
	}
	return r, t, err
}

// helpHeaders runs the command that prints headers as a JSON object.
func (h *Hub) helpHeaders(ctx context.Context, c Config) (map[string]string, error) {
	out, err := h.help(ctx, c.HeadersHelper)
	if err != nil {
		return nil, err
	}
	var headers map[string]string
	if json.Unmarshal(out, &headers) != nil {
		return nil, errors.New("it did not print a JSON object of texts")
	}
	return headers, nil
}

// help runs a command of a configuration and returns what it prints.
func (h *Hub) help(ctx context.Context, command string) ([]byte, error) {
	argv := []string{"/bin/sh", "-c", command}
	if runtime.GOOS == "windows" {
		argv = []string{"cmd", "/C", command}
	}
	cmd := proc.Cmd{Argv: argv, Dir: h.o.Dir}
	if h.o.Environ != nil {
		cmd.Env = h.o.Environ()
	}
	got, err := h.o.Runner.Capture(ctx, cmd, nil, 64<<10)
	if err != nil {
		return nil, err
	}
	if got.Exit.Code != 0 {
		return nil, fmt.Errorf("exit code %d: %s", got.Exit.Code, strings.TrimSpace(string(got.Stderr)))
	}
	return got.Stdout, nil
}
