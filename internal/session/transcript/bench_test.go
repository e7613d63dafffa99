package transcript_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/session/transcript"
)

// longSession writes turns with a call each, so that the file has about size bytes, and compacts every so many turns (0: never).
func longSession(t testing.TB, turns, size, compactEvery int) string {
	t.Helper()
	_, w := create(t, meta())
	ctx := context.Background()
	code := strings.Repeat("\tif err := run(\"x\", y); err != nil { return err }\n", 1+size/turns/100)
	code = code[:max(100, size/turns/2-1500)]
	for i := range turns {
		add(t, w, prompt(fmt.Sprintf("prompt %d", i)))
		r := reply(fmt.Sprintf("msg_%d", i), llm.TextBlock("I look."), call(fmt.Sprintf("c%d", i), "Read", `{"file_path":"/home/dev/shop/a.go"}`))
		add(t, w, r...)
		a := answers(r, code)
		a[0].Data = map[string]any{"file": map[string]any{"content": code}}
		add(t, w, a...)
		add(t, w, reply(fmt.Sprintf("end_%d", i), llm.TextBlock("Done."))...)
		if err := w.EndTurn(ctx, transcript.Totals{USD: float64(i)}); err != nil {
			t.Fatal(err)
		}
		if compactEvery > 0 && i%compactEvery == compactEvery-1 {
			if err := w.Rewrite(ctx, []llm.Message{llm.UserText("a summary"), {Role: llm.Assistant, ID: "s", Blocks: []llm.Block{llm.TextBlock("I go on.")}}}, event.Boundary{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeWriter(t, w)
	return w.Path()
}

// BenchmarkResume100MB opens a session of 2,000 turns in 100 MB and makes the first request of it.
func BenchmarkResume100MB(b *testing.B) {
	for _, c := range []struct {
		name    string
		compact int
	}{{"compacted", 30}, {"never compacted", 0}} {
		b.Run(c.name, func(b *testing.B) {
			path := longSession(b, 2000, 100<<20, c.compact)
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			b.ReportMetric(float64(info.Size())/1e6, "MB-file")
			for b.Loop() {
				w, s, err := transcript.Open(path, "", meta())
				if err != nil {
					b.Fatal(err)
				}
				log := session.NewLog(w, s.Messages)
				if err := log.Append(context.Background(), prompt("go on")); err != nil {
					b.Fatal(err)
				}
				if n := len(loop.Repair(log.View())); n < 10 {
					b.Fatal(n)
				}
				w.Close()
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapSys)/1e6, "MB-heap")
		})
	}
}

func BenchmarkList5000(b *testing.B) {
	root := transcript.Root(b.TempDir())
	template := fileText(b, longSession(b, 30, 60_000, 0))
	for i := range 5000 {
		dir := root.Project(fmt.Sprintf("/home/dev/project%d", i%50))
		writeFile(b, transcript.Path(dir, uuid.NewString()), template)
	}
	for b.Loop() {
		list, err := root.List(transcript.Filter{})
		if err != nil || len(list) != 5000 || list[0].FirstPrompt != "prompt 0" {
			b.Fatal(len(list), err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	root := transcript.Root(b.TempDir())
	template := fileText(b, longSession(b, 200, 10<<20, 0))
	for range 10 {
		writeFile(b, transcript.Path(root.Project(cwd), uuid.NewString()), template)
	}
	b.SetBytes(int64(10 * len(template)))
	for b.Loop() {
		if hits, err := root.Search(context.Background(), transcript.Filter{}, "not in there"); err != nil || len(hits) > 0 {
			b.Fatal(hits, err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	_, w := create(b, meta())
	add(b, w, prompt("x"))
	r := reply("msg", call("c", "Read", `{}`))
	a := answers(r, strings.Repeat("some text of a file\n", 500))
	for b.Loop() {
		add(b, w, a...)
	}
}

// The small version of the benchmark: what the model no longer sees costs nothing.
func TestALongSessionIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	path := longSession(t, 200, 8<<20, 50)
	begun := time.Now()
	s := load(t, path)
	took := time.Since(begun)
	if n := len(s.Messages); n != 2 || s.Totals.USD != 199 || len(s.Unbooked) != 0 {
		t.Errorf("%d messages, %+v", n, s.Totals)
	}
	t.Logf("%v", took)
	// Cut off all that stands before the last boundary: the rest must do.
	text := fileText(t, path)
	at := strings.LastIndex(text, "\n{\"parentUuid\":null,\"logicalParentUuid\"") + 1
	short := filepath.Join(t.TempDir(), filepath.Base(path))
	writeFile(t, short, text[strings.LastIndex(text[:at-1], `{"type":"gofer-cost"`):])
	if got := load(t, short); encode(t, got.Messages) != encode(t, s.Messages) || got.Totals.USD != s.Totals.USD {
		t.Errorf("the end alone gives %s", said(got.Messages))
	}
}
