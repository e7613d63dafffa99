package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A call is a tool call in a script.
type call struct {
	tool  string
	input map[string]any
}

func (c call) String() string {
	var input bytes.Buffer
	e := json.NewEncoder(&input)
	e.SetEscapeHTML(false)
	if err := e.Encode(c.input); err != nil {
		panic(err) // there are strings, lists and numbers only
	}
	return fmt.Sprintf("  call %s %s", c.tool, input.String())
}

// lastWords end every script, and so every run that went well.
const lastWords = "That was all."

// ending is the last turn of a script. It is played only if the tools have really run: the last result must match proof.
func ending(proof string) string {
	expect := ""
	if proof != "" {
		expect = "  expect results ~ " + proof + "\n"
	}
	return "turn\n" + expect + "  text " + lastWords + "\n"
}

// asides answer what programs ask besides: titles, summaries, whose turn it is. They are not measured.
const asides = `
section asides
  when no tools
  order arrival
  loop
  turn
    text {"title": "Bench", "reasoning": "All is said.", "next_speaker": "user", "model_choice": "flash"}
`

// A play is a script for one kind of run.
type play struct {
	script func(*subject, *place) string
	setUp  func(*place) error                 // puts files into the project; nil: none
	watch  func(ctx context.Context, pid int) // while it runs; nil: nobody
	limit  time.Duration                      // 0: a minute
}

// hello is the shortest run: one prompt, one answer, no tool.
func hello() play {
	return play{script: func(*subject, *place) string { return ending("") + asides }}
}

// shellTurns runs n shell commands, one in each turn.
func shellTurns(n int) play {
	return play{script: func(s *subject, _ *place) string {
		return fmt.Sprintf("turn\n  repeat %d\n%s", n, s.bash("echo round {{n}}")) + ending(fmt.Sprintf("round %d", n)) + asides
	}}
}

// readTurns reads n small files, one in each turn.
func readTurns(n int) play {
	return play{
		script: func(s *subject, at *place) string {
			path := filepath.Join(at.project, "part{{n}}.txt")
			return fmt.Sprintf("turn\n  repeat %d\n%s", n, s.read(path)) + ending(fmt.Sprintf("part %d,", n)) + asides
		},
		setUp: func(at *place) error {
			for i := range n {
				text := strings.Repeat(fmt.Sprintf("This is a line of part %d, which is one of many.\n", i+1), 20)
				if err := at.write(fmt.Sprintf("project/part%d.txt", i+1), text); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// sleeps runs n commands in one turn, each of which sleeps for half a second.
func sleeps(n int) play {
	return play{script: func(s *subject, _ *place) string {
		var calls strings.Builder
		for i := range n {
			calls.WriteString(s.bash(fmt.Sprintf("sleep 0.5 # %d", i+1)).String()) // calls that are all the same look like a model gone mad
		}
		return "turn\n" + calls.String() + ending("") + asides
	}}
}

// A trial is one run against the scripted model, and what the model saw of it.
type trial struct {
	outcome
	ToRequest time.Duration // from the start to the first request that offers tools
	Server    time.Duration // spent in the scripted model
	Share     float64       // of the input tokens, read from the cache
	Sizes     sizes         // of the first request that offers tools
	First     []byte        // that request
}

// perform lets the program play a script.
func (s *subject) perform(ctx context.Context, p play) (trial, error) {
	st, err := s.open(s.place, p)
	if err != nil {
		return trial{}, err
	}
	defer st.close()
	return s.enter(ctx, st, p, "Go.")
}

// open prepares a stage for the program.
func (s *subject) open(where *place, p play) (*stage, error) {
	st, err := newStage(where, p.script(s, where))
	if err != nil {
		return nil, err
	}
	if p.setUp != nil {
		err = p.setUp(where)
	}
	if err == nil && s.setUp != nil {
		err = s.setUp(st)
	}
	if err != nil {
		st.close()
		return nil, err
	}
	return st, nil
}

// enter gives a prompt to the program and waits for the end of the script.
func (s *subject) enter(ctx context.Context, st *stage, p play, prompt string) (trial, error) {
	st.begin()
	j := s.job(st, s.args(st, prompt)...)
	j.watch = p.watch
	if p.limit > 0 {
		j.limit = p.limit
	}
	o, err := run(ctx, j)
	t, refused := st.trial(o)
	switch {
	case refused != "":
		err = fmt.Errorf("the scripted model refused a request: %s", refused)
	case err == nil && !strings.Contains(string(o.stdout), lastWords):
		err = fmt.Errorf("it did not come to the end of the script: %s", o.lastWords())
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return t, err
}

// trial gathers what the model saw, and why it refused a request, if it did.
func (s *stage) trial(o outcome) (t trial, refused string) {
	t = trial{outcome: o}
	var prompt, cached int
	for _, r := range s.model.Requests()[s.before:] {
		if r.Invalid && refused == "" { // a prompt over the window is not invalid: programs shorten it and go on
			refused = r.Refused
		}
		if r.Section != "asides" {
			prompt, cached = prompt+r.Usage.Prompt(), cached+r.Usage.CacheRead
		}
	}
	if prompt > 0 {
		t.Share = float64(cached) / float64(prompt)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Server = s.busy
	if s.first != nil {
		t.ToRequest, t.Sizes, t.First = s.at.Sub(o.Started), sizesOf(s.first), s.first
	}
	return t, refused
}
