package guard

// limited is a disk for one decision: it looks only so often, and remembers what it has seen. A command that names thousands of files
// must not keep the gate busy.
type limited struct {
	disk  Disk
	left  int
	below map[belowKey]belowFound
	real  map[string]string
}

type belowKey struct {
	folder        string
	hidden, write bool
}

type belowFound struct {
	file  string
	whole bool
}

const looks = 4000

func newLimited(d Disk) *limited {
	return &limited{disk: d, left: looks, below: map[belowKey]belowFound{}, real: map[string]string{}}
}

// spent reports whether something was asked for that was not looked at any more.
func (l *limited) spent() bool { return l != nil && l.left <= 0 }

func (l *limited) pay(n int) bool {
	l.left -= n
	return l.left > 0
}

func (l *limited) Resolve(file string) string {
	if r, ok := l.real[file]; ok {
		return r
	}
	if !l.pay(1) {
		return file
	}
	r := l.disk.Resolve(file)
	l.real[file] = r
	return r
}

func (l *limited) Match(pattern string) ([]string, bool) {
	if !l.pay(20) {
		return nil, false
	}
	return l.disk.Match(pattern)
}

func (l *limited) Below(folder string, hidden bool, stop func(string) bool) (string, bool) {
	if !l.pay(200) {
		return "", false
	}
	return l.disk.Below(folder, hidden, stop)
}

// belowOnce is Below for one of the two indexes of files that are denied, with a memory.
func (p *Policy) belowOnce(index *pathIndex, folder string, hidden bool) (string, bool) {
	l, ok := p.Disk.(*limited)
	key := belowKey{folder, hidden, index == &p.Rules.deny.write}
	if ok {
		if got, seen := l.below[key]; seen {
			return got.file, got.whole
		}
	}
	file, whole := p.Disk.Below(folder, hidden, func(file string) bool { return index.find(p.Rules.places, file) != nil })
	if ok {
		l.below[key] = belowFound{file, whole}
	}
	return file, whole
}
