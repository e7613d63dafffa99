package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gofer/internal/extend/mcp"
	"gofer/internal/prompt"
	"gofer/internal/session/live"
)

// An editor says by a lock file, CONFIG/ide/PORT.lock, where it can be reached and which folders it has open.
type editorLock struct {
	port      int
	PID       int      `json:"pid"`
	Folders   []string `json:"workspaceFolders"`
	Name      string   `json:"ideName"`
	Transport string   `json:"transport"`
	Token     string   `json:"authToken"`
}

// editorName is the name of the editor among the MCP servers.
const editorName = "ide"

// editorServer is the editor to connect to: the one in whose terminal gofer runs or, with --ide, the only one that has this folder open.
func (e *engine) editorServer() []mcp.Config {
	port, _ := strconv.Atoi(e.world.Env("CLAUDE_CODE_SSE_PORT"))
	if e.world.Env("CLAUDE_CODE_AUTO_CONNECT_IDE") == "false" || e.flags.Bare || !e.watched {
		port = 0
	}
	if port == 0 && !e.flags.IDE {
		return nil
	}
	var found []editorLock
	for _, l := range readEditorLocks(filepath.Join(e.place.config, "ide")) {
		if l.port == port {
			return []mcp.Config{l.server()}
		}
		if e.flags.IDE && l.has(e.place.cwd) {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 1:
		return []mcp.Config{found[0].server()}
	case e.flags.IDE && len(found) == 0:
		fmt.Fprintln(e.world.Stderr, "--ide: no editor has this folder open. Open it in an editor with the Claude Code extension.")
	case e.flags.IDE:
		fmt.Fprintf(e.world.Stderr, "--ide: %d editors have this folder open, and it is not clear which one is meant.\n", len(found))
	}
	return nil
}

// readEditorLocks reads the locks of editors that run.
func readEditorLocks(dir string) []editorLock {
	names, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	var list []editorLock
	for _, name := range names {
		var l editorLock
		port, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(name), ".lock"))
		if err != nil || port < 1 || port > 65535 {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil || json.Unmarshal(data, &l) != nil || l.PID > 0 && !live.Exists(l.PID) {
			continue
		}
		l.port = port
		list = append(list, l)
	}
	return list
}

// has reports whether the editor has a folder open, or one above it.
func (l editorLock) has(dir string) bool {
	return slices.ContainsFunc(l.Folders, func(folder string) bool {
		rel, err := filepath.Rel(folder, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

func (l editorLock) server() mcp.Config {
	c := mcp.Config{Name: editorName, Scope: scopeFlag, AuthToken: l.Token}
	if l.Transport == "ws" {
		c.Type, c.URL = "ws-ide", fmt.Sprintf("ws://127.0.0.1:%d", l.port)
	} else {
		c.Type, c.URL = "sse-ide", fmt.Sprintf("http://127.0.0.1:%d/sse", l.port)
	}
	return c
}

// An editorView is what the person has in front of them in the editor.
type editorView struct {
	mu        sync.Mutex
	selection string // what the model is told of it
	mentions  []string
}

// mostSelected bounds how much of a selection is told, in bytes.
const mostSelected = 2000

// editorNotice takes what the editor says.
func (e *engine) editorNotice(_, method string, params json.RawMessage) {
	var p struct {
		Path      string `json:"filePath"`
		Text      string `json:"text"`
		Selection struct {
			Start struct{ Line int }
			End   struct{ Line int }
			Empty bool `json:"isEmpty"`
		}
		First *int `json:"lineStart"`
		Last  *int `json:"lineEnd"`
	}
	if json.Unmarshal(params, &p) != nil || p.Path == "" {
		return
	}
	v := &e.ide
	v.mu.Lock()
	defer v.mu.Unlock()
	switch method {
	case "selection_changed":
		v.selection = fmt.Sprintf("The user has the file %s open in the editor. It may or may not have to do with the task.", p.Path)
		if text := p.Text; text != "" && !p.Selection.Empty {
			if len(text) > mostSelected {
				for text = text[:mostSelected]; !utf8.ValidString(text) && len(text) > mostSelected-4; {
					text = text[:len(text)-1]
				}
				text += "\n…"
			}
			v.selection = fmt.Sprintf("The user has selected lines %d to %d of %s in the editor:\n%s\nThis may or may not have to do with the task.",
				p.Selection.Start.Line+1, p.Selection.End.Line+1, p.Path, text)
		}
	case "at_mentioned":
		text := p.Path
		if p.First != nil && p.Last != nil {
			text = fmt.Sprintf("%s, lines %d to %d", p.Path, *p.First+1, *p.Last+1)
		}
		v.mentions = append(v.mentions, "The user points from the editor at "+text+".")
	}
}

// remindOfEditor tells the model what the person looks at.
func (e *engine) remindOfEditor() {
	v := &e.ide
	v.mu.Lock()
	defer v.mu.Unlock()
	e.told.reminders.Set(prompt.Editor, "", v.selection)
	for _, m := range v.mentions {
		e.told.reminders.Set(prompt.Editor, m, m)
	}
	v.mentions = nil
}
