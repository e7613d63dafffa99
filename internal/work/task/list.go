package task

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Place is what decides which list an agent uses.
type Place struct {
	Env     func(string) string
	Team    string // the team that the agent is a teammate of
	Leads   string // the team that the session leads
	Session string
}

// ListID returns the id of the list.
func (p Place) ListID() string {
	for _, id := range []string{p.Env("CLAUDE_CODE_TASK_LIST_ID"), p.Team, p.Env("CLAUDE_CODE_TEAM_NAME"), p.Leads} {
		if id != "" {
			return id
		}
	}
	return p.Session
}

// FolderName is the id of a list as the name of a folder, out of which no id leads.
func FolderName(list string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, list)
	if name == "" {
		return "-"
	}
	return name
}

// Newest returns the list among ids, below root, that was changed last, or "" if none of them exists.
func Newest(root string, ids []string) string {
	best, when := "", time.Time{}
	for _, id := range ids {
		if info, err := os.Stat(filepath.Join(root, FolderName(id))); err == nil && info.IsDir() && (best == "" || info.ModTime().After(when)) {
			best, when = id, info.ModTime()
		}
	}
	return best
}
