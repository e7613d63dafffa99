package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Dependency is another plugin that a plugin needs.
type Dependency struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`     // a range such as ^1.2; "" is any
	Marketplace string `json:"marketplace,omitempty"` // "": the one of the plugin that needs it
}

// UnmarshalJSON takes a text, name or name@marketplace, or an object.
func (d *Dependency) UnmarshalJSON(raw []byte) error {
	var id string
	if json.Unmarshal(raw, &id) == nil {
		d.Name, d.Marketplace = SplitID(id)
		return nil
	}
	type plain Dependency
	return json.Unmarshal(raw, (*plain)(d))
}

// id is the plugin that is meant by one of the given marketplace.
func (d Dependency) id(marketplace string) string {
	if d.Marketplace != "" {
		marketplace = d.Marketplace
	}
	return ID(d.Name, marketplace)
}

// accepts reports whether a version fits the range. A version that is none, such as a commit, fits only where any does.
func (d Dependency) accepts(version string) bool { return Fits(d.Version, version) }

// Fits reports whether a version lies in a range: exact, ^1.2, ~1.2.3, >=1 <2, 1.x, "1.0 - 2.0", and several with || between them.
func Fits(wanted, version string) bool {
	if wanted = strings.TrimSpace(wanted); wanted == "" || wanted == "*" || wanted == version {
		return true
	}
	v, err := parseVersion(version)
	if err != nil {
		return false
	}
	for alternative := range strings.SplitSeq(wanted, "||") {
		if fitsAll(strings.TrimSpace(alternative), v) {
			return true
		}
	}
	return false
}

func fitsAll(wanted string, v version) bool {
	if low, high, ok := strings.Cut(wanted, " - "); ok {
		wanted = ">=" + strings.TrimSpace(low) + " <=" + strings.TrimSpace(high)
	}
	for _, op := range []string{">=", "<=", ">", "<", "=", "^", "~"} {
		wanted = strings.ReplaceAll(wanted, op+" ", op)
	}
	prerelease := false
	for _, word := range strings.Fields(wanted) {
		low, high, err := bounds(word)
		if err != nil || low != nil && v.less(*low) || high != nil && !v.less(*high) {
			return false
		}
		prerelease = prerelease || strings.Contains(word, "-")
	}
	return v.pre == "" || prerelease
}

// bounds returns the versions between which a comparator lies: the first belongs to it, the second does not. nil is no bound.
func bounds(word string) (low, high *version, err error) {
	op := word[:len(word)-len(strings.TrimLeft(word, "<>=^~v"))]
	v, parts, err := partial(word[len(op):])
	if err != nil {
		return nil, nil, err
	}
	next := func(parts int) *version { // the first version that differs in one of the leading parts
		n := v
		n.pre = ""
		switch parts {
		case 0:
			return nil
		case 1:
			n.number = [3]int{v.number[0] + 1}
		case 2:
			n.number = [3]int{v.number[0], v.number[1] + 1}
		default:
			n.number[2]++
		}
		n.pre = lowest
		return &n
	}
	after := v // the least version above v
	after.pre += "\x01"
	if v.pre == "" {
		after = *next(3)
	}
	switch strings.TrimSuffix(op, "v") {
	case "", "=":
		if parts == 3 {
			if v.pre == "" {
				return &v, next(3), nil
			}
			return &v, &after, nil
		}
		return &v, next(parts), nil
	case ">=":
		return &v, nil, nil
	case ">":
		if parts < 3 {
			return next(parts), nil, nil
		}
		return &after, nil, nil
	case "<":
		return nil, &v, nil
	case "<=":
		if parts < 3 {
			return nil, next(parts), nil
		}
		return nil, &after, nil
	case "~":
		return &v, next(min(parts, 2)), nil
	case "^":
		for i := range 3 {
			if v.number[i] != 0 || i+1 >= parts {
				return &v, next(i + 1), nil
			}
		}
	}
	return nil, nil, fmt.Errorf("%q is no range of versions", word)
}

// lowest is a pre-release before all others.
const lowest = "\x00"

// A version is major.minor.patch and perhaps a pre-release.
type version struct {
	number [3]int
	pre    string
}

var errVersion = errors.New("it is no version such as 1.2.3")

func parseVersion(s string) (version, error) {
	v, parts, err := partial(strings.TrimPrefix(s, "v"))
	if err == nil && parts != 3 {
		err = errVersion
	}
	return v, err
}

// partial reads a version of which parts may be missing or be x.
func partial(s string) (v version, parts int, err error) {
	s, _, _ = strings.Cut(s, "+")
	s, v.pre, _ = strings.Cut(s, "-")
	for i, word := range strings.Split(s, ".") {
		if i == 3 {
			return v, 0, errVersion
		}
		if word == "x" || word == "X" || word == "*" {
			return v, i, nil
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || word[0] == '+' {
			return v, 0, errVersion
		}
		v.number[i], parts = n, i+1
	}
	return v, parts, nil
}

func (v version) less(w version) bool {
	for i := range v.number {
		if v.number[i] != w.number[i] {
			return v.number[i] < w.number[i]
		}
	}
	switch {
	case v.pre == w.pre:
		return false
	case v.pre == "" || w.pre == "":
		return w.pre == ""
	case v.pre == lowest || w.pre == lowest:
		return v.pre == lowest
	}
	return lessPre(v.pre, w.pre)
}

// lessPre compares pre-releases part by part: numbers as numbers, and before words.
func lessPre(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := 0; i < len(x) && i < len(y); i++ {
		m, errX := strconv.Atoi(x[i])
		n, errY := strconv.Atoi(y[i])
		switch {
		case x[i] == y[i]:
		case errX == nil && errY == nil:
			return m < n
		case errX == nil || errY == nil:
			return errX == nil
		default:
			return x[i] < y[i]
		}
	}
	return len(x) < len(y)
}
