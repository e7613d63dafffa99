package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gofer/internal/event"
	"gofer/internal/llm"
)

// A Request is one request to a model, as the reply in a transcript tells of it.
type Request struct {
	ID      string // the same request has the same id in all copies of a session
	Time    time.Time
	Session string
	Project string // the working directory, or the name of the project's folder
	Agent   string // "main", or the type of the agent
	Model   string
	Usage   llm.Usage
	Tools   []string // the tools that the reply called, each call once
}

// Requests gives all requests of all sessions and their agents, file by file, the oldest file first. since leaves out files that were
// not written after it, and requests before it.
func (r Root) Requests(ctx context.Context, since time.Time, visit func(Request)) error {
	files, err := r.allFiles(since)
	if err != nil {
		return err
	}
	// A few files at a time are read beside each other, and given in order.
	const batch = 64
	for len(files) > 0 && ctx.Err() == nil {
		n := min(batch, len(files))
		found := make([][]Request, n)
		parallel(n, func() func(int) {
			return func(i int) { found[i] = fileRequests(files[i], since) }
		})
		for _, list := range found {
			for _, q := range list {
				visit(q)
			}
		}
		files = files[n:]
	}
	return context.Cause(ctx)
}

type sessionFile struct {
	path, project, session string
	changed                time.Time
}

// allFiles returns the transcripts of all sessions and agents.
func (r Root) allFiles(since time.Time) ([]sessionFile, error) {
	dirs, err := r.projectDirs()
	if err != nil {
		return nil, err
	}
	found := make([][]sessionFile, len(dirs))
	parallel(len(dirs), func() func(int) {
		return func(k int) {
			for _, s := range stat(dirs[k : k+1]) {
				found[k] = append(found[k], sessionFile{s.Path, s.Project, s.ID, s.Modified})
			}
			agents, _ := filepath.Glob(filepath.Join(escapeGlob(dirs[k]), "*", "subagents", "agent-*"+Extension))
			for _, path := range agents {
				if info, err := os.Stat(path); err == nil {
					session := filepath.Base(filepath.Dir(filepath.Dir(path)))
					found[k] = append(found[k], sessionFile{path, filepath.Base(dirs[k]), session, info.ModTime()})
				}
			}
		}
	})
	files := slices.DeleteFunc(slices.Concat(found...), func(f sessionFile) bool { return f.changed.Before(since) })
	slices.SortFunc(files, func(a, b sessionFile) int {
		if c := a.changed.Compare(b.changed); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
	return files, nil
}

// fileRequests reads the replies of one file. A file that cannot be read has none.
func fileRequests(file sessionFile, since time.Time) []Request {
	f, err := os.Open(file.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	agent := agentType(file.path)
	byID := map[string]int{}
	var list []Request
	eachLine(f, func(_ int64, text []byte, _ bool) error {
		if !bytes.Contains(text, []byte(`"usage":`)) || !bytes.Contains(text, []byte(`"assistant"`)) {
			return nil
		}
		q, ok := parseRequest(text)
		if !ok || q.Time.Before(since) {
			return nil
		}
		if i, known := byID[q.ID]; known {
			list[i].Usage = q.Usage // the last block has the final count
			list[i].Tools = append(list[i].Tools, q.Tools...)
			return nil
		}
		q.Session, q.Agent = file.session, agent
		if q.Project == "" {
			q.Project = file.project
		}
		byID[q.ID] = len(list)
		list = append(list, q)
		return nil
	})
	return list
}

// agentType is what an agent is called in reports.
func agentType(path string) string {
	if !isAgentFile(path) {
		return "main"
	}
	var info AgentInfo
	data, err := os.ReadFile(strings.TrimSuffix(path, Extension) + ".meta.json")
	if err != nil || json.Unmarshal(data, &info) != nil || info.Type == "" {
		return "agent"
	}
	return info.Type
}

// parseRequest reads the reply in one record. It reports false if it is none that cost anything.
func parseRequest(text []byte) (Request, bool) {
	var q Request
	var message []byte
	copied, request := false, ""
	err := skim(text, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			return string(value) == `"assistant"`
		case "timestamp":
			q.Time, _ = time.Parse(time.RFC3339, text2(value))
		case "cwd":
			q.Project = text2(value)
		case "requestId":
			request = text2(value)
		case "goferCopy":
			copied = isTrue(value)
		case "message":
			message = value
		}
		return true
	})
	if err != nil || message == nil || copied {
		return q, false
	}
	var usage []byte
	skim(message, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			q.ID = text2(value)
		case "model":
			q.Model = text2(value)
		case "usage":
			usage = value
		case "content":
			q.Tools = toolNames(value)
		}
		return true
	})
	if q.ID += request; q.ID == "" || q.Model == event.Synthetic || q.Model == "" || q.Usage.UnmarshalJSON(usage) != nil {
		return q, false
	}
	return q, q.Usage != llm.Usage{}
}

func toolNames(content []byte) (names []string) {
	elements(content, func(block []byte) bool {
		isCall, name := false, ""
		skim(block, func(key, value []byte) bool {
			switch string(key) {
			case "type":
				isCall = string(value) == `"tool_use"`
			case "name":
				name = text2(value)
			}
			return true
		})
		if isCall && name != "" {
			names = append(names, name)
		}
		return true
	})
	return names
}
