package theme

import "strings"

// maxAddress bounds the address of a link; terminals drop longer ones.
const maxAddress = 2000

// Hyperlink makes text lead to an address, where the terminal can do that and the address is one that a person may be led to: a page or a
// file. Everything else stays text.
func (t *Theme) Hyperlink(address, text string) string {
	if text == "" || !t.Links || !Leads(address) {
		return text
	}
	return "\x1b]8;;" + address + "\x1b\\" + text + "\x1b]8;;\x1b\\"
}

// Leads reports whether an address may become a link: http, https or file, without blanks and characters that could end the
// sequence it is put into.
func Leads(address string) bool {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || rest == "" || len(address) > maxAddress {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "file":
	default:
		return false
	}
	return !strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
