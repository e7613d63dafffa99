//go:build unix

package mcp_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/extend/mcp"
)

// authServer is an MCP server that wants a log-in, and the authorization server for it.
type authServer struct {
	*httptest.Server
	issued    atomic.Int32 // tokens given out; only the newest is good
	challenge atomic.Value // string
	refreshed atomic.Int32
	refused   atomic.Bool // the person says no
}

func newAuthServer(t *testing.T) *authServer {
	a := &authServer{}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, nil)
	mux := http.NewServeMux()
	say := func(path string, v func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(v())
		})
	}
	say("/.well-known/oauth-protected-resource/mcp", func() any {
		return map[string]any{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL}}
	})
	say("/.well-known/oauth-authorization-server", func() any {
		return map[string]any{"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}}
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		json.NewDecoder(r.Body).Decode(&m)
		m["client_id"] = "gofer-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(m)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		a.challenge.Store(q.Get("code_challenge"))
		back := url.Values{"state": {q.Get("state")}, "code": {"code-1"}}
		if a.refused.Load() {
			back = url.Values{"state": {q.Get("state")}, "error": {"access_denied"}}
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		switch r.FormValue("grant_type") {
		case "authorization_code":
			if base64.RawURLEncoding.EncodeToString(sum[:]) != a.challenge.Load() || r.FormValue("code") != "code-1" {
				http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
				return
			}
		case "refresh_token":
			a.refreshed.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":3600,"refresh_token":"again"}`, a.issued.Add(1))
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if n := a.issued.Load(); n == 0 || r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d", n) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.URL+`/.well-known/oauth-protected-resource/mcp"`)
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		a.CloseClientConnections()
		a.Close()
	})
	return a
}

func TestLogin(t *testing.T) {
	a := newAuthServer(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	c := mcp.Config{Name: "s", Type: "http", URL: a.URL + "/mcp"}
	visit := func(ctx context.Context, page string) error {
		resp, err := http.Get(page)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	r := newRig(t, func(o *mcp.Options) { o.TokenDir = tokens })
	r.Add(c)
	r.settle()
	if st := r.status("s"); st.State != mcp.NeedsAuth || !strings.Contains(st.Error, "gofer mcp login") {
		t.Fatalf("before the log-in: %+v", st)
	}
	hub := func(browse func(context.Context, string) error) *mcp.Hub {
		h := mcp.New(t.Context(), mcp.Options{Runner: newRunner(t), TokenDir: tokens, Browse: browse})
		t.Cleanup(h.Close)
		h.Add(c)
		h.Settle(t.Context(), 20*time.Second, true)
		return h
	}
	a.refused.Store(true)
	if st := hub(visit).Status()[0]; st.State != mcp.Failed || !strings.Contains(st.Error, "refused: access_denied") {
		t.Errorf("refused: %+v", st)
	}
	a.refused.Store(false)
	h := hub(visit)
	if st := h.Status()[0]; st.State != mcp.Connected {
		t.Fatalf("after the log-in: %+v", st)
	}
	h.Close()
	files, _ := filepath.Glob(filepath.Join(tokens, "*"))
	if len(files) != 1 {
		t.Fatalf("kept %v", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token: %v, %v", info, err)
	}
	// A session without a person uses what is kept, and renews it when its time is over.
	if h = hub(nil); h.Status()[0].State != mcp.Connected || a.refreshed.Load() != 0 {
		t.Fatalf("with the kept token: %+v", h.Status()[0])
	}
	h.Close()
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	kept["token"].(map[string]any)["expiry"] = "2020-01-01T00:00:00Z"
	if data, err = json.Marshal(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if h = hub(nil); h.Status()[0].State != mcp.Connected || a.refreshed.Load() != 1 {
		t.Fatalf("with an old token: %+v, renewed %d times", h.Status()[0], a.refreshed.Load())
	}
	h.Close()
	if data, err = os.ReadFile(files[0]); err != nil || !strings.Contains(string(data), "token-2") {
		t.Errorf("the new token was not kept: %s, %v", data, err)
	}
	if !h.Forget(c) || h.Forget(c) {
		t.Error("forgetting")
	}
}
