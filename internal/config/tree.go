package config

import (
	"bytes"
	"errors"
	"math"
	"unicode/utf8"
)

// A source is one text of settings. Lines are counted only when someone asks for a position.
type source struct {
	data []byte
}

func (s *source) position(off int) (line, column int) {
	before := s.data[:min(max(off, 0), len(s.data))]
	line = bytes.Count(before, []byte{'\n'}) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// A node is one value of a parsed file, with its place: data[off:end].
type node struct {
	kind     byte // one of { [ " 0 t f n
	off, end int
	text     string // a string decoded, a number as it stands
	members  []member
	items    []*node
}

type member struct {
	key    string
	keyOff int
	value  *node
}

func (n *node) member(key string) *node {
	for i := len(n.members) - 1; i >= 0; i-- { // the last of two equal keys counts
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// what names the kind of value for a message.
func (n *node) what() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case '0':
		return "the number " + n.text
	case 'n':
		return "null"
	case 't':
		return "true"
	}
	return "false"
}

// parse reads one JSON value and nothing behind it. An empty text is an empty object: a file that was only just created.
// loose is set when strict readers, such as Claude Code, would refuse the text.
func parse(data []byte) (root *node, loose *syntaxError, err error) {
	s := scanBytes(data)
	c, err := s.space()
	if err == nil && c == 0 && s.pos >= len(data) {
		return &node{kind: '{', off: s.pos, end: s.pos}, nil, nil
	}
	if err == nil {
		root, err = s.tree()
	}
	if err == nil {
		if c, err = s.space(); err == nil && s.pos < len(data) {
			err = s.unexpected(c, "the end of the file")
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if s.loose != 0 {
		loose = &syntaxError{s.loose - 1, s.looseWhat}
	}
	return root, loose, nil
}

func (s *scanner) tree() (*node, error) {
	c, err := s.space()
	if err != nil {
		return nil, err
	}
	n := &node{kind: c, off: s.pos}
	switch c {
	case '{':
		err = s.object(true, func(s *scanner, key string, keyOff int64) error {
			v, err := s.tree()
			n.members = append(n.members, member{key, int(keyOff), v})
			return err
		})
	case '[':
		err = s.array(func(s *scanner) error {
			v, err := s.tree()
			n.items = append(n.items, v)
			return err
		})
	case '"':
		n.text, err = s.str(math.MaxInt)
	case 0:
		err = s.unexpected(0, "a value")
	default:
		n.text, err = s.literal(c)
		if c != 't' && c != 'f' && c != 'n' {
			n.kind = '0'
		}
	}
	n.end = s.pos
	return n, err
}

// offsetOf returns where a syntax error stands, or 0.
func offsetOf(err error) int {
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		return int(syntax.off)
	}
	return 0
}
