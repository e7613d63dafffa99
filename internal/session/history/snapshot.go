package history

import (
	"strconv"
	"strings"
	"time"
)

// A Snapshot says which copies hold what files were when a message of the user came, in the form of the records of that name in a
// transcript.
type Snapshot struct {
	MessageID string            `json:"messageId"`
	Files     map[string]Backup `json:"trackedFileBackups"` // by path
	Time      time.Time         `json:"timestamp"`
}

// A Backup is the copy of one file.
type Backup struct {
	File    *string   `json:"backupFileName"` // in the folder of the store; null if there was no file
	Version int       `json:"version"`
	Time    time.Time `json:"backupTime"`
}

// Snapshot returns the snapshot of a message. It reports false if no file that was changed with the message has a copy, or none was there.
func (s *Store) Snapshot(messageID string) (Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := Snapshot{MessageID: messageID, Files: map[string]Backup{}}
	if s.load() != nil {
		return snap, false
	}
	for _, c := range s.changes {
		if c.Message != messageID {
			continue
		}
		if snap.Time.IsZero() {
			snap.Time = c.Time
		}
		if _, ok := snap.Files[c.Path]; ok || c.Before.Reason != "" || c.Before.Blob != "" {
			continue
		}
		b := Backup{Time: c.Time, Version: 1}
		if file := c.Before.File; file != "" {
			b.File = &file
			b.Version, _ = strconv.Atoi(file[strings.LastIndex(file, "@v")+2:])
		}
		snap.Files[c.Path] = b
	}
	return snap, len(snap.Files) > 0
}
