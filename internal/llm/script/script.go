// Package script is a model that plays a script: a plain text file of turns. It is the only fake in the project; demos,
// tests and users who try their own hooks and skills all stand on it.
//
// A script plays in process (Model) and behind real HTTP (Server), through the same code: the request is checked as the
// real service checks it, the cached part of the prompt is counted by its cache marks, a turn is chosen and streamed.
//
// What the package promises:
//   - The turn is chosen from the request alone (by default from the number of assistant messages in it), so retries, resumed
//     sessions and parallel conversations each get the turn that is theirs. Only the attempts of one request, the prompt
//     cache and sections with "order arrival" have state.
//   - The same script and the same requests give the same bytes.
//   - Every request is kept, with its exact bytes, and is complete by the time its reply begins.
//   - All methods may be called from several goroutines at once.
//
// The file format is described in docs/scripted-model.md.
package script

import (
	"slices"
	"time"
)

// A Script is a parsed script. It never changes, so that several models and servers may play it at once.
type Script struct {
	name       string
	settings   settings
	sections   []*section          // in file order; the first is main
	signatures map[string]struct{} // the thinking signatures that the script itself gives
}

// Name is the name the script was parsed under.
func (s *Script) Name() string { return s.name }

// Models are the names of the models that the script serves; none means that it serves every name.
func (s *Script) Models() []string { return slices.Clone(s.settings.models) }

type settings struct {
	models     []string // served names; none: every name is served
	window     int      // tokens of a prompt that fit
	maxOutput  int      // the largest max_tokens
	cacheMin   int      // the smallest prefix, in tokens, that is cached
	tokenBytes int      // how many bytes count as a token
	chunk      int      // how many bytes a delta carries
	delay      time.Duration
	lenient    bool // accept what the real service refuses
	noUsage    bool // all counts are 0
}

func defaultSettings() settings {
	return settings{window: 200_000, maxOutput: 128_000, cacheMin: 1024, tokenBytes: 4, chunk: 64}
}

// A section is a sequence of turns for the requests that meet its conditions.
type section struct {
	name     string
	line     int
	when     []condition
	arrival  bool // turns are taken in the order in which requests arrive
	turns    []*turn
	loopFrom int // the turn at which to start again when all are played; -1: there is none
}

// length is the number of positions that the turns take.
func (s *section) length() int {
	total := 0
	for _, t := range s.turns {
		total += t.repeat
	}
	return total
}

// at returns the turn at a position (from 0) and how often it has been repeated there (from 1).
func (s *section) at(position int) (t *turn, n int, found bool) {
	rest := position
	for _, t := range s.turns {
		if rest < t.repeat {
			return t, rest + 1, true
		}
		rest -= t.repeat
	}
	if s.loopFrom < 0 {
		return nil, 0, false
	}
	cycle := 0
	for _, t := range s.turns[s.loopFrom:] {
		cycle += t.repeat
	}
	round := rest/cycle + 2 // the first round was played in the loop above
	rest %= cycle
	for _, t := range s.turns[s.loopFrom:] {
		if rest < t.repeat {
			return t, (round-1)*t.repeat + rest + 1, true
		}
		rest -= t.repeat
	}
	return nil, 0, false
}

// A turn is one position of a section, or several when it repeats. The first of its replies whose conditions hold is played.
type turn struct {
	label   string
	line    int
	repeat  int
	replies []*reply
}

type reply struct {
	line         int
	when         []condition
	expect       []condition
	lets         []let
	fails        []fault
	afters       []fault
	steps        []step
	headers      []header
	stop         string
	stopSequence string
	usage        usageGiven
	said         bool // the script has said what the reply is, be it nothing
}

// usageGiven holds the counts that the script gives itself; nil ones are computed.
type usageGiven struct{ input, output, cacheRead, cacheWrite *int }

type header struct{ name, value string }

// A fault is a step that happens after a number of deltas; among the fails of a reply, only in the next attempts.
type fault struct {
	attempts int // how many attempts it spoils
	deltas   int // -1: before the reply begins
	step     step
}

type stepKind int

const (
	stepText stepKind = iota + 1
	stepThink
	stepRedacted
	stepCall
	stepBroken
	stepBlock
	stepWait
	stepStall
	stepDrop
	stepReset
	stepClose
	stepRaw
	stepError
)

// isContent tells whether a step makes a block of the reply.
func (k stepKind) isContent() bool { return k <= stepBlock }

// A step is one thing a reply does.
type step struct {
	kind      stepKind
	line      int
	text      template      // the text, the data, the input or the raw bytes
	name      string        // of the tool
	id        string        // of the call, if given
	signature string        // of the thinking, if given
	wait      time.Duration // stepWait, stepStall; negative is for ever
	ping      time.Duration // stepStall: time between pings, 0: none
	fail      failure       // stepError
}

// A failure is an error of the service, as the script or the checks make it.
type failure struct {
	status  int
	typ     string
	message string
	headers []header
}
