package worktree

import (
	"fmt"
	"slices"
	"strings"
)

// An Overlap is a file that more than one worktree has changed.
type Overlap struct {
	File  string   `json:"file"`
	Names []string `json:"worktrees"`
}

// Overlaps finds the files that several worktrees have changed, by name.
func Overlaps(all []Status) []Overlap {
	by := map[string][]string{}
	for _, s := range all {
		if s.State != Changed {
			continue
		}
		for _, f := range s.Changes.All() {
			by[f] = append(by[f], s.Name)
		}
	}
	var list []Overlap
	for f, names := range by {
		if len(names) > 1 {
			list = append(list, Overlap{f, names})
		}
	}
	slices.SortFunc(list, func(a, b Overlap) int { return strings.Compare(a.File, b.File) })
	return list
}

// overlapsOf are the overlaps that one worktree has a part in.
func overlapsOf(name string, all []Status) []Overlap {
	return slices.DeleteFunc(Overlaps(all), func(o Overlap) bool { return !slices.Contains(o.Names, name) })
}

// OverlapText lists overlaps, one file in a line.
func OverlapText(list []Overlap) string {
	var b strings.Builder
	b.WriteString("Changed in more than one worktree, so that merging may conflict:")
	for i, o := range list {
		if i == 50 {
			fmt.Fprintf(&b, "\n  and %d more", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s: %s", o.File, strings.Join(o.Names, ", "))
	}
	return b.String()
}
