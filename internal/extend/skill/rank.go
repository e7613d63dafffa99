package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// A Tally counts in a file how often skills are used. Several sessions may count at once; a kill or a full disk leaves the old counts.
type Tally struct{ File string }

// A Use is how often and when a skill was last used.
type Use struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// countEvery is the shortest time between two uses that both count: a skill that runs in a loop is not used more for it.
const countEvery = time.Minute

// mostCounted bounds the file: the names come from folders and from servers.
const mostCounted = 2000

// Score is the weight of a skill at a moment: its uses, halved every week, but never below a tenth of them.
func (u Use) Score(now time.Time) float64 {
	days := max(now.Sub(u.Last).Hours()/24, 0)
	return float64(u.Count) * max(math.Pow(0.5, days/7), 0.1)
}

// Uses reads the counts. A file that cannot be read counts as empty: it only orders lists.
func (t Tally) Uses() map[string]Use {
	uses := map[string]Use{}
	data, err := os.ReadFile(t.File)
	if err != nil || json.Unmarshal(data, &uses) != nil || uses == nil {
		return map[string]Use{}
	}
	return uses
}

// Count notes that a skill was used.
func (t Tally) Count(ctx context.Context, name string, now time.Time) error {
	dir := filepath.Dir(t.File)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	lock := flock.New(t.File+".lock", flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, 2*time.Millisecond); err != nil || !ok {
		return fmt.Errorf("the counts of skills are locked by another process: %w", errors.Join(err, ctx.Err()))
	}
	defer lock.Close()
	uses := t.Uses()
	u := uses[name]
	if u.Count > 0 && now.Sub(u.Last) < countEvery {
		return nil
	}
	u.Count, u.Last = u.Count+1, now.UTC().Truncate(time.Second)
	uses[name] = u
	forget(uses, now)
	data, err := json.Marshal(uses)
	if err != nil {
		return err
	}
	return replaceFile(t.File, data)
}

// forget drops the least used one when there are too many.
func forget(uses map[string]Use, now time.Time) {
	for len(uses) > mostCounted {
		least, score := "", math.Inf(1)
		for name, u := range uses {
			if s := u.Score(now); s < score || s == score && name < least {
				least, score = name, s
			}
		}
		delete(uses, least)
	}
}

// replaceFile puts a new file into the place of an old one, in one step.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(fs.FileMode(0o600)), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
