package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A notebook is the bytes of a notebook file and where its cells stand in them. It is changed by splicing bytes, so that
// everything else stays as it was written.
type notebook struct {
	raw      []byte
	cells    []cell
	list     span // the value of "cells", brackets included
	language string
	hasIDs   bool // the format is one whose cells must have ids
}

type span struct{ start, end int }

func (s span) of(raw []byte) []byte { return raw[s.start:s.end] }

// A cell is one cell: where it stands, its fields in order, and what it contains.
type cell struct {
	span
	fields []field
	cellContent
}

type field struct {
	name  string
	all   span // from the name to the end of the value
	value span
}

type cellContent struct {
	ID             string       `json:"id"`
	Type           string       `json:"cell_type"`
	Source         multiline    `json:"source"`
	Outputs        []cellOutput `json:"outputs"`
	ExecutionCount *int         `json:"execution_count"`
}

type cellOutput struct {
	Type      string                     `json:"output_type"`
	Text      multiline                  `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Name      string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// A multiline is a text that notebooks write as a string or as a list of lines.
type multiline string

func (m *multiline) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*m = multiline(strings.Join(lines, ""))
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*m = multiline(text)
	return nil
}

func parseNotebook(raw []byte) (*notebook, error) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if !json.Valid(raw) {
		var any any
		return nil, fmt.Errorf("it is not valid JSON (%w)", json.Unmarshal(raw, &any))
	}
	var about struct {
		Metadata struct {
			Language struct{ Name string }     `json:"language_info"`
			Kernel   struct{ Language string } `json:"kernelspec"`
		}
		Format int `json:"nbformat"`
		Minor  int `json:"nbformat_minor"`
	}
	if err := json.Unmarshal(raw, &about); err != nil {
		return nil, fmt.Errorf("it is not a notebook (%w)", err)
	}
	n := &notebook{raw: raw, language: about.Metadata.Language.Name, hasIDs: about.Format > 4 || about.Format == 4 && about.Minor >= 5}
	if n.language == "" {
		n.language = about.Metadata.Kernel.Language
	}
	for _, f := range fieldsOf(raw, skipBlanks(raw, 0)) {
		if f.name == "cells" {
			n.list = f.value
		}
	}
	if n.list.end == 0 || raw[n.list.start] != '[' {
		return nil, errors.New("it is not a notebook: it has no list of cells")
	}
	for i := skipBlanks(raw, n.list.start+1); raw[i] != ']'; i = skipComma(raw, i) {
		c := cell{span: span{i, skipValue(raw, i)}}
		if err := json.Unmarshal(c.of(raw), &c.cellContent); err != nil {
			return nil, fmt.Errorf("cell %d is not understood (%w)", len(n.cells)+1, err)
		}
		c.fields = fieldsOf(raw, i)
		if c.ID == "" {
			c.ID = "cell-" + strconv.Itoa(len(n.cells))
		}
		n.cells = append(n.cells, c)
		i = c.end
	}
	return n, nil
}

// find returns the number of the cell with the id. Cells without one are called cell-0, cell-1 and so on.
func (n *notebook) find(id string) (int, error) {
	for i, c := range n.cells {
		if c.ID == id {
			return i, nil
		}
	}
	if number, ok := strings.CutPrefix(id, "cell-"); ok {
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(n.cells) {
			return i, nil
		}
	}
	var ids []string
	for _, c := range n.cells[:min(len(n.cells), 50)] {
		ids = append(ids, c.ID)
	}
	return 0, fmt.Errorf("there is no cell %q; the cells are %s", id, strings.Join(ids, ", "))
}

// The functions below walk through JSON that is known to be valid.

func skipBlanks(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return i
}

// skipComma goes from the end of a value to the next one, or to the bracket that closes the list.
func skipComma(raw []byte, i int) int {
	if i = skipBlanks(raw, i); raw[i] == ',' {
		i = skipBlanks(raw, i+1)
	}
	return i
}

func skipString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipValue(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ' ', '\n', '\r', '\t', ',', ':':
			i++
			continue
		default:
			for i < len(raw) && !bytes.ContainsRune([]byte(" \n\r\t,:]}"), rune(raw[i])) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// fieldsOf lists the fields of the object that begins at i; nothing if there is none.
func fieldsOf(raw []byte, i int) []field {
	if i >= len(raw) || raw[i] != '{' {
		return nil
	}
	var fields []field
	for i = skipBlanks(raw, i+1); raw[i] != '}'; i = skipComma(raw, i) {
		f := field{all: span{start: i}}
		end := skipString(raw, i)
		json.Unmarshal(raw[i:end], &f.name)
		f.value.start = skipBlanks(raw, skipBlanks(raw, end)+1)
		f.value.end = skipValue(raw, f.value.start)
		f.all.end = f.value.end
		fields = append(fields, f)
		i = f.value.end
	}
	return fields
}
