package app

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gofer/internal/guard"
	"gofer/internal/llm"
	"gofer/internal/session"
	"gofer/internal/tool"
)

// A helper asks the small model short questions on the side: what it says is booked, and nothing else comes of it.
type helper struct {
	brain  *brain
	name   string
	ledger *session.Ledger
}

// Ask returns the text of one reply.
func (h helper) Ask(ctx context.Context, system, question string, maxTokens int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req := h.brain.catalog.Fit(llm.Request{
		MaxTokens: maxTokens, System: []llm.SystemBlock{{Text: system}}, Messages: []llm.Message{llm.UserText(question)},
		Thinking: llm.ThinkingMode{Disabled: true},
	}, h.name)
	var text strings.Builder
	var usage llm.Usage
	begun := time.Now()
	for d, err := range h.brain.model.Stream(ctx, req) {
		if err != nil {
			return "", fmt.Errorf("asking the small model: %w", err)
		}
		switch d.Kind {
		case llm.Retrying:
			text.Reset()
		case llm.TextDelta:
			text.WriteString(d.Text)
		case llm.Stopped:
			usage = d.Usage
		}
	}
	h.ledger.Book(req.Model, usage, time.Since(begun))
	return text.String(), nil
}

//go:embed classify.md
var classifyPrompt string

// A classifier decides in auto mode what a person would be asked.
type classifier struct {
	helper
	notes string // what the settings tell it
}

// Classify asks the small model whether the call is what a careful person would let pass.
func (c classifier) Classify(ctx context.Context, r guard.Request) (guard.Classified, error) {
	question := fmt.Sprintf("Tool: %s\nInput: %s\nWhy a person would be asked: %s\n%s", r.Tool, tool.Prefix(string(r.Input), 8000), r.Decision.Reason, c.notes)
	reply, err := c.Ask(ctx, classifyPrompt, question, 300)
	if err != nil {
		return guard.Classified{}, err
	}
	var verdict struct {
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
	}
	if err := json.Unmarshal([]byte(firstObject(reply)), &verdict); err != nil {
		return guard.Classified{Unsure: true, Reason: "the check gave no verdict"}, nil
	}
	switch verdict.Verdict {
	case "allow":
		return guard.Classified{Allow: true, Reason: verdict.Reason}, nil
	case "deny":
		return guard.Classified{Reason: verdict.Reason}, nil
	}
	return guard.Classified{Unsure: true, Reason: verdict.Reason}, nil
}

// firstObject returns the first JSON object in a text.
func firstObject(s string) string {
	i, j := strings.IndexByte(s, '{'), strings.LastIndexByte(s, '}')
	if i < 0 || j < i {
		return ""
	}
	return s[i : j+1]
}

//go:embed kinds.md
var kindsPrompt string

// fitsKinds asks the small model whether a command is of a kind that was approved with a plan. In doubt it is not.
func (h helper) fitsKinds(ctx context.Context, command string, kinds []string) (bool, error) {
	question := "Approved kinds:\n- " + strings.Join(kinds, "\n- ") + "\n\nCommand:\n" + tool.Prefix(command, 4000)
	reply, err := h.Ask(ctx, kindsPrompt, question, 50)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(strings.Trim(strings.TrimSpace(reply), ".")) {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	return false, errors.New("the small model gave no clear answer")
}
