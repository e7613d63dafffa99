package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/tool"
	"gofer/internal/work/cron"
)

// real keeps jobs as gofer does.
type real struct{ *cron.Schedule }

func newReal(t *testing.T) real {
	return real{cron.New(cron.Options{File: filepath.Join(t.TempDir(), "schedules.json")})}
}

func (r real) Create(ctx context.Context, when, prompt string, recurring, durable bool) (Job, error) {
	e, err := r.Add(ctx, when, prompt, recurring, durable)
	return Job{e.ID, e.Cron, e.Prompt, e.Recurring, e.Durable, e.Next}, err
}

func (r real) Delete(ctx context.Context, id string) (Job, error) {
	j, err := r.Schedule.Delete(ctx, id)
	return Job{ID: j.ID, Cron: j.Cron, Prompt: j.Prompt}, err
}

func (r real) List(context.Context) (list []Job, err error) {
	entries, err := r.Schedule.List()
	for _, e := range entries {
		list = append(list, Job{e.ID, e.Cron, e.Prompt, e.Recurring, e.Durable, e.Next})
	}
	return list, err
}

func call(t *testing.T, set *tool.Set, name, input string) (string, tool.Call, error) {
	t.Helper()
	found, err := set.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := found.Bind("1", json.RawMessage(input))
	if err == nil {
		err = c.Check(t.Context())
	}
	if err != nil {
		return "", c, err
	}
	r, err := tool.Run(t.Context(), c)
	return r.Text(), c, err
}

func forever(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestJobsAreMadeListedAndRemoved(t *testing.T) {
	t.Parallel()
	k := newReal(t)
	set := tool.NewSet(Tools(k, forever)...)
	if text, _, _ := call(t, set, "CronList", `{}`); text != "Nothing is scheduled." {
		t.Errorf("got %q", text)
	}
	text, c, err := call(t, set, "CronCreate", `{"cron":"@every 90m","prompt":"look\nat `+strings.Repeat("x", 500)+`"}`)
	list, _ := k.List(t.Context())
	if err != nil || !c.Traits.ReadOnly || len(list) != 1 || !list[0].Recurring || list[0].Durable {
		t.Fatalf("got %q %v %v", text, err, list)
	}
	id := list[0].ID
	line := id + " (@every 90m, recurring), next at " + list[0].Next.Format("Mon 2006-01-02 15:04") // and seconds
	if !strings.Contains(text, line) || len(text) > 300 {
		t.Errorf("got %q", text)
	}
	if text, _, _ := call(t, set, "CronList", ``); !strings.HasPrefix(text, line) {
		t.Errorf("got %q", text)
	}
	if text, _, err := call(t, set, "CronDelete", `{"id":" `+id+` "}`); err != nil || !strings.Contains(text, "Removed") {
		t.Errorf("got %q %v", text, err)
	}
	if _, _, err := call(t, set, "CronDelete", `{"id":"`+id+`"}`); err == nil {
		t.Error("removed twice")
	}
	if _, _, err := call(t, set, "CronCreate", `{"cron":"soon","prompt":"x"}`); err == nil || !strings.Contains(err.Error(), "five are needed") {
		t.Errorf("got %v", err)
	}
}

// What outlives the session is for the user to allow.
func TestADurableJobIsNotReadOnly(t *testing.T) {
	t.Parallel()
	text, c, err := call(t, tool.NewSet(Tools(newReal(t), forever)...), "CronCreate", `{"cron":"0 9 * * *","prompt":"x","recurring":false,"durable":true}`)
	if err != nil || c.Traits.ReadOnly || !strings.Contains(text, "once, durable") {
		t.Errorf("got %q %v", text, err)
	}
}

func TestSleepTakesItsTime(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]time.Duration{`{"duration_ms":90000}`: 90 * time.Second, `{"seconds":0.5}`: 500 * time.Millisecond, `{"seconds":3600}`: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			text, _, err := call(t, tool.NewSet(Tools(newReal(t), forever)...), "Sleep", input)
			if time.Since(begun) != want || err != nil || !strings.HasPrefix(text, "Waited") {
				t.Errorf("%s: %q %v after %s", input, text, err, time.Since(begun))
			}
		})
	}
}

func TestSleepIsWokenAndInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		comes := func(ctx context.Context) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		text, _, err := call(t, tool.NewSet(Tools(newReal(t), comes)...), "Sleep", `{"seconds":60}`)
		if time.Since(begun) != time.Second || err != nil || !strings.HasPrefix(text, "Woken after 1s") {
			t.Errorf("%q %v", text, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		time.AfterFunc(time.Second, func() { cancel(stopped) })
		if _, err := wait(ctx, time.Minute, forever); !errors.Is(err, stopped) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSleepNeedsOneBoundedTime(t *testing.T) {
	t.Parallel()
	for _, input := range []string{`{}`, `{"seconds":1,"duration_ms":1}`, `{"seconds":3601}`, `{"duration_ms":-1}`, `{"seconds":1e300}`} {
		if _, _, err := call(t, tool.NewSet(Tools(newReal(t), forever)...), "Sleep", input); err == nil {
			t.Errorf("%s was taken", input)
		}
	}
}
