package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A rig is a schedule whose session writes down what it is given.
type rig struct {
	*Schedule
	t     *testing.T
	busy  sync.Mutex // held while the session works
	mu    sync.Mutex
	fired []string
	told  []string
	warns []string
}

func newRig(t *testing.T, file string) *rig {
	r := &rig{t: t}
	note := func(into *[]string, text string) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		*into = append(*into, time.Now().UTC().Format("02 15:04:05 ")+text)
		return nil
	}
	idle := func(ctx context.Context) error {
		for !r.busy.TryLock() { // a mutex does not block durably
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		r.busy.Unlock()
		return ctx.Err()
	}
	r.Schedule = New(Options{File: file, Idle: idle,
		Fire: func(_ context.Context, s string) error { return note(&r.fired, s) },
		Tell: func(_ context.Context, s string) error { return note(&r.told, s) },
		Warn: func(doing string, err error) { note(&r.warns, doing+": "+err.Error()) }})
	return r
}

// run runs the schedule and returns how to end it.
func (r *rig) run() (end func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		r.Run(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (r *rig) add(cron, prompt string, recurring, durable bool) Entry {
	r.t.Helper()
	e, err := r.Add(r.t.Context(), cron, prompt, recurring, durable)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// sleep lets time pass and everything that happens in it happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// count returns how often a prompt was handed over.
func (r *rig) count(prompt string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, text := range r.fired {
		n += strings.Count(text, prompt)
	}
	return n
}

func TestJobsFireAtTheirTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, filepath.Join(t.TempDir(), "s.json"))
		defer r.run()()
		every := r.add("*/10 * * * *", "look around", true, false)
		r.add("@every 25m", "stretch", true, false)
		once := r.add("30 * * * *", "only once", false, false)
		gone := r.add("*/10 * * * *", "never seen", true, false)
		if _, err := r.Delete(t.Context(), gone.ID); err != nil {
			t.Fatal(err)
		}
		if late := every.Next.Sub(every.Created); late < 0 || late > 11*time.Minute {
			t.Errorf("next after %s", late)
		}
		sleep(2*time.Hour + 5*time.Minute)
		if n := [...]int{r.count("look around"), r.count("stretch"), r.count("only once"), r.count("never seen")}; n != [...]int{12, 4, 1, 0} && n != [...]int{12, 5, 1, 0} {
			t.Errorf("fired %v times: %s", n, strings.Join(r.fired, "\n"))
		}
		list, err := r.List()
		if err != nil || len(list) != 2 {
			t.Errorf("left are %v %v", list, err)
		}
		if _, err := r.Delete(t.Context(), once.ID); err == nil {
			t.Error("what has fired once is still there")
		}
	})
}

func TestABusySessionGetsOnePromptForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "")
		defer r.run()()
		r.add("* * * * *", "tick", true, false)
		doomed := r.add("* * * * *", "doomed", true, false)
		r.busy.Lock()
		sleep(10*time.Minute + 30*time.Second)
		if r.count("tick") != 0 {
			t.Error("a busy session was disturbed")
		}
		if _, err := r.Delete(t.Context(), doomed.ID); err != nil { // it is due already
			t.Fatal(err)
		}
		r.busy.Unlock()
		sleep(2 * time.Second)
		if r.count("tick") != 1 || !strings.Contains(r.fired[0], "due 10 times") || r.count("doomed") != 0 {
			t.Errorf("got %v", r.fired)
		}
	})
}

func TestRecurringJobsEndAfterSevenDaysUnlessDurable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, filepath.Join(t.TempDir(), "s.json"))
		defer r.run()()
		r.add("0 */6 * * *", "short", true, false)
		r.add("0 */6 * * *", "long", true, true)
		sleep(8*24*time.Hour + time.Hour)
		if r.count("short") != 28 || r.count("long") != 32 {
			t.Errorf("short %d, long %d", r.count("short"), r.count("long"))
		}
		last := 0
		for i, text := range r.fired {
			if strings.Contains(text, "short") {
				last = i
			}
		}
		if !strings.Contains(r.fired[last], "ends with this time") || strings.Contains(r.fired[0], "ends with") {
			t.Errorf("the last one says: %s", r.fired[last])
		}
	})
}

func TestDurableJobsLiveOnAndMissedOnesAreReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "deep", "s.json")
		first := newRig(t, file)
		end := first.run()
		first.add("0 * * * *", "hourly work", true, true)
		first.add("30 5 * * *", "one morning", false, true)
		first.add("0 * * * *", "forgotten with the session", true, false)
		sleep(90 * time.Minute)
		end()
		if first.count("hourly work") != 1 {
			t.Errorf("fired %v", first.fired)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
		time.Sleep(24 * time.Hour)

		later := newRig(t, file)
		end = later.run()
		synctest.Wait()
		if len(later.told) != 1 || len(later.fired) != 0 || !strings.Contains(later.told[0], "missed 24 times") || !strings.Contains(later.told[0], "one morning") ||
			strings.Contains(later.told[0], "forgotten") {
			t.Errorf("told %v, fired %v", later.told, later.fired)
		}
		again := newRig(t, file)
		endAgain := again.run()
		sleep(3 * time.Hour)
		end()
		endAgain()
		if len(again.told) != 0 || later.count("hourly work")+again.count("hourly work") != 3 || later.count("one morning")+again.count("one morning") != 0 {
			t.Errorf("told again %v; fired %v and %v", again.told, later.fired, again.fired)
		}
	})
}

// Many sessions of one project: each time of a durable job belongs to one of them.
func TestManySessionsShareDurableJobs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "s.json")
	const sessions = 8
	var all sync.WaitGroup
	for range sessions {
		all.Go(func() {
			for i := range 3 {
				newRig(t, file).add("@every 1m", fmt.Sprint("job", i), true, true)
			}
		})
	}
	all.Wait()
	reader := newRig(t, file)
	jobs, err := reader.List()
	if err != nil || len(jobs) != 3*sessions {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	err = reader.update(t.Context(), func(jobs []Job) []Job {
		for i := range jobs {
			jobs[i].Created = time.Now().Add(-70 * time.Second)
		}
		return jobs
	})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	total := 0
	for range sessions {
		all.Go(func() {
			text, err := newRig(t, file).take(t.Context())
			mu.Lock()
			defer mu.Unlock()
			total += strings.Count(text, "</scheduled-job>")
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if total != 3*sessions {
		t.Errorf("%d jobs came due %d times", 3*sessions, total)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	for _, c := range []struct {
		cron, prompt, want string
		durable            bool
	}{
		{"0 0 30 2 *", "x", "never due", false},
		{"* * * * *", " ", "prompt is empty", false},
		{"* * * * *", strings.Repeat("x", MostPrompt+1), "at most", false},
		{"* * * * *", "x", "without durable", true},
	} {
		if _, err := r.Add(t.Context(), c.cron, c.prompt, true, c.durable); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c, err)
		}
	}
	for range MostJobs {
		r.add("* * * * *", "x", true, false)
	}
	if _, err := r.Add(t.Context(), "* * * * *", "x", true, false); err == nil || !strings.Contains(err.Error(), "CronDelete") {
		t.Errorf("one too many: %v", err)
	}
}

func TestAJobsDelayIsItsOwnAndBounded(t *testing.T) {
	t.Parallel()
	e, err := Parse("0 9 * * *")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[time.Duration]bool{}
	for i := range 100 {
		j := Job{ID: fmt.Sprint(i), Recurring: true, Created: time.Now()}
		next := e.Next(j.Created)
		d := e.jitter(j, next)
		if d != e.jitter(j, next) || d < 0 || d >= mostJitter {
			t.Fatalf("delay %s", d)
		}
		seen[d.Truncate(time.Second)] = true
	}
	if len(seen) < 50 {
		t.Errorf("a hundred jobs have %d delays", len(seen))
	}
}

// A file that cannot be read or written stays as it is, the user is told once, and the session's own jobs go on.
func TestABrokenFileHurtsOnlyDurableJobs(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"broken": `{"tasks":[`, "huge": strings.Repeat(" ", mostFile+1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "s.json")
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				r := newRig(t, file)
				defer r.run()()
				r.add("*/5 * * * *", "own", true, false)
				if _, err := r.Add(t.Context(), "* * * * *", "x", true, true); err == nil {
					t.Error("added to a broken file")
				}
				sleep(time.Hour)
				if got, _ := os.ReadFile(file); string(got) != content || len(r.warns) != 1 || r.count("own") < 10 {
					t.Errorf("file %d bytes, warned %v, fired %d", len(got), r.warns, r.count("own"))
				}
			})
		})
	}
}

// Jobs in the file that make no sense are passed over and kept.
func TestStrangeJobsInTheFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "s.json")
		content := `{"tasks":[{"id":"a","cron":"nonsense","prompt":"p"},{"id":"b","cron":"* * * * *","prompt":"old</scheduled-job>","recurring":true}]}`
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, file)
		defer r.run()()
		sleep(2 * time.Minute)
		got, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(got), "nonsense") {
			t.Errorf("the file is %s %v", got, err)
		}
		if len(r.told) != 1 || !strings.Contains(r.told[0], "very many") || r.count("old< /scheduled-job") == 0 {
			t.Errorf("told %v, fired %v", r.told, r.fired)
		}
	})
}

func TestRunEndsWhileItWaitsForABusySession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "")
		r.Idle = func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("ended")
		}
		end := r.run()
		r.add("* * * * *", "x", true, false)
		sleep(5 * time.Minute)
		end()
		if r.count("x") != 0 {
			t.Error("fired")
		}
	})
}
