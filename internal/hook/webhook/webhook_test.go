package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gofer/internal/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A sink is a server that takes batches.
type sink struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []body
	headers []http.Header
	tries   atomic.Int32
}

func newSink(t *testing.T, status func(try int) int) *sink {
	t.Helper()
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		code := status(int(s.tries.Add(1)))
		if code == 200 {
			var b body
			if err := json.NewDecoder(req.Body).Decode(&b); err != nil {
				t.Error(err)
			}
			s.mu.Lock()
			s.bodies, s.headers = append(s.bodies, b), append(s.headers, req.Header)
			s.mu.Unlock()
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(s.Close)
	return s
}

func always(code int) func(int) int { return func(int) int { return code } }

// all returns the events that arrived, and how many were said to be lost.
func (s *sink) all() (names []string, dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bodies {
		dropped += b.Dropped
		for _, line := range b.Events {
			var e struct{ Type, Subtype, Content string }
			json.Unmarshal(line, &e)
			names = append(names, strings.TrimSuffix(e.Type+"/"+e.Subtype, "/")+e.Content)
		}
	}
	return names, dropped
}

func start(t *testing.T, o Options) *Forwarder {
	t.Helper()
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func info(text string) event.Info { return event.Info{Level: "info", Content: text} }

func TestEventsArriveInBatchesAndInOrder(t *testing.T) {
	t.Parallel()
	s := newSink(t, always(200))
	f := start(t, Options{URL: s.URL, SessionID: "s1", Headers: map[string]string{"Authorization": "Bearer x"}, Batch: 3, Delay: time.Hour})
	want := ""
	for _, text := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		f.Add(info(text), "u-"+text)
		want += "system/informational" + text + " "
	}
	f.Add(event.Delta{Text: "has no line"}, "")
	f.Add(event.Stream{Event: json.RawMessage(`{}`)}, "")
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	names, dropped := s.all()
	if got := strings.Join(names, " ") + " "; got != want || dropped != 0 {
		t.Errorf("got %s, %d lost", got, dropped)
	}
	if len(s.bodies) != 3 || s.bodies[0].SessionID != "s1" || s.bodies[0].ID == "" || s.headers[0].Get("Authorization") != "Bearer x" {
		t.Errorf("%d batches, %+v", len(s.bodies), s.headers)
	}
	f.Add(info("late"), "")
}

func TestOnlyWantedEvents(t *testing.T) {
	t.Parallel()
	s := newSink(t, always(200))
	f := start(t, Options{URL: s.URL, Events: []string{"result", "system/init", "hook_response", "stream_event"}})
	text := ""
	for _, e := range []event.Event{event.Init{}, info("no"), event.HookStarted{}, event.HookResponse{}, event.Result{Subtype: "success", Result: &text}, event.Stream{Event: json.RawMessage(`{}`)}} {
		f.Add(e, "")
	}
	f.Close(t.Context())
	if names, _ := s.all(); strings.Join(names, " ") != "system/init system/hook_response result/success stream_event" {
		t.Errorf("got %q", names)
	}
}

func TestABatchIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newSink(t, func(try int) int {
		if try < 4 {
			return []int{500, 429, 408}[try-1]
		}
		return 200
	})
	f := start(t, Options{URL: s.URL})
	f.Add(info("a"), "")
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if names, _ := s.all(); len(names) != 1 || s.tries.Load() != 4 {
		t.Errorf("%q after %d attempts", names, s.tries.Load())
	}
}

func TestWhatIsLostIsCountedAndReported(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	refuse.Store(true)
	s := newSink(t, func(int) int {
		if refuse.Load() {
			return 403 // no use in trying again
		}
		return 200
	})
	reports := make(chan string, 10)
	f := start(t, Options{URL: s.URL, Batch: 1, Delay: time.Hour, Report: func(text string) { reports <- text }})
	f.Add(info("a"), "")
	if text := <-reports; !strings.Contains(text, "lost") || !strings.Contains(text, "403") {
		t.Errorf("report: %s", text)
	}
	refuse.Store(false)
	f.Add(info("b"), "")
	if text := <-reports; !strings.Contains(text, "again") {
		t.Errorf("report: %s", text)
	}
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	names, dropped := s.all()
	if len(names) != 1 || dropped != 1 || s.tries.Load() != 2 {
		t.Errorf("%q, %d lost, %d attempts", names, dropped, s.tries.Load())
	}
}

func TestAServerThatHangsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		buf := make([]byte, 1<<20)
		for { // the end of the connection is seen only once the request was read
			if _, err := req.Body.Read(buf); err != nil {
				break
			}
		}
		asked <- struct{}{}
		<-req.Context().Done()
	}))
	defer server.Close()
	f := start(t, Options{URL: server.URL, Batch: 1, Queue: 10_000})
	f.Add(info("first"), "")
	<-asked
	begun := time.Now()
	for range 10_000 {
		f.Add(info(strings.Repeat("x", 1000)), "")
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("adding took %s", took)
	}
	if f.bytes > 10_000 {
		t.Errorf("%d bytes wait", f.bytes)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Close(ended); err == nil || !strings.Contains(err.Error(), "10001 events") {
		t.Errorf("got %v", err)
	}
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "ftp://x", "http://", "://", "/path"} {
		if _, err := New(Options{URL: address}); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
}
