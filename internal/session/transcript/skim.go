package transcript

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var errBroken = errors.New("not a JSON object")

// skim walks the fields of a JSON object without decoding them, and gives each key and value as they stand in the text. It
// checks only what it needs to find the next field. visit returns false to stop.
func skim(object []byte, visit func(key, value []byte) bool) error {
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
		if !visit(key, object[i:end]) {
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
	s, _ := unquote(value)
	return s
}

// unquote decodes a JSON string in one pass. Halves of surrogate pairs and bytes that are not UTF-8 become U+FFFD, as with
// package encoding/json.
func unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	in := value[1 : len(value)-1]
	i := bytes.IndexByte(in, '\\')
	if i < 0 {
		return valid(in), true
	}
	out := make([]byte, 0, len(in))
	for i >= 0 {
		out = append(out, in[:i]...)
		if in = in[i+1:]; len(in) == 0 {
			return "", false
		}
		c := in[0]
		if c == 'u' {
			r, n := unicodeEscape(in)
			if n == 0 {
				return "", false
			}
			out = utf8.AppendRune(out, r)
			in = in[n:]
		} else {
			k := strings.IndexByte(`"\/bfnrt`, c)
			if k < 0 {
				return "", false
			}
			out = append(out, "\"\\/\b\f\n\r\t"[k])
			in = in[1:]
		}
		i = bytes.IndexByte(in, '\\')
	}
	return valid(append(out, in...)), true
}

func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b))) // U+FFFD for every byte that is wrong, not one for all of them
}

// unicodeEscape reads uXXXX, or the two of a surrogate pair, and returns how many bytes it took; 0 if it is none.
func unicodeEscape(in []byte) (rune, int) {
	first, ok := hex4(in)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 5
	}
	if len(in) > 6 && in[5] == '\\' && in[6] == 'u' {
		if second, ok := hex4(in[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 11
			}
		}
	}
	return utf8.RuneError, 5
}

func hex4(in []byte) (rune, bool) {
	if len(in) < 5 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(in[1:5]), 16, 16)
	return rune(n), err == nil
}

func isTrue(value []byte) bool { return string(value) == "true" }

// salvage returns the part of a line that is a whole record: zeros of a power cut and a torn record before it, which lacks
// its line end, are left out. It returns nil if there is none.
func salvage(line []byte) []byte {
	line = bytes.Trim(line, "\x00 \t\r\n")
	if len(line) == 0 || line[0] == '{' && skim(line, func(_, _ []byte) bool { return true }) == nil {
		return line
	}
	// Inside of strings quotes are escaped, so that these bytes can only be the beginning of a record.
	for _, begin := range []string{`{"parentUuid":`, `{"type":"`} {
		if i := bytes.LastIndex(line, []byte(begin)); i > 0 && skim(line[i:], func(_, _ []byte) bool { return true }) == nil {
			return line[i:]
		}
	}
	return nil
}
