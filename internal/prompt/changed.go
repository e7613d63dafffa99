package prompt

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	diffMost      = 1500    // bytes of a diff that are shown
	diffableBytes = 1 << 20 // what is larger is only named
)

// ChangedFile says that a file is not any more what the model has read: its name and what is different, shortened. For the kind
// ChangedFiles, with the path as the key.
func ChangedFile(l Language, path, before, after string) string {
	name := oneLine(path, 1000)
	switch {
	case before == after:
		return ""
	case len(before) > diffableBytes || len(after) > diffableBytes || strings.IndexByte(after, 0) >= 0:
		return ChangedSomehow(l, path)
	}
	diff := udiff.Unified("", "", before, after)
	// The two lines of file names say nothing here.
	if _, rest, ok := strings.Cut(diff, "+++ \n"); ok {
		diff = rest
	}
	return name + ":\n" + cut(l, strings.TrimRight(diff, "\n"), diffMost)
}

// ChangedSomehow says that a file has changed where it is not known how.
func ChangedSomehow(l Language, path string) string {
	return fmt.Sprintf(l.in("%s: changed. Read it again before you edit it.", "%s：已改动。编辑前请重新读取。"), oneLine(path, 1000))
}

// RemovedFile says that a file that the model has read is gone.
func RemovedFile(l Language, path string) string {
	return fmt.Sprintf(l.in("%s: removed.", "%s：已删除。"), oneLine(path, 1000))
}
