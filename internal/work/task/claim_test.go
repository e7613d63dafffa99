package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestAClaimIsRefusedForAReason(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	for range 4 {
		add(t, b, "x")
	}
	change(t, b, "2", Change{AddBlockedBy: []string{"1"}})
	_, err := b.Claim(t.Context(), "9", "ann", false)
	refused(t, err, NotFound)
	_, err = b.Claim(t.Context(), "2", "ann", false)
	if r := refused(t, err, Blocked); !slices.Equal(r.By, []string{"1"}) {
		t.Errorf("got %+v", r)
	}
	task, err := b.Claim(t.Context(), "1", "ann", true)
	if err != nil || task.Owner != "ann" || task.Status != InProgress {
		t.Fatalf("got %+v, %v", task, err)
	}
	_, err = b.Claim(t.Context(), "1", "bob", false)
	if r := refused(t, err, AlreadyClaimed); r.Owner != "ann" {
		t.Errorf("got %+v", r)
	}
	if _, err := b.Claim(t.Context(), "1", "ann", true); err != nil {
		t.Errorf("claiming one's own: %v", err)
	}
	_, err = b.Claim(t.Context(), "3", "ann", true)
	if r := refused(t, err, AgentBusy); !slices.Equal(r.By, []string{"1"}) {
		t.Errorf("got %+v", r)
	}
	_, err = b.ClaimNext(t.Context(), "ann", true)
	refused(t, err, AgentBusy)
	if _, err := b.Claim(t.Context(), "3", "ann", false); err != nil {
		t.Error(err)
	}
	change(t, b, "1", Change{Status: ptr(Completed)})
	_, err = b.Claim(t.Context(), "1", "bob", false)
	refused(t, err, AlreadyResolved)
	if _, err := b.Claim(t.Context(), "2", "bob", false); err != nil {
		t.Errorf("it is not blocked any more: %v", err)
	}
}

func TestAskingDoesNotMakeAList(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	_, err := b.Claim(t.Context(), "1", "ann", false)
	refused(t, err, NotFound)
	_, _, err = b.Update(t.Context(), "1", Change{Subject: ptr("x")})
	refused(t, err, NotFound)
	_, err = b.Get(t.Context(), "1")
	refused(t, err, NotFound)
	if _, err := b.ClaimNext(t.Context(), "ann", true); !errors.Is(err, ErrNothing) {
		t.Errorf("got %v", err)
	}
	if freed, err := b.Release(t.Context(), "ann"); err != nil || freed != nil || len(list(t, b)) != 0 {
		t.Errorf("got %v, %v", freed, err)
	}
	if _, err := os.Stat(b.Dir()); err == nil {
		t.Error("there is a list now")
	}
}

func TestTheNextTaskIsTheMostUrgent(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	for _, priority := range []string{`"low"`, `"medium"`, `"high"`, `0`, `"P1"`, `"nonsense"`, `"critical"`, `null`, `"high"`} {
		add(t, b, "x", priority)
	}
	add(t, b, "blocked", `-1`)
	change(t, b, "10", Change{AddBlockedBy: []string{"1"}})
	add(t, b, "bob's", `-1`)
	change(t, b, "11", Change{Owner: ptr("bob")})
	var got []string
	for {
		task, err := b.ClaimNext(t.Context(), "ann", false)
		if err != nil {
			if !errors.Is(err, ErrNothing) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, task.ID)
	}
	if want := []string{"4", "7", "3", "5", "9", "2", "6", "8", "1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if task, err := b.ClaimNext(t.Context(), "bob", false); err != nil || task.ID != "11" {
		t.Errorf("what was given to bob: %v %v", task.ID, err)
	}
}

func TestClaimsSeeWhatOtherProgramsWrote(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	add(t, b, "one")
	add(t, b, "two")
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(b.Dir(), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1.json", `{"id":"1","subject":"one","status":"in_progress","owner":"claude"}`)
	if task, err := b.ClaimNext(t.Context(), "ann", false); err != nil || task.ID != "2" {
		t.Errorf("got %v, %v", task.ID, err)
	}
	write("3.json", `{"id":"3","subject":"three","status":"pending"}`)
	if got := add(t, b, "four"); got != "4" {
		t.Errorf("the id is %s", got)
	}
	write("5.json", `{"id":"5","subject":"five","status":"pending"}`)
	for _, want := range []string{"3", "4", "5"} {
		if task, err := b.ClaimNext(t.Context(), "ann", false); err != nil || task.ID != want {
			t.Errorf("got %v, %v, want %s", task.ID, err, want)
		}
	}
}

func TestWhoLeavesFreesItsTasks(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	for i := range 4 {
		add(t, b, fmt.Sprint("task ", i+1))
	}
	change(t, b, "1", Change{By: "ann", Status: ptr(InProgress)})
	change(t, b, "1", Change{By: "ann", Status: ptr(Completed)})
	change(t, b, "2", Change{By: "ann", Status: ptr(InProgress)})
	change(t, b, "3", Change{Owner: ptr("ann")})
	change(t, b, "4", Change{By: "bob", Status: ptr(InProgress)})
	freed, err := b.Release(t.Context(), "ann")
	if err != nil || len(freed) != 2 {
		t.Fatalf("got %+v, %v", freed, err)
	}
	var got []string
	for _, task := range list(t, b) {
		got = append(got, task.Owner+" "+task.Status)
	}
	if want := []string{"ann completed", " pending", " pending", "bob in_progress"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if text := Freed("ann", freed); !strings.Contains(text, "ann has left") || !strings.Contains(text, "#2 task 2\n#3 task 3") {
		t.Errorf("got %s", text)
	}
	if freed, err = b.Release(t.Context(), "ann"); err != nil || Freed("ann", freed) != "" {
		t.Errorf("got %v, %v", freed, err)
	}
}

func TestManyGoroutinesOfSeveralBoardsClaimEachTaskOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	boards := []*Board{Open(root, "list"), Open(root, "list"), Open(root, "list")}
	const each = 15
	var mu sync.Mutex
	made, got := map[string]int{}, map[string]int{}
	var all sync.WaitGroup
	for n := range 9 {
		b := boards[n%len(boards)]
		all.Go(func() {
			for range each {
				task, err := b.Create(t.Context(), Draft{Subject: "x"}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				next, err := b.ClaimNext(t.Context(), fmt.Sprint("agent", n), false)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				made[task.ID]++
				got[next.ID]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(made) != 9*each || len(got) != 9*each {
		t.Errorf("%d made, %d claimed", len(made), len(got))
	}
}
