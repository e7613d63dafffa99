package files

import (
	"bytes"
	"fmt"
)

// signature is how a binary format begins.
type signature struct {
	at    int
	bytes string
	name  string
}

func signatures() []signature {
	return []signature{
		{0, "\x7fELF", "an ELF program or library"}, {0, "\xcf\xfa\xed\xfe", "a Mach-O program"}, {0, "\xce\xfa\xed\xfe", "a Mach-O program"},
		{0, "\xca\xfe\xba\xbe", "a Java class or a Mach-O program"}, {0, "MZ", "a Windows program"}, {0, "\x00asm", "WebAssembly"},
		{0, "!<arch>\n", "a static library"}, {0, "PK\x03\x04", "a ZIP archive or Office document"}, {0, "PK\x05\x06", "an empty ZIP archive"},
		{0, "\x1f\x8b", "gzip"}, {0, "BZh", "bzip2"}, {0, "\xfd7zXZ\x00", "xz"}, {0, "\x28\xb5\x2f\xfd", "zstd"},
		{0, "7z\xbc\xaf\x27\x1c", "a 7z archive"}, {0, "Rar!\x1a\x07", "a RAR archive"}, {257, "ustar", "a tar archive"},
		{0, "SQLite format 3\x00", "an SQLite database"}, {0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"}, {0, "PAR1", "Parquet"},
		{0, "II*\x00", "a TIFF image; convert it to PNG to see it"}, {0, "MM\x00*", "a TIFF image; convert it to PNG to see it"},
		{4, "ftyphei", "a HEIC image; convert it to PNG to see it"}, {4, "ftypavif", "an AVIF image; convert it to PNG to see it"},
		{0, "\x00\x00\x01\x00", "an icon"}, {4, "ftyp", "MP4 video or audio"}, {0, "\x1aE\xdf\xa3", "Matroska or WebM video"},
		{0, "OggS\x00", "Ogg audio"}, {0, "fLaC\x00", "FLAC audio"}, {0, "ID3", "MP3 audio"}, {0, "RIFF", "RIFF audio or video"},
		{0, "wOFF", "a web font"}, {0, "wOF2", "a web font"}, {0, "\x00\x01\x00\x00\x00", "a TrueType font"}, {0, "OTTO\x00", "an OpenType font"},
	}
}

// binaryKind says what a file is that begins with head, or "" if it is text. exact means that the format is known.
//
// A few NULs do not make a file binary if it is small or if they are rare: logs and fixtures have them.
func binaryKind(head []byte) (kind string, exact bool) {
	if c := markOf(head); c.form == utf16LE || c.form == utf16BE {
		return "", false
	}
	nul := bytes.Count(head, []byte{0})
	for _, s := range signatures() {
		if len(head) >= s.at+len(s.bytes) && string(head[s.at:s.at+len(s.bytes)]) == s.bytes && (nul > 0 || len(s.bytes) > 4) {
			return s.name, true
		}
	}
	control := 0
	for _, b := range head {
		if b < ' ' && (b < '\b' || b > '\r') && b != 0x1b || b == 0x7f {
			control++
		}
	}
	rare, many := len(head)/1000, len(head)*3/10
	if len(head) <= 16<<10 {
		rare = len(head) / 20
	}
	if nul > max(rare, 1) || control > many {
		return fmt.Sprintf("%d of the first %d bytes are NUL or other control characters", control, len(head)), false
	}
	return "", false
}
