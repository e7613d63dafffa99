// Package answer forces the final answer of a turn through a tool, so that it fits a JSON schema.
package answer

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"gofer/internal/tool"
)

//go:embed structured.md
var doc string

// MaxTries is how many answers that do not fit are sent back before the turn fails.
const MaxTries = 5

// A Structured answer waits for the model to give it.
type Structured struct {
	schema   json.RawMessage
	resolved *jsonschema.Resolved

	mu    sync.Mutex
	value json.RawMessage
	tries int
	asked bool
}

// New reads the schema, which must be of type object.
func New(schema []byte) (*Structured, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("the JSON schema cannot be read: %w", err)
	}
	if s.Type != "object" {
		return nil, errors.New(`the JSON schema must be of "type": "object"`)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the JSON schema is not valid: %w", err)
	}
	return &Structured{schema: schema, resolved: resolved}, nil
}

// Tool is what the model calls. A call that fits ends the turn; one that does not gets an error that says why.
func (s *Structured) Tool() *tool.Tool {
	return tool.Raw(tool.RawSpec{
		Name: "StructuredOutput", Doc: doc, Schema: s.schema, Traits: tool.Traits{ReadOnly: true},
		Run: func(_ context.Context, c tool.Call) (tool.Result, error) { return s.take(c.Input) },
	})
}

func (s *Structured) take(input json.RawMessage) (tool.Result, error) {
	var value any
	err := json.Unmarshal(input, &value)
	if err == nil {
		err = s.resolved.Validate(value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.value = input
		r := tool.Text("The answer was taken.")
		r.End = "completed"
		return r, nil
	}
	if s.tries++; s.tries >= MaxTries {
		r := tool.Text(fmt.Sprintf("the output does not match the required schema: %v", err))
		r.IsError, r.End = true, "max_structured_output_retries"
		r.Display.Summary = fmt.Sprintf("Failed to provide valid structured output after %d attempts: %v", s.tries, err)
		return r, nil
	}
	return tool.Result{}, fmt.Errorf("the output does not match the required schema: %w. Correct it and call StructuredOutput again", err)
}

// Begin forgets the answer of the turn before.
func (s *Structured) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.tries, s.asked = nil, 0, false
}

// Value is the answer, or nil.
func (s *Structured) Value() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// Remind returns what to tell a model that ends its turn without the answer, once; then "".
func (s *Structured) Remind() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.value != nil || s.asked {
		return ""
	}
	s.asked = true
	return "You have not given the answer yet. Call the StructuredOutput tool now, with the final answer in the form its schema asks for."
}
