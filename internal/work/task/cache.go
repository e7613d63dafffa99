package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// A cache holds the tasks of a list as they were read last.
type cache struct {
	dir   string
	byID  map[string]*record
	order []*record // by number
}

func newCache(dir string) *cache { return &cache{dir: dir, byID: map[string]*record{}} }

// scan looks at all files and reads those that have changed. A list without a folder is empty.
func (c *cache) scan() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the task list cannot be read: %w", err)
	}
	seen := make(map[string]bool, len(entries))
	var changed []string
	for _, e := range entries {
		id, _, ok := fileID(e.Name())
		if !ok {
			continue
		}
		seen[id] = true
		if r := c.byID[id]; r != nil && r.stamp.sure {
			if info, err := e.Info(); err == nil && r.stamp.holds(info) {
				continue
			}
		}
		changed = append(changed, id)
	}
	for _, r := range slices.Clone(c.order) {
		if !seen[r.ID] {
			c.drop(r.ID)
		}
	}
	for _, id := range changed {
		if r, err := readRecord(c.dir, id); err != nil {
			c.drop(id)
		} else {
			c.put(r)
		}
	}
	if len(changed) > 0 {
		c.heal()
	}
	return nil
}

// heal makes every dependency known at both of its ends. One that only one end knows is what a kill between two writes leaves.
func (c *cache) heal() {
	for _, r := range c.order {
		c.join(r)
	}
}

// join tells the tasks at the other ends of r's dependencies.
func (c *cache) join(r *record) {
	for _, id := range r.Blocks {
		if other := c.byID[id]; other != nil {
			other.BlockedBy = with(other.BlockedBy, r.ID)
		}
	}
	for _, id := range r.BlockedBy {
		if other := c.byID[id]; other != nil {
			other.Blocks = with(other.Blocks, r.ID)
		}
	}
}

// reload reads one task again, and returns it, or nil if there is none.
func (c *cache) reload(id string) *record {
	r, err := readRecord(c.dir, id)
	if err != nil {
		c.drop(id)
		return nil
	}
	c.admit(r)
	return r
}

// admit takes r in the place of what was known of it.
func (c *cache) admit(r *record) {
	old := c.byID[r.ID]
	c.put(r)
	if old == nil {
		c.heal() // anybody may know of it
		return
	}
	for _, id := range slices.Concat(old.Blocks, old.BlockedBy) {
		if other := c.byID[id]; other != nil {
			c.join(other)
		}
	}
	c.join(r)
}

func (c *cache) put(r *record) {
	at, found := c.find(r.num)
	if found {
		c.order[at] = r
	} else {
		c.order = slices.Insert(c.order, at, r)
	}
	c.byID[r.ID] = r
}

func (c *cache) find(num int) (int, bool) {
	return slices.BinarySearchFunc(c.order, num, func(r *record, n int) int { return r.num - n })
}

// drop forgets a task and all that points to it.
func (c *cache) drop(id string) {
	r := c.byID[id]
	if r == nil {
		return
	}
	delete(c.byID, id)
	at, _ := c.find(r.num)
	c.order = slices.Delete(c.order, at, at+1)
	for _, other := range c.order {
		other.Blocks, other.BlockedBy = without(other.Blocks, id), without(other.BlockedBy, id)
	}
}

// tasks returns all that is readable, by number. Nothing in it is shared.
func (c *cache) tasks() []Task {
	list := make([]Task, 0, len(c.order))
	for _, r := range c.order {
		if r.bad == nil {
			list = append(list, c.tidy(r).clone())
		}
	}
	return list
}

// tidy returns the task without ids that mean nothing, in the order of numbers.
func (c *cache) tidy(r *record) Task {
	known := func(ids []string) []string {
		out := make([]string, 0, len(ids))
		for _, id := range ids {
			if c.byID[id] != nil && id != r.ID && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
		slices.SortFunc(out, byNumber)
		return out
	}
	t := r.Task
	t.Blocks, t.BlockedBy = known(t.Blocks), known(t.BlockedBy)
	return t
}

// blockers are the open tasks that r waits for. One that cannot be read counts as open.
func (c *cache) blockers(r *record) []string {
	var open []string
	for _, id := range r.BlockedBy {
		if other := c.byID[id]; other != nil && id != r.ID && other.Open() && !slices.Contains(open, id) {
			open = append(open, id)
		}
	}
	slices.SortFunc(open, byNumber)
	return open
}

// with returns list and id, never changing list: it may be shared.
func with(list []string, id string) []string {
	if slices.Contains(list, id) {
		return list
	}
	return append(slices.Clip(slices.Clone(list)), id)
}

func without(list []string, id string) []string {
	if !slices.Contains(list, id) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == id })
}
