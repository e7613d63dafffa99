//go:build linux || darwin

package live

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func put(t *testing.T, r Register, id string, change func(*Entry)) Entry {
	t.Helper()
	e := Entry{ID: id, Started: time.Now()}
	if err := e.Here(); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&e)
	}
	if err := r.Put(e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestListTellsTheLivingFromTheDead(t *testing.T) {
	t.Parallel()
	r := Register(filepath.Join(t.TempDir(), "run"))
	if running, lost, err := r.List(); len(running)+len(lost) > 0 || err != nil {
		t.Errorf("an empty register: %v %v %v", running, lost, err)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	put(t, r, "alive-1", nil)
	put(t, r, "alive-2", func(e *Entry) { e.Started = e.Started.Add(-time.Hour) })
	put(t, r, "dead", func(e *Entry) {
		e.PID, e.Socket = ended.Process.Pid, filepath.Join(string(r), "dead.sock")
		os.WriteFile(e.Socket, nil, 0o600)
		os.WriteFile(r.Log(e.ID), []byte("panic: so it goes\n"), 0o600)
	})
	put(t, r, "number-given-again", func(e *Entry) { e.Born = "long ago" })
	put(t, r, "elsewhere", func(e *Entry) { e.Machine, e.PID = "another", ended.Process.Pid })
	os.WriteFile(filepath.Join(string(r), "torn.json"), []byte(`{"id":"to`), 0o600)
	put(t, r, "other", nil)
	os.Rename(filepath.Join(string(r), "other.json"), filepath.Join(string(r), "forged.json"))

	running, lost, err := r.List()
	if err != nil || len(running) != 2 || running[0].ID != "alive-2" || running[1].ID != "alive-1" {
		t.Errorf("running: %+v %v", running, err)
	}
	if len(lost) != 2 || lost[0].ID != "dead" || lost[0].Words != "panic: so it goes" || lost[1].ID != "number-given-again" {
		t.Errorf("lost: %+v", lost)
	}
	left, _ := filepath.Glob(filepath.Join(string(r), "*"))
	var names []string
	for _, f := range left {
		names = append(names, filepath.Base(f))
	}
	if got := strings.Join(names, " "); got != "alive-1.json alive-2.json elsewhere.json forged.json torn.json" {
		t.Errorf("left: %s", got)
	}
	if _, lost, _ := r.List(); len(lost) > 0 {
		t.Errorf("told twice: %+v", lost)
	}
}

func TestFindByTheBeginning(t *testing.T) {
	t.Parallel()
	r := Register(t.TempDir())
	put(t, r, "abc-1", nil)
	put(t, r, "abd-2", nil)
	if e, err := r.Find("abc"); err != nil || e.ID != "abc-1" {
		t.Errorf("%+v %v", e, err)
	}
	if _, err := r.Find("ab"); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("two begin so: %v", err)
	}
	for _, id := range []string{"x", ""} {
		if _, err := r.Find(id); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, ok := r.Running("abc-1"); !ok {
		t.Error("abc-1 runs")
	}
	if _, ok := r.Running("../abc"); ok {
		t.Error("there is no such session")
	}
}
