package transcript_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gofer/internal/llm"
	"gofer/internal/session/transcript"
)

// tokens are made up here, in pieces, so that no scanner takes this file for a leak.
func tokens() []string {
	long := strings.Repeat("aB3dE6gH9", 12)
	return []string{
		"sk-ant-" + "api03-" + long[:80], "sk-proj-" + long[:40], "sk-" + long[:48], "ghp_" + long[:36], "github_pat_" + long[:60], "glpat-" + long[:20],
		"xoxb-" + long[:40], "AKIA" + "IOSFODNN7EXAMPLE", "AIza" + long[:35], "npm_" + long[:36], "hf_" + long[:34], "sk_live_" + long[:24],
		"SG." + long[:22] + "." + long[:43], "eyJ" + long[:20] + "." + "eyJ" + long[:30] + "." + long[:43],
	}
}

func privateKey() string {
	return "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nb2c9+/x==\n-----END RSA " + "PRIVATE KEY-----"
}

func TestSecretsDoNotReachTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := filepath.Join(dir, ".env")
	writeFile(t, env, "# comment\nexport DB_PASSWORD='pa\"ss\\word 1'\nPORT=8080\nSERVICE_TOKEN=tok_1234567890 # mine\nMODE=production\n")
	m := transcript.NewMask()
	m.AddEnv([]string{"OPENAI_API_KEY=value-of-the-variable-1", "PATH=/usr/bin:/bin", "GREETING=hello-hello-hello", "SSH_KEY=/home/dev/.ssh/id", "SHORT_KEY=abc", "WEAK_PASSWORD=postgres"})
	m.AddFiles(transcript.KeyFiles(dir, "")...)
	meta := meta()
	meta.Mask = m
	_, w := create(t, meta)

	secrets := append(tokens(), `pa"ss\word 1`, "tok_1234567890", "value-of-the-variable-1")
	var all strings.Builder
	for i, s := range append(secrets, privateKey()) {
		// At the beginning of a line, in quotes, and inside of JSON inside of a string.
		inner, _ := json.Marshal(map[string]string{"token": s})
		all.WriteString("line\n" + s + "\n\"" + s + "\" " + string(inner) + " end" + string(rune('a'+i)) + "\n")
	}
	input, _ := json.Marshal(map[string]string{"command": all.String()})
	add(t, w, prompt(all.String()))
	r := reply("msg_1", llm.TextBlock(all.String()), call("c1", "Bash", string(input)))
	add(t, w, r...)
	add(t, w, answers(r, all.String())...)
	w.Rename(t.Context(), "with "+tokens()[0])
	w.Keep(t.Context(), "x", tokens()[1])
	w.Queue(t.Context(), "enqueue", tokens()[2])
	// A secret that comes later is read from its file at the next prompt.
	writeFile(t, env, "LATE_SECRET=came-later-42\n")
	os.Chtimes(env, time.Now(), time.Now().Add(time.Hour))
	add(t, w, prompt("came-later-42"))
	closeWriter(t, w)

	text := fileText(t, w.Path())
	for _, s := range append(secrets, "came-later-42", "MIIEpAIBAAKCAQEA7", "b2c9+/x==") {
		quoted := encode(t, s)
		twice := encode(t, quoted)
		for _, form := range []string{s, quoted[1 : len(quoted)-1], twice[3 : len(twice)-3]} {
			if strings.Contains(text, form) {
				i := strings.Index(text, form)
				t.Errorf("%q is in the file: %s", form, text[max(0, i-60):i+20])
			}
		}
	}
	for _, kept := range []string{"production", "8080", "GREETING", "postgres"} {
		if m.Text(kept) != kept {
			t.Errorf("%q was masked", kept)
		}
	}
	records(t, w.Path()) // all lines are JSON
	s := load(t, w.Path())
	if got := s.Messages[0].Text(); !strings.Contains(got, "[masked DB_PASSWORD]") || !strings.Contains(got, "[masked secret]") || !strings.Contains(got, "end") {
		t.Errorf("got %s", got)
	}
	if calls := s.Messages[1].Calls(); len(calls) != 1 || !json.Valid(calls[0].Input) {
		t.Errorf("the call is %v", calls)
	}
}

func TestWordsThatOnlyLookLikeSecretsStay(t *testing.T) {
	t.Parallel()
	m := transcript.NewMask()
	m.AddEnv([]string{"A_KEY=tool_use", "B_KEY=tool_result", "MY_TOKEN=true", "C_SECRET=12345"})
	for _, s := range []string{
		"a task-based risk-free design with sk-something", "the type tool_use and tool_result", "ghp_ is the prefix", "AKIA and AKIAIOSFODNN7EXAMPLEXX", "Bearer of bad news",
		"-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----", "eyJ alone", "true 12345", "mask-ant-" + strings.Repeat("a1B", 20),
	} {
		if got := m.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestMaskingKeepsJSONValidWhereASecretLooksLikeAnEscape(t *testing.T) {
	t.Parallel()
	m := transcript.NewMask()
	m.Add("A", "nabcdefgh1")
	m.Add("B", "00e9abcdef")
	m.Add("C", `u00e9\abcdef`)
	for _, s := range []string{"\nabcdefgh1", "x\x1fabcdefgh1 nabcdefgh1", `\nabcdefgh1`, "\u00e9abcdef 00e9abcdef", `u00e9\abcdef`, "\x00e9abcdef"} {
		out := m.JSON(llm.AppendString(nil, s))
		var got string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Errorf("%q became %s: %v", s, out, err)
		}
		if strings.Contains(s, "\nabc") && got != s {
			t.Errorf("%q became %q, though it holds no secret", s, got)
		}
	}
	raw := m.JSON([]byte(`"\u00e9abcdef \\nabcdefgh1 \\u00e9\\abcdef"`))
	if !json.Valid(raw) || strings.Contains(string(raw), "nabcdefgh1") {
		t.Errorf("got %s", raw)
	}
}

func FuzzMaskedJSONIsJSON(f *testing.F) {
	f.Add("secret-value-1", "text with secret-value-1\n")
	f.Add(`q"uo\te`+"\n1", `q"uo\te`+"\n1")
	f.Fuzz(func(t *testing.T, secret, text string) {
		m := transcript.NewMask()
		m.Add("X", secret)
		in := llm.AppendString(nil, text)
		if out := m.JSON(in); !json.Valid(out) {
			t.Errorf("%q in %s gives %s", secret, in, out)
		}
	})
}

func BenchmarkMask200KB(b *testing.B) {
	m := transcript.NewMask()
	for i := range 50 {
		m.Add("K", "some-secret-value-"+strings.Repeat(string(rune('a'+i%26)), 3+i/26))
	}
	src, err := os.ReadFile("load.go")
	if err != nil {
		b.Fatal(err)
	}
	text := llm.AppendString(nil, strings.Repeat(string(src), 1+200_000/len(src))[:200_000])
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.JSON(text)
	}
}
