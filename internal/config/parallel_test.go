package config

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestMain lets the test program be started again as one of many writers.
func TestMain(m *testing.M) {
	if dir := os.Getenv("GOFER_TEST_WRITER"); dir != "" {
		os.Exit(writeForever(dir, os.Getenv("GOFER_TEST_NAME")))
	}
	os.Exit(m.Run())
}

// writeForever does updates and prints the number of each when it is done, until nobody reads any more.
func writeForever(dir, name string) int {
	s, err := Open(Options{ConfigDir: dir, ManagedFolders: []string{}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	state := OpenState(dir, true, "")
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", name, i)
		err := s.AddRule(User, "allow", "Bash("+id+")")
		if err == nil {
			err = s.Set(User, "env.V_"+name, fmt.Sprint(i))
		}
		if err == nil {
			err = state.Merge(map[string]any{"hasTrustDialogAccepted": true, "n": i}, "projects", "/p/"+id)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if _, err := fmt.Println(i); err != nil {
			return 0
		}
	}
}

// TestParallelWritersLoseNothing starts 32 processes that write the same two files; half of them are killed at a random moment while readers
// parse. Every update that a process reported must be there.
func TestParallelWritersLoseNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(user, []byte("{\n  \"mine\": {\"stays\": true}\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const processes, updates = 32, 3
	done := make([]int, processes) // how many updates each process reported
	var writers sync.WaitGroup
	for p := range processes {
		writers.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "GOFER_TEST_WRITER="+dir, fmt.Sprintf("GOFER_TEST_NAME=w%d", p))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Error(err)
				return
			}
			lines := bufio.NewScanner(out)
			for done[p] < updates && lines.Scan() {
				done[p]++
				if p%2 == 0 && done[p] == 1+p%3 {
					break // it is killed in the middle of its next update
				}
			}
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s, err := Load(Options{ConfigDir: dir, ManagedFolders: []string{}})
				if err != nil || len(s.Problems) != 1 { // one: the key "mine" is unknown
					t.Errorf("a reader saw %v %v", err, problems(s))
					return
				}
				if _, err := OpenState(dir, true, "").Lookup([]string{"projects"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	s, err := Load(Options{ConfigDir: dir, ManagedFolders: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, r := range s.Settings.Permissions.Allow {
		rules[r] = true
	}
	values, err := OpenState(dir, true, "").Lookup([]string{"projects"})
	if err != nil {
		t.Fatal(err)
	}
	var projects map[string]struct{ HasTrustDialogAccepted bool }
	if err := json.Unmarshal(values[0], &projects); err != nil {
		t.Fatal(err)
	}
	for p, n := range done {
		if n == 0 {
			t.Errorf("process %d did nothing", p)
		}
		for i := range n {
			id := fmt.Sprintf("w%d-%d", p, i)
			if !rules["Bash("+id+")"] || !projects["/p/"+id].HasTrustDialogAccepted {
				t.Errorf("%s is lost", id)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); len(left) > 2 {
		t.Errorf("left behind: %v", left)
	}
}
