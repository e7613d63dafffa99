package skill

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"gofer/internal/tool"
)

// Name is the name of the tool.
const Name = "Skill"

//go:embed skill.md
var doc string

// An Order is what the model says about a skill to be used.
type Order struct {
	Skill string `json:"skill" minlen:"1"`
	Args  string `json:"args,omitempty"`
}

// A Hand carries orders out for one agent.
type Hand interface {
	// Find returns the skill of a name, if the model may use it. The error is for the model.
	Find(name string) (*Skill, error)
	// Use does what the skill says, or hands its text to the model.
	Use(ctx context.Context, s *Skill, args string, c tool.Call) (tool.Result, error)
}

// Tool is the tool by which a model uses skills.
func Tool(h Hand) *tool.Tool {
	find := func(o Order) *Skill {
		s, err := h.Find(o.Skill)
		if err != nil {
			return &Skill{Name: strings.TrimPrefix(strings.TrimSpace(o.Skill), "/"), Allowed: []string{"*"}} // the careful answers
		}
		return s
	}
	return tool.Define(tool.Spec[Order]{
		Name: Name, Doc: doc, Hint: "skill command slash workflow instructions", ResultCap: -1,
		Traits: func(o Order) tool.Traits { return tool.Traits{ReadOnly: find(o).Harmless()} },
		Access: func(o Order) []tool.Access { return []tool.Access{{Verb: tool.Use, Target: find(o).Name}} },
		Check: func(_ context.Context, o Order) error {
			_, err := h.Find(o.Skill)
			return err
		},
		Title: func(o Order) string { return strings.TrimSpace(fmt.Sprintf("/%s %s", find(o).Name, o.Args)) },
		Run: func(ctx context.Context, o Order, c tool.Call) (tool.Result, error) {
			s, err := h.Find(o.Skill)
			if err != nil {
				return tool.Result{}, err
			}
			return h.Use(ctx, s, strings.TrimSpace(o.Args), c)
		},
	})
}
