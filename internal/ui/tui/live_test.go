package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"gofer/internal/ui/keys"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// However many messages wait, they take a part of the screen, and the newest are those that are seen.
func TestQueueStaysSmall(t *testing.T) {
	t.Parallel()
	c := screen.Canvas{Width: 60, Height: 24, Theme: theme.New("dark", colorprofile.TrueColor)}
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("message %d", i+1))
	}
	lines := newest(c, texts, 6)
	text := strings.Join(lines, "\n")
	if len(lines) != 7 || !strings.Contains(text, "message 200") || !strings.Contains(text, "194 more") || strings.Contains(text, "message 194") {
		t.Errorf("the queue is\n%s", text)
	}
	if lines := newest(c, texts[:2], 6); len(lines) != 2 {
		t.Errorf("two messages are\n%s", strings.Join(lines, "\n"))
	}
	if lines := newest(c, []string{"old", strings.Repeat("long ", 100)}, 2); !strings.Contains(strings.Join(lines, "\n"), "long") {
		t.Errorf("a long one is\n%s", strings.Join(lines, "\n"))
	}
}

// The keys are read whole at 80 columns, and never push the prompt out of the window.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	m, _ := keys.Load("")
	for _, size := range [][2]int{{80, 24}, {140, 40}, {60, 15}, {30, 8}} {
		c := screen.Canvas{Width: size[0], Height: size[1], Theme: theme.New("dark", colorprofile.TrueColor)}
		lines := helpLines(c, m)
		text := strings.Join(lines, "\n")
		if len(lines) > size[1]-5 {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		if size[0] >= 80 && strings.Contains(text, "…") {
			t.Errorf("%v: something is cut off:\n%s", size, text)
		}
		if len(lines) == size[1]-5 && !strings.Contains(text, "/help") {
			t.Errorf("%v: what is left out is not said:\n%s", size, text)
		}
	}
}
