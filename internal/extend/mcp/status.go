package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A Status tells how a server stands, in the form of the control protocol.
type Status struct {
	Name   string       `json:"name"`
	State  State        `json:"status"`
	Error  string       `json:"error,omitempty"`
	Info   *Info        `json:"serverInfo,omitempty"`
	Config Config       `json:"config"`
	Scope  string       `json:"scope"`
	Source string       `json:"source"` // the scope, or sdk for one inside the program that drives gofer
	Tools  []ToolStatus `json:"tools,omitempty"`

	Instructions string `json:"-"`
	Known        bool   `json:"-"` // its tools are known
	Resources    bool   `json:"-"`
}

// Info names the program behind a server.
type Info struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ToolStatus is a tool as Status lists it, under the server's own name for it.
type ToolStatus struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Annotations map[string]any `json:"annotations,omitempty"`
}

// Status tells how all servers stand, sorted by name. Values of variables and headers, which may be secrets, are left out.
func (h *Hub) Status() []Status {
	list := []Status{}
	for _, s := range h.all() {
		list = append(list, s.status())
	}
	return list
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.cfg.Name, State: s.state, Scope: s.cfg.Scope, Source: s.cfg.Scope, Config: s.cfg.hideSecrets()}
	if s.cfg.Kind() == "sdk" {
		st.Source = "sdk"
		if s.known != nil && st.State == Pending {
			st.State = Connected // the program that it lives in has just told what it has
		}
	}
	if s.err != nil {
		st.Error = s.err.Error()
	}
	m := s.known
	if m == nil || s.off {
		return st
	}
	st.Known, st.Instructions, st.Resources = true, m.Instructions, m.Resources
	if m.Name != "" {
		st.Info = &Info{m.Name, m.ServerVer}
	}
	for _, t := range m.Tools {
		ts := ToolStatus{Name: t.Name, Description: t.Description, Annotations: map[string]any{}}
		for key, on := range map[string]bool{"readOnly": t.ReadOnly, "destructive": t.Destructive, "openWorld": t.OpenWorld} {
			if on {
				ts.Annotations[key] = true
			}
		}
		st.Tools = append(st.Tools, ts)
	}
	return st
}

func (c Config) hideSecrets() Config {
	hide := func(m map[string]string) map[string]string {
		if m == nil {
			return nil
		}
		out := make(map[string]string, len(m))
		for k := range m {
			out[k] = "…"
		}
		return out
	}
	c.Env, c.Headers = hide(c.Env), hide(c.Headers)
	if c.OAuth != nil {
		c.OAuth = &OAuth{ClientID: c.OAuth.ClientID, CallbackPort: c.OAuth.CallbackPort}
	}
	if c.Type == "" {
		c.Type = c.Kind()
	}
	return c
}

func (h *Hub) mustFind(name string) (*server, error) {
	if s := h.find(name); s != nil {
		return s, nil
	}
	text := "Server not found: " + name // clients look for these words
	return nil, errors.New(text)
}

// Reconnect ends the connection to a server and makes a new one. It waits for it, but not longer than d.
func (h *Hub) Reconnect(ctx context.Context, name string, d time.Duration) error {
	s, err := h.mustFind(name)
	if err != nil {
		return err
	}
	done := s.again()
	if done == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.why()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		return nil // it goes on in the background
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why()
}

// Toggle switches a server on or off for this session.
func (h *Hub) Toggle(name string, on bool) error {
	s, err := h.mustFind(name)
	if err != nil {
		return err
	}
	s.toggle(on)
	return nil
}

// Deliver hands on a message that a server in the client sent by itself.
func (h *Hub) Deliver(name string, message json.RawMessage) error {
	s, err := h.mustFind(name)
	if err != nil {
		return err
	}
	m, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		return fmt.Errorf("the message cannot be read: %w", err)
	}
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l == nil || l.bridge == nil {
		return errors.New("the server " + name + " is not connected through this client")
	}
	l.bridge.push(m)
	return nil
}
