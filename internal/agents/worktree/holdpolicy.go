package worktree

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gofer/internal/guard"
)

// policyCache keeps the rules that were made last, because a policy is asked for with every call and changes hardly ever.
type policyCache struct {
	mu   sync.Mutex
	made []madeRules
}

type madeRules struct{ from, to *guard.RuleSet }

// Policy is a policy of the project as it holds in the worktree: its folder is the only working directory, and rules about files of the project are
// rules about the copies of these files.
func (h *Hold) Policy(p guard.Policy) guard.Policy {
	dir := h.Dir(p.Dir)
	p.Rules = h.ruleSet(p.Rules, dir, p.Home)
	p.Dir = dir
	p.WorkDirs = guard.WorkDirs(p.Disk, h.trees...)
	if p.Parent != nil {
		above := h.Policy(*p.Parent)
		p.Parent = &above
	}
	return p
}

// Base is what settings say, as it holds in the worktree, for a session that moves there. Working directories outside the repository stay.
func (h *Hold) Base(b guard.Base) guard.Base {
	b.Rules = h.rules(b.Rules, b.Policy.Home)
	b.Policy.Dir = h.Dir(b.Policy.Dir)
	// The folder that the session stands in is one of the tree; all of the tree is to work in.
	dirs := []string{h.Tree()}
	for _, d := range b.Dirs {
		if _, outside := h.Translate(d); !outside {
			dirs = append(dirs, d)
		}
	}
	b.Dirs = dirs
	return b
}

// Dir is the folder of the worktree that stands for one of the project; the worktree itself if none does.
func (h *Hold) Dir(dir string) string {
	if h.Contains(dir) {
		return dir
	}
	if to, outside := h.Translate(dir); outside && to != "" && exists(to) {
		return to
	}
	return h.Tree()
}

func (h *Hold) ruleSet(set *guard.RuleSet, dir, home string) *guard.RuleSet {
	if set == nil {
		return nil
	}
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	for _, m := range h.cache.made {
		if m.from == set {
			return m.to
		}
	}
	made := guard.Compile(h.rules(set.Rules(), home), guard.Anchors{Dir: dir, Home: home, Untrusted: set.Ignored() > 0})
	if len(h.cache.made) >= 8 {
		h.cache.made = slices.Delete(h.cache.made, 0, 1)
	}
	h.cache.made = append(h.cache.made, madeRules{set, made})
	return made
}

// rules adds to rules that name files of the project those that name the copies. Patterns without a root need none: they count from the
// working directory, or anywhere.
func (h *Hold) rules(rules []guard.Rule, home string) []guard.Rule {
	out := slices.Clone(rules)
	for _, r := range rules {
		if r.Content == "" {
			continue
		}
		copied := r
		switch {
		case r.Tool == "Bash" || r.Tool == "PowerShell":
			if copied.Content = h.inText(r.Content); r.Behavior == guard.Allow || copied.Content == r.Content {
				continue // what may run at a place that the agent does not write may not run where it does
			}
		case strings.HasPrefix(r.Content, "//"), r.Content == "~", strings.HasPrefix(r.Content, "~/"):
			path := strings.TrimPrefix(r.Content, "/")
			if strings.HasPrefix(path, "~") {
				path = filepath.ToSlash(home) + path[1:]
			}
			to, ok := h.inTree(path)
			if !ok {
				continue
			}
			copied.Content = "/" + to
		case strings.HasPrefix(r.Content, "/"):
			root, ok := h.inTree(r.Root)
			if r.Root == "" || !ok {
				continue
			}
			copied.Root = filepath.FromSlash(root)
		default:
			continue
		}
		out = append(out, copied)
	}
	return out
}

// inTree is a path, which may be a pattern, moved into the worktree, with slashes.
func (h *Hold) inTree(path string) (string, bool) {
	to, outside := h.Translate(filepath.FromSlash(path))
	if !outside || to == "" {
		return "", false
	}
	return filepath.ToSlash(to), true
}

// inText replaces the root of the repository in a text by the worktree.
func (h *Hold) inText(text string) string {
	for _, r := range h.roots {
		if strings.Contains(text, r) && !strings.Contains(text, h.Tree()) {
			return strings.ReplaceAll(text, r, h.Tree())
		}
	}
	return text
}
