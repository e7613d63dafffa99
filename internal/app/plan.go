package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"gofer/internal/agents"
	"gofer/internal/event"
	"gofer/internal/guard"
	"gofer/internal/tool/person"
)

// planMode is the state of plan mode: where the plan stands, which mode was on before, and what was approved with a plan.
type planMode struct {
	engine *engine
	file   string

	mu     sync.Mutex
	before guard.Mode
	kinds  []string
}

func newPlanMode(e *engine) *planMode {
	return &planMode{engine: e, file: filepath.Join(e.place.config, "plans", e.place.session+".md"), before: guard.Default}
}

// remember keeps the mode that plan mode takes the place of.
func (p *planMode) remember(mode guard.Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mode != guard.Plan && mode != "" {
		p.before = mode
	}
}

// Enter switches plan mode on.
func (p *planMode) Enter() (string, error) {
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return "", fmt.Errorf("there is no place for the plan: %w", err)
	}
	_, err := p.engine.setMode(string(guard.Plan))
	return p.file, err
}

// Read returns what stands in the plan file.
func (p *planMode) Read() (string, error) {
	data, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// Leave ends plan mode after the plan was approved. The mode is the one that the answer asked for, else the one before.
func (p *planMode) Leave(plan string, kinds []person.Kind) (string, error) {
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return "", fmt.Errorf("the plan could not be kept: %w", err)
	}
	if err := os.WriteFile(p.file, []byte(plan), 0o600); err != nil {
		return "", fmt.Errorf("the plan could not be kept: %w", err)
	}
	p.mu.Lock()
	for _, k := range kinds {
		p.kinds = append(p.kinds, k.Prompt)
	}
	before := p.before
	p.mu.Unlock()
	now := p.engine.policy.Policy().Mode
	if now != guard.Plan { // the answer has chosen a mode already
		return string(now), nil
	}
	p.engine.policy.SetMode(before)
	p.engine.emit(event.Status{PermissionMode: string(before)})
	return string(before), nil
}

// approved returns the kinds of commands that were approved with a plan.
func (p *planMode) approved() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.kinds)
}

// askKinds is asked before a person: a command of a kind that was approved with the plan passes.
func (e *engine) askKinds(next guard.Asker) guard.Asker {
	return guard.AskFunc(func(ctx context.Context, r guard.Request) (guard.Answer, error) {
		if kinds := e.plan.approved(); len(kinds) > 0 && r.Tool == "Bash" && r.Decision.Kind != guard.ByRule && r.Decision.Kind != guard.BySafety {
			var in struct{ Command string }
			if err := json.Unmarshal(r.Input, &in); err == nil {
				if fits, err := e.helper.fitsKinds(ctx, in.Command, kinds); err == nil && fits {
					return guard.Answer{Allow: true}, nil
				}
			}
		}
		return next.Ask(ctx, r)
	})
}

// askHooks is asked before a person: PermissionRequest hooks may answer.
func (e *engine) askHooks(p agents.Post, next guard.Asker) guard.Asker {
	return guard.AskFunc(func(ctx context.Context, r guard.Request) (guard.Answer, error) {
		t, err := p.Tools().Find(r.Tool)
		if err != nil {
			return next.Ask(ctx, r)
		}
		call, err := t.Bind(r.ID, r.Input)
		if err != nil {
			return next.Ask(ctx, r)
		}
		o := p.Hooks.PermissionRequest(ctx, call, r.Suggestions)
		switch {
		case o.Block:
			return guard.Answer{Message: "A PermissionRequest hook refused this call: " + firstOf(o.Reason, o.VerdictReason), Interrupt: o.Interrupt}, nil
		case o.Verdict == "allow":
			answer := guard.Answer{Allow: true, UpdatedInput: o.Input}
			for _, raw := range o.Permissions {
				var u guard.Update
				if err := json.Unmarshal(raw, &u); err != nil {
					return guard.Answer{}, fmt.Errorf("a PermissionRequest hook gave a permission that cannot be read: %w", err)
				}
				answer.Updates = append(answer.Updates, u)
			}
			return answer, nil
		}
		return next.Ask(ctx, r)
	})
}
