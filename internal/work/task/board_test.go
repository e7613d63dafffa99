package task

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestATaskIsAFileThatOthersUnderstand(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	id := add(t, b, "Parse", `"high"`)
	data, err := os.ReadFile(filepath.Join(b.Dir(), "1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"id": "1", "subject": "Parse", "description": "about Parse", "status": "pending",
		"blocks": []any{}, "blockedBy": []any{}, "metadata": map[string]any{"priority": "high"}}
	if id != "1" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %s %v", id, got)
	}
	info, _ := os.Stat(filepath.Join(b.Dir(), "1.json"))
	folder, _ := os.Stat(b.Dir())
	if info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
		t.Errorf("modes %v, %v", info.Mode(), folder.Mode())
	}
}

func TestWhatOthersWroteIsKept(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	os.MkdirAll(b.Dir(), 0o700)
	os.WriteFile(filepath.Join(b.Dir(), "7.json"), []byte(`{"id":7,"subject":"Old","description":"","status":"pending","blocks":[],"blockedBy":[],"metadata":{"n":12345678901234567890},"later":{"a":[1]}}`), 0o600)
	if got := add(t, b, "New"); got != "8" {
		t.Errorf("the new id is %s", got)
	}
	change(t, b, "#7", Change{Subject: ptr("Newer")})
	data, _ := os.ReadFile(filepath.Join(b.Dir(), "7.json"))
	var got struct {
		ID, Subject string
		Metadata    map[string]json.RawMessage
		Later       json.RawMessage
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if got.ID != "7" || got.Subject != "Newer" || string(got.Metadata["n"]) != "12345678901234567890" || strings.Join(strings.Fields(string(got.Later)), "") != `{"a":[1]}` {
		t.Errorf("got\n%s", data)
	}
}

func TestIdsAreNeverGivenTwice(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	for range 3 {
		add(t, b, "x")
	}
	for _, id := range []string{"3", "2", "1"} {
		change(t, b, id, Change{Status: ptr(Deleted)})
	}
	if got := add(t, Open(filepath.Dir(b.Dir()), "list"), "y"); got != "4" {
		t.Errorf("after deleting everything the id is %s", got)
	}
	if mark, _ := os.ReadFile(filepath.Join(b.Dir(), ".highwatermark")); string(mark) != "3" {
		t.Errorf("the watermark is %q", mark)
	}
	// A hook that refuses has seen an id.
	seen := ""
	if _, err := b.Create(t.Context(), Draft{Subject: "z"}, func(t Task) error { seen = t.ID; return errors.New("no") }); err == nil || err.Error() != "no" {
		t.Errorf("got %v", err)
	}
	if got := add(t, b, "z"); seen != "5" || got != "6" || len(list(t, b)) != 2 {
		t.Errorf("seen %s, then %s", seen, got)
	}
}

func TestBothEndsOfADependencyAreKept(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	for range 4 {
		add(t, b, "x")
	}
	_, effect := change(t, b, "2", Change{AddBlockedBy: []string{"1"}, AddBlocks: []string{"3", "#4"}})
	if !slices.Equal(effect.Fields, []string{"blocks", "blockedBy"}) {
		t.Errorf("changed: %v", effect.Fields)
	}
	edges := func(b *Board) string {
		var out []string
		for _, task := range list(t, b) {
			out = append(out, task.ID+":"+strings.Join(task.BlockedBy, ",")+">"+strings.Join(task.Blocks, ","))
		}
		return strings.Join(out, " ")
	}
	if got := edges(b); got != "1:>2 2:1>3,4 3:2> 4:2>" {
		t.Errorf("got %s", got)
	}
	if got := edges(Open(filepath.Dir(b.Dir()), "list")); got != "1:>2 2:1>3,4 3:2> 4:2>" {
		t.Errorf("on disk: %s", got)
	}
	_, effect = change(t, b, "2", Change{Status: ptr(Deleted)})
	if !effect.Deleted || !slices.Equal(effect.Unlocked, []string{"3", "4"}) {
		t.Errorf("got %+v", effect)
	}
	if got := edges(Open(filepath.Dir(b.Dir()), "list")); got != "1:> 3:> 4:>" {
		t.Errorf("after the delete: %s", got)
	}
	for _, name := range []string{"1.json", "3.json"} {
		if data, _ := os.ReadFile(filepath.Join(b.Dir(), name)); strings.Contains(string(data), `"2"`) {
			t.Errorf("%s still names the task:\n%s", name, data)
		}
	}
}

func TestImpossibleDependenciesAreRefused(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	for range 3 {
		add(t, b, "x")
	}
	change(t, b, "1", Change{AddBlocks: []string{"2"}})
	change(t, b, "2", Change{AddBlocks: []string{"3"}})
	for _, c := range []struct {
		id   string
		c    Change
		want string
	}{
		{"1", Change{AddBlocks: []string{"1"}}, "cannot wait for itself"},
		{"1", Change{AddBlockedBy: []string{"9"}}, `task_not_found: there is no task "9"; there are #1, #2, #3`},
		{"1", Change{AddBlockedBy: []string{"../1"}}, "task_not_found"},
		{"3", Change{AddBlocks: []string{"1"}}, "close a circle: #1 → #2 → #3 → #1"},
		{"1", Change{AddBlockedBy: []string{"3"}}, "close a circle"},
		{"2", Change{AddBlockedBy: []string{"3"}, Subject: ptr("changed")}, "close a circle"},
		{"3", Change{Subject: ptr("  ")}, "subject is empty"},
		{"3", Change{Status: ptr("finished")}, `no status "finished"`},
	} {
		if _, _, err := b.Update(t.Context(), c.id, c.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.c, err, c.want)
		}
	}
	for _, task := range list(t, b) {
		if task.Subject != "x" {
			t.Errorf("a refused change was made in part: %+v", task)
		}
	}
	// Two new edges in one change close a circle with each other.
	add(t, b, "4")
	if _, _, err := b.Update(t.Context(), "4", Change{AddBlocks: []string{"1"}, AddBlockedBy: []string{"3"}}); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("got %v", err)
	}
}

func TestStartingATaskMakesItMineAndDoingItUnlocksOthers(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	for range 3 {
		add(t, b, "x")
	}
	change(t, b, "3", Change{AddBlockedBy: []string{"1", "2"}})
	task, effect := change(t, b, "1", Change{By: "ann", Status: ptr(InProgress)})
	if task.Owner != "ann" || !slices.Equal(effect.Fields, []string{"owner", "status"}) || effect.From != Pending {
		t.Errorf("got %+v %+v", task, effect)
	}
	_, _, err := b.Update(t.Context(), "1", Change{By: "bob", Status: ptr(InProgress)})
	if r := refused(t, err, AlreadyClaimed); r.Owner != "ann" {
		t.Errorf("got %+v", r)
	}
	_, _, err = b.Update(t.Context(), "3", Change{By: "bob", Status: ptr(InProgress)})
	if r := refused(t, err, Blocked); !slices.Equal(r.By, []string{"1", "2"}) {
		t.Errorf("got %+v", r)
	}
	if task, _ = change(t, b, "1", Change{By: "lead", Owner: ptr("bob"), Status: ptr(InProgress)}); task.Owner != "bob" {
		t.Errorf("it did not change hands: %+v", task)
	}
	if _, effect = change(t, b, "1", Change{By: "bob", Status: ptr(Completed)}); len(effect.Unlocked) != 0 {
		t.Errorf("unlocked too early: %v", effect.Unlocked)
	}
	if _, effect = change(t, b, "2", Change{By: "bob", Status: ptr(Completed)}); !slices.Equal(effect.Unlocked, []string{"3"}) {
		t.Errorf("unlocked: %v", effect.Unlocked)
	}
	if _, effect = change(t, b, "2", Change{By: "bob", Status: ptr(Completed)}); len(effect.Fields) != 0 || len(effect.Unlocked) != 0 {
		t.Errorf("nothing was to change: %+v", effect)
	}
	change(t, b, "3", Change{By: "ann", Status: ptr(InProgress)})
	if task, _ = change(t, b, "3", Change{By: "ann", Status: ptr(Pending)}); task.Owner != "" {
		t.Errorf("put back, but still %s's", task.Owner)
	}
}

func TestMetadataAreMerged(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	id := add(t, b, "x", `"high"`)
	task, effect := change(t, b, id, Change{Metadata: map[string]json.RawMessage{"priority": json.RawMessage("null"), "n": json.RawMessage("1")}})
	if len(task.Metadata) != 1 || string(task.Metadata["n"]) != "1" || !slices.Equal(effect.Fields, []string{"metadata"}) {
		t.Errorf("got %v %v", task.Metadata, effect.Fields)
	}
}

func TestBrokenFilesDoNotStopTheList(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	add(t, b, "good")
	for name, content := range map[string]string{
		"2.json": "", "3.json": `{"subject":`, "4.json": `{"status":"odd"}`, "5.json": `{"blocks":5}`, "6.json": "null",
		"7.json": `"x"`, "08.json": "{}", "x.json": "{}", "notes.txt": "hello", "-1.json": "{}",
		"9.json": `{"subject":"` + strings.Repeat("x", readMost) + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(b.Dir(), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Mkdir(filepath.Join(b.Dir(), "10.json"), 0o700)
	if got := list(t, b); len(got) != 1 || got[0].Subject != "good" {
		t.Errorf("got %+v", got)
	}
	broken, _ := b.Broken(t.Context())
	if len(broken) != 8 || !strings.Contains(broken[0], "2.json: it is not a JSON object") || !strings.Contains(broken[7], "10.json: it is not a file") {
		t.Errorf("got %s", strings.Join(broken, "\n"))
	}
	if _, err := b.Get(t.Context(), "3"); err == nil || !strings.Contains(err.Error(), "3.json") || !strings.Contains(err.Error(), "deleted") {
		t.Errorf("got %v", err)
	}
	if _, err := b.ClaimNext(t.Context(), "ann", false); err != nil {
		t.Error(err)
	}
	if _, err := b.ClaimNext(t.Context(), "ann", false); !errors.Is(err, ErrNothing) {
		t.Errorf("got %v", err)
	}
	change(t, b, "3", Change{Status: ptr(Deleted)})
	if got := add(t, b, "next"); got != "11" {
		t.Errorf("the next id is %s", got)
	}
}

func TestAHalfWrittenDependencyCountsAtBothEnds(t *testing.T) {
	t.Parallel()
	for _, half := range []string{`"blocks":["2"]`, `"blocks":[]`} {
		b := testBoard(t)
		os.MkdirAll(b.Dir(), 0o700)
		other := `[]`
		if half == `"blocks":[]` {
			other = `["1","99"]`
		}
		os.WriteFile(filepath.Join(b.Dir(), "1.json"), []byte(`{"id":"1","subject":"a","status":"pending",`+half+`}`), 0o600)
		os.WriteFile(filepath.Join(b.Dir(), "2.json"), []byte(`{"id":"2","subject":"b","status":"pending","blockedBy":`+other+`}`), 0o600)
		if got := list(t, b); !slices.Equal(got[0].Blocks, []string{"2"}) || !slices.Equal(got[1].BlockedBy, []string{"1"}) {
			t.Errorf("%s: got %+v", half, got)
		}
		_, err := Open(filepath.Dir(b.Dir()), "list").Claim(t.Context(), "2", "ann", false)
		refused(t, err, Blocked)
	}
}

func TestATaskThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	b := testBoard(t)
	_, err := b.Create(t.Context(), Draft{Subject: "x", Description: strings.Repeat("y", taskMost)}, nil)
	if err == nil || !strings.Contains(err.Error(), "put long text into a file") {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.Dir(), "[.0-9]*[0-9n]")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestListIDs(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CLAUDE_CODE_TASK_LIST_ID": "list", "CLAUDE_CODE_TEAM_NAME": "named"}
	p := Place{Env: func(k string) string { return env[k] }, Team: "mate", Leads: "led", Session: "s"}
	var got []string
	for _, forget := range []func(){func() { delete(env, "CLAUDE_CODE_TASK_LIST_ID") }, func() { p.Team = "" }, func() { delete(env, "CLAUDE_CODE_TEAM_NAME") }, func() { p.Leads = "" }, func() {}} {
		got = append(got, p.ListID())
		forget()
	}
	if !slices.Equal(got, []string{"list", "mate", "named", "led", "s"}) {
		t.Errorf("got %v", got)
	}
	for id, want := range map[string]string{"../../etc": "------etc", "a b/ü": "a-b--", "": "-", "..": "--", "Team_1-x": "Team_1-x"} {
		if got := FolderName(id); got != want {
			t.Errorf("%q: got %q", id, got)
		}
	}
}
