package app

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gofer/internal/llm"
	"gofer/internal/ui/tui"
)

// copy puts the last answer into the clipboard.
func (u *uiDesk) copy(ctx context.Context, _ string) tui.Action {
	for _, m := range slices.Backward(u.e.session.Log.View()) {
		if m.Role != llm.Assistant {
			continue
		}
		if text := strings.TrimSpace(spoken(m)); text != "" {
			return u.toClipboard(ctx, text, "The last answer")
		}
	}
	return tui.Action{Print: u.say("There is no answer yet.")}
}

func (u *uiDesk) toClipboard(ctx context.Context, text, what string) tui.Action {
	return done(copyText(ctx, u.e.world, text), u.say("%s is in the clipboard: %d characters.", u.say(what), utf8.RuneCountInString(text)))
}

// copyText puts a text into the clipboard: by the system's own program, and by the terminal, which also works through SSH and tmux.
func copyText(ctx context.Context, w World, text string) error {
	byProgram := copyByProgram(ctx, w, text)
	byTerminal := copyByTerminal(w, text)
	if byProgram != nil && byTerminal != nil {
		return fmt.Errorf("nothing here takes text for the clipboard: %w", errors.Join(byProgram, byTerminal))
	}
	return nil
}

// clipboardPrograms are what puts standard input into the clipboard, as far as the surroundings tell.
func clipboardPrograms(w World) [][]string {
	switch {
	case runtime.GOOS == "darwin":
		return [][]string{{"pbcopy"}}
	case runtime.GOOS == "windows":
		return [][]string{{"clip.exe"}}
	}
	var list [][]string
	if w.Env("WAYLAND_DISPLAY") != "" {
		list = append(list, []string{"wl-copy"})
	}
	if w.Env("DISPLAY") != "" {
		list = append(list, []string{"xclip", "-selection", "clipboard"}, []string{"xsel", "--clipboard", "--input"})
	}
	if w.Env("WSL_DISTRO_NAME") != "" {
		list = append(list, []string{"clip.exe"})
	}
	if w.Env("TMUX") != "" {
		list = append(list, []string{"tmux", "load-buffer", "-w", "-"})
	}
	return list
}

func copyByProgram(ctx context.Context, w World, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	last := errors.New("there is no program for the clipboard")
	for _, argv := range clipboardPrograms(w) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdin = strings.NewReader(text)
		if last = cmd.Run(); last == nil {
			return nil
		}
	}
	return last
}

// mostForTerminal is what terminals take at once.
const mostForTerminal = 74_000

// copyByTerminal asks the terminal itself, with OSC 52. It is one write, so that nothing comes between its bytes.
func copyByTerminal(w World, text string) error {
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	if len(encoded) > mostForTerminal {
		return errors.New("the text is too long for the terminal")
	}
	if runtime.GOOS == "windows" {
		return errors.New("the terminal is not asked here")
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer tty.Close()
	sequence := "\x1b]52;c;" + encoded + "\x07"
	if w.Env("TMUX") != "" {
		sequence = "\x1bPtmux;\x1b" + sequence + "\x1b\\"
	}
	_, err = tty.WriteString(sequence)
	return err
}
