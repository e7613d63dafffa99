package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A splice replaces the bytes from start to end.
type splice struct {
	start, end int64
	with       []byte
}

// A doc is a text to edit.
type doc struct {
	r    io.ReaderAt
	size int64
	name string // of the file, for messages
	unit string // the white space of one level, when the text is a part of another
}

func docOf(name string, data []byte) doc {
	return doc{r: bytes.NewReader(data), size: int64(len(data)), name: name}
}

func (d doc) scan() *scanner { return scanReader(io.NewSectionReader(d.r, 0, d.size)) }

func (d doc) bytes(start, end int64) ([]byte, error) {
	if end-start > maxFile {
		return nil, fmt.Errorf("%s: a value of %d MB is too large to edit", d.name, (end-start)>>20)
	}
	buf := make([]byte, end-start)
	_, err := d.r.ReadAt(buf, start)
	if err == io.EOF {
		err = nil
	}
	return buf, err
}

// unparsable is the error for a text that must not be written.
func (d doc) unparsable(err error) error {
	data, readErr := d.bytes(0, min(d.size, maxFile))
	if readErr != nil {
		return fmt.Errorf("%s does not parse, so it is left as it is: %w", d.name, err)
	}
	line, column := (&source{data}).position(offsetOf(err))
	return fmt.Errorf("%s:%d:%d: %w; the file is left as it is until this is repaired", d.name, line, column, err)
}

func (d doc) locate(paths ...[]string) ([]*spot, error) {
	spots, err := locate(d.scan(), paths...)
	if err != nil {
		return nil, d.unparsable(err)
	}
	return spots, nil
}

// set plans the splice that gives the path a value, making the objects on the way.
func (d doc) set(path []string, value any) ([]splice, error) {
	spots, err := d.locate(path, noPath)
	if err != nil {
		return nil, err
	}
	sp, unit := spots[0], d.indentUnit(spots[1])
	switch {
	case sp.kind == 0:
		return []splice{{0, d.size, append(encode(wrap(path, value), "", unit), '\n')}}, nil
	case sp.found():
		old, err := d.bytes(sp.start, sp.end)
		if err != nil {
			return nil, err
		}
		indent, _ := indentAt(d.r, sp.keyStart)
		with := encode(value, indent, unit)
		if sameJSON(old, with) {
			return nil, nil
		}
		return []splice{{sp.start, sp.end, with}}, nil
	case sp.kind != '{':
		return nil, fmt.Errorf("%s: %s is not an object, so %q cannot be set in it", d.name, orRoot(path[:sp.depth]), path[sp.depth])
	}
	return d.insert(sp, wrap(path[sp.depth+1:], value), unit), nil
}

// insert plans a new member at the end of the object that a spot found.
func (d doc) insert(sp *spot, value any, unit string) []splice {
	key := append(marshal(sp.path[sp.depth]), ": "...)
	if sp.lastEnd < 0 {
		outer := d.lineIndent(sp.start)
		indent := outer + unit
		with := "{\n" + indent + string(key) + string(encode(value, indent, unit)) + "\n" + outer + "}"
		return []splice{{sp.start, sp.end, []byte(with)}}
	}
	indent, alone := indentAt(d.r, sp.firstKey)
	if !alone { // an object on one line stays on one line
		return []splice{{sp.lastEnd, sp.lastEnd, slices.Concat([]byte(", "), key, encode(value, "", ""))}}
	}
	return []splice{{sp.lastEnd, sp.lastEnd, slices.Concat([]byte(",\n"+indent), key, encode(value, indent, unit))}}
}

// lineIndent returns the white space at the beginning of the line that off stands on.
func (d doc) lineIndent(off int64) string {
	indent, _ := indentAt(d.r, off)
	return indent
}

// remove plans to take the path's member out of its object.
func (d doc) remove(path []string) ([]splice, error) {
	spots, err := d.locate(path)
	if err != nil {
		return nil, err
	}
	sp := spots[0]
	switch {
	case !sp.found() || sp.keyStart < 0:
		return nil, nil
	case sp.nextKey >= 0:
		return []splice{{sp.keyStart, sp.nextKey, nil}}, nil
	}
	// It is the last member. The comma before it goes with it; when it is the only one, a comma behind it must go instead.
	behind := scanReader(io.NewSectionReader(d.r, sp.end, d.size-sp.end))
	if c, err := behind.space(); err == nil && c == ',' {
		return []splice{{sp.keyStart, sp.end + behind.offset() + 1, nil}}, nil
	}
	return []splice{{sp.prevEnd, sp.end, nil}}, nil
}

// add plans to append an item to the list at a path, unless the list has it.
func (d doc) add(path []string, value any) ([]splice, error) {
	sp, list, unit, err := d.list(path)
	if err != nil {
		return nil, err
	}
	if list == nil {
		return d.set(path, []any{value})
	}
	item := encode(value, "", "")
	for _, have := range list.items {
		if sameJSON(have.appendJSON(nil), item) {
			return nil, nil
		}
	}
	if len(list.items) == 0 {
		outer := d.lineIndent(sp.start)
		with := "[\n" + outer + unit + string(encode(value, outer+unit, unit)) + "\n" + outer + "]"
		return []splice{{sp.start, sp.end, []byte(with)}}, nil
	}
	at := sp.start + int64(list.items[len(list.items)-1].end)
	indent, alone := indentAt(d.r, sp.start+int64(list.items[0].off))
	if !alone {
		return []splice{{at, at, append([]byte(", "), item...)}}, nil
	}
	return []splice{{at, at, append([]byte(",\n"+indent), encode(value, indent, unit)...)}}, nil
}

// drop plans to take an item out of the list at a path.
func (d doc) drop(path []string, value any) ([]splice, error) {
	sp, list, _, err := d.list(path)
	if err != nil || list == nil {
		return nil, err
	}
	item := encode(value, "", "")
	for i, have := range list.items {
		if !sameJSON(have.appendJSON(nil), item) {
			continue
		}
		switch {
		case i+1 < len(list.items):
			return []splice{{sp.start + int64(have.off), sp.start + int64(list.items[i+1].off), nil}}, nil
		case i > 0:
			return []splice{{sp.start + int64(list.items[i-1].end), sp.start + int64(have.end), nil}}, nil
		}
		return []splice{{sp.start, sp.end, []byte("[]")}}, nil
	}
	return nil, nil
}

// list finds the list at a path; nil when there is nothing. Offsets in it count from the spot's start.
func (d doc) list(path []string) (sp *spot, list *node, unit string, err error) {
	spots, err := d.locate(path, noPath)
	if err != nil || !spots[0].found() {
		return nil, nil, "", err
	}
	raw, err := d.bytes(spots[0].start, spots[0].end)
	if err != nil {
		return nil, nil, "", err
	}
	if list, _, err = parse(raw); err != nil {
		return nil, nil, "", d.unparsable(err)
	}
	if list.kind != '[' {
		return nil, nil, "", fmt.Errorf("%s: %s is not a list but %s; the file is left as it is", d.name, canonical(path), list.what())
	}
	return spots[0], list, d.indentUnit(spots[1]), nil
}

// noPath leads nowhere: what is wanted is only where the first member of the root stands.
var noPath = []string{"\x00"}

// indentUnit is the white space that the text uses for one level, given the root.
func (d doc) indentUnit(root *spot) string {
	if d.unit != "" {
		return d.unit
	}
	if root.firstKey >= 0 {
		if indent, alone := indentAt(d.r, root.firstKey); alone && indent != "" {
			return indent
		}
	}
	return "  "
}

// encode writes a value; with a unit, over several lines whose first continues a line that begins with indent.
func encode(value any, indent, unit string) []byte {
	compact := marshal(value)
	if unit == "" {
		return compact
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, indent, unit); err != nil {
		return compact
	}
	return out.Bytes()
}

// wrap puts a value into objects with the given names.
func wrap(names []string, value any) any {
	for _, name := range slices.Backward(names) {
		value = map[string]any{name: value}
	}
	return value
}

func orRoot(path []string) string {
	if len(path) == 0 {
		return "the file's value"
	}
	return canonical(path)
}

func sameJSON(a, b []byte) bool {
	x, _, errX := parse(a)
	y, _, errY := parse(b)
	return errX == nil && errY == nil && string(x.appendJSON(nil)) == string(y.appendJSON(nil))
}

// apply writes the text with the splices done. They stand in order and do not overlap.
func (d doc) apply(w io.Writer, splices []splice) error {
	at := int64(0)
	for _, sp := range splices {
		if _, err := io.Copy(w, io.NewSectionReader(d.r, at, sp.start-at)); err != nil {
			return err
		}
		if _, err := w.Write(sp.with); err != nil {
			return err
		}
		at = sp.end
	}
	_, err := io.Copy(w, io.NewSectionReader(d.r, at, d.size-at))
	return err
}

// applied is apply for a text in memory.
func (d doc) applied(splices []splice) string {
	var out strings.Builder
	if err := d.apply(&out, splices); err != nil {
		return ""
	}
	return out.String()
}
