package compact

import (
	"encoding/json"
	"strings"

	"gofer/internal/llm"
)

// A touch is a file that the model has worked with.
type touch struct {
	path   string
	edited bool
}

// touchedMost is how many files are named after a compaction.
const touchedMost = 80

// touchedFiles adds the files that the calls of msgs named to what was touched before. The newest stand last, each once.
func touchedFiles(before []touch, msgs []llm.Message) []touch {
	all := append([]touch(nil), before...)
	for _, m := range msgs {
		for _, call := range m.Calls() {
			if t, ok := touchOf(call); ok {
				all = append(all, t)
			}
		}
	}
	edited := map[string]bool{}
	last := map[string]int{}
	for i, t := range all {
		edited[t.path] = edited[t.path] || t.edited
		last[t.path] = i
	}
	var out []touch
	for i, t := range all {
		if last[t.path] == i {
			out = append(out, touch{t.path, edited[t.path]})
		}
	}
	return out
}

func touchOf(call llm.Call) (touch, bool) {
	switch call.Name {
	case "Read", "Edit", "Write", "NotebookEdit", "MultiEdit":
	default:
		return touch{}, false
	}
	var input struct {
		Path     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if json.Unmarshal(call.Input, &input) != nil {
		return touch{}, false
	}
	path := input.Path + input.Notebook
	if path == "" || len(path) > 1000 || strings.ContainsAny(path, "\n\r") {
		return touch{}, false
	}
	return touch{path, call.Name != "Read"}, true
}

// touchedBlock names the files, the newest as far as so many raw tokens allow.
func touchedBlock(files []touch, budget int) (llm.Block, bool) {
	files = files[max(0, len(files)-touchedMost):]
	size := 0
	first := len(files)
	for first > 0 {
		size += len(files[first-1].path) + 8
		if size/4 > budget {
			break
		}
		first--
	}
	var lines []string
	for _, t := range files[first:] {
		verb := "read"
		if t.edited {
			verb = "changed"
		}
		lines = append(lines, verb+" "+t.path)
	}
	if len(lines) == 0 {
		return llm.Block{}, false
	}
	return llm.TextBlock(touchedOpen + strings.Join(lines, "\n") + touchedClose), true
}

func parseTouched(text string) []touch {
	var files []touch
	for line := range strings.Lines(text) {
		verb, path, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if ok && (verb == "read" || verb == "changed") {
			files = append(files, touch{path, verb == "changed"})
		}
	}
	return files
}
