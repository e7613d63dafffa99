package hook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gofer/internal/tool"
)

// answering is a server that answers every request alike and keeps what it was sent.
type answering struct {
	*httptest.Server
	bodies  chan string
	headers chan http.Header
}

func answer200(t *testing.T, body string) *answering {
	return newAnswering(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
}

func newAnswering(t *testing.T, handle http.HandlerFunc) *answering {
	t.Helper()
	a := &answering{bodies: make(chan string, 10), headers: make(chan http.Header, 10)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		a.bodies <- string(body)
		a.headers <- req.Header
		handle(w, req)
	}))
	t.Cleanup(a.Close)
	return a
}

func TestHTTPHooksAnswerLikeCommands(t *testing.T) {
	t.Parallel()
	s := answer200(t, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"by HTTP"}}`)
	r := newRig(t, Options{Env: func() []string { return []string{"TOKEN=abc", "SECRET=def", "OTHER=ghi"} }, AllowedEnv: []string{"TOKEN", "SECRET"}},
		on(PreToolUse, "", Hook{Type: "http", URL: s.URL + "/hook", Headers: map[string]string{"X-A": "t=$TOKEN ${TOKEN} s=$SECRET o=$OTHER"}, AllowedEnvVars: []string{"TOKEN", "OTHER"}}))
	if _, err := r.run(`{"path":"made"}`); err == nil || !strings.Contains(err.Error(), "by HTTP") || r.exists("made") {
		t.Errorf("got %v, %s", err, r.warnings())
	}
	if body := <-s.bodies; !strings.Contains(body, `"tool_name":"Touch"`) || !strings.Contains(body, `"hook_event_name":"PreToolUse"`) {
		t.Errorf("sent: %s", body)
	}
	if h := <-s.headers; h.Get("X-A") != "t=abc abc s= o=" || h.Get("Content-Type") != "application/json" {
		t.Errorf("headers: %v", h)
	}
}

func TestPlainAnswersAreContext(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{"": "", "plain words": "plain words"} {
		s := answer200(t, body)
		r := newRig(t, Options{}, on(UserPromptSubmit, "", Hook{Type: "http", URL: s.URL}))
		if o := r.engine.UserPromptSubmit(t.Context(), "hi"); strings.Join(o.Context, "") != want || len(o.Failures) > 0 {
			t.Errorf("got %+v", o)
		}
	}
}

func TestBadServers(t *testing.T) {
	t.Parallel()
	other := answer200(t, `{"decision":"block"}`)
	for name, row := range map[string]struct {
		handle http.HandlerFunc
		want   string
	}{
		"error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "500"},
		"redirects": {func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, other.URL, http.StatusTemporaryRedirect)
		}, "307"},
		"half JSON": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"decision":"block"`) }, "broken JSON"},
		"hangs":     {func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, "did not end"},
		"drops":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "failed"},
		"floods": {func(w http.ResponseWriter, req *http.Request) {
			for chunk := make([]byte, 1<<20); req.Context().Err() == nil; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAnswering(t, row.handle)
			r := newRig(t, Options{}, on(PreToolUse, "", Hook{Type: "http", URL: s.URL, Timeout: 2}))
			o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`))
			if o.Block || o.Verdict != tool.VerdictNone || !strings.Contains(r.warnings(), row.want) {
				t.Errorf("got %+v, %s", o, r.warnings())
			}
		})
	}
}

func TestOnlyAllowedAddresses(t *testing.T) {
	t.Parallel()
	s := answer200(t, `{"decision":"block","reason":"reached"}`)
	for _, row := range []struct {
		url     string
		allowed []string
		want    bool
	}{
		{s.URL + "/a", nil, true},
		{s.URL + "/a", []string{}, false},
		{s.URL + "/a", []string{s.URL + "/*"}, true},
		{s.URL + "/a", []string{"https://other/*", "http://*/b"}, false},
		{s.URL + "/a", []string{"http://*/a"}, true},
		{strings.Replace(s.URL, "http://", "http://user@", 1), []string{"http://*"}, false},
		{"file:///etc/passwd", nil, false},
		{"://", nil, false},
		{"http://127.0.0.1:1/", nil, false},
	} {
		r := newRig(t, Options{AllowedURLs: row.allowed}, on(PreToolUse, "", Hook{Type: "http", URL: row.url}))
		if o := r.engine.PreToolUse(t.Context(), r.call(`{"path":"x"}`)); o.Block != row.want || (len(o.Failures) > 0) == row.want {
			t.Errorf("%s with %q: %+v", row.url, row.allowed, o)
		}
	}
}

func TestWildcards(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abc", true},
		{"a*b*c", "axbxc", true}, {"a*b*c", "axc", false}, {"ab*ba", "aba", false}, {"a**c", "ac", true},
	} {
		if got := wildcard(row.pattern, row.text); got != row.want {
			t.Errorf("%s on %s: %v", row.pattern, row.text, got)
		}
	}
}
