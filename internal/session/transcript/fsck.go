package transcript

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"

	"gofer/internal/llm"
)

// A Problem is something that is wrong with a transcript.
type Problem struct {
	Line int    `json:"line"` // counted from 1; 0: the whole file
	What string `json:"what"`
}

// A Check is what Verify found.
type Check struct {
	Path     string    `json:"path"`
	Lines    int       `json:"lines"`
	Records  int       `json:"records"` // of the conversation
	Unknown  int       `json:"unknown"` // records of types that gofer does not know; they are kept
	Problems []Problem `json:"problems"`
}

// Verify reads all of a transcript and says what is wrong with it. It changes nothing; every problem it can name is one that
// reading copes with.
func Verify(path string) (*Check, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &Check{Path: path, Problems: []Problem{}}
	v := verifier{Check: c, records: map[string]int{}, calls: map[string]int{}, results: map[string]bool{}}
	if err := eachLine(f, v.line); err != nil {
		return nil, err
	}
	v.finish()
	return c, nil
}

type verifier struct {
	*Check
	records map[string]int // uuid → line
	parents []parentLink
	calls   map[string]int // call → line
	open    []string       // calls in order
	results map[string]bool
}

type parentLink struct {
	line   int
	parent string
}

func (v *verifier) problem(line int, format string, args ...any) {
	v.Problems = append(v.Problems, Problem{line, fmt.Sprintf(format, args...)})
}

func (v *verifier) line(_ int64, text []byte, whole bool) error {
	v.Lines++
	n := v.Lines
	if len(bytes.TrimSpace(text)) == 0 && text != nil {
		return nil
	}
	l, err := parseLine(text, &found{})
	switch {
	case text == nil:
		v.problem(n, "the line is longer than %d MB and is skipped", maxLine>>20)
		return nil
	case err != nil && !whole:
		v.problem(n, "the last record is torn: it ends in the middle, and is skipped")
		return nil
	case err != nil:
		inner := salvage(text)
		if inner == nil {
			v.problem(n, "the line is not a record and is skipped")
			return nil
		}
		v.problem(n, "the record is preceded by rubbish, which is skipped")
		if l, err = parseLine(inner, &found{}); err != nil {
			return nil
		}
		text = inner
	case !whole:
		v.problem(n, "the last line end is missing")
	}
	v.record(n, l, text)
	return nil
}

func (v *verifier) record(n int, l line, text []byte) {
	if l.uuid == "" {
		if !slices.Contains(knownRecords, l.typ) {
			v.Unknown++
		}
		return
	}
	v.Records++
	if before, twice := v.records[l.uuid]; twice {
		v.problem(n, "the record %s is there twice, first in line %d", l.uuid, before)
	}
	v.records[l.uuid] = n
	if l.parent != "" {
		v.parents = append(v.parents, parentLink{n, l.parent})
	}
	e := decode(text, l)
	if e.isBroken {
		v.problem(n, "the message cannot be understood")
	}
	if l.copied {
		return // the calls of a view that was written again are those of the first time
	}
	for _, b := range e.message.Blocks {
		switch {
		case b.Kind == llm.ToolUse && b.Call != nil:
			v.calls[b.Call.ID] = n
			v.open = append(v.open, b.Call.ID)
		case b.Kind == llm.ToolResult && b.Result != nil:
			v.results[b.Result.CallID] = true
			if _, known := v.calls[b.Result.CallID]; !known {
				v.problem(n, "the result answers the call %s, which is not there", b.Result.CallID)
			}
		}
	}
}

func (v *verifier) finish() {
	for _, p := range v.parents {
		if _, ok := v.records[p.parent]; !ok {
			v.problem(p.line, "the record hangs on %s, which is not there", p.parent)
		}
	}
	for _, id := range v.open {
		if !v.results[id] {
			v.problem(v.calls[id], "the call %s has no result", id)
		}
	}
	slices.SortStableFunc(v.Problems, func(a, b Problem) int { return a.Line - b.Line })
}

var knownRecords = []string{headRecord, stateRecord, costRecord, leafRecord, "queue-operation", "last-prompt", "mode", "custom-title",
	"agent-name", "summary", "ai-title", "file-history-snapshot", "permission-mode", "tag"}

// Repair writes a copy of a transcript without what is broken, as a new session, and returns its path. Records that hang on
// nothing hang on the one before them in the copy. The file itself stays as it is.
func Repair(path, dir, id string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	return newFile(dir, id, func(out *bufio.Writer) error {
		written := map[string]bool{}
		last := ""
		return eachLine(in, func(_ int64, text []byte, _ bool) error {
			if text = salvage(text); len(text) == 0 {
				return nil
			}
			l, err := parseLine(text, &found{})
			if err != nil || written[l.uuid] || decode(text, l).isBroken {
				return nil
			}
			_, fixed, _ := forked(text, idOf(path), id)
			if l.parent != "" && l.uuid != "" && !written[l.parent] {
				fixed = withParent(fixed, last)
			}
			if l.uuid != "" {
				written[l.uuid] = true
				last = l.uuid
			}
			out.Write(fixed)
			return out.WriteByte('\n')
		})
	})
}

// withParent returns a record that hangs on another one.
func withParent(text []byte, parent string) []byte {
	var out []byte
	skim(text, func(key, value []byte) bool {
		if string(key) != "parentUuid" {
			return true
		}
		start := cap(text) - cap(value)
		out = appendID(append(out, text[:start]...), parent)
		out = append(out, text[start+len(value):]...)
		return false
	})
	return out
}
