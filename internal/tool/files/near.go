package files

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// missing is the error for a file that does not exist. It names what the model may have meant.
func (k *kit) missing(path string) error {
	path = k.abs(path)
	var hints []string
	if below := k.belowCwd(path); below != "" {
		hints = append(hints, below)
	}
	for _, name := range nearNames(path) {
		if !slices.Contains(hints, name) {
			hints = append(hints, name)
		}
	}
	if len(hints) > 0 {
		return fmt.Errorf("%s does not exist. Did you mean %s", path, strings.Join(hints, " or "))
	}
	if dir := existingParent(path); dir != filepath.Dir(path) {
		return fmt.Errorf("%s does not exist, and of its folders only %s does. The working directory is %s; look around with Glob", path, dir, k.Cwd())
	}
	return fmt.Errorf("%s does not exist. The working directory is %s; look for the file with Glob", path, k.Cwd())
}

// belowCwd looks for the end of path below the working directory: models lose or invent the beginning of a path.
func (k *kit) belowCwd(path string) string {
	rest := strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(filepath.VolumeName(path)))
	for rest != "" {
		rest = strings.TrimPrefix(rest, "/")
		candidate := filepath.Join(k.Cwd(), filepath.FromSlash(rest))
		if candidate != path && rest != "" {
			if info, err := os.Stat(candidate); err == nil && !info.IsDir() {
				return candidate
			}
		}
		_, after, found := strings.Cut(rest, "/")
		if !found {
			return ""
		}
		rest = after
	}
	return ""
}

func existingParent(path string) string {
	for {
		parent := filepath.Dir(path)
		if parent == path {
			return parent
		}
		if info, err := os.Stat(parent); err == nil && info.IsDir() {
			return parent
		}
		path = parent
	}
}

// nearNames lists up to three files in the folder of path whose names are almost its name.
func nearNames(path string) []string {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(5000)
	type near struct {
		name     string
		distance int
	}
	var list []near
	want := filepath.Base(path)
	for _, name := range names {
		if d := nameDistance(want, name); d >= 0 {
			list = append(list, near{name, d})
		}
	}
	slices.SortFunc(list, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var found []string
	for _, n := range list[:min(3, len(list))] {
		found = append(found, filepath.Join(filepath.Dir(path), n.name))
	}
	return found
}

// nameDistance says how far two names are apart, or -1 if they are too far to be confused.
func nameDistance(want, name string) int {
	if strings.EqualFold(want, name) {
		return 0
	}
	stem := func(s string) string { return strings.TrimSuffix(s, filepath.Ext(s)) }
	if len(stem(want)) > 1 && strings.EqualFold(stem(want), stem(name)) {
		return 1
	}
	limit := max(1, len(want)/4)
	if d := editDistance([]rune(strings.ToLower(want)), []rune(strings.ToLower(name)), limit); d <= limit {
		return d + 1
	}
	return -1
}

// editDistance is the number of insertions, deletions and replacements between a and b, or limit+1 if there are more.
func editDistance(a, b []rune, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range b {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least > limit {
			return limit + 1
		}
	}
	return min(row[len(b)], limit+1)
}
