package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gofer/internal/llm"
)

// counted asks a server without a network and returns the usage of the reply.
func counted(t *testing.T, s *Server, body string) llm.Usage {
	t.Helper()
	status, reply := serveDirectly(s, body)
	var m struct{ Usage llm.Usage }
	if err := json.Unmarshal([]byte(reply), &m); err != nil || status != 200 {
		t.Fatal(status, err, reply)
	}
	if kept := s.Requests(); kept[len(kept)-1].Usage != m.Usage {
		t.Errorf("the record says %+v, the reply %+v", kept[len(kept)-1].Usage, m.Usage)
	}
	return m.Usage
}

// words makes a text whose JSON string takes exactly n tokens.
func words(n int) string { return strings.Repeat("abcd", n)[:4*n-2] }

func TestCachedTokensOverAConversationOfTwentyTurns(t *testing.T) {
	t.Parallel()
	s := NewServer(MustParse("loop\nturn\ntext ok"))
	system := `"system":[` + marked(textBlock(words(2000))) + `]`
	history := []string{user(textBlock(words(100)))}
	for turn := range 20 {
		messages := append([]string(nil), history...)
		messages[len(messages)-1] = user(marked(textBlock(words(100))))
		u := counted(t, s, request(strings.Join(messages, ","), system))
		want := llm.Usage{CacheWrite: 2100, Output: 1}
		if turn > 0 {
			want = llm.Usage{CacheRead: 2100 + 150*(turn-1), CacheWrite: 150, Output: 1}
		}
		if u != want {
			t.Errorf("turn %d: got %+v, want %+v", turn+1, u, want)
		}
		history = append(history, assistant(textBlock(words(50))), user(textBlock(words(100))))
	}
}

func TestCacheRules(t *testing.T) {
	t.Parallel()
	long := func(block string) string {
		return strings.Replace(marked(block), `"ephemeral"`, `"ephemeral","ttl":"1h"`, 1)
	}
	a, b, c := textBlock(words(1000)), textBlock("b"+words(1000)[1:]), textBlock("c"+words(1000)[1:])
	var thirty []string
	for i := range 30 {
		thirty = append(thirty, textBlock(fmt.Sprintf("%02d", i)+words(100)[2:]))
	}
	tools := `"tools":[{"name":"T","input_schema":{"type":"object"}}]`
	type round struct {
		body string
		want llm.Usage
	}
	for name, rounds := range map[string][]round{
		"nothing marked": {
			{request(user(a, b)), llm.Usage{Input: 2000}},
			{request(user(a, b)), llm.Usage{Input: 2000}},
		},
		"below the least size": {
			{request(user(marked(a))), llm.Usage{Input: 1000}},
			{request(user(marked(a))), llm.Usage{Input: 1000}},
		},
		"what follows the mark is not cached": {
			{request(user(a, marked(b), c)), llm.Usage{CacheWrite: 2000, Input: 1000}},
			{request(user(a, marked(b), c)), llm.Usage{CacheRead: 2000, Input: 1000}},
		},
		"another beginning reads nothing": {
			{request(user(a, marked(b))), llm.Usage{CacheWrite: 2000}},
			{request(user(c, marked(b))), llm.Usage{CacheWrite: 2000}},
		},
		"the mark before a change still counts": {
			{request(user(a, marked(b), marked(c))), llm.Usage{CacheWrite: 3000}},
			{request(user(a, marked(b), marked(a))), llm.Usage{CacheRead: 2000, CacheWrite: 1000}},
		},
		"a place that was never marked is no entry": {
			{request(user(a, b, marked(c))), llm.Usage{CacheWrite: 3000}},
			{request(user(a, marked(b))), llm.Usage{CacheWrite: 2000}},
		},
		"another model": {
			{request(user(a, marked(b))), llm.Usage{CacheWrite: 2000}},
			{strings.Replace(request(user(a, marked(b))), `"m"`, `"n"`, 1), llm.Usage{CacheWrite: 2000}},
		},
		"another conversation": {
			{request(user(marked(c)), `"system":[`+marked(textBlock(words(1100)))+`]`), llm.Usage{CacheWrite: 2100}},
			{request(user(marked(a)), `"system":[`+marked(textBlock(words(1100)))+`]`), llm.Usage{CacheRead: 1100, CacheWrite: 1000}},
		},
		"a string is the text block that it stands for": {
			{request(user(a, marked(b))), llm.Usage{CacheWrite: 2000}},
			{request(user(a, b) + `,{"role":"assistant","content":"x"},` + user(marked(c))), llm.Usage{CacheRead: 2000, CacheWrite: 1000}},
			{request(user(a, b) + `,` + assistant(textBlock("x")) + `,` + user(marked(c))), llm.Usage{CacheRead: 3000}},
		},
		"20 blocks back": {
			{request(user(a, marked(b))), llm.Usage{CacheWrite: 2000}},
			{request(user(append([]string{a, b}, append(thirty[:19:19], marked(thirty[19]))...)...)), llm.Usage{CacheRead: 2000, CacheWrite: 2000}},
		},
		"21 blocks back": {
			{request(user(a, marked(b))), llm.Usage{CacheWrite: 2000}},
			{request(user(append([]string{a, b}, append(thirty[:20:20], marked(thirty[20]))...)...)), llm.Usage{CacheWrite: 4100}},
		},
		"an hour and five minutes": {
			{request(user(a, long(b), marked(c))), llm.Usage{CacheWrite: 3000, CacheWrite1h: 2000}},
		},
		"tools come first": {
			{request(user(a, marked(b)), tools), llm.Usage{CacheWrite: 2009}},
			{request(user(a, marked(b))), llm.Usage{CacheWrite: 2000}},
		},
		"thinking renews the messages and not the system prompt": {
			{request(user(a, marked(b)), `"system":[`+marked(textBlock(words(1100)))+`]`), llm.Usage{CacheWrite: 3100}},
			{request(user(a, marked(b)), `"system":[`+marked(textBlock(words(1100)))+`]`, `"thinking":{"type":"adaptive"}`), llm.Usage{CacheRead: 1100, CacheWrite: 2000}},
		},
		"one mark for the whole request": {
			{request(user(a, b), `"cache_control":{"type":"ephemeral"}`), llm.Usage{CacheWrite: 2000}},
			{request(user(a, b), `"cache_control":{"type":"ephemeral"}`), llm.Usage{CacheRead: 2000}},
		},
	} {
		s := NewServer(MustParse("loop\nturn\ntext ok"))
		for i, r := range rounds {
			r.want.Output = 1
			got := counted(t, s, r.body)
			if got != r.want {
				t.Errorf("%s: request %d: got %+v, want %+v", name, i+1, got, r.want)
			}
		}
	}
}

func TestCacheEntriesLiveAsLongAsTheySay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(MustParse("loop\nturn\ntext ok"))
		body := request(user(marked(textBlock(words(2000)))))
		for i, c := range []struct {
			wait time.Duration
			read int
		}{{0, 0}, {4 * time.Minute, 2000}, {4 * time.Minute, 2000}, {5 * time.Minute, 0}} {
			time.Sleep(c.wait)
			if u := counted(t, s, body); u.CacheRead != c.read {
				t.Errorf("request %d: got %+v, want %d read", i+1, u, c.read)
			}
		}
	})
}

func TestAFailedRequestWritesNothing(t *testing.T) {
	t.Parallel()
	s := NewServer(MustParse("turn\nfail 1 error 529\ntext ok"))
	body := request(user(marked(textBlock(words(2000)))))
	if status, _ := serveDirectly(s, body); status != 529 {
		t.Fatal(status)
	}
	if u := counted(t, s, body); u.CacheWrite != 2000 {
		t.Errorf("got %+v", u)
	}
}

// BenchmarkReply measures what the server itself costs: the time per request is what a client waits for nothing of its
// own, and the throughput shows that long histories cost in proportion.
func BenchmarkReply(b *testing.B) {
	for _, rounds := range []int{1, 20, 500} {
		b.Run(fmt.Sprint(rounds, "rounds"), func(b *testing.B) {
			s := NewServer(MustParse("loop\nturn\ntext I will look at it.\ncall Bash {\"command\": \"true\"}"), KeepBodies(1))
			messages := []string{user(textBlock("hi"))}
			for i := range rounds {
				id := fmt.Sprint("t", i)
				messages = append(messages, assistant(textBlock("text"), use(id)), user(strings.Replace(result(id), `"r"`, `"`+words(250)+`"`, 1)))
			}
			body := request(strings.Join(messages, ","), `"stream":true`, `"system":[`+marked(textBlock(words(4000)))+`]`)
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if status, reply := serveDirectly(s, body); status != 200 {
					b.Fatal(reply)
				}
			}
		})
	}
}
