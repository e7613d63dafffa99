package anthropic

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gofer/internal/llm"
)

var good = events(start, textStart, hello, blockStop, ending, stop)

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	var got http.Header
	var path, host string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, path, host = r.Header, r.URL.String(), r.Host
		answer(good)(w, r)
	}))
	defer s.Close()
	c := New(Config{BaseURL: s.URL + "/gateway/", APIKey: "k", AuthToken: "t", UserAgent: "gofer/1.0",
		Headers: ParseHeaders("X-One: 1\nnonsense\nX-Two:  a: b \r\nUser-Agent: mine\nHost: other.example\nBad Name: x\nX-Bad: \x01"), HTTP: s.Client()})
	req := hi
	req.SessionID, req.Betas = "sess", []string{"b1", "b2"}
	if _, err := collect(t.Context(), c, req); err != nil {
		t.Fatal(err)
	}
	if path != "/gateway/v1/messages?beta=true" || host != "other.example" {
		t.Errorf("sent to %s of %s", path, host)
	}
	for name, want := range map[string]string{
		"X-Api-Key": "k", "Authorization": "Bearer t", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "b1,b2",
		"X-Gofer-Session-Id": "sess", "User-Agent": "mine", "X-One": "1", "X-Two": "a: b", "Content-Type": "application/json",
		"Accept": "text/event-stream", "Accept-Encoding": "gzip", "X-Bad": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Get(name), want)
		}
	}
}

func TestBaseURLs(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.example":                 "https://api.example/v1/messages?beta=true",
		"https://api.example/":                "https://api.example/v1/messages?beta=true",
		"https://api.example/v1":              "https://api.example/v1/messages?beta=true",
		"https://api.example/v1/":             "https://api.example/v1/messages?beta=true",
		"https://api.example/v1/messages":     "https://api.example/v1/messages?beta=true",
		"http://localhost:4000/team/a%20b///": "http://localhost:4000/team/a%20b/v1/messages?beta=true",
		"https://api.example/x?tenant=7":      "https://api.example/x/v1/messages?beta=true&tenant=7",
	} {
		if got, err := messagesURL(base); err != nil || got != want {
			t.Errorf("%s gives %s, %v; want %s", base, got, err, want)
		}
	}
	for _, bad := range []string{"api.example", "ftp://x", "http://", "http://a b", "::"} {
		_, err := collect(t.Context(), New(Config{BaseURL: bad, APIKey: "k"}), hi)
		if e := new(llm.Error); !errors.As(err, &e) || e.Kind != llm.InvalidRequest || e.Retryable() {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

func TestNoCredential(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("something was sent") }))
	defer s.Close()
	none := func(context.Context, bool) (string, error) { return " \n", nil }
	for _, cfg := range []Config{{BaseURL: s.URL}, {BaseURL: s.URL, KeyHelper: none}} {
		_, err := collect(t.Context(), New(cfg), hi)
		if e := new(llm.Error); !errors.As(err, &e) || e.Kind != llm.NotLoggedIn {
			t.Errorf("error %v", err)
		}
	}
	failing := func(context.Context, bool) (string, error) { return "", errors.New("vault is sealed") }
	_, err := collect(t.Context(), New(Config{BaseURL: s.URL, KeyHelper: failing}), hi)
	if e := new(llm.Error); !errors.As(err, &e) || e.Kind != llm.Authentication || !strings.Contains(err.Error(), "vault is sealed") {
		t.Errorf("error %v", err)
	}
}

// A key of a helper that is refused is fetched anew, once.
func TestKeyHelper(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		valid     string
		wantErr   bool
		wantCalls string
	}{{"key-1", false, "false"}, {"key-2", false, "false true"}, {"never", true, "false true"}} {
		var requests atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			if r.Header.Get("X-Api-Key") != tt.valid || r.Header.Get("Authorization") != "Bearer "+tt.valid {
				w.WriteHeader(401)
				_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
				return
			}
			answer(good)(w, r)
		}))
		var calls []string
		helper := func(_ context.Context, refresh bool) (string, error) {
			calls = append(calls, fmt.Sprint(refresh))
			return fmt.Sprintf("key-%d", len(calls)), nil
		}
		_, err := collect(t.Context(), New(Config{BaseURL: s.URL, KeyHelper: helper, HTTP: s.Client()}), hi)
		s.Close()
		if e := new(llm.Error); tt.wantErr != (errors.As(err, &e) && e.Kind == llm.Authentication) || !tt.wantErr && err != nil {
			t.Errorf("%s: error %v", tt.valid, err)
		}
		if strings.Join(calls, " ") != tt.wantCalls || int(requests.Load()) != len(calls) {
			t.Errorf("%s: the helper was called with %v, %d requests", tt.valid, calls, requests.Load())
		}
	}
}

func TestHTTPErrors(t *testing.T) {
	t.Parallel()
	api := func(kind, message string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_body"}`, kind, message)
	}
	long := strings.Repeat("<p>gateway</p>\n", 1000)
	tests := map[string]struct {
		status  int
		header  string
		body    string
		kind    llm.ErrorKind
		message string // a part of it
		retry   bool
		after   time.Duration
	}{
		"bad request":            {400, "", api("invalid_request_error", "messages: roles must alternate"), llm.InvalidRequest, "roles must alternate", false, 0},
		"too long":               {400, "", api("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), llm.PromptTooLong, "210000", false, 0},
		"limit with max_tokens":  {400, "", api("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), llm.PromptTooLong, "", false, 0},
		"too large":              {413, "", api("request_too_large", "Request exceeds the maximum size"), llm.PromptTooLong, "", false, 0},
		"too large, no JSON":     {413, "", "<html>too big</html>", llm.PromptTooLong, "too big", false, 0},
		"image":                  {400, "", api("invalid_request_error", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"), llm.BadMedia, "", false, 0},
		"image too large":        {413, "", api("request_too_large", "image is too large"), llm.BadMedia, "", false, 0},
		"pdf":                    {400, "", api("invalid_request_error", "The PDF specified was not valid."), llm.BadMedia, "", false, 0},
		"key":                    {401, "", api("authentication_error", "invalid x-api-key"), llm.Authentication, "", false, 0},
		"permission":             {403, "", api("permission_error", "no access"), llm.Authentication, "", false, 0},
		"credit":                 {400, "", api("invalid_request_error", "Your credit balance is too low to access the API."), llm.Billing, "", false, 0},
		"billing":                {402, "", api("billing_error", "pay"), llm.Billing, "", false, 0},
		"model":                  {404, "", api("not_found_error", "model: claude-9"), llm.ModelNotFound, "claude-9", false, 0},
		"model of a gateway":     {404, "", `{"error":"model 'x' not found"}`, llm.ModelNotFound, "model 'x' not found", false, 0},
		"no such page":           {404, "", "404 page not found", llm.InvalidRequest, "page not found", false, 0},
		"rate limit":             {429, "Retry-After: 7", api("rate_limit_error", "slow down"), llm.RateLimit, "slow down", true, 7 * time.Second},
		"rate limit, fraction":   {429, "Retry-After: 1.5", api("rate_limit_error", "slow down"), llm.RateLimit, "", true, 1500 * time.Millisecond},
		"rate limit, ms":         {429, "Retry-After-Ms: 250", api("rate_limit_error", "slow down"), llm.RateLimit, "", true, 250 * time.Millisecond},
		"rate limit, final":      {429, "X-Should-Retry: false", api("rate_limit_error", "quota"), llm.RateLimit, "", false, 0},
		"bad request, not final": {400, "X-Should-Retry: true", api("invalid_request_error", "try again"), llm.InvalidRequest, "", true, 0},
		"absurd wait":            {429, "Retry-After: 1e300", api("rate_limit_error", "never"), llm.RateLimit, "", true, 1<<63 - 1},
		"wait of nonsense":       {429, "Retry-After: soon", api("rate_limit_error", "x"), llm.RateLimit, "", true, 0},
		"wait of minus one":      {429, "Retry-After: -1", api("rate_limit_error", "x"), llm.RateLimit, "", true, 0},
		"overloaded":             {529, "", api("overloaded_error", "Overloaded"), llm.Overloaded, "", true, 0},
		"overloaded as 503":      {503, "", api("overloaded_error", "Overloaded"), llm.Overloaded, "", true, 0},
		"server":                 {500, "", api("api_error", "Internal server error"), llm.ServerError, "", true, 0},
		"gateway page":           {502, "", long, llm.ServerError, "<p>gateway</p> <p>gateway</p>", true, 0},
		"no body":                {504, "", "", llm.ServerError, "Gateway Timeout", true, 0},
		"timeout":                {408, "", "", llm.ServerError, "Request Timeout", true, 0},
		"conflict":               {409, "", api("conflict_error", "again"), llm.ServerError, "again", true, 0},
		"teapot":                 {418, "", "", llm.Unknown, "teapot", false, 0},
		"redirect":               {307, "Location: http://evil.example/", "", llm.Unknown, "http://evil.example/", false, 0},
		"a page and not a reply": {200, "Content-Type: text/html", "<html>log in to the network</html>", llm.BadStream, "text/html", true, 0},
		"an error as a reply":    {200, "Content-Type: application/json", api("overloaded_error", "Overloaded"), llm.Overloaded, "", true, 0},
		"a billion bytes":        {500, "", strings.Repeat("x", 1<<20), llm.ServerError, "xxx", true, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if k, v, ok := strings.Cut(tt.header, ": "); ok {
					w.Header().Set(k, v)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			deltas, err := collect(t.Context(), c, hi)
			var e *llm.Error
			if len(deltas) > 0 || !errors.As(err, &e) {
				t.Fatalf("%s, error %v", kinds(deltas), err)
			}
			if e.Kind != tt.kind || !strings.Contains(e.Message, tt.message) || e.Retryable() != tt.retry || e.RetryAfter != tt.after {
				t.Errorf("%+v", e)
			}
			if tt.status != 200 && e.Status != tt.status {
				t.Errorf("status %d", e.Status)
			}
			if len(e.Message) > 1000 || strings.Contains(e.Message, "\n") {
				t.Errorf("message of %d bytes: %.80q", len(e.Message), e.Message)
			}
			if strings.Contains(tt.body, "req_body") && e.RequestID != "req_body" {
				t.Errorf("request id %q", e.RequestID)
			}
		})
	}
}

func TestRetryAfterDate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for date, want := range map[string]time.Duration{
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
		"Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {date}}, now); got != want {
			t.Errorf("%s: %v, want %v", date, got, want)
		}
	}
}

// Go's client would hand the key to whatever host a redirect names.
func TestRedirectLeaksNoKey(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := collect(t.Context(), c, hi); err == nil {
		t.Error("no error")
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = collect(t.Context(), New(Config{BaseURL: "http://" + l.Addr().String(), APIKey: "secret"}), hi)
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Connection || !e.Retryable() || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	tlsServer := httptest.NewTLSServer(answer(good))
	defer tlsServer.Close()
	tlsServer.Config.ErrorLog = nil
	_, err = collect(t.Context(), New(Config{BaseURL: tlsServer.URL, APIKey: "k"}), hi) // its certificate is unknown
	if !errors.As(err, &e) || e.Kind != llm.Connection || e.Retryable() {
		t.Errorf("error %v", err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, events(start, textStart, hello))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for d, err := range c.Stream(ctx, hi) {
		if d.Kind == llm.TextDelta {
			cancel()
		}
		last = err
	}
	if last != context.Canceled {
		t.Errorf("error %v", last)
	}
	<-gone
}

// Leaving the loop ends the request at the server.
func TestLeave(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, events(start, textStart, hello))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for d := range c.Stream(t.Context(), hi) {
		if d.Kind == llm.TextDelta {
			break
		}
	}
	<-gone
}

func TestConnectionIsKept(t *testing.T) {
	t.Parallel()
	for name, leaveAtDone := range map[string]bool{"to the end": false, "leaving at Done": true} {
		var mu sync.Mutex
		conns := map[string]bool{}
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			conns[r.RemoteAddr] = true
			mu.Unlock()
			answer(good)(w, r)
		})
		for range 5 {
			for d, err := range c.Stream(t.Context(), hi) {
				if err != nil {
					t.Fatal(err)
				}
				if leaveAtDone && d.Kind == llm.Done {
					break
				}
			}
		}
		if len(conns) != 1 {
			t.Errorf("%s: %d connections for 5 requests", name, len(conns))
		}
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, good)
		z.Close()
	})
	if deltas, err := collect(t.Context(), c, hi); err != nil || blocks(deltas)[0].Text != "hello" {
		t.Errorf("%s, %v", kinds(deltas), err)
	}
}

// Request bodies are made in buffers that are used again: no request may see the bytes of another.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		id := r.Header.Get("X-Gofer-Session-Id")
		if err != nil || bytes.Count(body, []byte(id)) != 501 {
			t.Errorf("%s: a body of %d bytes is not its own (%v)", id, len(body), err)
		}
		answer(good)(w, r)
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				req := hi
				req.SessionID = fmt.Sprintf("<%d-%d>", i, j)
				req.Messages = []llm.Message{llm.UserText(strings.Repeat(req.SessionID, 500))}
				if _, err := collect(t.Context(), c, req); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestWarm(t *testing.T) {
	t.Parallel()
	var log []string
	conns := map[string]bool{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log = append(log, r.Method+" "+r.Header.Get("X-Api-Key"))
		conns[r.RemoteAddr] = true
		if r.Method == http.MethodPost {
			answer(good)(w, r)
		}
	}))
	defer s.Close()
	c := New(Config{BaseURL: s.URL + "/v1", APIKey: "k", HTTP: s.Client()})
	c.Warm(t.Context())
	if _, err := collect(t.Context(), c, hi); err != nil {
		t.Fatal(err)
	}
	if strings.Join(log, ",") != "HEAD ,POST k" || len(conns) != 1 {
		t.Errorf("requests %q over %d connections", log, len(conns))
	}
}
