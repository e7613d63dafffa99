package input

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// An Editing is a text in the user's own editor. The program around runs Argv with the terminal, and then calls Finish.
type Editing struct {
	Argv []string
	path string
}

// largestEdit bounds what is read back, in bytes.
const largestEdit = 16 << 20

// Edit writes a text to a private file for the editor that the environment names: VISUAL, else EDITOR, else vi.
func Edit(text string, getenv func(string) string) (*Editing, error) {
	f, err := os.CreateTemp("", "gofer-prompt-*.md") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("opening the editor: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return nil, fmt.Errorf("opening the editor: %w", err)
	}
	return &Editing{Argv: append(editorCommand(getenv), f.Name()), path: f.Name()}, nil
}

// editorCommand is the editor with its arguments: "code --wait" is two words.
func editorCommand(getenv func(string) string) []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(getenv(name)); len(words) > 0 {
			// A window that opens elsewhere must be waited for.
			switch strings.TrimSuffix(filepath.Base(words[0]), ".exe") {
			case "code", "code-insiders", "cursor", "windsurf", "zed", "subl":
				if len(words) == 1 {
					words = append(words, "--wait")
				}
			}
			return words
		}
	}
	if runtime.GOOS == "windows" {
		return []string{"notepad"}
	}
	return []string{"vi"}
}

// Finish reads the text back and removes the file. It is called once, also when the editor failed.
func (e *Editing) Finish() (string, error) {
	defer os.Remove(e.path)
	info, err := os.Stat(e.path)
	if err != nil {
		return "", fmt.Errorf("reading what the editor wrote: %w", err)
	}
	if info.Size() > largestEdit {
		return "", fmt.Errorf("the editor wrote %d bytes, which is more than a prompt can have", info.Size())
	}
	data, err := os.ReadFile(e.path)
	if err != nil {
		return "", fmt.Errorf("reading what the editor wrote: %w", err)
	}
	return strings.TrimSuffix(Clean(string(data)), "\n"), nil
}
