package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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

// ParseNotice reads back what Text has written, as far as people are told of it: who it was, how it ended and what it used. ok is false for any other text.
func ParseNotice(text string) (n Notice, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<task-notification>") || !strings.HasSuffix(text, "</task-notification>") {
		return Notice{}, false
	}
	field := func(tag string) string {
		_, rest, _ := strings.Cut(text, "<"+tag+">")
		value, _, found := strings.Cut(rest, "</"+tag+">")
		if !found {
			return ""
		}
		return value
	}
	n.Job = Job{ID: field("task-id"), Kind: Kind(field("task-type")), CallID: field("tool-use-id"), OutputFile: field("output-file"), State: State(field("status")), Outcome: Outcome{Summary: field("summary")}}
	// The numbers come last, behind a result in which anything may stand.
	if at := strings.LastIndex(text, "<usage>"); at >= 0 {
		text = text[at:]
		var u Usage
		u.Tokens, _ = strconv.Atoi(field("total_tokens"))
		u.ToolUses, _ = strconv.Atoi(field("tool_uses"))
		ms, _ := strconv.ParseInt(field("duration_ms"), 10, 64)
		n.Job.Usage, n.Job.Ended = &u, n.Job.Started.Add(time.Duration(ms)*time.Millisecond)
	}
	return n, true
}

// Summary is the notice in one line for people.
func (n Notice) Summary() string {
	if n.Job.Summary != "" {
		return n.Job.Summary
	}
	return fmt.Sprintf("%q %s", n.Job.Description, n.Job.State)
}
