package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// runCallback asks the program around the engine.
func (c *core) runCallback(f *flight) answer {
	out, err := bounded(f.ctx, func(ctx context.Context) (json.RawMessage, error) { return f.callback.Call(ctx, f.stdin) })
	if err != nil {
		return answer{failure: err.Error()}
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(out), "�"))
	if text == "" || text == "null" {
		return answer{}
	}
	parsed, ok, err := parseOutput(f.input.Event, text)
	switch {
	case err != nil:
		return answer{failure: err.Error()}
	case !ok:
		return answer{failure: "its answer is not a JSON object"}
	}
	return answer{out: parsed}
}

// bounded calls foreign code and returns when it does or when ctx ends, whichever comes first: code that does not listen to its
// context cannot hold up a session. A panic becomes an error.
func bounded[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("it panicked: %v", p)
			}
			done <- r
		}()
		r.value, r.err = call(ctx)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
