package task

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The lock file of a list says which tasks were changed, oldest first, one id a line. Whoever takes the lock learns from it what
// to read again, so that a claim does not look at every task of the list. An id is written before its task is changed: a kill in
// between costs a needless look and nothing else.
//
// The first line names the journal. A journal that has grown is begun anew under another name, and then all is looked at once.

const (
	journalMark = "gofer-tasks "
	headerLen   = len(journalMark) + 26 + 1 // the mark, a random text, a line end
	journalMost = 64 << 10
)

// A mark is how far a board has read a journal.
type mark struct {
	name string
	end  int64
}

// readJournal returns the ids that were added since m, and the new mark. all says that m tells nothing about this journal.
func readJournal(f *os.File, m mark) (ids []string, next mark, all bool, err error) {
	head := make([]byte, headerLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, m, true, fmt.Errorf("reading the lock file of the task list: %w", err)
	}
	if n < headerLen || !bytes.HasPrefix(head, []byte(journalMark)) {
		next, err = newJournal(f)
		return nil, next, true, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, m, true, fmt.Errorf("reading the lock file of the task list: %w", err)
	}
	next = mark{string(head), info.Size()}
	if next.name != m.name || next.end < m.end {
		return nil, next, true, nil
	}
	tail := make([]byte, next.end-m.end)
	if _, err := f.ReadAt(tail, m.end); err != nil {
		return nil, m, true, fmt.Errorf("reading the lock file of the task list: %w", err)
	}
	return strings.Fields(string(tail)), next, false, nil
}

func newJournal(f *os.File) (mark, error) {
	head := journalMark + rand.Text() + "\n"
	if err := f.Truncate(0); err != nil {
		return mark{}, fmt.Errorf("writing the lock file of the task list: %w", err)
	}
	if _, err := f.WriteAt([]byte(head), 0); err != nil {
		return mark{}, fmt.Errorf("writing the lock file of the task list: %w", err)
	}
	return mark{head, int64(len(head))}, nil
}

// announce adds ids to the journal that m has read to its end.
func announce(f *os.File, m mark, ids []string) (mark, error) {
	if m.end > journalMost {
		// The others find another name and look at everything.
		var err error
		if m, err = newJournal(f); err != nil {
			return m, err
		}
	}
	// The line end comes first: what stands before it may have been cut off.
	line := "\n" + strings.Join(ids, "\n") + "\n"
	if _, err := f.WriteAt([]byte(line), m.end); err != nil {
		return m, fmt.Errorf("writing the lock file of the task list: %w", err)
	}
	m.end += int64(len(line))
	return m, nil
}
