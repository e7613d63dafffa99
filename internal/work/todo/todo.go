// Package todo keeps the simple list of steps of one agent.
//
// Each agent of each session has a file of its own, so that nobody sees another's list. Writing replaces the whole list in one step:
// a reader, or a kill, finds the old list or the new one. A list whose items are all done is over and is kept as an empty one.
package todo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The states of an item.
const (
	Pending    = "pending"
	InProgress = "in_progress"
	Completed  = "completed"
)

// An Item is one step.
type Item struct {
	Content    string `json:"content"`
	Status     string `json:"status"`
	ActiveForm string `json:"activeForm"`         // what is shown while it is being done
	Priority   string `json:"priority,omitempty"` // high, medium, low; "" is medium
	ID         string `json:"id,omitempty"`
}

// most is how many bytes of a list are read.
const most = 8 << 20

// A List is the file of one agent. Open makes one.
type List struct{ path string }

// Open returns the list of an agent of a session below root. It touches no file.
func Open(root, session, agent string) *List {
	return &List{filepath.Join(root, part(session)+"-agent-"+part(agent)+".json")}
}

// part makes an id fit into the name of a file, out of which it does not lead.
func part(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, id)
}

// Read returns the list. One that was never written is empty.
func (l *List) Read() ([]Item, error) {
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the todo list cannot be read: %w", err)
	}
	defer f.Close()
	var items []Item
	if err := json.NewDecoder(io.LimitReader(f, most)).Decode(&items); err != nil {
		return nil, fmt.Errorf("the todo list in %s is damaged (%w); write it anew", l.path, err)
	}
	return items, nil
}

// Write replaces the list and returns the old one. An old list that cannot be read counts as empty: this is how one gets rid of it.
func (l *List) Write(items []Item) (old []Item, err error) {
	old, _ = l.Read()
	if len(items) == 0 || AllDone(items) {
		items = []Item{}
	}
	data, err := json.MarshalIndent(items, "", "  ")
	if err != nil {
		return old, fmt.Errorf("writing the todo list: %w", err)
	}
	if err := l.replace(data); err != nil {
		return old, fmt.Errorf("the todo list could not be kept: %w", err)
	}
	return old, nil
}

func (l *List) replace(data []byte) (err error) {
	dir := filepath.Dir(l.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".todo-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), l.path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// AllDone reports whether there is something and all of it is done.
func AllDone(items []Item) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(i Item) bool { return i.Status != Completed })
}
