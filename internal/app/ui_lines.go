package app

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"gofer/internal/guard"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

const (
	// lineWidth is where a line for a person who reads line by line breaks: nothing is cut off, and few lines reach it.
	lineWidth = 1000
	// mostAskedLines is how much of a change is read out before the question.
	mostAskedLines = 400
)

// say writes text that may come from the model or from a file: whatever steers a terminal is taken out.
func (d *dialog) say(format string, values ...any) {
	fmt.Fprint(d.out, screen.Clean(fmt.Sprintf(format, values...)))
}

// heading names a call. The beginning of a command is no name for it: the whole command follows.
func heading(r guard.Request) string {
	if showsCommand(r) {
		return r.Tool
	}
	return r.Tool + ": " + strings.TrimSpace(r.Title)
}

// what is exactly what a call would do, in plain lines: the whole command, the difference that an edit makes, every field of the input.
func (d *dialog) what(r guard.Request) string {
	c := screen.Canvas{Width: lineWidth, Height: mostAskedLines, Theme: theme.New("", colorprofile.NoTTY)}
	lines := preview(r, d.dir)(c)
	left := len(lines) - mostAskedLines
	if left > 0 {
		lines = lines[:mostAskedLines]
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("  " + strings.TrimRight(line, " ") + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "  … %d lines more\n", left)
	}
	return b.String()
}
