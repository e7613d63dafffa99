package transcript

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gofer/internal/llm"
)

var errEnough = errors.New("enough")

// Fork copies the conversation of a session into a new one, in the folder of a project. Records keep their uuids and get the id
// of the new session. at, if not "", is the last record to copy. The source is only read, and may be in use. What the
// source has cost stays with the source.
func Fork(source, at, dir, id string) (path string, err error) {
	in, err := os.Open(source)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if at != "" {
		if info, err := in.Stat(); err != nil {
			return "", err
		} else if _, ok, err := newIndex(in, info.Size(), isAgentFile(source)).get(at); err != nil || !ok {
			return "", errors.Join(err, fmt.Errorf("there is no record %s in this session", at))
		}
	}
	from := idOf(source)
	return newFile(dir, id, func(out *bufio.Writer) error {
		var title []byte
		reached := false
		err := eachLine(in, func(_ int64, text []byte, _ bool) error {
			if text = salvage(text); len(text) == 0 {
				return nil
			}
			uuid, line, kind := forked(text, from, id)
			if kind == "custom-title" {
				title = bytes.Clone(line)
			}
			if uuid == "" {
				return nil
			}
			// A view that was written again behind a boundary counts only if it is whole.
			if reached && !bytes.Contains(line, []byte(`"goferCopy":true`)) {
				return errEnough
			}
			reached = reached || uuid == at
			out.Write(line)
			return out.WriteByte('\n')
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if title != nil {
			out.Write(append(title, '\n'))
		}
		w := newWriter("", id, Meta{})
		end := w.plainRecord(nil, costRecord, Totals{Models: map[string]ModelTotal{}})
		if at != "" {
			end = w.plainRecord(end, leafRecord, leafFields{at})
		}
		_, err = out.Write(end)
		return err
	})
}

// forked returns a record with the id of another session.
func forked(text []byte, from, id string) (uuid string, out []byte, typ string) {
	var at []byte
	skim(text, func(key, value []byte) bool {
		switch string(key) {
		case "uuid":
			uuid = text2(value)
		case "type":
			typ = text2(value)
		case "sessionId":
			at = value
		}
		return true
	})
	if at == nil {
		return uuid, text, typ
	}
	// The value is a piece of text, so that its distance to the end says where it stands.
	start := cap(text) - cap(at)
	out = append(out, text[:start]...)
	out = llm.AppendString(out, id)
	rest := text[start+len(at):]
	if uuid != "" && !bytes.Contains(rest, []byte(`"forkedFrom":`)) {
		out = append(out, `,"forkedFrom":{"sessionId":`...)
		out = llm.AppendString(out, from)
		out = append(appendField(out, "messageUuid", uuid), '}')
	}
	return uuid, append(out, rest...), typ
}

// newFile writes the file of a new session: all of it, or nothing.
func newFile(dir, id string, fill func(*bufio.Writer) error) (path string, err error) {
	path = Path(dir, id)
	if exists(path) {
		return "", fmt.Errorf("%s: %w", id, ErrExists)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(dir, ".fork-*") // mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name()) // gone already when all went well
	out := bufio.NewWriterSize(tmp, 1<<20)
	if err = fill(out); err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(tmp.Name(), path)
}

// Remove deletes a session and everything that is kept for it. A session that is in use stays.
func (r Root) Remove(s Summary) error {
	f, err := os.OpenFile(s.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return err
	}
	defer unlock(f)
	config := string(r)
	beside := []string{filepath.Join(filepath.Dir(s.Path), s.ID)}
	for _, kind := range []string{"file-history", "tasks", "session-env"} {
		beside = append(beside, filepath.Join(config, kind, s.ID))
	}
	todos, _ := filepath.Glob(filepath.Join(escapeGlob(filepath.Join(config, "todos")), escapeGlob(s.ID)+"-agent-*.json"))
	// The transcript goes last: as long as it is there, the rest can be found and removed.
	for _, path := range append(beside, todos...) {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return err
	}
	return os.Remove(s.Path)
}

// Rename gives a session that is not in use a title.
func Rename(path, title string, m *Mask) error {
	w, _, err := Open(path, "", Meta{Mask: m})
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Rename(context.Background(), title)
}
