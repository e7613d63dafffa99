package retry

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/llm"
)

// Eight agents meet a provider that refuses everybody for a minute: they do not storm it.
func TestNoStampede(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server{}
		s.handle = func(n int, w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond)
			if time.Since(began) < time.Minute {
				refuse(w, 429, "rate_limit_error", "Retry-After: 10")
				return
			}
			reply(w)
		}
		m := s.start(t, Options{})
		var wg sync.WaitGroup
		run := func() {
			wg.Go(func() {
				if o := consume(t.Context(), m, hi); o.err != nil || o.text != "hello" {
					t.Errorf("%+v", o)
				}
			})
		}
		run()
		time.Sleep(time.Second) // the first one was refused
		for range 7 {
			run()
		}
		time.Sleep(55 * time.Second)
		if s.atOnce() != 1 || s.requests() > 8 {
			t.Errorf("%d requests, %d at once, in the first minute", s.requests(), s.atOnce())
		}
		wg.Wait()
		if s.requests() > 16 {
			t.Errorf("%d requests in all", s.requests())
		}
	})
}

// A request that waits for another's sake says so, and says why.
func TestWaitIsAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				refuse(w, 429, "rate_limit_error", "Retry-After: 10")
				return
			}
			reply(w)
		}}
		m := s.start(t, Options{})
		var wg sync.WaitGroup
		wg.Go(func() { consume(t.Context(), m, hi) })
		time.Sleep(4 * time.Second)
		began := time.Now()
		o := consume(t.Context(), m, hi)
		if o.err != nil || len(o.retries) != 1 || o.retries[0].Attempt != 0 || o.retries[0].DelayMS != 6000 || o.retries[0].Err.Kind != llm.RateLimit {
			t.Errorf("%+v", o)
		}
		if time.Since(began) != 6*time.Second {
			t.Errorf("waited %v", time.Since(began))
		}
		wg.Wait()
	})
}

// One model's limits are not another's.
func TestGateIsPerModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.handle = func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				refuse(w, 429, "rate_limit_error", "Retry-After: 60")
				return
			}
			reply(w)
		}
		m := s.start(t, Options{})
		var wg sync.WaitGroup
		wg.Go(func() { consume(t.Context(), m, hi) })
		time.Sleep(time.Second)
		other := hi
		other.Model = "claude-y"
		began := time.Now()
		if o := consume(t.Context(), m, other); o.err != nil || len(o.retries) > 0 || time.Since(began) > time.Second {
			t.Errorf("%+v after %v", o, time.Since(began))
		}
		wg.Wait()
	})
}

// The one that was sent ahead is cancelled, or its consumer leaves: the others do not wait for ever.
func TestProbeIsHandedOn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cancelled", "left"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.handle = func(n int, w http.ResponseWriter, r *http.Request) {
					switch {
					case n == 1:
						refuse(w, 529, "overloaded_error", "Retry-After: 10")
					case n == 2:
						<-r.Context().Done()
					default:
						reply(w)
					}
				}
				m := s.start(t, Options{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var wg sync.WaitGroup
				wg.Go(func() {
					for d := range m.Stream(ctx, hi) {
						if d.Kind == llm.Retrying && how == "left" {
							break
						}
					}
				})
				time.Sleep(time.Second)
				waiting := make([]outcome, 3)
				for i := range waiting {
					wg.Go(func() {
						ctx := ctx
						if i > 0 || how == "cancelled" {
							ctx = t.Context()
						}
						waiting[i] = consume(ctx, m, hi)
					})
				}
				time.Sleep(20 * time.Second) // the probe is on its way, and hangs
				cancel()
				if how == "left" { // then it is not the first one's: cut whichever it is by its stall
					time.Sleep(15 * time.Minute)
				}
				wg.Wait()
				good := 0
				for _, o := range waiting {
					if o.text == "hello" && o.err == nil {
						good++
					}
				}
				if good < 2 {
					t.Errorf("%+v", waiting)
				}
			})
		})
	}
}

// A refusal whose wait is too long is told to everybody, and holds up nobody.
func TestAbsurdWaitHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{handle: func(n int, w http.ResponseWriter, r *http.Request) {
			refuse(w, 429, "rate_limit_error", "Retry-After: 86400")
		}}
		m := s.start(t, Options{})
		began := time.Now()
		for range 3 {
			if o := consume(t.Context(), m, hi); o.err == nil || !strings.Contains(o.err.Error(), "429") {
				t.Errorf("%+v", o)
			}
		}
		if time.Since(began) > time.Second || s.requests() != 3 {
			t.Errorf("%d requests in %v", s.requests(), time.Since(began))
		}
	})
}
