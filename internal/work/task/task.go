// Package task is the task board: work that several agents share, durable and with dependencies.
//
// A list is a folder with one JSON file for each task, in the form that Claude Code writes and reads. Fields that this program does
// not know stay as they are. The package promises:
//
//   - Ids count up from 1, and none is given twice, also after deletes and kills.
//   - A change is seen whole or not at all: files are replaced by rename, one process at a time changes a list, and a process
//     that is killed holds nothing back. Waiting for the lock is bounded and first come, first served.
//   - A task is claimed by one agent only, however many processes try.
//   - A dependency is known at both of its ends, whatever was interrupted; there are no cycles; what points to a task that is
//     gone does not count.
//   - Whoever watches a list is told of every change by the kernel; nobody polls.
//
// A Board may be used by many goroutines at once.
package task

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The states of a task.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Completed  = "completed"
	Deleted    = "deleted" // only as a wish in a Change: the task goes away
)

// A Task is one piece of work.
type Task struct {
	ID          string                     `json:"id"`
	Subject     string                     `json:"subject"`
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"activeForm,omitempty"` // what is shown while it is being done
	Owner       string                     `json:"owner,omitempty"`
	Status      string                     `json:"status"`
	Blocks      []string                   `json:"blocks"`    // the tasks that wait for this one
	BlockedBy   []string                   `json:"blockedBy"` // the tasks that this one waits for, done or not
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Open reports whether the task is still to be done.
func (t Task) Open() bool { return t.Status != Completed }

// Rank orders tasks by urgency, the smaller the sooner: metadata.priority is critical (0), high (1), medium (2), low (3), or a
// number in their place. A task that does not say is medium.
func (t Task) Rank() float64 {
	const medium = 2
	raw, ok := t.Metadata["priority"]
	if !ok {
		return medium
	}
	var n float64
	if json.Unmarshal(raw, &n) == nil && string(raw) != "null" {
		return n
	}
	var word string
	if json.Unmarshal(raw, &word) != nil {
		return medium
	}
	word = strings.ToLower(strings.TrimSpace(word))
	switch word {
	case "critical", "urgent":
		return 0
	case "high":
		return 1
	case "low":
		return 3
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(word, "p")); err == nil && n >= 0 {
		return float64(n)
	}
	return medium
}

func (t Task) clone() Task {
	t.Blocks, t.BlockedBy, t.Metadata = slices.Clone(t.Blocks), slices.Clone(t.BlockedBy), maps.Clone(t.Metadata)
	return t
}

// A Draft is a task that is to be created.
type Draft struct {
	Subject     string
	Description string
	ActiveForm  string
	Metadata    map[string]json.RawMessage
}

// A Change says what is to be different about a task. What is nil stays.
type Change struct {
	By           string // who asks; becomes the owner of a task that it starts and nobody owns
	Subject      *string
	Description  *string
	ActiveForm   *string
	Owner        *string // "" makes it nobody's
	Status       *string // Deleted removes the task
	AddBlocks    []string
	AddBlockedBy []string
	Metadata     map[string]json.RawMessage // merged; null removes a key
}

// An Effect is what came of a Change.
type Effect struct {
	From     string   // the status before
	Fields   []string // what has changed, by the names of the fields in the file, in their order
	Unlocked []string // the tasks that nothing keeps from being started any more
	Deleted  bool
}

// number reads an id: a whole number from 1 up, written in the one usual way.
func number(id string) (int, bool) {
	n, err := strconv.Atoi(id)
	return n, err == nil && n > 0 && len(id) < 16 && strconv.Itoa(n) == id
}

// canonical forgives the number sign that models like to put before an id.
func canonical(id string) string { return strings.TrimPrefix(strings.TrimSpace(id), "#") }

func byNumber(a, b string) int {
	n, _ := number(a)
	m, _ := number(b)
	return cmp.Compare(n, m)
}

// Plain makes a text of a model or a file fit to be shown on one line: whatever could move the cursor or forge a line is gone.
func Plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Numbers lists ids as people write them: #1, #2.
func Numbers(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return "#" + strings.Join(ids, ", #")
}
