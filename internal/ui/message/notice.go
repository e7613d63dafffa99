package message

import (
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/ui/screen"
)

// Denied is a call that was not permitted.
func Denied(c screen.Canvas, e event.Denied) []string {
	return Note(c, "error", c.F("%s was not allowed", Line(e.ToolName)))
}

// Retry is a request that is made again.
func Retry(c screen.Canvas, e event.Retry) []string {
	wait := time.Duration(e.DelayMS) * time.Millisecond
	return Note(c, "warning", c.F("The request failed (%s). Try %d of %d in %s.", Line(string(e.Error)), e.Attempt, e.MaxRetries, Elapsed(max(wait, time.Second))))
}

// Voided is a reply that broke off.
func Voided(c screen.Canvas, e event.Voided) []string {
	return Note(c, "warning", c.F("The reply broke off (%s) and begins again.", Line(e.Reason)))
}

// Fallback is another model that takes over.
func Fallback(c screen.Canvas, e event.Fallback) []string {
	text := e.Content
	if text == "" {
		text = c.F("%s goes on in the place of %s.", Line(e.Fallback), Line(e.Original))
	}
	return Note(c, "warning", text)
}

// Boundary is where older messages left the model's view.
func Boundary(c screen.Canvas, e event.Boundary) []string {
	m := e.Metadata
	text := c.T("The conversation was made smaller")
	if m.PreTokens > 0 {
		text = c.F("The conversation was made smaller: %s tokens became %s", Count(m.PreTokens), Count(m.PostTokens))
	}
	if kept := Line(m.Kept); kept != "" {
		text += " · " + kept
	}
	line := "── " + text + " "
	if rest := c.Width - screen.Width(line); rest > 0 {
		line += strings.Repeat("─", min(rest, 20))
	}
	return []string{c.Theme.Faint.Paint(cut(c, line))}
}

// Hook is what a hook of the user said. One that went well and said nothing is not worth a line.
func Hook(c screen.Canvas, e event.HookResponse) []string {
	said := firstOf(e.Stderr, e.Output, e.Stdout)
	switch {
	case e.Outcome == "error" && said == "":
		return Note(c, "warning", c.F("Hook %s ended with code %d", Line(e.HookName), e.ExitCode))
	case e.Outcome == "error":
		return Note(c, "warning", c.F("Hook %s: %s", Line(e.HookName), said))
	case e.Outcome == "cancelled":
		return Note(c, "warning", c.F("Hook %s was stopped", Line(e.HookName)))
	case strings.TrimSpace(e.Stderr) != "":
		return Note(c, "info", c.F("Hook %s: %s", Line(e.HookName), said))
	}
	return nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			return head(t, maxLine)
		}
	}
	return ""
}

// Began is work that goes on in the background.
func Began(c screen.Canvas, e event.TaskStarted) []string {
	return Note(c, "info", c.F("In the background as %s: %s", Line(e.TaskID), Line(e.Description)))
}

// Ended is background work that has ended.
func Ended(c screen.Canvas, e event.TaskNotice) []string {
	t := c.Theme
	mark, level := t.Good, "info"
	switch e.Status {
	case "failed":
		mark, level = t.Bad, "error"
	case "killed":
		mark, level = t.Warn, "warning"
	}
	text := Line(e.Summary)
	if text == "" {
		text = Line(e.TaskID) + ": " + Line(e.Status)
	}
	if u := e.Usage; u != nil {
		text += " (" + usage(c, u.ToolUses, u.Tokens, time.Duration(u.DurationMS)*time.Millisecond) + ")"
	}
	if level == "info" {
		return []string{cut(c, mark.Paint("●")+" "+text)}
	}
	return wrapped(c, mark.Paint("●")+" ", text, mark)
}

// Failure is a turn that did not go well. A turn that did gives nothing.
func Failure(c screen.Canvas, e event.Result) []string {
	if strings.HasPrefix(e.TerminalReason, "aborted_") {
		return Interrupted(c) // its errors are for the model: what was refused, and what to do about it
	}
	text := strings.Join(e.Errors, "\n")
	if text == "" && e.IsError && e.Result != nil {
		text = *e.Result
	}
	if text == "" && e.IsError {
		text = e.TerminalReason
	}
	if text == "" {
		return nil
	}
	return Note(c, "error", text)
}

// Interrupted is what the person reads after stopping a turn.
func Interrupted(c screen.Canvas) []string {
	return Note(c, "error", c.T("Stopped. What was done stays. Say what to do instead."))
}

// Event draws an event that stands for itself. Events that are parts of something larger, or nothing for people, give nothing.
func Event(c screen.Canvas, e event.Event) []string {
	switch e := e.(type) {
	case event.User:
		if e.Prompt {
			return Prompt(c, e.Message.Text())
		}
	case event.Denied:
		return Denied(c, e)
	case event.Retry:
		return Retry(c, e)
	case event.Voided:
		return Voided(c, e)
	case event.Fallback:
		return Fallback(c, e)
	case event.Boundary:
		return Boundary(c, e)
	case event.HookResponse:
		return Hook(c, e)
	case event.Info:
		return Note(c, e.Level, e.Content)
	case event.TaskStarted:
		return Began(c, e)
	case event.TaskNotice:
		return Ended(c, e)
	case event.Result:
		return Failure(c, e)
	}
	return nil
}
