package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// seenState says whether the agent knows a file as it is now.
type seenState int

const (
	neverRead seenState = iota
	changedSince
	known
)

// state compares a body with what the agent has seen of it. The content decides, not the time.
func (k *kit) state(ctx context.Context, b *body) (seenState, error) {
	entry, _, ok := k.Seen.get(b.path)
	if !ok {
		return neverRead, nil
	}
	if entry.Hash == "" { // a part of a large file was read
		if sameTimes(entry, b.entry()) {
			return known, nil
		}
		return changedSince, nil
	}
	if err := b.surveyAll(ctx); err != nil {
		return neverRead, err
	}
	if b.hash() == entry.Hash {
		return known, nil
	}
	return changedSince, nil
}

// openKnown opens a file that is to be changed, and refuses it if the agent does not know it as it is.
func (k *kit) openKnown(ctx context.Context, asked, path string) (*body, error) {
	b, err := k.open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		k.Seen.drop(path)
		return nil, k.missing(asked)
	}
	if err != nil {
		return nil, err
	}
	state, err := k.state(ctx, b)
	if err == nil && state == neverRead {
		err = errNotRead(path)
	}
	if err == nil && state == changedSince {
		err = k.changedError(b, "")
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func errNotRead(path string) error {
	return fmt.Errorf("%s has not been read in this conversation, so it was not changed. Read it first", path)
}

// changedError says that somebody else changed a file since it was read, and what. If the model sees all of the difference, it
// knows the file again. more is what else is to be said.
func (k *kit) changedError(b *body, more string) error {
	diff, whole := k.sinceRead(b)
	start := fmt.Sprintf("%s was changed by someone else since you read it, so nothing was written.", b.path)
	if more != "" {
		more = "\n" + more
	}
	switch {
	case diff == "":
		return fmt.Errorf("%s Read it again before you change it.%s", start, more)
	case !whole:
		return fmt.Errorf("%s Read it again before you change it. The difference begins with:\n%s…%s", start, diff, more)
	}
	k.Seen.note(b.entry(), b.keepable(), "")
	return fmt.Errorf("%s This is what changed:\n%sIf your change still makes sense, make it again on the new content.%s", start, diff, more)
}

const mostSinceRead = 4000 // characters of a diff in an error

// sinceRead is the difference between what was seen of a file and what it is now, or "" if what was seen is not known any more.
func (k *kit) sinceRead(b *body) (diff string, whole bool) {
	_, old, _ := k.Seen.get(b.path)
	if old == nil || b.content == nil {
		return "", false
	}
	before := surveyOf(old).charset()
	now := b.charset()
	hunks, ok := compare(before.decode(old[before.mark:]), now.decode(b.content[now.mark:]))
	if !ok {
		return "", false
	}
	if len(hunks) == 0 {
		return "(only bytes that are not shown, such as line ends or a byte order mark)\n", true
	}
	return unified(b.path, hunks, mostSinceRead)
}
