package shell

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"

	"gofer/internal/tool"
)

//go:embed monitor.md
var monitorDoc string

type monitorIn struct {
	TaskID  string `json:"task_id" minlen:"1" desc:"The id of the background command"`
	Pattern string `json:"pattern" minlen:"1" maxlen:"2000" desc:"Regular expression (RE2); (?i) in front ignores case"`
}

func (in monitorIn) compile() (*regexp.Regexp, error) {
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no regular expression: %w; escape literal ( ) [ ] { } . * + ? | with \\", err)
	}
	return re, nil
}

func monitorTool(env Env) *tool.Tool {
	return tool.Define(tool.Spec[monitorIn]{
		Name:   "Monitor",
		Doc:    monitorDoc,
		Hint:   "follow, watch, tail a background command, wait for a line of its output",
		Traits: func(monitorIn) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Title:  func(in monitorIn) string { return fmt.Sprintf("Following %s for %q", in.TaskID, in.Pattern) },
		Check: func(_ context.Context, in monitorIn) error {
			_, err := in.compile()
			return err
		},
		Run: func(_ context.Context, in monitorIn, c tool.Call) (tool.Result, error) {
			re, err := in.compile()
			if err != nil {
				return tool.Result{}, err
			}
			id, err := env.Jobs.Follow(env.Owner, c.ID, in.TaskID, re.MatchString, env.Notify)
			if err != nil {
				return tool.Result{}, err
			}
			text := fmt.Sprintf("%s follows %s. You are told of lines that match; go on with other work, or end your turn and be woken.", id, in.TaskID)
			r := tool.Text(text)
			r.Data = map[string]string{"taskId": id, "followed": in.TaskID}
			r.Display.Summary = fmt.Sprintf("%s follows %s", id, in.TaskID)
			return r, nil
		},
	})
}
