package app

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"gofer/internal/guard"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/diff"
	"gofer/internal/ui/markdown"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// largestPreview bounds the files of which a change is shown before it is made.
const largestPreview = 1 << 20

// preview shows what a call would do, before it does it.
func (u *uiPerson) preview(r guard.Request) dialogs.Page {
	cwd := u.place.cwd
	if e := u.engine.Load(); e != nil {
		cwd = e.dir.Cwd()
	}
	return preview(r, cwd)
}

// preview shows what a call would do in a folder. What cannot be shown as a difference is shown as it was asked for: nobody is to
// say yes to what they have not seen.
func preview(r guard.Request, cwd string) dialogs.Page {
	var in map[string]any
	if json.Unmarshal(r.Input, &in) != nil {
		return dialogs.Text(string(r.Input))
	}
	text := func(key string) string {
		s, _ := in[key].(string)
		return s
	}
	switch r.Tool {
	case "Bash", "PowerShell":
		about := text("description")
		if about == r.Title {
			about = "" // the dialog says it already
		}
		return commandPage(text("command"), about)
	case "Edit":
		return editPage(in, cwd, func(old string) string {
			if text("old_string") == "" {
				return text("new_string")
			}
			if all, _ := in["replace_all"].(bool); all {
				return strings.ReplaceAll(old, text("old_string"), text("new_string"))
			}
			return strings.Replace(old, text("old_string"), text("new_string"), 1)
		})
	case "Write":
		return editPage(in, cwd, func(string) string { return text("content") })
	}
	return inputPage(in)
}

// editPage shows the difference that a change makes to a file.
func editPage(in map[string]any, cwd string, change func(string) string) dialogs.Page {
	full, _ := in["file_path"].(string)
	if !filepath.IsAbs(full) {
		full = filepath.Join(cwd, full)
	}
	if info, err := os.Stat(full); err == nil && (info.Size() > largestPreview || !info.Mode().IsRegular()) { // a pipe would be read forever
		return inputPage(in)
	}
	old, _ := os.ReadFile(full) // a file that is not there is an empty one
	if bytes.IndexByte(old, 0) >= 0 {
		return inputPage(in)
	}
	name := full
	if rel, err := filepath.Rel(cwd, full); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	was, lf := string(old), strings.Contains(string(old), "\r\n")
	if lf {
		was = strings.ReplaceAll(was, "\r\n", "\n")
	}
	now := change(was)
	if was == now {
		return inputPage(in)
	}
	return diffPage(udiff.Unified(name, name, was, now))
}

// commandPage shows a command as it was written.
func commandPage(command, about string) dialogs.Page {
	clean := screen.Clean(strings.TrimRight(command, "\n"))
	return func(c screen.Canvas) []string {
		var out []string
		for i, line := range strings.Split(clean, "\n") {
			lead := "  "
			if i == 0 {
				lead = "$ "
			}
			for j, part := range screen.Wrap(line, max(c.Width-2, 8)) {
				if j > 0 {
					lead = "  "
				}
				out = append(out, c.Theme.Accent.Paint(lead)+part)
			}
		}
		if about != "" {
			out = append(out, c.Theme.Faint.Paint(screen.Cut(screen.Clean(strings.ReplaceAll(about, "\n", " ")), c.Width, "…")))
		}
		return out
	}
}

// inputPage shows the input of any tool, one field after the other.
func inputPage(in map[string]any) dialogs.Page {
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	return drawnOnce(func(c screen.Canvas) []string {
		var out []string
		for _, name := range names {
			value, ok := in[name].(string)
			if !ok {
				raw, _ := json.MarshalIndent(in[name], "", "  ")
				value = string(raw)
			}
			head := c.Theme.Faint.Paint(screen.Clean(name) + ": ")
			lines := screen.Wrap(screen.Clean(value), max(c.Width-2, 8))
			if len(lines) == 1 && screen.Width(head)+screen.Width(lines[0]) <= c.Width {
				out = append(out, head+lines[0])
				continue
			}
			out = append(out, head)
			for _, line := range lines {
				out = append(out, "  "+line)
			}
		}
		return out
	})
}

// mostDiffLines bounds what is drawn of a difference.
const mostDiffLines = 5000

// diffPage shows a unified diff.
func diffPage(text string) dialogs.Page {
	return drawnOnce(func(c screen.Canvas) []string { return diff.Render(c, text, diff.Options{Max: mostDiffLines}) })
}

// markdownPage shows Markdown.
func markdownPage(text string) dialogs.Page {
	return drawnOnce(func(c screen.Canvas) []string { return markdown.Render(c, text) })
}

// drawnOnce keeps what a page drew, since it is asked for with every frame. A page is drawn by one goroutine.
func drawnOnce(draw dialogs.Page) dialogs.Page {
	var lines []string
	var width int
	var in *theme.Theme
	return func(c screen.Canvas) []string {
		if lines == nil || width != c.Width || in != c.Theme {
			lines, width, in = draw(c), c.Width, c.Theme
		}
		return lines
	}
}
