package retry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/llm"
	"gofer/internal/llm/anthropic"
)

func TestRetryAfterIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				refuse(w, 429, "rate_limit_error", "Retry-After: 7")
				return
			}
			reply(w)
		}}
		m := s.start(t, Options{})
		began := time.Now()
		o := consume(t.Context(), m, hi)
		if o.err != nil || !o.done || o.text != "hello" || time.Since(began) != 7*time.Second {
			t.Errorf("%+v after %v", o, time.Since(began))
		}
		if len(o.retries) != 1 || o.retries[0].Attempt != 1 || o.retries[0].Max != 10 || o.retries[0].DelayMS != 7000 ||
			o.retries[0].Err.Kind != llm.RateLimit || o.retries[0].Err.Status != 429 {
			t.Errorf("announced %+v", o.retries)
		}
		if s.requests() != 2 || s.bodies[0] != s.bodies[1] {
			t.Errorf("%d requests", s.requests())
		}
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(n int, w http.ResponseWriter, r *http.Request) {
			if n <= 5 {
				refuse(w, 529, "overloaded_error")
				return
			}
			reply(w)
		}}
		m := s.start(t, Options{})
		began := time.Now()
		o := consume(t.Context(), m, hi)
		if o.err != nil || o.text != "hello" || s.requests() != 6 || len(o.retries) != 5 {
			t.Fatalf("%+v, %d requests", o, s.requests())
		}
		var sum time.Duration
		for i, r := range o.retries {
			least := 500 * time.Millisecond << i
			delay := time.Duration(r.DelayMS) * time.Millisecond
			if delay < least || delay > least*5/4 || r.Attempt != i+1 || r.Err.Kind != llm.Overloaded {
				t.Errorf("retry %d: %+v", i, r)
			}
			sum += delay
		}
		if waited := time.Since(began); waited < sum || waited > sum+10*time.Millisecond {
			t.Errorf("waited %v, announced %v", waited, sum)
		}
	})
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		opts     Options
		handle   func(w http.ResponseWriter)
		kind     llm.ErrorKind
		requests int
		longest  time.Duration
	}{
		"after 10 retries":     {Options{}, func(w http.ResponseWriter) { refuse(w, 500, "api_error") }, llm.ServerError, 11, 8 * time.Minute},
		"after 2 retries":      {Options{MaxRetries: 2}, func(w http.ResponseWriter) { refuse(w, 503, "api_error") }, llm.ServerError, 3, 2 * time.Second},
		"without retries":      {Options{MaxRetries: -1}, func(w http.ResponseWriter) { refuse(w, 529, "overloaded_error") }, llm.Overloaded, 1, 0},
		"bad request":          {Options{}, func(w http.ResponseWriter) { refuse(w, 400, "invalid_request_error") }, llm.InvalidRequest, 1, 0},
		"bad key":              {Options{}, func(w http.ResponseWriter) { refuse(w, 401, "authentication_error") }, llm.Authentication, 1, 0},
		"the provider says so": {Options{}, func(w http.ResponseWriter) { refuse(w, 429, "rate_limit_error", "X-Should-Retry: false") }, llm.RateLimit, 1, 0},
		"the wait is absurd":   {Options{}, func(w http.ResponseWriter) { refuse(w, 429, "rate_limit_error", "Retry-After: 3600") }, llm.RateLimit, 1, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{handle: func(_ int, w http.ResponseWriter, _ *http.Request) { tt.handle(w) }}
				m := s.start(t, tt.opts)
				began := time.Now()
				o := consume(t.Context(), m, hi)
				var e *llm.Error
				if !errors.As(o.err, &e) || e.Kind != tt.kind || s.requests() != tt.requests || o.done || time.Since(began) > tt.longest {
					t.Errorf("%+v, %d requests in %v", o, s.requests(), time.Since(began))
				}
			})
		})
	}
}

// What else is tried again, and that of a broken reply nothing stays.
func TestRetriesBrokenReplies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first func(w http.ResponseWriter)
		kind  llm.ErrorKind
	}{
		"408":                {func(w http.ResponseWriter) { refuse(w, 408, "timeout_error") }, llm.ServerError},
		"409":                {func(w http.ResponseWriter) { refuse(w, 409, "conflict_error") }, llm.ServerError},
		"502":                {func(w http.ResponseWriter) { refuse(w, 502, "") }, llm.ServerError},
		"a 400 not meant so": {func(w http.ResponseWriter) { refuse(w, 400, "invalid_request_error", "X-Should-Retry: true") }, llm.InvalidRequest},
		"connection dropped": {func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, llm.Connection},
		"dropped in mid-stream": {func(w http.ResponseWriter) {
			send(w, opening, text("half of it"))
			panic(http.ErrAbortHandler)
		}, llm.Connection},
		"ended too early": {func(w http.ResponseWriter) { send(w, opening, text("half of it")) }, llm.BadStream},
		"malformed":       {func(w http.ResponseWriter) { send(w, opening, "data: {{{\n\n", ending) }, llm.BadStream},
		"error in mid-stream": {func(w http.ResponseWriter) {
			send(w, opening, text("half of it"), "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
		}, llm.Overloaded},
		"a page": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, llm.BadStream},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{handle: func(n int, w http.ResponseWriter, _ *http.Request) {
					if n == 1 {
						tt.first(w)
						return
					}
					reply(w)
				}}
				o := consume(t.Context(), s.start(t, Options{}), hi)
				if o.err != nil || o.text != "hello" || len(o.retries) != 1 || o.retries[0].Err.Kind != tt.kind || s.requests() != 2 {
					t.Errorf("%+v, %d requests", o, s.requests())
				}
			})
		})
	}
}

// pinging keeps the connection busy with pings until the client is gone.
func pinging(w http.ResponseWriter, r *http.Request, atMost time.Duration) {
	for began := time.Now(); time.Since(began) < atMost; {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(5 * time.Second):
			send(w, ping)
		}
	}
}

func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				send(w, opening, text("a"), text("b"), text("c"))
				pinging(w, r, time.Hour)
				return
			}
			reply(w)
		}}
		m := s.start(t, Options{Stall: 2 * time.Minute})
		began := time.Now()
		o := consume(t.Context(), m, hi)
		if o.err != nil || o.text != "hello" || len(o.retries) != 1 || o.retries[0].Err.Kind != llm.Stalled {
			t.Fatalf("%+v", o)
		}
		if took := time.Since(began); took < 2*time.Minute || took > 2*time.Minute+time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestSilence(t *testing.T) {
	t.Parallel()
	block := func(kind string) string {
		return strings.Replace(opening, `{"type":"text","text":""}`, kind, 1)
	}
	tests := map[string]struct {
		before string
		silent time.Duration
		cut    bool
	}{
		"before the answer":              {"", 9 * time.Minute, false},
		"too long before the answer":     {"", 11 * time.Minute, true},
		"before the first block":         {opening[:strings.Index(opening, "event: content_block_start")], 9 * time.Minute, false},
		"while thinking is not shown":    {block(`{"type":"thinking","thinking":""}`), 9 * time.Minute, false},
		"while a long input is held":     {block(`{"type":"tool_use","id":"t","name":"Write","input":{}}`), 9 * time.Minute, false},
		"while a server tool runs":       {block(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), 9 * time.Minute, false},
		"after the first word":           {opening + text("a"), 80 * time.Second, false},
		"too long after the first word":  {opening + text("a"), 100 * time.Second, true},
		"too long before the first word": {opening, 100 * time.Second, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{handle: func(n int, w http.ResponseWriter, r *http.Request) {
					if n > 1 {
						reply(w)
						return
					}
					rest := ending
					switch {
					case tt.before == "":
						select { // not even the headers
						case <-time.After(tt.silent):
						case <-r.Context().Done():
							return
						}
						rest = opening + ending
					case strings.Contains(tt.before, "content_block_start"):
						send(w, tt.before)
						pinging(w, r, tt.silent)
					default:
						send(w, tt.before)
						pinging(w, r, tt.silent)
						rest = opening[len(tt.before):] + ending
					}
					send(w, rest)
				}}
				o := consume(t.Context(), s.start(t, Options{}), hi)
				if o.err != nil || !o.done || (len(o.retries) == 1 && o.retries[0].Err.Kind == llm.Stalled) != tt.cut {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

// Time that the consumer takes is not the model's silence.
func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(_ int, w http.ResponseWriter, _ *http.Request) { reply(w) }}
		for d, err := range s.start(t, Options{Stall: time.Second, FirstToken: time.Second}).Stream(t.Context(), hi) {
			if err != nil || d.Kind == llm.Retrying {
				t.Errorf("%+v, %v", d, err)
			}
			time.Sleep(time.Hour)
		}
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(w http.ResponseWriter, r *http.Request){
		"while it waits to try again": func(w http.ResponseWriter, r *http.Request) { refuse(w, 429, "rate_limit_error", "Retry-After: 300") },
		"while it waits for an answer": func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		},
		"in mid-stream": func(w http.ResponseWriter, r *http.Request) {
			send(w, opening, text("a"))
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{handle: func(_ int, w http.ResponseWriter, r *http.Request) { handle(w, r) }}
				m := s.start(t, Options{})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				o := consume(ctx, m, hi)
				if o.err != context.DeadlineExceeded || o.done || time.Since(began) != 10*time.Second || s.requests() != 1 {
					t.Errorf("%+v after %v, %d requests", o, time.Since(began), s.requests())
				}
			})
		})
	}
}

// A consumer that has acted on the reply leaves at Retrying: nothing more is sent.
func TestLeaveAtRetrying(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(_ int, w http.ResponseWriter, _ *http.Request) { send(w, opening, text("a")) }}
		for d := range s.start(t, Options{}).Stream(t.Context(), hi) {
			if d.Kind == llm.Retrying {
				break
			}
		}
		if s.requests() != 1 {
			t.Errorf("%d requests", s.requests())
		}
	})
}

func TestFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(n int, w http.ResponseWriter, r *http.Request) {
			if n <= 6 {
				refuse(w, 529, "overloaded_error")
				return
			}
			reply(w)
		}}
		thought := func(model string) llm.Message {
			return llm.Message{Role: llm.Assistant, Model: model, Blocks: []llm.Block{
				{Kind: llm.Thinking, Text: "thought of " + model, Signature: "s"}, {Kind: llm.RedactedThinking, Data: "d"}, llm.TextBlock("said by " + model)}}
		}
		req := hi
		req.Messages = []llm.Message{llm.UserText("q"), thought("claude-x"), llm.UserText("q"), thought("claude-z-20260101"), llm.UserText("q"),
			{Role: llm.Assistant, Model: "claude-x", Blocks: []llm.Block{{Kind: llm.Thinking, Text: "only"}}}, llm.UserText("q")}
		m := s.start(t, Options{Fallback: []string{"y", "z"}, MaxRetries: 2, Adapt: func(r llm.Request, model string) llm.Request {
			r.Model, r.MaxTokens = "claude-"+model, 77
			return r
		}})
		o := consume(t.Context(), m, req)
		if o.err != nil || o.text != "hello" || s.requests() != 7 || len(o.retries) != 6 {
			t.Fatalf("%+v, %d requests", o, s.requests())
		}
		want := []llm.Fallback{{From: "claude-x", To: "claude-y", Trigger: "overloaded"}, {From: "claude-y", To: "claude-z", Trigger: "overloaded"}}
		if len(o.fallbacks) != 2 || o.fallbacks[0] != want[0] || o.fallbacks[1] != want[1] {
			t.Errorf("fell back %+v", o.fallbacks)
		}
		if o.retries[2].DelayMS != 0 {
			t.Errorf("waits %d ms before it changes the model", o.retries[2].DelayMS)
		}
		last := s.bodies[6]
		var sent struct {
			Model     string
			MaxTokens int `json:"max_tokens"`
			Messages  []llm.Message
		}
		if err := json.Unmarshal([]byte(last), &sent); err != nil || sent.Model != "claude-z" || sent.MaxTokens != 77 {
			t.Errorf("%v: %s", err, last)
		}
		if strings.Contains(last, "thought of claude-x") || strings.Contains(last, "only") || !strings.Contains(last, "said by claude-x") ||
			len(sent.Messages) != 6 {
			t.Errorf("sent %s", last)
		}
		if !strings.Contains(s.bodies[2], "thought of claude-x") || len(req.Messages[1].Blocks) != 3 {
			t.Error("the request of the caller, or those to its model, were changed")
		}
		req.Messages = append(req.Messages, thought("claude-y"), llm.UserText("next"))
		if o := consume(t.Context(), m, req); o.err != nil || !strings.Contains(s.bodies[7], "thought of claude-x") || strings.Contains(s.bodies[7], "thought of claude-y") {
			t.Errorf("%+v, sent %s", o, s.bodies[7])
		}
		if !strings.Contains(last, "thought of claude-z") || strings.Contains(s.bodies[5], "thought of claude-z") {
			t.Error("a model's own thinking must go to it, and to it only")
		}
	})
}

// Overloads count only in a row.
func TestNoFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(n int, w http.ResponseWriter, r *http.Request) {
			switch {
			case n == 3:
				refuse(w, 500, "api_error")
			case n < 6:
				refuse(w, 529, "overloaded_error")
			default:
				reply(w)
			}
		}}
		if o := consume(t.Context(), s.start(t, Options{Fallback: []string{"claude-y"}}), hi); o.err != nil || len(o.fallbacks) != 0 || s.requests() != 6 {
			t.Errorf("%+v, %d requests", o, s.requests())
		}
	})
}

func TestSameModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"claude-sonnet-4-5", "claude-sonnet-4-5-20250929", true},
		{"claude-sonnet-4-5-20250929", "claude-sonnet-4-5", true},
		{"claude-sonnet-4-5@20250929", "claude-sonnet-4-5", true},
		{"claude-opus-4-8[1m]", "claude-opus-4-8", true},
		{"claude-opus-5", "claude-opus-5-5", false},
		{"claude-opus-5-20260724", "claude-opus-5-5", false},
		{"", "claude-opus-5", false},
		{"", "", false},
	} {
		if sameModel(tt.a, tt.b) != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, !tt.want)
		}
	}
}

// Without a key nothing is sent and nothing is tried again.
func TestNotLoggedIn(t *testing.T) {
	t.Parallel()
	o := consume(t.Context(), Wrap(anthropic.New(anthropic.Config{BaseURL: "http://model.test"}), Options{}), hi)
	var e *llm.Error
	if !errors.As(o.err, &e) || e.Kind != llm.NotLoggedIn || len(o.retries) > 0 {
		t.Errorf("%+v", o)
	}
}
