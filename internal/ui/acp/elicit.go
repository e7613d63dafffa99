package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	protocol "github.com/coder/acp-go-sdk"

	"github.com/google/uuid"

	"gofer/internal/guard"
	"gofer/internal/llm"
)

// Elicits says whether the client can let its user fill in a form.
func (d *Desk) Elicits() bool { return d.can.form }

// A Form is what somebody wants to know from the user: fields by a schema, or what is to be done at an address.
type Form struct {
	Message string
	Schema  json.RawMessage // a flat object
	URL     string          // not "": the user is sent there instead
}

// Fill lets the client's user fill in a form. action is accept, decline or cancel.
func (d *Desk) Fill(ctx context.Context, f Form) (action string, content map[string]any, err error) {
	request := map[string]any{"sessionId": d.session, "message": f.Message, "mode": "form", "requestedSchema": f.Schema}
	if f.URL != "" {
		if !d.can.url {
			return "decline", nil, nil
		}
		request = map[string]any{"sessionId": d.session, "message": f.Message, "mode": "url", "url": f.URL, "elicitationId": uuid.NewString()}
	}
	var answer struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	if err := d.conn.call(ctx, protocol.ClientMethodElicitationCreate, request, &answer); err != nil {
		return "", nil, told(err)
	}
	switch answer.Action {
	case "accept", "decline", "cancel":
		return answer.Action, answer.Content, nil
	}
	return "", nil, fmt.Errorf("the client answered %q, which is neither accept nor decline nor cancel", answer.Action)
}

// questions are what the model wants to know.
type questions struct {
	Questions []struct {
		Question    string `json:"question"`
		Header      string `json:"header"`
		MultiSelect bool   `json:"multiSelect"`
		Options     []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"questions"`
}

// form asks all questions at once.
func (d *Desk) form(ctx context.Context, asked questions) (answers map[string]string, stopped bool, err error) {
	properties, required := map[string]any{}, []string{}
	for i, q := range asked.Questions {
		var labels []string
		var help []string
		for _, o := range q.Options {
			labels = append(labels, o.Label)
			if o.Description != "" {
				help = append(help, o.Label+": "+o.Description)
			}
		}
		p := map[string]any{"type": "string", "title": q.Question, "description": strings.Join(help, "\n"), "enum": labels}
		if q.MultiSelect {
			p = map[string]any{"type": "array", "title": q.Question, "description": strings.Join(help, "\n"), "items": map[string]any{"type": "string", "enum": labels}}
		}
		properties[field(i)] = p
		required = append(required, field(i))
	}
	schema, err := llm.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil {
		return nil, false, err
	}
	action, content, err := d.Fill(ctx, Form{Message: asked.Questions[0].Question, Schema: schema})
	if err != nil || action != "accept" {
		return nil, action == "cancel", err
	}
	answers = map[string]string{}
	for i, q := range asked.Questions {
		switch v := content[field(i)].(type) {
		case string:
			answers[q.Question] = v
		case []any:
			var chosen []string
			for _, one := range v {
				chosen = append(chosen, fmt.Sprint(one))
			}
			answers[q.Question] = strings.Join(chosen, ", ")
		}
	}
	return answers, false, nil
}

func field(i int) string { return fmt.Sprintf("question%d", i+1) }

// question asks the user what the model wants to know: in a form where the client has forms, else one question after the other.
func (d *Desk) question(ctx context.Context, r guard.Request) (guard.Answer, error) {
	var asked questions
	var in map[string]any
	if err := json.Unmarshal(r.Input, &in); err != nil {
		return guard.Answer{}, err
	}
	if err := json.Unmarshal(r.Input, &asked); err != nil {
		return guard.Answer{}, fmt.Errorf("the questions cannot be read: %w", err)
	}
	if len(asked.Questions) == 0 {
		return guard.Answer{}, errors.New("there is no question")
	}
	ask := d.oneByOne
	if d.can.form {
		ask = func(ctx context.Context, _ guard.Request, q questions) (map[string]string, bool, error) {
			return d.form(ctx, q)
		}
	}
	answers, stopped, err := ask(ctx, r, asked)
	switch {
	case err != nil:
		return guard.Answer{}, err
	case stopped:
		return guard.Answer{Message: "The user closed the question without an answer.", Interrupt: true}, nil
	case len(answers) == 0:
		return guard.Answer{Message: "The user chose none of the options. Ask in plain words what they want, or decide yourself and say so."}, nil
	}
	in["answers"] = answers
	input, err := llm.Marshal(in)
	return guard.Answer{Allow: true, UpdatedInput: input}, err
}

// oneByOne asks by the means that every client has.
func (d *Desk) oneByOne(ctx context.Context, r guard.Request, asked questions) (answers map[string]string, stopped bool, err error) {
	answers = map[string]string{}
	for _, q := range asked.Questions {
		var options []option
		var help []string
		for _, o := range q.Options {
			options = append(options, option{protocol.PermissionOption{Name: o.Label, Kind: protocol.PermissionOptionKindAllowOnce}, guard.Answer{Allow: true, Message: o.Label}})
			if o.Description != "" {
				help = append(help, "- "+o.Label+": "+o.Description)
			}
		}
		options = append(options, option{protocol.PermissionOption{Name: "None of these", Kind: protocol.PermissionOptionKindRejectOnce}, guard.Answer{}})
		kind := protocol.ToolKindThink
		call := protocol.ToolCallUpdate{ToolCallId: protocol.ToolCallId(r.ID), Kind: &kind, Title: &q.Question}
		if len(help) > 0 {
			call.Content = []protocol.ToolCallContent{protocol.ToolContent(protocol.TextBlock(strings.Join(help, "\n")))}
		}
		a, err := d.choose(ctx, call, options)
		if err != nil || a.Interrupt {
			return nil, a.Interrupt, err
		}
		if a.Allow {
			answers[q.Question] = a.Message
		}
	}
	return answers, false, nil
}
