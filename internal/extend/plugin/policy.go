package plugin

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A Policy is what an administrator says of marketplaces. The zero value forbids nothing.
type Policy struct {
	Only    []json.RawMessage // strictKnownMarketplaces: not nil means only these; empty means none
	Blocked []json.RawMessage // blockedMarketplaces
}

// Forbids says why a marketplace may not be used; nil if it may. An entry that cannot be read forbids when it stands in the list of blocked
// ones, and allows nothing when it stands in the other.
func (p Policy) Forbids(s Source) error {
	for _, raw := range p.Blocked {
		var b Source
		if json.Unmarshal(raw, &b) != nil || b.covers(s, false) {
			return fmt.Errorf("the marketplace %s is blocked by the managed settings (blockedMarketplaces)", s)
		}
	}
	if p.Only == nil {
		return nil
	}
	for _, raw := range p.Only {
		var a Source
		if json.Unmarshal(raw, &a) == nil && a.covers(s, true) {
			return nil
		}
	}
	return fmt.Errorf("the marketplace %s is not among those that the managed settings allow (strictKnownMarketplaces)", s)
}

// covers reports whether an entry of a list means a source. An entry that allows must mean it exactly; one that blocks a repository blocks
// all of its branches, and however its address is written.
func (entry Source) covers(s Source, exact bool) bool {
	switch entry.Kind {
	case "hostPattern":
		return s.host() != "" && matchesWhole(entry.HostPattern, s.host())
	case "pathPattern":
		return (s.Kind == "file" || s.Kind == "directory") && matchesWhole(entry.PathPattern, s.Path)
	}
	if exact {
		return entry.Kind == s.Kind && entry.Repo == s.Repo && entry.URL == s.URL && entry.Ref == s.Ref && entry.Path == s.Path && entry.Package == s.Package
	}
	mine, isGit := entry.git()
	theirs, theirGit := s.git()
	if isGit && theirGit {
		return plainAddress(mine) == plainAddress(theirs) && (entry.Ref == "" || entry.Ref == s.Ref)
	}
	return entry.Kind == s.Kind && entry.URL == s.URL && entry.Path == s.Path && entry.Package == s.Package
}

// matchesWhole reports whether a pattern matches. One that is no regular expression matches nothing.
func matchesWhole(pattern, s string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(s)
}

// plainAddress is an address of a repository without what may be written one way or another.
func plainAddress(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	if _, rest, ok := strings.Cut(s, "@"); ok {
		s = strings.Replace(rest, ":", "/", 1)
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(s, "/"), ".git"))
}
