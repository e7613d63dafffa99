package shell

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"gofer/internal/llm"
	"gofer/internal/proc"
	"gofer/internal/tool"
)

// data is the structured result for programs.
type data struct {
	Stdout           string `json:"stdout"` // both outputs, merged in order
	Stderr           string `json:"stderr"`
	Interrupted      bool   `json:"interrupted"`
	IsImage          bool   `json:"isImage"`
	NoOutputExpected bool   `json:"noOutputExpected"`
	ExitCode         int    `json:"exitCode"`
	DurationMS       int64  `json:"durationMs"`
	Meaning          string `json:"returnCodeInterpretation,omitempty"`
	BackgroundTaskID string `json:"backgroundTaskId,omitempty"`
	SentByUser       bool   `json:"backgroundedByUser,omitempty"`
	OutputFile       string `json:"outputFile,omitempty"`
}

// rawFactor is how many bytes are looked at for each character that is shown: escape sequences and redrawn lines vanish.
const rawFactor = 8

// result answers a call whose command has ended.
func (b *bash) result(ctx context.Context, r *running, limit time.Duration, interrupted, parallel bool) tool.Result {
	d := data{Interrupted: interrupted, ExitCode: r.exit.Code, DurationMS: r.took.Milliseconds(), NoOutputExpected: printsNothing(r.in.Command)}
	dirNote := b.settleDir(r, parallel)
	if img, ok := r.image(); ok && r.exit.Code == 0 {
		d.IsImage = true
		return tool.Result{Content: []llm.Block{img}, Data: d, Display: tool.Display{Summary: "an image"}}
	}
	d.Stdout = r.text(b.outputLimit())
	d.OutputFile, _ = r.output.Path()

	var top []string
	isError := r.exit.Code != 0
	if isError && !interrupted && !r.timedOut.Load() {
		if d.Meaning = answerOf(r.in.Command, r.exit.Code); d.Meaning != "" {
			isError = false
		}
	}
	if isError || interrupted || r.timedOut.Load() {
		isError = true
		top = append(top, fmt.Sprintf("Exit code %d%s", r.exit.Code, signalNote(r.exit.Code)))
	}
	switch {
	case interrupted:
		top = append(top, fmt.Sprintf("Interrupted after %s (%v). The command and all it had started were ended.", roundTime(r.took), context.Cause(ctx)))
	case r.timedOut.Load():
		top = append(top, fmt.Sprintf("Timed out after %s: the command and all it had started were ended. Give a larger timeout, or use run_in_background.", roundTime(limit)))
	case r.exit.Lost:
		top = append(top, "The process that keeps the commands was killed, and every command that was running with it.")
	}
	parts := append(top, d.Stdout)
	if d.Stdout == "" && len(top) == 0 {
		parts = []string{"(no output)"}
	}
	parts = append(parts, notes(r, d.Meaning, dirNote)...)
	res := tool.Text(strings.TrimRight(strings.Join(parts, "\n"), "\n"))
	res.IsError, res.Data = isError, d
	res.Display = tool.Display{Summary: fmt.Sprintf("exit %d in %s", r.exit.Code, roundTime(r.took)), Body: d.Stdout}
	return res
}

// notes are remarks behind the output.
func notes(r *running, meaning, dirNote string) []string {
	var list []string
	add := func(s string) {
		if s != "" {
			list = append(list, "["+s+"]")
		}
	}
	if meaning != "" {
		add(fmt.Sprintf("exit code %d: %s", r.exit.Code, meaning))
	}
	add(r.note)
	add(dirNote)
	if n := len(r.exit.LeftOver); n > 0 {
		names := r.exit.LeftOver
		if n > 5 {
			names = append(names[:5:5], "…")
		}
		add(fmt.Sprintf("Still running when the command ended, and ended with it: %s. What should go on needs run_in_background.", strings.Join(names, ", ")))
	}
	if sleeps(r.in.Command) {
		add("Do not wait with sleep. Start what you wait for with run_in_background: you are told when it ends, and TaskOutput waits for it.")
	}
	return list
}

// text is the output as the model reads it. If that is not all, the whole goes to disk.
func (r *running) text(limit int) string {
	part := r.output.Since(0, limit*rawFactor)
	if text, ok := part.Whole(limit); ok {
		return trim(text)
	}
	path, err := r.output.Persist("")
	where := "the whole output is in " + path
	if err != nil {
		where = fmt.Sprintf("the rest could not be kept on disk: %v", err)
	}
	return trim(part.Text(limit, where))
}

func trim(s string) string { return strings.TrimRight(strings.TrimLeft(s, "\n"), " \n") }

// image returns the picture that the command printed as a data URL, and nothing else.
func (r *running) image() (llm.Block, bool) {
	const prefix = "data:image/"
	begin := r.output.Since(0, 256).Head
	if !bytes.HasPrefix(bytes.TrimSpace(begin), []byte(prefix)) {
		return llm.Block{}, false
	}
	raw, ok := r.output.All(7 << 20) // the provider takes 5 MB of image
	if !ok {
		return llm.Block{}, false
	}
	kind, encoded, ok := strings.Cut(strings.TrimSpace(string(raw)), ";base64,")
	if !ok {
		return llm.Block{}, false
	}
	kind = strings.TrimPrefix(kind, "data:")
	encoded = strings.ReplaceAll(encoded, "\n", "")
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return llm.Block{}, false
	}
	if _, err := base64.StdEncoding.DecodeString(encoded); err != nil {
		return llm.Block{}, false
	}
	return llm.Block{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: kind, Data: encoded}}, true
}

// backgroundResult answers a call whose command goes on.
func (b *bash) backgroundResult(r *running, soFar, id, file string, limit time.Duration) tool.Result {
	d := data{Stdout: trim(soFar), BackgroundTaskID: id, SentByUser: r.sent, OutputFile: file, DurationMS: time.Since(r.begun).Milliseconds()}
	var text strings.Builder
	switch {
	case r.in.Background:
		fmt.Fprintf(&text, "Running in the background as %s.", id)
	case r.sent:
		fmt.Fprintf(&text, "The user has sent the command to the background after %s; it goes on there as %s.", roundTime(time.Since(r.begun)), id)
	default:
		fmt.Fprintf(&text, "The command is still running after %s, so it goes on in the background as %s.", roundTime(b.AutoBackground), id)
	}
	if file != "" {
		fmt.Fprintf(&text, " Its output goes to %s.", file)
	}
	fmt.Fprintf(&text, " You will be told when it ends. TaskOutput with task_id %q shows new output or waits; TaskStop ends it.", id)
	if limit > 0 {
		fmt.Fprintf(&text, " It is ended after %s in all.", roundTime(limit))
	}
	if r.note != "" {
		fmt.Fprintf(&text, "\n[%s]", r.note)
	}
	if d.Stdout != "" {
		fmt.Fprintf(&text, "\nOutput so far:\n%s", d.Stdout)
	}
	res := tool.Text(text.String())
	res.Data = d
	res.Display = tool.Display{Summary: "in the background as " + id, Body: d.Stdout}
	return res
}

// signalNote names the signal behind an exit code above 128.
func signalNote(code int) string {
	if code <= 128 || code > 128+64 {
		return ""
	}
	if name := proc.SignalName(code - 128); strings.HasPrefix(name, "SIG") {
		return " (" + name + ")"
	}
	return ""
}

func roundTime(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond)
	case d < time.Minute:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
