package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"gofer/internal/llm"
)

// body is what is sent.
type body struct {
	ID        string            `json:"id"` // the same when the batch is sent again
	SessionID string            `json:"session_id"`
	Dropped   int               `json:"dropped"` // events that were lost before this batch
	Events    []json.RawMessage `json:"events"`  // lines of the stream format
}

const maxWait = 30 * time.Second

// deliver sends a batch, several times if need be.
func (f *Forwarder) deliver(batch []json.RawMessage, dropped int) {
	id := uuid.NewString()
	data, err := llm.Marshal(body{ID: id, SessionID: f.opt.SessionID, Dropped: dropped, Events: batch})
	if err != nil {
		f.lost(len(batch)+dropped, err)
		return
	}
	wait := f.opt.Backoff
	for attempt := 1; ; attempt++ {
		after, again, err := f.post(id, data)
		if err == nil {
			f.arrived()
			return
		}
		if !again || attempt >= f.opt.Attempts || f.ctx.Err() != nil {
			f.lost(len(batch)+dropped, err)
			return
		}
		if !f.pause(max(wait, after)) {
			f.lost(len(batch)+dropped, f.ctx.Err())
			return
		}
		wait = min(2*wait, maxWait)
	}
}

// pause waits. It reports whether the time has passed, and not the Forwarder ended.
func (f *Forwarder) pause(d time.Duration) bool {
	t := time.NewTimer(min(d, maxWait))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-f.ctx.Done():
		return false
	}
}

// post makes one request. It reports whether another attempt may succeed, and how long the server asks to wait for it.
func (f *Forwarder) post(id string, data []byte) (after time.Duration, again bool, err error) {
	ctx, cancel := context.WithTimeout(f.ctx, f.opt.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.opt.URL, bytes.NewReader(data))
	if err != nil {
		return 0, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "gofer")
	req.Header.Set("Idempotency-Key", id)
	for name, value := range f.opt.Headers {
		req.Header.Set(name, value)
	}
	resp, err := f.opt.Client.Do(req)
	if err != nil {
		return 0, true, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		return 0, false, nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout, resp.StatusCode >= 500:
		again = true
	}
	if seconds, convErr := strconv.Atoi(resp.Header.Get("Retry-After")); convErr == nil {
		after = time.Duration(min(max(seconds, 0), 60)) * time.Second
	}
	return after, again, fmt.Errorf("the server answered %s", resp.Status)
}
