package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errBroken = errors.New("not a JSON object")

// skim walks the fields of a JSON object without decoding them, and gives each key and value as they stand in the text. It
// checks only what it needs to find the next field. visit returns false to stop.
func skim(object []byte, visit func(key string, value []byte) bool) error {
	i := space(object, 0)
	if i >= len(object) || object[i] != '{' {
		return errBroken
	}
	i = space(object, i+1)
	if i < len(object) && object[i] == '}' {
		return atEnd(object, i+1)
	}
	for {
		end := stringEnd(object, i)
		if end < 0 {
			return errBroken
		}
		key := object[i+1 : end-1]
		if i = space(object, end); i >= len(object) || object[i] != ':' {
			return errBroken
		}
		i = space(object, i+1)
		if end = valueEnd(object, i); end < 0 {
			return errBroken
		}
		if !visit(string(key), object[i:end]) {
			return nil
		}
		i = space(object, end)
		switch {
		case i >= len(object):
			return errBroken
		case object[i] == '}':
			return atEnd(object, i+1)
		case object[i] != ',':
			return errBroken
		}
		i = space(object, i+1)
	}
}

// elements gives each element of a JSON array as it stands in the text.
func elements(array []byte, visit func(value []byte) bool) error {
	i := space(array, 0)
	if i >= len(array) || array[i] != '[' {
		return errBroken
	}
	if i = space(array, i+1); i < len(array) && array[i] == ']' {
		return atEnd(array, i+1)
	}
	for {
		end := valueEnd(array, i)
		if end < 0 {
			return errBroken
		}
		if !visit(array[i:end]) {
			return nil
		}
		i = space(array, end)
		switch {
		case i >= len(array):
			return errBroken
		case array[i] == ']':
			return atEnd(array, i+1)
		case array[i] != ',':
			return errBroken
		}
		i = space(array, i+1)
	}
}

// atEnd reports that something stands behind the value.
func atEnd(b []byte, i int) error {
	if space(b, i) < len(b) {
		return errBroken
	}
	return nil
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// stringEnd returns the index behind the string that begins at i, or -1.
func stringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		back := 0
		for b[i-1-back] == '\\' {
			back++
		}
		if back%2 == 0 {
			return i + 1
		}
	}
}

// valueEnd returns the index behind the value that begins at i, or -1.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
	default:
		start := i
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
			i++
		}
		if i == start {
			return -1
		}
		return i
	}
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// text decodes a JSON string; anything else is "".
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(bytes.ToValidUTF8(inner, []byte("\ufffd")))
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

func isTrue(value []byte) bool { return string(value) == "true" }

// salvage returns the part of a line that is a whole record: zeros of a power cut and a torn record before it, which lacks
// its line end, are left out. It returns nil if there is none.
func salvage(line []byte) []byte {
	line = bytes.Trim(line, "\x00 \t\r\n")
	if len(line) == 0 || line[0] == '{' && skim(line, func(string, []byte) bool { return true }) == nil {
		return line
	}
	// Inside of strings quotes are escaped, so that these bytes can only be the beginning of a record.
	for _, begin := range []string{`{"parentUuid":`, `{"type":"`} {
		if i := bytes.LastIndex(line, []byte(begin)); i > 0 && skim(line[i:], func(string, []byte) bool { return true }) == nil {
			return line[i:]
		}
	}
	return nil
}
