package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/theme"
)

// Mark paints parts of a line that has styles already, over them. The parts are given in bytes of the text without its sequences, in
// order and apart from each other.
func Mark(line string, parts [][2]int, style theme.Style) string {
	if len(parts) == 0 || style.On() == "" {
		return line
	}
	var b strings.Builder
	var p pen
	at, inside := 0, false
	for len(line) > 0 {
		cluster, _, n, _ := ansi.DecodeSequence(line, ansi.NormalState, nil)
		n = max(n, 1)
		if line[0] == 0x1b {
			p = p.take(cluster)
			b.WriteString(cluster)
			if inside {
				b.WriteString(style.On())
			}
			line = line[n:]
			continue
		}
		for len(parts) > 0 && parts[0][1] <= at {
			parts = parts[1:]
		}
		hit := len(parts) > 0 && parts[0][0] < at+n
		if hit != inside {
			if inside = hit; inside {
				b.WriteString(style.On())
			} else {
				b.WriteString(theme.Reset + p.on)
			}
		}
		b.WriteString(line[:n])
		at += n
		line = line[n:]
	}
	if inside {
		b.WriteString(theme.Reset)
	}
	return b.String()
}
