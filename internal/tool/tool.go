// Package tool is the contract between the loop and everything the model can do.
//
// A tool is data and one function. Define makes one from a Spec whose input is a Go type: the JSON schema that the model
// sees, the decoding and the validation of what it sends all come from that type. A tool declares what a call
// touches (Access) and how it behaves (Traits); it never asks for permission itself. Hooks and permissions are Middlewares
// around the one Handler that all calls of all agents pass.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"gofer/internal/llm"
)

// A Verb says what is done to a target.
type Verb string

const (
	Read  Verb = "read"  // Target is an absolute path; for a folder, all below it
	Write Verb = "write" // Target is an absolute path
	Exec  Verb = "exec"  // Target is a shell command
	Fetch Verb = "fetch" // Target is a URL
	Use   Verb = "use"   // Target is the name of an agent, a skill or whatever else the tool uses
)

// Access is one thing that a call is about to touch.
type Access struct {
	Verb   Verb
	Target string
}

// Traits tell how one call behaves. The zero value is the careful one.
type Traits struct {
	ReadOnly    bool // changes nothing outside gofer
	Parallel    bool // may run beside other parallel calls
	Destructive bool // what it does cannot be undone
}

// A Spec defines a tool whose input is In. The schema of the input is derived from In; see Schema for the tags.
type Spec[In any] struct {
	Name      string
	Aliases   []string
	Doc       string // what the model reads: the .md file beside the code
	Hint      string // a few words by which a search finds the tool
	Deferred  bool   // the model gets the schema only after a search for it
	ResultCap int    // characters of a result that go to the model; 0 is DefaultResultCap, negative is no cap

	Traits func(In) Traits                                 // nil: the zero Traits
	Access func(In) []Access                               // nil: the call touches nothing
	Check  func(context.Context, In) error                 // nil: nothing to check before anyone is asked
	Title  func(In) string                                 // what a person sees while it runs, such as "Reading src/a.go"; nil: the name
	Run    func(context.Context, In, Call) (Result, error) // an error is for the model: what was wrong, what to do next
}

// DefaultResultCap is the result cap, in characters, of a tool that declares none.
const DefaultResultCap = 50_000

// A Tool is a Spec with its input type erased, or a tool whose schema comes from elsewhere (see Raw).
type Tool struct {
	Name      string
	Aliases   []string
	Doc       string
	Hint      string
	Deferred  bool
	ResultCap int
	Schema    json.RawMessage

	bind     func(json.RawMessage) (bound, error)
	redirect func(json.RawMessage) (*Tool, json.RawMessage, error)
}

// Def is the tool as a model sees it.
func (t *Tool) Def() llm.ToolDef {
	return llm.ToolDef{Name: t.Name, Description: strings.TrimSpace(t.Doc), Schema: t.Schema}
}

// bound is a tool joined to one decoded input.
type bound struct {
	traits Traits
	title  string
	access func() []Access
	check  func(context.Context) error
	run    Handler
}

// A Call is a tool bound to an input that fits its schema. Only Bind and WithInput make one.
type Call struct {
	ID       string
	Tool     *Tool
	Input    json.RawMessage
	Traits   Traits
	Title    string
	Progress func(Progress) // never nil

	bound         bound
	verdict       Verdict
	verdictReason string
}

// Progress is what a running call tells whoever watches.
type Progress struct {
	Text string // new output, to be appended to what was shown before
}

// Bind decodes input and validates it. The error names the field and what was expected, for the model to read.
func (t *Tool) Bind(id string, input json.RawMessage) (Call, error) {
	if t.redirect != nil {
		target, inner, err := t.redirect(input)
		if err != nil {
			return Call{}, err
		}
		if target.redirect != nil {
			return Call{}, inputError(t.Name, "it names "+target.Name+", which only names other tools")
		}
		return target.Bind(id, inner)
	}
	b, err := t.bind(input)
	if err != nil {
		return Call{}, err
	}
	return Call{ID: id, Tool: t, Input: input, Traits: b.traits, Title: b.title, Progress: func(Progress) {}, bound: b}, nil
}

// WithInput returns the call with another input, validated anew.
func (c Call) WithInput(input json.RawMessage) (Call, error) {
	n, err := c.Tool.Bind(c.ID, input)
	n.Progress = c.Progress
	return n, err
}

// Access lists what the call touches.
func (c Call) Access() []Access { return c.bound.access() }

// Check runs the tool's own check of the call, before hooks and permissions.
func (c Call) Check(ctx context.Context) error { return c.bound.check(ctx) }

// A Handler runs a call. An error it returns is read by the model, unless it wraps ErrEndTurn or ctx has ended.
type Handler func(context.Context, Call) (Result, error)

// A Middleware wraps every call; hooks and permissions are middlewares.
type Middleware func(Handler) Handler

// Run is the innermost handler.
func Run(ctx context.Context, c Call) (Result, error) { return c.bound.run(ctx, c) }

// Chain wraps h so that the first middleware sees a call first.
func Chain(h Handler, mw ...Middleware) Handler {
	for i := len(mw) - 1; i >= 0; i-- {
		h = mw[i](h)
	}
	return h
}

// ErrEndTurn, wrapped in an error, ends the turn after the model's calls have all been answered.
var ErrEndTurn = errors.New("end the turn")

// A Result is what came of a call. What the model reads and what a person sees are different fields.
type Result struct {
	Content []llm.Block // for the model: text, images, documents
	IsError bool
	Data    any      // for programs: the structured result of the stream format; nil means the text
	Display Display  // for people
	Context []string // reminders for the model, appended behind all results of the reply
	Follow  []string // texts that join the conversation behind all results, as they are: what a skill tells the model to do
	End     string   // not empty: the turn ends after this reply's calls, for this reason (see the reasons of package loop)
}

// Text makes a Result of plain text.
func Text(s string) Result { return Result{Content: []llm.Block{llm.TextBlock(s)}} }

// Text returns what the model reads of r, without images and documents.
func (r Result) Text() string { return llm.Message{Blocks: r.Content}.Text() }

// Display is what a person sees after a call. All of it is plain text: colours belong to the UI.
type Display struct {
	Summary string // one line, such as "Read 120 lines"
	Diff    string // a unified diff
	Body    string // anything longer
}

// Define makes a Tool of s. It panics when In has no schema, which is a mistake in the program.
func Define[In any](s Spec[In]) *Tool {
	schema, typ := schemaOf[In]()
	return &Tool{
		Name: s.Name, Aliases: s.Aliases, Doc: s.Doc, Hint: s.Hint, Deferred: s.Deferred, ResultCap: s.ResultCap,
		Schema: schema,
		bind: func(raw json.RawMessage) (bound, error) {
			var in In
			if err := decodeInput(s.Name, typ, raw, &in); err != nil {
				return bound{}, err
			}
			b := bound{
				title:  s.Name,
				access: func() []Access { return nil },
				check:  func(context.Context) error { return nil },
				run:    func(ctx context.Context, c Call) (Result, error) { return s.Run(ctx, in, c) },
			}
			if s.Traits != nil {
				b.traits = s.Traits(in)
			}
			if s.Title != nil {
				b.title = s.Title(in)
			}
			if s.Access != nil {
				b.access = func() []Access { return s.Access(in) }
			}
			if s.Check != nil {
				b.check = func(ctx context.Context) error { return s.Check(ctx, in) }
			}
			return b, nil
		},
	}
}

// Redirect makes a tool whose calls are calls of another one: to names the tool and its input. The call that Bind makes is the other tool's, so
// that hooks and permissions see what really runs.
func Redirect(name, doc string, schema json.RawMessage, to func(json.RawMessage) (*Tool, json.RawMessage, error)) *Tool {
	return &Tool{Name: name, Doc: doc, Schema: schema, redirect: to}
}

// A RawSpec defines a tool whose schema comes from elsewhere: a server, a client, a flag.
type RawSpec struct {
	Name, Doc, Hint string
	Deferred        bool
	ResultCap       int
	Schema          json.RawMessage
	Traits          Traits
	Validate        func(json.RawMessage) error // nil: any object
	Access          func(json.RawMessage) []Access
	Title           func(json.RawMessage) string
	Run             Handler
}

// Raw makes a Tool of s.
func Raw(s RawSpec) *Tool {
	return &Tool{
		Name: s.Name, Doc: s.Doc, Hint: s.Hint, Deferred: s.Deferred, ResultCap: s.ResultCap, Schema: s.Schema,
		bind: func(raw json.RawMessage) (bound, error) {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(raw, &object); err != nil {
				return bound{}, inputError(s.Name, "it is not a JSON object: "+err.Error())
			}
			if s.Validate != nil {
				if err := s.Validate(raw); err != nil {
					return bound{}, inputError(s.Name, err.Error())
				}
			}
			b := bound{
				traits: s.Traits, title: s.Name, run: s.Run,
				access: func() []Access { return nil },
				check:  func(context.Context) error { return nil },
			}
			if s.Access != nil {
				b.access = func() []Access { return s.Access(raw) }
			}
			if s.Title != nil {
				b.title = s.Title(raw)
			}
			return b, nil
		},
	}
}
