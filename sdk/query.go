package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/google/jsonschema-go/jsonschema"

	"gofer/internal/app"
)

// Query asks once, and yields all messages up to the Result. A turn that ends badly is told by the Result (see Result.Err); the error is of a session
// that could not be opened or broke off. When the loop is left, the session is over.
func Query(ctx context.Context, prompt string, o Options) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		c, err := NewClient(ctx, o)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.Close()
		if err := c.Send(ctx, prompt); err != nil {
			yield(nil, err)
			return
		}
		seen := false
		for m, err := range c.Receive(ctx) {
			if _, ok := m.(*Result); ok {
				seen = true
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
		if !seen {
			yield(nil, errors.New("the session ended without a result"))
		}
	}
}

// Ask asks once and returns the result. The error is also that of a turn that ended badly.
func Ask(ctx context.Context, prompt string, o Options) (*Result, error) {
	for m, err := range Query(ctx, prompt, o) {
		if err != nil {
			return nil, err
		}
		if r, ok := m.(*Result); ok {
			return r, r.Err()
		}
	}
	return nil, errors.New("the session ended without a result")
}

// QueryFor asks once and returns the answer as a Go value. The schema that the answer must fit comes from the type: json tags name the fields,
// jsonschema tags describe them.
func QueryFor[T any](ctx context.Context, prompt string, o Options) (T, *Result, error) {
	var value T
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return value, nil, fmt.Errorf("the type of the answer has no schema: %w", err)
	}
	o.OutputSchema = schema
	r, err := Ask(ctx, prompt, o)
	if err != nil {
		return value, r, err
	}
	if len(r.Structured) == 0 {
		return value, r, fmt.Errorf("the model gave no structured answer, but said: %s", r.Text)
	}
	if err := json.Unmarshal(r.Structured, &value); err != nil {
		return value, r, fmt.Errorf("the structured answer does not fit the type: %w", err)
	}
	return value, r, nil
}

// Reexec must be the first call in the main function of a program that sets Options.Reexec. gofer executes such a program again to keep the commands
// that it runs, and to put up the sandbox; in such a process Reexec does that work and never returns.
func Reexec() {
	if code, is := app.Helper(os.Args); is {
		os.Exit(code)
	}
}
