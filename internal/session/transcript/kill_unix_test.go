//go:build unix

package transcript_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/llm/script"
	"gofer/internal/loop"
	"gofer/internal/session/transcript"
)

func children() map[string]func() {
	return map[string]func(){"writer": childWriter, "full": childFull}
}

func child(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), append(env, "GOFER_TEST_CHILD="+name)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// childWriter goes on with the session and says on standard output which records are safe, until it is killed.
func childWriter() {
	path := os.Getenv("TRANSCRIPT")
	w, _, err := transcript.Open(path, "", meta())
	if err != nil {
		w, err = transcript.Create(filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".jsonl"), meta())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	for i := 0; ; i++ {
		p := prompt("go on")
		r := reply("msg_"+p.UUID, llm.TextBlock(strings.Repeat("word ", 100)), call("c"+p.UUID, "Bash", `{"command":"ls"}`), call("d"+p.UUID, "Bash", `{"command":"pwd"}`))
		for _, batch := range [][]loop.Entry{{p}, r, answers(r, strings.Repeat("out ", 500)), reply("end_"+p.UUID, llm.TextBlock("ok"))} {
			if err := w.Append(ctx, batch...); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			for _, e := range batch {
				fmt.Println(e.UUID)
			}
		}
		if err := w.EndTurn(ctx, transcript.Totals{USD: float64(i)}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if i%4 == 3 {
			w.Rewrite(ctx, []llm.Message{llm.UserText("summary"), {Role: llm.Assistant, ID: "s" + p.UUID, Blocks: []llm.Block{llm.TextBlock("fine")}}}, event.Boundary{})
		}
	}
}

// A session is killed again and again, and goes on each time. GOFER_TEST_KILLS sets how often.
func TestKillsLoseNoCompleteRecord(t *testing.T) {
	t.Parallel()
	kills, _ := strconv.Atoi(os.Getenv("GOFER_TEST_KILLS"))
	if kills == 0 {
		kills = 50
	}
	const sessions = 5
	for i := range sessions {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			killAgainAndAgain(t, kills/sessions, rand.New(rand.NewPCG(1, uint64(i))))
		})
	}
}

func killAgainAndAgain(t *testing.T, kills int, random *rand.Rand) {
	path := filepath.Join(t.TempDir(), "66666666-6666-4666-8666-666666666666.jsonl")
	var safe []string
	for range kills {
		cmd := child(t, "writer", "TRANSCRIPT="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		enough := random.IntN(60)
		for n := 0; n < enough && lines.Scan(); n++ {
			safe = append(safe, lines.Text())
		}
		cmd.Process.Kill()
		for lines.Scan() { // what it still could say
			if len(lines.Text()) == 36 {
				safe = append(safe, lines.Text())
			}
		}
		cmd.Wait()
	}
	stored := map[string]bool{}
	for piece := range strings.SplitSeq(fileText(t, path), `"uuid":"`) {
		stored[piece[:min(36, len(piece))]] = true
	}
	for _, id := range safe {
		if !stored[id] {
			t.Fatalf("record %s was lost", id)
		}
	}
	c, err := transcript.Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := 0
	for _, p := range c.Problems {
		switch {
		case strings.Contains(p.What, "is not a record"), strings.Contains(p.What, "torn"), strings.Contains(p.What, "line end is missing"):
			torn++
		case strings.Contains(p.What, "has no result"):
		default:
			t.Errorf("line %d: %s", p.Line, p.What)
		}
	}
	if torn > kills {
		t.Errorf("%d torn lines after %d kills", torn, kills)
	}
	// A strict server takes what is left.
	model := script.NewModel(script.MustParse("loop\nturn\ntext ok\n"))
	w, s, err := transcript.Open(path, "", meta())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	req := llm.Request{Model: "claude-sonnet-4-5", MaxTokens: 100, Messages: loop.Repair(append(s.Messages, llm.UserText("hi")))}
	for _, err := range model.Stream(context.Background(), req) {
		if err != nil {
			t.Fatalf("the next request is refused: %v", err)
		}
	}
	t.Logf("%d kills, %d records said to be safe, %d torn lines", kills, len(safe), torn)
}

// childFull writes until the disk is full, and goes on when there is room again.
func childFull() {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
	whole := limit.Cur
	limit.Cur = 20_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println("cannot limit:", err)
		return
	}
	path := os.Getenv("TRANSCRIPT")
	w, err := transcript.Create(filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".jsonl"), meta())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = w.Append(ctx, prompt(fmt.Sprintf("prompt %d.", n)))
	}
	fmt.Println("stored", n-1, "then:", err)
	limit.Cur = whole
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	if err := w.Append(ctx, prompt("there is room again")); err != nil {
		fmt.Println(err)
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
}

func TestAFullDiskIsToldAndCostsNothingThatWasStored(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "77777777-7777-4777-8777-777777777777.jsonl")
	out, err := child(t, "full", "TRANSCRIPT="+path).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var stored int
	if _, err := fmt.Sscanf(string(out), "stored %d then:", &stored); err != nil || stored < 5 || !strings.Contains(string(out), "file too large") || strings.Count(string(out), "\n") != 1 {
		t.Fatalf("the child said: %s", out)
	}
	got := said(load(t, path).Messages)
	for i := range stored {
		if !strings.Contains(got, fmt.Sprintf("prompt %d.", i)) {
			t.Errorf("prompt %d was lost", i)
		}
	}
	if !strings.HasSuffix(got, "there is room again") || strings.Contains(got, fmt.Sprintf("prompt %d.", stored)) {
		t.Error(got)
	}
}
