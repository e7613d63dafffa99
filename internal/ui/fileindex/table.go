package fileindex

import (
	"bytes"
	"strings"
)

// A table is a list of files and their folders, packed: one piece of memory for all names, so that half a million of them are
// no work for the collector and lie beside each other when they are looked through.
type table struct {
	names []byte
	lower []byte   // the same with ASCII letters in lower case
	start []uint32 // where each name begins, and the end of the last one
	base  []uint16 // where the last part of each name begins
	mask  []uint64 // which characters each name holds
}

const maxNames = 1 << 32 // bytes of all names together; what is beyond is left out

// newTable takes files, sorted, and adds the folders that they are in.
func newTable(files []string) *table {
	t := &table{start: make([]uint32, 1, len(files)+1+len(files)/8)}
	size := 0
	for _, f := range files {
		size += len(f)
	}
	t.names = make([]byte, 0, min(size+size/8, maxNames))
	t.lower = make([]byte, 0, cap(t.names))
	seen := map[string]bool{}
	for _, f := range files {
		for at := strings.LastIndexByte(f, '/'); at > 0; at = strings.LastIndexByte(f[:at], '/') {
			if seen[f[:at]] {
				break // and so are the folders above it
			}
			seen[f[:at]] = true
			t.add(f[:at+1])
		}
		t.add(f)
	}
	return t
}

func (t *table) add(name string) {
	if len(t.names)+len(name) >= maxNames || len(name) > 1<<15 {
		return
	}
	t.names = append(t.names, name...)
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		t.lower = append(t.lower, c)
	}
	t.start = append(t.start, uint32(len(t.names)))
	t.base = append(t.base, uint16(strings.LastIndexByte(strings.TrimSuffix(name, "/"), '/')+1))
	t.mask = append(t.mask, maskOf(name))
}

func (t *table) len() int { return len(t.base) }

func (t *table) name(i uint32) []byte { return t.names[t.start[i]:t.start[i+1]] }

// folded is a name as a pattern wants to see it.
func (t *table) folded(i uint32, p pattern) []byte {
	if p.sensitive {
		return t.name(i)
	}
	return t.lower[t.start[i]:t.start[i+1]]
}

// same reports whether two tables list the same: then what is known about the old one stays of use.
func (t *table) same(old *table) bool {
	return old != nil && t.len() == old.len() && bytes.Equal(t.names, old.names)
}

// otherASCII is the bit of the characters that have none of their own.
const otherASCII = 41

// maskOf has a bit for each letter and digit that a name holds, and for some signs; all others share the bits that are left.
func maskOf(s string) uint64 {
	var m uint64
	for i := 0; i < len(s); i++ {
		m |= 1 << bitOf(s[i])
	}
	return m
}

func bitOf(c byte) uint {
	switch {
	case c >= 'a' && c <= 'z':
		return uint(c - 'a')
	case c >= 'A' && c <= 'Z':
		return uint(c - 'A')
	case c >= '0' && c <= '9':
		return 26 + uint(c-'0')
	}
	switch c {
	case '/':
		return 36
	case '.':
		return 37
	case '_':
		return 38
	case '-':
		return 39
	case ' ':
		return 40
	}
	if c < 0x80 {
		return otherASCII
	}
	return otherASCII + 1 + uint(c&0x0f)
}
