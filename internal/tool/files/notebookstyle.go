package files

import (
	"bytes"
	"strings"

	"gofer/internal/llm"
)

// A cellStyle is how the JSON of a cell is laid out: the white space at each joint.
type cellStyle struct {
	before    string // between a comma and the next cell
	afterLast string // between the last cell and the end of the list
	open      string // between the brace and the first field, and between fields
	shut      string // between the last field and the brace
	colon     string
}

// styleOf takes the layout from a cell; without one, from what Jupyter writes.
func (n *notebook) styleOf(c cell) cellStyle {
	if len(c.fields) == 0 {
		if !bytes.Contains(n.raw, []byte("\n")) && len(n.raw) > 2 {
			return cellStyle{colon: ":"}
		}
		return cellStyle{before: "\n  ", afterLast: "\n ", open: "\n   ", shut: "\n  ", colon: ": "}
	}
	first, last := c.fields[0], c.fields[len(c.fields)-1]
	s := cellStyle{
		before: string(n.raw[n.list.start+1 : n.cells[0].start]),
		open:   string(n.raw[c.start+1 : first.all.start]),
		shut:   string(n.raw[last.all.end : c.end-1]),
		colon:  ": ",
	}
	nameEnd := skipString(n.raw, first.all.start)
	s.colon = string(n.raw[nameEnd:first.value.start])
	if len(n.cells) > 1 && s.before == "" { // one line: what stands between two cells, less the comma
		s.before = strings.TrimPrefix(string(n.raw[n.cells[0].end:n.cells[1].start]), ",")
	}
	return s
}

func (s cellStyle) object(fields [][]byte) []byte {
	joint := "," + s.open
	if s.open == "" && s.colon != ":" {
		joint = ", "
	}
	return []byte("{" + s.open + string(bytes.Join(fields, []byte(joint))) + s.shut + "}")
}

// source writes a text as notebooks do: as a list of lines, or as one string if the cell had it so.
func (s cellStyle) source(text string, asString bool) []byte {
	if asString {
		return llm.AppendString(nil, text)
	}
	if text == "" {
		return []byte("[]")
	}
	inner, joint := "", ","
	if strings.Contains(s.open, "\n") {
		indent := " "
		if extra, ok := strings.CutPrefix(s.open, s.shut); ok && extra != "" {
			indent = extra
		}
		inner = s.open + indent
		joint = "," + inner
	} else if s.colon != ":" {
		joint = ", "
	}
	var out []byte
	for line := range strings.SplitAfterSeq(text, "\n") {
		if line == "" {
			continue
		}
		if out != nil {
			out = append(out, joint...)
		}
		out = llm.AppendString(out, line)
	}
	end := ""
	if inner != "" {
		end = s.open
	}
	return []byte("[" + inner + string(out) + end + "]")
}
