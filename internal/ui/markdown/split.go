package markdown

import "strings"

// Split cuts a long text into parts that can be drawn by themselves: at empty lines outside of program text, and not before a part has
// the size. The parts together are the text.
func Split(text string, size int) []string {
	var parts []string
	fence := ""
	start, at := 0, 0
	for at < len(text) {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		line := strings.TrimSpace(text[at : at+min(end, 200)])
		at += end + 1
		switch marks := fenceMarks(line); {
		case fence != "":
			if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
				fence = ""
			}
		case marks != "":
			fence = marks
		case line == "" && at-start >= size:
			parts = append(parts, text[start:at])
			start = at
		}
	}
	if start < len(text) || len(parts) == 0 {
		parts = append(parts, text[start:])
	}
	return parts
}
