package job

import (
	"fmt"
	"strings"
)

// A Notice tells the owner of a job that it has ended.
type Notice struct{ Job Job }

// Text is the notice as the model reads it.
func (n Notice) Text() string {
	j := n.Job
	var b strings.Builder
	b.WriteString("<task-notification>\n")
	line := func(tag, text string) {
		if text != "" {
			// What a command or an agent wrote must not end the notice.
			fmt.Fprintf(&b, "<%s>%s</%[1]s>\n", tag, strings.ReplaceAll(text, "</task-notification", "< /task-notification"))
		}
	}
	line("task-id", j.ID)
	line("task-type", string(j.Kind))
	line("tool-use-id", j.CallID)
	line("output-file", j.OutputFile)
	line("status", string(j.State))
	line("summary", n.Summary())
	line("result", j.Result)
	if u := j.Usage; u != nil {
		fmt.Fprintf(&b, "<usage><total_tokens>%d</total_tokens><tool_uses>%d</tool_uses><duration_ms>%d</duration_ms></usage>\n",
			u.Tokens, u.ToolUses, j.Ended.Sub(j.Started).Milliseconds())
	}
	b.WriteString("</task-notification>")
	return b.String()
}

// Summary is the notice in one line for people.
func (n Notice) Summary() string {
	if n.Job.Summary != "" {
		return n.Job.Summary
	}
	return fmt.Sprintf("%q %s", n.Job.Description, n.Job.State)
}
