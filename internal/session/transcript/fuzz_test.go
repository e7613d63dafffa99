package transcript_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session/transcript"
)

// Any file can be read, and what comes of it can be sent, continued, checked and exported.
func FuzzAnyFileIsRead(f *testing.F) {
	for _, name := range []string{"claude-code.jsonl", "claude-code-compacted.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[len(data)/3:])
	}
	f.Add([]byte(`{"type":"user","uuid":"a","parentUuid":"b","message":{"role":"user","content":"x"}}` + "\n" + `{"type":"user","uuid":"b","parentUuid":"a","message":{"role":"user","content":[{"type":"text"}]}}`))
	f.Add([]byte("{\"type\":\"x\"\n\x00\x00{}\n[]\n\"\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "99999999-9999-4999-8999-999999999999.jsonl")
		os.Remove(path)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := load(t, path)
		for _, m := range loop.Repair(s.Messages) {
			if _, err := llm.Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := transcript.Verify(path); err != nil {
			t.Fatal(err)
		}
		if err := transcript.Export(io.Discard, path, transcript.JSON); err != nil {
			t.Fatal(err)
		}
		w, _, err := transcript.Open(path, "", meta())
		if err != nil {
			t.Fatal(err)
		}
		p := prompt("goes on")
		add(t, w, p)
		closeWriter(t, w)
		after := load(t, path).Messages
		if n := len(after); n == 0 || after[n-1].Blocks[len(after[n-1].Blocks)-1].Text != "goes on" {
			t.Fatalf("the new prompt is not at the end: %s", said(after))
		}
	})
}
