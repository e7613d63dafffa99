package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// A request is read by this scanner and not by encoding/json for three reasons: the exact bytes of every block are
// needed to tell equal prefixes, one pass is much quicker than the nested raw messages would be, and a lone surrogate must
// be refused as the real service refuses it.

type nodeKind byte

const (
	nodeNone nodeKind = iota
	nodeObject
	nodeArray
	nodeString
	nodeNumber
	nodeTrue
	nodeFalse
	nodeNull
)

type node struct {
	kind             nodeKind
	start, end       int32 // of the value, in the source
	keyStart, keyEnd int32 // of the name without quotes, for a member of an object
	child, next      int32 // 0: none, for the root is never a child
}

type document struct {
	src   []byte
	nodes []node
}

const maxDepth = 256

// scan reads one JSON value. The error says what is wrong and where, in the words of the real service.
func scan(src []byte) (value, error) {
	d := &document{src: src, nodes: make([]node, 0, 64+len(src)/64)}
	if !utf8.Valid(src) {
		return value{}, errors.New("invalid UTF-8")
	}
	pos, _, err := d.value(d.space(0), 0)
	if err != nil {
		return value{}, err
	}
	if pos = d.space(pos); pos != len(src) {
		return value{}, fmt.Errorf("unexpected content after document: column %d", pos+1)
	}
	return value{d, 0}, nil
}

func (d *document) space(pos int) int {
	for pos < len(d.src) && (d.src[pos] == ' ' || d.src[pos] == '\n' || d.src[pos] == '\t' || d.src[pos] == '\r') {
		pos++
	}
	return pos
}

func (d *document) unexpected(pos int) error {
	if pos >= len(d.src) {
		return errors.New("unexpected end of data")
	}
	return fmt.Errorf("unexpected character: column %d", pos+1)
}

// value reads the value at pos and returns where it ends and its node.
func (d *document) value(pos, depth int) (int, int32, error) {
	if depth > maxDepth {
		return 0, 0, errors.New("recursion limit exceeded")
	}
	if pos >= len(d.src) {
		return 0, 0, d.unexpected(pos)
	}
	at := int32(len(d.nodes))
	d.nodes = append(d.nodes, node{start: int32(pos)})
	var end int
	var err error
	kind := nodeNone
	switch c := d.src[pos]; {
	case c == '{' || c == '[':
		kind = nodeArray
		if c == '{' {
			kind = nodeObject
		}
		end, err = d.members(at, pos, depth)
	case c == '"':
		kind = nodeString
		end, err = d.str(pos)
	case c == '-' || c >= '0' && c <= '9':
		kind = nodeNumber
		end, err = d.number(pos)
	case c == 't':
		kind = nodeTrue
		end, err = d.word(pos, "true")
	case c == 'f':
		kind = nodeFalse
		end, err = d.word(pos, "false")
	case c == 'n':
		kind = nodeNull
		end, err = d.word(pos, "null")
	default:
		err = d.unexpected(pos)
	}
	d.nodes[at].kind, d.nodes[at].end = kind, int32(end)
	return end, at, err
}

// members reads the elements of the array or the members of the object that begins at pos.
func (d *document) members(parent int32, pos, depth int) (int, error) {
	closing := d.src[pos] + 2 // ] and } follow [ and { at this distance
	object := closing == '}'
	pos = d.space(pos + 1)
	if pos < len(d.src) && d.src[pos] == closing {
		return pos + 1, nil
	}
	last := int32(0)
	for {
		keyStart, keyEnd := 0, 0
		if object {
			if pos >= len(d.src) || d.src[pos] != '"' {
				return 0, d.unexpected(pos)
			}
			end, err := d.str(pos)
			if err != nil {
				return 0, err
			}
			keyStart, keyEnd = pos+1, end-1
			if pos = d.space(end); pos >= len(d.src) || d.src[pos] != ':' {
				return 0, d.unexpected(pos)
			}
			pos = d.space(pos + 1)
		}
		end, child, err := d.value(pos, depth+1)
		if err != nil {
			return 0, err
		}
		d.nodes[child].keyStart, d.nodes[child].keyEnd = int32(keyStart), int32(keyEnd)
		if last == 0 {
			d.nodes[parent].child = child
		} else {
			d.nodes[last].next = child
		}
		last = child
		pos = d.space(end)
		if pos >= len(d.src) {
			return 0, d.unexpected(pos)
		}
		switch d.src[pos] {
		case closing:
			return pos + 1, nil
		case ',':
			pos = d.space(pos + 1)
		default:
			return 0, d.unexpected(pos)
		}
	}
}

func (d *document) word(pos int, word string) (int, error) {
	if !bytes.HasPrefix(d.src[pos:], []byte(word)) {
		return 0, d.unexpected(pos)
	}
	return pos + len(word), nil
}

func (d *document) number(pos int) (int, error) {
	start := pos
	for pos < len(d.src) && (d.src[pos] >= '0' && d.src[pos] <= '9' || bytes.IndexByte([]byte("+-.eE"), d.src[pos]) >= 0) {
		pos++
	}
	if !json.Valid(d.src[start:pos]) {
		return 0, d.unexpected(start)
	}
	return pos, nil
}

// str reads the string whose opening quote is at pos and returns the place behind its closing quote.
func (d *document) str(pos int) (int, error) {
	for pos++; pos < len(d.src); pos++ {
		switch c := d.src[pos]; {
		case c == '"':
			return pos + 1, nil
		case c < ' ':
			return 0, fmt.Errorf("control character in string: column %d", pos+1)
		case c == '\\':
			n, err := d.escape(pos)
			if err != nil {
				return 0, err
			}
			pos += n - 1
		}
	}
	return 0, errors.New("unexpected end of data")
}

// escape returns the length of the escape sequence at pos.
func (d *document) escape(pos int) (int, error) {
	if pos+1 >= len(d.src) {
		return 0, d.unexpected(pos + 1)
	}
	if bytes.IndexByte([]byte(`"\/bfnrt`), d.src[pos+1]) >= 0 {
		return 2, nil
	}
	r, ok := d.hex4(pos)
	switch {
	case !ok:
		return 0, fmt.Errorf("invalid escape in string: column %d", pos+1)
	case r >= 0xdc00 && r < 0xe000:
		return 0, fmt.Errorf("no high surrogate in string: column %d", pos+1)
	case r >= 0xd800 && r < 0xdc00:
		if low, ok := d.hex4(pos + 6); !ok || low < 0xdc00 || low > 0xdfff {
			return 0, fmt.Errorf("no low surrogate in string: column %d", pos+1)
		}
		return 12, nil
	}
	return 6, nil
}

func (d *document) hex4(pos int) (rune, bool) {
	if pos+6 > len(d.src) || d.src[pos] != '\\' || d.src[pos+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range d.src[pos+2 : pos+6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// A value is one value of a document. The zero value is one that is not there.
type value struct {
	d *document
	i int32
}

func (v value) node() node {
	if v.d == nil {
		return node{}
	}
	return v.d.nodes[v.i]
}

func (v value) kind() nodeKind { return v.node().kind }

// exists tells whether the value is there and not null.
func (v value) exists() bool { return v.kind() != nodeNone && v.kind() != nodeNull }

// raw is the bytes of the value as they came.
func (v value) raw() []byte {
	if v.d == nil {
		return nil
	}
	return v.d.src[v.node().start:v.node().end]
}

// key is the name under which the value stands in its object, as it is written.
func (v value) key() string { return string(v.d.src[v.node().keyStart:v.node().keyEnd]) }

// get returns the member of an object.
func (v value) get(key string) value {
	if v.kind() == nodeObject {
		for c := v.node().child; c != 0; c = v.d.nodes[c].next {
			n := &v.d.nodes[c]
			if string(v.d.src[n.keyStart:n.keyEnd]) == key {
				return value{v.d, c}
			}
		}
	}
	return value{}
}

// each yields the elements of an array or the members of an object, with their index.
func (v value) each(yield func(int, value) bool) {
	index := 0
	for c := v.node().child; c != 0; c = v.d.nodes[c].next {
		if !yield(index, value{v.d, c}) {
			return
		}
		index++
	}
}

func (v value) length() int {
	n := 0
	for range v.each {
		n++
	}
	return n
}

// text is the string that the value holds, "" if it holds none.
func (v value) text() string {
	if v.kind() != nodeString {
		return ""
	}
	inner := v.d.src[v.node().start+1 : v.node().end-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(v.raw(), &s) != nil {
		return ""
	}
	return s
}

// is tells whether the value is exactly the string s, which needs no escapes.
func (v value) is(s string) bool {
	raw := v.raw()
	return v.kind() == nodeString && len(raw) == len(s)+2 && string(raw[1:len(raw)-1]) == s
}

// integer is the whole number that the value holds.
func (v value) integer() (int, bool) {
	var n int
	if v.kind() != nodeNumber || json.Unmarshal(v.raw(), &n) != nil {
		return 0, false
	}
	return n, true
}
