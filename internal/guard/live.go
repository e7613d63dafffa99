package guard

import (
	"slices"
	"sync"
)

// A Base is what settings say: the part of a policy that is read from files and flags.
type Base struct {
	Policy    Policy // without Rules and WorkDirs, which Live makes
	Rules     []Rule
	Dirs      []string // additional working directories
	Untrusted bool
}

// Live is the policy of a running session: the settings as they are now, with what was changed in the session. It may be used
// from many goroutines.
type Live struct {
	mu     sync.Mutex
	base   Base
	change Change
	lent   []*[]Rule // rules that hold for a while
	now    Policy
}

// NewLive begins with the settings.
func NewLive(base Base) *Live {
	l := &Live{base: base}
	l.rebuild()
	return l
}

// Policy is the policy in force.
func (l *Live) Policy() Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// SetBase replaces the settings, after a file changed. What was changed in the session stays.
func (l *Live) SetBase(base Base) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.base = base
	l.rebuild()
}

// Apply makes updates count from the next decision on. Nothing is written to disk.
func (l *Live) Apply(updates []Update) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.change.Apply(updates, l.base.Policy.Dir)
	if err != nil {
		return err
	}
	l.change = c
	l.rebuild()
	return nil
}

// Lend adds rules until end is called: those of a skill, while it is active.
func (l *Live) Lend(rules []Rule) (end func()) {
	if len(rules) == 0 {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	lent := &rules
	l.lent = append(l.lent, lent)
	l.rebuild()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lent = slices.DeleteFunc(l.lent, func(x *[]Rule) bool { return x == lent })
		l.rebuild()
	}
}

// Change returns what was changed in the session.
func (l *Live) Change() Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.change
}

// SetMode changes the mode for the session.
func (l *Live) SetMode(m Mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change.Mode = m
	l.now.Mode = m
}

func (l *Live) rebuild() {
	p := l.base.Policy
	rules := slices.DeleteFunc(slices.Clone(l.base.Rules), l.change.removed)
	rules = append(rules, l.change.Rules...)
	for _, lent := range l.lent {
		rules = append(rules, *lent...)
	}
	p.Rules = Compile(rules, Anchors{Dir: p.Dir, Home: p.Home, Untrusted: l.base.Untrusted})
	dirs := []string{p.Dir}
	for _, d := range append(slices.Clone(l.base.Dirs), l.change.Dirs...) {
		if !l.change.removedDir(d) {
			dirs = append(dirs, d)
		}
	}
	p.WorkDirs = WorkDirs(p.Disk, dirs...)
	if l.change.Mode != "" {
		p.Mode = l.change.Mode
	}
	l.now = p
}
