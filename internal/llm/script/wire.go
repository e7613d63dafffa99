package script

import (
	"context"
	"errors"
	"net/http"
	"time"

	"gofer/internal/llm"
)

var (
	errDropped = errors.New("the script drops the connection")
	errReset   = errors.New("the script resets the connection")
	errClosed  = errors.New("the script ends the reply early")
	errFailed  = errors.New("the script ends the reply with an error")
)

// pause waits for d (for ever, if negative) or until ctx ends, and calls tick in every ping.
func pause(ctx context.Context, d, ping time.Duration, tick func() error) error {
	var end, beat <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		end = timer.C
	}
	if ping > 0 {
		ticker := time.NewTicker(ping)
		defer ticker.Stop()
		beat = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end:
			return nil
		case <-beat:
			if err := tick(); err != nil {
				return err
			}
		}
	}
}

// wire is what all replies over HTTP have in common: headers that are sent with the first byte, and a buffer that is
// sent when there is reason to, so that a reply without pauses costs one write.
type wire struct {
	w       http.ResponseWriter
	r       *http.Request
	server  *Server
	headers []header
	started bool
	buf     []byte
}

// flushAt is the size from which on the buffer is sent.
const flushAt = 32 << 10

func (w *wire) start(contentType string) {
	if w.started {
		return
	}
	w.started = true
	h := w.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("Request-Id", w.server.log.requestID())
	for _, extra := range w.headers {
		h.Set(extra.name, extra.value)
	}
	w.w.WriteHeader(http.StatusOK)
}

func (w *wire) flush() error {
	if !w.started {
		return nil
	}
	if len(w.buf) > 0 {
		if _, err := w.w.Write(w.buf); err != nil {
			return err
		}
		w.buf = w.buf[:0]
	}
	return http.NewResponseController(w.w).Flush()
}

// quit does what a step says that breaks the reply off, after all that was said has been sent.
func (w *wire) quit(s step) error {
	if err := w.flush(); err != nil {
		return err
	}
	switch s.kind {
	case stepDrop:
		return errDropped
	case stepReset:
		return errReset
	}
	return errClosed
}

// fail answers with an error instead of a reply.
func (w *wire) fail(f failure) error {
	w.started = true
	for _, h := range w.headers {
		w.w.Header().Set(h.name, h.value)
	}
	w.server.fail(w.w, w.r, f)
	return errFailed
}

// sse streams a reply as the Anthropic service does.
type sse struct{ *wire }

const eventStream = "text/event-stream; charset=utf-8"

func (o *sse) event(e event) error {
	o.start(eventStream)
	o.buf = append(append(o.buf, "event: "...), e.name()...)
	o.buf = e.appendJSON(append(o.buf, "\ndata: "...))
	o.buf = append(o.buf, "\n\n"...)
	if e.kind == messageStop || len(o.buf) >= flushAt {
		return o.flush()
	}
	return nil
}

func (o *sse) pause(d, beat time.Duration) error {
	if err := o.flush(); err != nil {
		return err
	}
	return pause(o.r.Context(), d, beat, func() error {
		if err := o.event(event{kind: ping}); err != nil {
			return err
		}
		return o.flush()
	})
}

func (o *sse) fault(s step) error {
	switch s.kind {
	case stepError:
		if !o.started {
			return o.fail(s.fail)
		}
		o.buf = appendFailure(append(o.buf, "event: error\ndata: "...), s.fail)
		o.buf = append(o.buf, "\n\n"...)
		if err := o.flush(); err != nil {
			return err
		}
		return errFailed
	case stepRaw:
		o.start(eventStream)
		o.buf = append(o.buf, s.text.src...)
		return o.flush()
	}
	if s.kind == stepClose {
		o.start(eventStream)
	}
	return o.quit(s)
}

// whole answers with one JSON message, for a request that does not want a stream.
type whole struct {
	*wire
	reply collected
}

func (o *whole) event(e event) error {
	if o.reply.add(e) {
		o.start("application/json")
		o.buf = appendMessage(o.buf, o.reply.info, o.reply.blocks, o.reply.stop, o.reply.sequence, o.reply.usage)
		return o.flush()
	}
	return nil
}

func (o *whole) pause(d, _ time.Duration) error { return pause(o.r.Context(), d, 0, nil) }

func (o *whole) fault(s step) error {
	switch s.kind {
	case stepError:
		return o.fail(s.fail)
	case stepRaw, stepClose:
		o.start("application/json")
		o.buf = append(o.buf, s.text.src...)
		if err := o.flush(); err != nil {
			return err
		}
		return errClosed
	}
	return o.quit(s)
}

// collected puts the events of a reply together.
type collected struct {
	info     llm.ReplyInfo
	blocks   []llm.Block
	stop     string
	sequence string
	usage    llm.Usage
}

// add takes an event and tells whether the reply is complete.
func (c *collected) add(e event) (complete bool) {
	switch e.kind {
	case messageStart:
		c.info = e.info
	case blockStop:
		c.blocks = append(c.blocks, *e.block)
	case messageDelta:
		c.stop, c.sequence, c.usage = e.stop, e.text, e.usage
	}
	return e.kind == messageStop
}
