package files

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A form is how the bytes of a text stand for characters.
type form uint8

const (
	utf8Form form = iota
	utf16LE
	utf16BE
	// legacy is any older encoding. Each byte is shown as its Windows-1252 character, which is right for Latin-1 and
	// Windows-1252 and, because every byte has a character of its own, takes every other encoding there and back unharmed.
	legacy
)

// A charset is what is known of the encoding of a text.
type charset struct {
	form form
	mark int  // bytes of the byte order mark at the start
	wide bool // legacy: looks like an encoding with two bytes per character, such as Shift-JIS or GBK
}

func (c charset) name() string {
	switch {
	case c.form == utf16LE:
		return "UTF-16LE"
	case c.form == utf16BE:
		return "UTF-16BE"
	case c.form == legacy && c.wide:
		return "an unknown encoding, perhaps with two bytes per character"
	case c.form == legacy:
		return "an 8-bit encoding such as Latin-1"
	case c.mark > 0:
		return "UTF-8 with byte order mark"
	}
	return "UTF-8"
}

// unit is the number of bytes in which a text of this encoding is counted.
func (c charset) unit() int {
	if c.form == utf16LE || c.form == utf16BE {
		return 2
	}
	return 1
}

func (c charset) order() binary.AppendByteOrder {
	if c.form == utf16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// encode writes s in the encoding. It fails, naming the first character that has no place in it.
func (c charset) encode(s string) ([]byte, rune, bool) {
	switch c.form {
	case utf16LE, utf16BE:
		out := make([]byte, 0, 2*len(s))
		for _, r := range s {
			if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
				out = c.order().AppendUint16(out, uint16(r1))
				r = r2
			}
			out = c.order().AppendUint16(out, uint16(r))
		}
		return out, 0, true
	case legacy:
		out := make([]byte, 0, len(s))
		for _, r := range s {
			b, ok := legacyByte(r)
			if !ok {
				return nil, r, false
			}
			out = append(out, b)
		}
		return out, 0, true
	}
	return []byte(s), 0, true
}

// decode makes text of b, which does not include the byte order mark. Bytes that stand for nothing become U+FFFD.
func (c charset) decode(b []byte) string {
	switch c.form {
	case utf16LE, utf16BE:
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(b[2*i:])
			if c.form == utf16BE {
				units[i] = binary.BigEndian.Uint16(b[2*i:])
			}
		}
		return string(utf16.Decode(units))
	case legacy:
		var out strings.Builder
		out.Grow(len(b))
		for _, x := range b {
			out.WriteRune(legacyRune(x))
		}
		return out.String()
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// The characters of Windows-1252 for the bytes 0x80 to 0x9F. The five bytes it leaves open stand for the control characters
// of the same number, so that no byte is without a character.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

func legacyRune(b byte) rune {
	if b < 0x80 || b >= 0xA0 {
		return rune(b)
	}
	i := 0x80
	for _, r := range windows1252 {
		if i == int(b) {
			return r
		}
		i++
	}
	return rune(b)
}

func legacyByte(r rune) (byte, bool) {
	if r < 0x80 || r >= 0xA0 && r <= 0xFF {
		return byte(r), true
	}
	b := byte(0x80)
	for _, w := range windows1252 {
		if w == r {
			return b, true
		}
		b++
	}
	return 0, false
}

// onBoundary says whether the character at line[at] begins there, in a line of an unknown encoding with two bytes per character. In
// those the second byte may look like an ASCII letter, and a search would find letters that are not there. A line
// break is never a second byte, so counting from the start of the line tells. Both families of encodings must agree.
func onBoundary(line []byte, at int) bool {
	shiftJIS := func(b byte) bool { return b >= 0x81 && b <= 0x9F || b >= 0xE0 && b <= 0xFC }
	others := func(b byte) bool { return b >= 0x81 && b <= 0xFE }
	for _, isLead := range []func(byte) bool{shiftJIS, others} {
		i := 0
		for i < at {
			if isLead(line[i]) && (i+1 == len(line) || line[i+1] >= 0x30) {
				i++
			}
			i++
		}
		if i != at {
			return false
		}
	}
	return true
}
