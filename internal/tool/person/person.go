// Package person has the tools by which the model turns to the person it works for: questions, and the plan they approve.
//
// None of them talks to anybody. The permission gate asks about every call of AskUserQuestion and ExitPlanMode; whoever answers
// puts the answer into the input, and the tool only reads it. So every way in (terminal, protocol, editor) can answer.
package person

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"gofer/internal/tool"
)

// Names of the tools that are a question to the person: the gate always asks for them.
const (
	AskName      = "AskUserQuestion"
	ExitPlanName = "ExitPlanMode"
)

//go:embed ask.md
var askDoc string

//go:embed enterplan.md
var enterDoc string

//go:embed exitplan.md
var exitDoc string

type askIn struct {
	Questions   []question        `json:"questions" minlen:"1" maxlen:"4"`
	Answers     map[string]string `json:"answers,omitempty" desc:"filled in by the user"`
	Annotations map[string]any    `json:"annotations,omitempty" desc:"filled in by the user"`
	Metadata    map[string]any    `json:"metadata,omitempty"`
}

type question struct {
	Question    string   `json:"question" minlen:"1"`
	Header      string   `json:"header,omitempty" desc:"one or two words to tell the questions apart"`
	Options     []option `json:"options" minlen:"2" maxlen:"4"`
	MultiSelect bool     `json:"multiSelect,omitempty"`
}

type option struct {
	Label       string `json:"label" minlen:"1"`
	Description string `json:"description,omitempty" desc:"what choosing it means"`
	Preview     string `json:"preview,omitempty" desc:"what it would look like"`
}

// Ask returns AskUserQuestion.
func Ask() *tool.Tool {
	return tool.Define(tool.Spec[askIn]{
		Name: AskName, Doc: askDoc, Hint: "question choice decision user",
		Traits: func(askIn) tool.Traits { return tool.Traits{ReadOnly: true} },
		Title:  func(in askIn) string { return in.Questions[0].Question },
		Check:  checkQuestions,
		Run: func(_ context.Context, in askIn, _ tool.Call) (tool.Result, error) {
			if len(in.Answers) == 0 {
				return tool.Result{}, errors.New("the user gave no answer; decide yourself what is most sensible, say so, and go on")
			}
			var b strings.Builder
			b.WriteString("The user answered:")
			for _, q := range in.Questions {
				if a, ok := in.Answers[q.Question]; ok {
					fmt.Fprintf(&b, "\n- %s %s", q.Question, a)
				} else {
					fmt.Fprintf(&b, "\n- %s (no answer)", q.Question)
				}
			}
			r := tool.Text(b.String())
			r.Data = map[string]any{"questions": in.Questions, "answers": in.Answers}
			r.Display.Summary = fmt.Sprintf("%d answered", len(in.Answers))
			return r, nil
		},
	})
}

func checkQuestions(_ context.Context, in askIn) error {
	seen := map[string]bool{}
	for _, q := range in.Questions {
		if seen[q.Question] {
			return fmt.Errorf("the question %q is there twice", q.Question)
		}
		seen[q.Question] = true
		labels := map[string]bool{}
		for _, o := range q.Options {
			if labels[o.Label] {
				return fmt.Errorf("the question %q has the option %q twice", q.Question, o.Label)
			}
			labels[o.Label] = true
		}
	}
	return nil
}

// Plan is what plan mode can be told. All calls come from the goroutine of a tool call.
type Plan interface {
	Enter() (file string, err error)
	Leave(plan string, kinds []Kind) (mode string, err error)
	Read() (plan string, err error)
}

// A Kind is a kind of command, in words, that the user approves together with the plan.
type Kind struct {
	Tool   string `json:"tool" desc:"Bash"`
	Prompt string `json:"prompt" desc:"what kind, such as: run tests"`
}

type noInput struct{}

// EnterPlan returns EnterPlanMode.
func EnterPlan(p Plan) *tool.Tool {
	return tool.Define(tool.Spec[noInput]{
		Name: "EnterPlanMode", Doc: enterDoc, Hint: "plan design before coding",
		Traits: func(noInput) tool.Traits { return tool.Traits{ReadOnly: true} },
		Title:  func(noInput) string { return "Planning" },
		Run: func(context.Context, noInput, tool.Call) (tool.Result, error) {
			file, err := p.Enter()
			if err != nil {
				return tool.Result{}, err
			}
			return tool.Text(Reminder(file)), nil
		},
	})
}

// Reminder tells the model what plan mode means.
func Reminder(file string) string {
	return "Plan mode is on. Read, search and think, but change nothing: calls that write are refused, except for the plan file " + file +
		". Ask the user what only they can decide. Write the plan there: what to change in which files, in what order, and how it will be checked. Then call ExitPlanMode."
}

type exitIn struct {
	Plan           string `json:"plan,omitempty" desc:"the plan, if it is not in the plan file"`
	AllowedPrompts []Kind `json:"allowedPrompts,omitempty" desc:"kinds of commands that the plan needs and that may then run without asking"`
}

// ExitPlan returns ExitPlanMode.
func ExitPlan(p Plan) *tool.Tool {
	return tool.Define(tool.Spec[exitIn]{
		Name: ExitPlanName, Doc: exitDoc, Hint: "plan approve start work",
		Traits: func(exitIn) tool.Traits { return tool.Traits{ReadOnly: true} },
		Title:  func(exitIn) string { return "Ready to begin?" },
		Check: func(_ context.Context, in exitIn) error {
			if in.Plan != "" {
				return nil
			}
			plan, err := p.Read()
			if err == nil && strings.TrimSpace(plan) == "" {
				err = errors.New("there is no plan yet: write it to the plan file, or pass it as plan")
			}
			return err
		},
		Run: func(_ context.Context, in exitIn, _ tool.Call) (tool.Result, error) {
			plan := in.Plan
			if plan == "" {
				var err error
				if plan, err = p.Read(); err != nil {
					return tool.Result{}, err
				}
			}
			mode, err := p.Leave(plan, in.AllowedPrompts)
			if err != nil {
				return tool.Result{}, err
			}
			r := tool.Text("The user approved the plan. Plan mode is over; the permission mode is " + mode + " now. Carry the plan out.\n\n" + plan)
			r.Data = map[string]any{"plan": plan, "mode": mode}
			r.Display.Summary, r.Display.Body = "Plan approved", plan
			return r, nil
		},
	})
}
