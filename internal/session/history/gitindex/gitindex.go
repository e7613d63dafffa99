// Package gitindex reads what git has noted about the files of a work tree, without running git.
//
// The index of a repository says for every tracked file what it looked like (size, times, inode) when git last knew its content,
// and which object holds that content. A file that still looks the same is clean: its content need not be copied before a
// command may change it, because git has it.
//
// Nothing in a repository can make this package run a program: the index is parsed here, and objects are read by git
// cat-file, which neither filters nor fetches. No input makes it panic; an index that it does not understand is an error.
package gitindex

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Repo is a repository with a work tree.
type Repo struct {
	Root   string // the top of the work tree
	GitDir string // holds the index
}

// Find returns the repository that dir lies in.
func Find(dir string) (Repo, bool) {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil {
			if info.IsDir() {
				return Repo{Root: dir, GitDir: git}, true
			}
			if target, ok := pointer(git); ok {
				return Repo{Root: dir, GitDir: target}, true
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return Repo{}, false
		}
		dir = parent
	}
}

// pointer reads a .git that is a file, as in worktrees and submodules.
func pointer(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return "", false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
	if target = strings.TrimSpace(target); !ok || target == "" {
		return "", false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return target, true
}

// A Stat is what git compares to see whether a file changed. Numbers are cut to what the index has room for.
type Stat struct {
	MtimeSec, MtimeNsec uint32
	CtimeSec, CtimeNsec uint32
	Inode, Size         uint32
}

// An Index is the index of a repository at one moment. Entries are sorted by path.
type Index struct {
	Entries []Entry
	data    []byte
	oidLen  int
	written Stat // of the file itself
}

// An Entry is one tracked file.
type Entry struct {
	Path string // with slashes, below the root
	at   int    // where it is in the file
	mode uint32
	odd  bool // in conflict, not yet added, or not a file: never clean
}

// ErrUnsupported says that an index has a form that is not read here.
var ErrUnsupported = errors.New("this form of the index is not read")

// maxIndex bounds the file; git's own largest known repositories stay below it.
const maxIndex = 1 << 30

// Signature tells whether the index may have changed: equal signatures mean that it did not.
type Signature struct {
	Size  int64
	Mtime int64
}

// Signature looks at the index file.
func (r Repo) Signature() Signature {
	info, err := os.Stat(filepath.Join(r.GitDir, "index"))
	if err != nil {
		return Signature{}
	}
	return Signature{info.Size(), info.ModTime().UnixNano()}
}

// Read reads the index. A repository without one has an empty index.
func (r Repo) Read() (*Index, error) {
	path := filepath.Join(r.GitDir, "index")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Index{}, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxIndex {
		return nil, fmt.Errorf("%s: %w", path, ErrUnsupported)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	x, err := Parse(data, r.oidLen())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m := info.ModTime()
	x.written = Stat{MtimeSec: uint32(m.Unix()), MtimeNsec: uint32(m.Nanosecond())}
	return x, nil
}

// oidLen is the length of object names: the configuration says so when it is not that of SHA-1.
func (r Repo) oidLen() int {
	config, err := os.ReadFile(filepath.Join(r.common(), "config"))
	if err == nil && len(config) < 1<<20 {
		text := strings.ToLower(strings.Join(strings.Fields(string(config)), ""))
		if strings.Contains(text, "objectformat=sha256") {
			return 32
		}
	}
	return 20
}

// common is the folder that work trees of one repository share.
func (r Repo) common() string {
	text, err := os.ReadFile(filepath.Join(r.GitDir, "commondir"))
	if err != nil || len(text) > 4096 {
		return r.GitDir
	}
	dir := strings.TrimSpace(string(text))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.GitDir, dir)
	}
	return dir
}

const (
	statLen     = 40
	flagExtend  = 0x4000
	stageMask   = 0x3000
	intentToAdd = 0x2000
	typeMask    = 0o170000
	typeLink    = 0o120000
	typeRegular = 0o100000
)

// Parse reads the bytes of an index.
func Parse(data []byte, oidLen int) (*Index, error) {
	if len(data) < 12+oidLen || string(data[:4]) != "DIRC" {
		return nil, ErrUnsupported
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 || int(count) > len(data)/(statLen+oidLen) {
		return nil, ErrUnsupported
	}
	x := &Index{Entries: make([]Entry, 0, count), data: data, oidLen: oidLen}
	end := len(data) - oidLen // the checksum
	at, previous := 12, ""
	for range count {
		next, e, err := x.entry(at, end, version, previous)
		if err != nil {
			return nil, err
		}
		at, previous = next, e.Path
		x.Entries = append(x.Entries, e)
	}
	for at+8 <= end { // extensions
		size := int(binary.BigEndian.Uint32(data[at+4:]))
		if string(data[at:at+4]) == "link" || size < 0 || size > end-at-8 {
			return nil, ErrUnsupported // a part of the entries is in another file
		}
		at += 8 + size
	}
	if !slices.IsSortedFunc(x.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) }) {
		return nil, ErrUnsupported
	}
	return x, nil
}

// entry reads the entry at a place of the file, and returns the place of the next.
func (x *Index) entry(at, end int, version uint32, previous string) (int, Entry, error) {
	start := at
	if at += statLen + x.oidLen + 2; at > end {
		return 0, Entry{}, ErrUnsupported
	}
	e := Entry{at: start, mode: binary.BigEndian.Uint32(x.data[start+24:])}
	flags := binary.BigEndian.Uint16(x.data[at-2:])
	e.odd = flags&stageMask != 0
	if version >= 3 && flags&flagExtend != 0 {
		if at += 2; at > end {
			return 0, Entry{}, ErrUnsupported
		}
		e.odd = e.odd || binary.BigEndian.Uint16(x.data[at-2:])&intentToAdd != 0
	}
	if kind := e.mode & typeMask; kind != typeRegular && kind != typeLink {
		e.odd = true // a submodule, or a folder of a sparse index
	}
	keep := 0
	if version == 4 {
		strip, n := varint(x.data[at:end])
		if n == 0 || strip > len(previous) {
			return 0, Entry{}, ErrUnsupported
		}
		at, keep = at+n, len(previous)-strip
	}
	length := bytes.IndexByte(x.data[at:end], 0)
	if length < 0 {
		return 0, Entry{}, ErrUnsupported
	}
	e.Path = previous[:keep] + string(x.data[at:at+length])
	at += length + 1
	if version < 4 {
		at = start + (at-1-start+8)&^7 // padded with one to eight zeros
	}
	return at, e, nil
}

// varint reads a number in the form of git's offsets.
func varint(b []byte) (value, n int) {
	for n < len(b) && n < 5 {
		c := b[n]
		n++
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, n
		}
		value++
	}
	return 0, 0
}

// Find returns the place of a path among the entries.
func (x *Index) Find(path string) (int, bool) {
	return slices.BinarySearchFunc(x.Entries, path, func(e Entry, p string) int { return strings.Compare(e.Path, p) })
}

// Clean says whether a file that looks like s has the content that git knows. A file that was changed in the very moment in which
// the index was written may look the same without being so: it is not called clean.
func (x *Index) Clean(i int, s Stat) bool {
	e := x.Entries[i]
	if e.odd {
		return false
	}
	field := func(n int) uint32 { return binary.BigEndian.Uint32(x.data[e.at+4*n:]) }
	if field(2) != s.MtimeSec || field(9) != s.Size || field(3) != 0 && field(3) != s.MtimeNsec {
		return false
	}
	// Where there are no inodes and no times of change, s has none either.
	if s.Inode != 0 && field(5) != s.Inode || s.CtimeSec != 0 && (field(0) != s.CtimeSec || field(1) != 0 && field(1) != s.CtimeNsec) {
		return false
	}
	if s.Size == 0 && x.OID(i) != emptyBlob(x.oidLen) {
		return false // git marks entries that it is not sure of by the size 0
	}
	w := x.written
	if field(3) == 0 {
		return s.MtimeSec < w.MtimeSec
	}
	return s.MtimeSec < w.MtimeSec || s.MtimeSec == w.MtimeSec && s.MtimeNsec < w.MtimeNsec
}

func emptyBlob(oidLen int) string {
	if oidLen == 32 {
		return "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	}
	return "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
}

// OID is the name of the object that holds the content.
func (x *Index) OID(i int) string {
	at := x.Entries[i].at + statLen
	return hex.EncodeToString(x.data[at : at+x.oidLen])
}

// Size is the size of the file when git last knew its content.
func (x *Index) Size(i int) int64 {
	return int64(binary.BigEndian.Uint32(x.data[x.Entries[i].at+36:]))
}

// Link says that the entry is a symbolic link.
func (x *Index) Link(i int) bool { return x.Entries[i].mode&typeMask == typeLink }

// A Folder is the part of an index that lies in one folder.
type Folder struct {
	entries []Entry
	prefix  int
}

// Folder returns the part of the index in a folder; "" is the top.
func (x *Index) Folder(dir string) Folder {
	if dir == "" {
		return Folder{x.Entries, 0}
	}
	from, _ := x.Find(dir + "/")
	to, _ := x.Find(dir + "0") // the character behind the slash
	return Folder{x.Entries[from:to], len(dir) + 1}
}

// Has says whether the file with this name in the folder is tracked.
func (f Folder) Has(name string) bool {
	_, ok := slices.BinarySearchFunc(f.entries, name, func(e Entry, name string) int { return strings.Compare(e.Path[f.prefix:], name) })
	return ok
}
