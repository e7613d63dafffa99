package history

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Done is what a rewind did.
type Done struct {
	Plan
	// Checkpoint stands for the moment before the rewind, like a message of the user: rewinding to it takes the rewind back. Empty
	// if nothing was changed.
	Checkpoint string
}

// checkpointPrefix begins the ids of checkpoints.
const checkpointPrefix = "rewind-"

// Rewind brings the files that this session changed with or after a message back to what they were when the message came. Files that
// someone else changed since are left, and named in the result.
//
// It happens as a whole: if it fails, the files are as they were, and if the process is killed, Recover finishes it or takes it back.
func (s *Store) Rewind(ctx context.Context, messageID string) (Done, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := s.lockRewinds(ctx)
	if err != nil {
		return Done{}, err
	}
	defer unlock()
	if err := s.recoverOwn(ctx); err != nil {
		return Done{}, err
	}
	actions, left, err := s.plan(ctx, messageID)
	if err != nil {
		return Done{}, err
	}
	done := Done{Plan: s.describe(ctx, messageID, actions, left)}
	if len(actions) == 0 {
		return done, nil
	}
	j := s.newJournal(messageID, actions)
	s.at("planned")
	moved, err := s.carryOut(ctx, j, actions)
	if err != nil {
		return Done{}, err
	}
	done.settle(moved)
	if len(done.Files) > 0 {
		done.Checkpoint = j.Message
	}
	return done, s.shrink()
}

// settle takes files out that someone else changed in the very moment of the rewind.
func (d *Done) settle(moved []string) {
	for _, path := range moved {
		d.Left = append(d.Left, Left{path, errForeign.Error()})
	}
	d.Files = slices.DeleteFunc(d.Files, func(f File) bool {
		if !slices.Contains(moved, f.Path) {
			return false
		}
		d.Insertions -= f.Insertions
		d.Deletions -= f.Deletions
		return true
	})
}

// Redo takes the last rewind back. Called again, it takes that back.
func (s *Store) Redo(ctx context.Context) (Done, error) {
	id, err := s.LastRewind()
	if err != nil {
		return Done{}, err
	}
	return s.Rewind(ctx, id)
}

// LastRewind is the checkpoint of the last rewind.
func (s *Store) LastRewind() (string, error) {
	messages, err := s.Messages()
	if err != nil {
		return "", err
	}
	for _, m := range slices.Backward(messages) {
		if strings.HasPrefix(m, checkpointPrefix) {
			return m, nil
		}
	}
	return "", errors.New("there was no rewind in this session")
}

// newJournal says what is to be done, step by step: first what goes, the deepest first, and then what comes.
func (s *Store) newJournal(target string, actions []action) *journal {
	id := rand.Text()[:12]
	j := &journal{ID: id, Target: target, Message: checkpointPrefix + id, State: preparing}
	for _, a := range slices.Backward(actions) {
		if a.kind == Removes {
			j.Steps = append(j.Steps, step{Path: a.path, From: a.from, Folders: a.made})
		}
	}
	for i, a := range actions {
		if a.kind == Removes {
			continue
		}
		name := ".gofer-rewind-" + id + "-" + strconv.Itoa(i) + ".tmp"
		st := step{Path: a.path, From: a.from, To: a.want.Hash, Temp: filepath.Join(existing(filepath.Dir(a.path)), name)}
		j.Steps = append(j.Steps, st)
	}
	return j
}

// carryOut does what the journal says. It returns the paths that someone else changed in the meantime.
func (s *Store) carryOut(ctx context.Context, j *journal, actions []action) (moved []string, err error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := s.writeJournal(j); err != nil {
		return nil, fmt.Errorf("nothing was changed, because the rewind could not be noted: %w", err)
	}
	s.at("noted")
	if err := s.fill(ctx, j, actions); err != nil {
		s.discard(j)
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	j.State = applying
	if err := s.writeJournal(j); err != nil {
		s.discard(j)
		return nil, fmt.Errorf("nothing was changed, because the rewind could not be noted: %w", err)
	}
	s.at("decided")
	// From here on it is to be finished, whatever becomes of the caller.
	ctx = context.WithoutCancel(ctx)
	moved, err = s.perform(ctx, j)
	if err != nil {
		if back := s.takeBack(ctx, j); back != nil {
			return nil, fmt.Errorf("the rewind failed (%w) and could not be taken back (%w); it is finished or taken back when gofer starts again", err, back)
		}
		s.discard(j)
		return nil, fmt.Errorf("the rewind failed and was taken back: %w", err)
	}
	if err := s.finish(j); err != nil {
		return nil, fmt.Errorf("the files are back, but the file history could not note it: %w", err)
	}
	return moved, nil
}

// fill makes everything ready: the new files beside the old ones, and copies of the old ones in the store.
func (s *Store) fill(ctx context.Context, j *journal, actions []action) error {
	byPath := make(map[string]action, len(actions))
	for _, a := range actions {
		byPath[a.path] = a
	}
	for i := range j.Steps {
		st := &j.Steps[i]
		a := byPath[st.Path]
		if st.Temp != "" {
			if err := s.makeTemp(ctx, st.Temp, a); err != nil {
				return fmt.Errorf("%s could not be written: %w", a.path, plain(err))
			}
			s.at("temp")
		}
		before := Version{}
		if a.info != nil && !a.folder {
			var err error
			// A file of any size is kept here: the promise is that a rewind can be taken back.
			if before, _, err = s.keep(ctx, a.path, 1<<62); err != nil {
				return fmt.Errorf("%s could not be kept: %w", a.path, plain(err))
			}
		}
		c := s.newChange(a.path, before, a.want.Hash)
		c.Message = j.Message
		if a.kind == Removes {
			c.After = ""
		} else if a.mode&fs.ModeSymlink == 0 {
			c.AfterMode = a.mode.Perm()
			if a.kind == Creates {
				c.Made = absent(filepath.Dir(a.path))
			}
		}
		st.Record = recordOf(c)
		s.at("kept")
	}
	return nil
}

// Missing lists folders of path, which is to be made, that are not there, the deepest first.
func Missing(path string) []string { return absent(filepath.Dir(path)) }

// absent lists folders that are not there, the deepest first.
func absent(dir string) (dirs []string) {
	for {
		if _, err := os.Lstat(dir); err == nil {
			return dirs
		}
		dirs = append(dirs, dir)
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return dirs
	}
}

// makeTemp writes the content that a file is to get to a file beside it.
func (s *Store) makeTemp(ctx context.Context, name string, a action) error {
	source, err := s.Open(a.want)
	if err != nil {
		return err
	}
	defer source.Close()
	if a.mode&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(source, 64<<10))
		if err != nil {
			return err
		}
		return os.Symlink(string(target), name)
	}
	temp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(temp, contextReader{ctx, source})
	if err == nil {
		ownAs(temp, a.info)
		err = temp.Chmod(a.mode.Perm())
	}
	if err == nil {
		err = temp.Sync()
	}
	return errors.Join(err, temp.Close())
}

func (s *Store) at(step string) {
	if s.step != nil {
		s.step(step)
	}
}
