package search

import (
	"strconv"
	"strings"
)

// A printer writes lines as grep does: path:number:text for a match, path-number-text for context, -- for a gap. The
// path is left out when the call names one file.
type printer struct {
	call    *grepCall
	skip    int // lines to leave out at the beginning
	left    int // lines to print
	cap     int // characters to print
	out     strings.Builder
	names   []string
	printed int
	more    bool // something was left out at the end
}

func (p *printer) file(h hits) {
	name := p.call.env.show(h.path)
	if h.binary {
		p.names = append(p.names, name)
		p.out.WriteString("The binary file " + name + " has " + count(h.count, "match", "matches") + ".\n")
		return
	}
	first := true
	for _, l := range h.lines {
		if p.skip > 0 {
			p.skip--
			continue
		}
		if p.left == 0 || p.out.Len()+len(name)+len(l.text) > p.cap {
			p.more = true
			p.left = 0
			return
		}
		p.left--
		if first {
			p.names = append(p.names, name)
		}
		context := p.call.req.before+p.call.req.after > 0 && !p.call.req.only
		if l.gap || first && context && p.printed > 0 {
			p.out.WriteString("--\n")
		}
		first = false
		p.line(name, l)
		p.printed++
	}
}

func (p *printer) line(name string, l line) {
	mark := byte(':')
	if !l.match {
		mark = '-'
	}
	if !p.call.named {
		p.out.WriteString(name)
		p.out.WriteByte(mark)
	}
	if p.call.req.numbers {
		p.out.WriteString(strconv.Itoa(l.number))
		p.out.WriteByte(mark)
	}
	p.out.WriteString(l.text)
	p.out.WriteByte('\n')
}
