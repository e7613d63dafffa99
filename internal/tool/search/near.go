package search

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// nearest returns up to n of the names that resemble name, the most alike first.
func nearest(name string, names []string, n int) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	lower := strings.ToLower(name)
	for _, other := range names {
		d := distance(lower, strings.ToLower(other))
		if d <= max(1, len(name)/3) || len(name) > 2 && strings.HasPrefix(strings.ToLower(other), lower) {
			found = append(found, candidate{other, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var out []string
	for _, c := range found[:min(n, len(found))] {
		out = append(out, c.name)
	}
	return out
}

// distance is the number of bytes to insert, remove, replace or swap with their neighbour to make b of a.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	var older, old []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		older, old, row = old, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(old[j]+cost, old[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// nearPaths suggests paths for one that does not exist: names alike in the deepest folder of it that exists, and the same path
// below cwd when a leading part was wrong.
func nearPaths(abs, cwd string, hidden func(string) bool) []string {
	var found []string
	add := func(path string) {
		if _, err := os.Lstat(path); err == nil && (hidden == nil || !hidden(filepath.ToSlash(path))) && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	parts := strings.Split(filepath.ToSlash(abs), "/")
	for i := 1; i < len(parts); i++ {
		add(filepath.Join(cwd, filepath.Join(parts[i:]...)))
	}
	parent, missing := filepath.Dir(abs), filepath.Base(abs)
	for {
		if _, err := os.Stat(parent); err == nil || parent == filepath.Dir(parent) {
			break
		}
		parent, missing = filepath.Dir(parent), filepath.Base(parent)
	}
	dir, err := os.Open(parent)
	if err != nil {
		return found
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(10_000)
	slices.Sort(names)
	for _, name := range nearest(missing, names, 3) {
		add(filepath.Join(parent, name))
	}
	return found[:min(3, len(found))]
}
