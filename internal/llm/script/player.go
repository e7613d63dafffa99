package script

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"gofer/internal/llm"
)

// A player decides what a request is answered with. It holds all state that outlives a request; Model and Server each
// have one.
type player struct {
	script *Script
	now    func() time.Time

	mu       sync.Mutex
	cache    promptCache
	attempts map[digest]int
	arrivals map[string]map[digest]int // by section: the position that a request got
	serials  map[digest][]digest       // which prompts have stood at one place of one conversation
	thought  map[string]struct{}       // ids of calls that came behind thinking
}

func newPlayer(s *Script) *player {
	return &player{
		script: s, now: time.Now, attempts: map[digest]int{}, arrivals: map[string]map[digest]int{},
		serials: map[digest][]digest{}, thought: map[string]struct{}{},
	}
}

// An answer is a refusal, or a play that is ready to run.
type answer struct {
	refused *failure
	invalid bool // the request, or the script, is wrong: a test that did not expect it has failed
	play    *play
	usage   llm.Usage
	prompt  *prompt // nil when the request could not be read
}

func refusal(f *failure, invalid bool) answer { return answer{refused: f, invalid: invalid} }

// answer decides on a request in the Anthropic form. A lenient one accepts what the real service refuses.
func (pl *player) answer(body []byte, head http.Header, lenient bool) answer {
	p, refused := pl.read(body, head, lenient)
	if refused != nil {
		invalid := refused.status == http.StatusBadRequest && !strings.HasPrefix(refused.message, promptTooLong)
		return answer{refused: refused, invalid: invalid, prompt: p}
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	a := pl.prepare(p, head)
	a.prompt = p
	return a
}

const promptTooLong = "prompt is too long"

// read checks a request by itself, without regard to the script's turns.
func (pl *player) read(body []byte, head http.Header, lenient bool) (*prompt, *failure) {
	root, err := scan(body)
	if err != nil {
		return nil, invalid("The request body is not valid JSON: %v", err)
	}
	p := newPrompt(root)
	set := pl.script.settings
	if !lenient {
		if f := pl.check(p, head); f != nil {
			return p, f
		}
	}
	if len(set.models) > 0 && !pl.serves(p.model) {
		return p, &failure{status: http.StatusNotFound, typ: errorType(http.StatusNotFound), message: "model: " + p.model}
	}
	if n := p.bytes / set.tokenBytes; n > set.window {
		return p, invalid(promptTooLong+": %d tokens > %d maximum", n, set.window)
	}
	return p, nil
}

func (pl *player) serves(model string) bool {
	for _, m := range pl.script.settings.models {
		if m == model {
			return true
		}
	}
	return false
}

func invalid(format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, typ: errorType(http.StatusBadRequest), message: fmt.Sprintf(format, args...)}
}

// prepare chooses the turn and counts the tokens. The lock is held.
func (pl *player) prepare(p *prompt, head http.Header) answer {
	f := &facts{p: p, header: head, attempt: 1}
	sec := pl.script.sections[0]
	for _, s := range pl.script.sections[1:] {
		if allMet(s.when, f) {
			sec = s
			break
		}
	}
	position := f.depth()
	if sec.arrival {
		position = pl.arrival(sec, p.final())
	}
	t, n, found := sec.at(position)
	if !found {
		return refusal(pl.fault("section %s has %d turns, but this request asks for turn %d", sec.name, sec.length(), position+1), true)
	}
	f.section, f.turn, f.n = sec.name, position+1, n
	place := digestOf(opening(p), sec.name, uint64(position))
	final := p.final()
	attempt := digestOf(session(p, head), string(place[:]), string(final[:]))
	pl.attempts[attempt]++
	f.attempt = pl.attempts[attempt]

	r := t.choose(f)
	if r == nil {
		return refusal(pl.fault("line %d: turn %d of section %s has no reply whose conditions this request meets", t.line, position+1, sec.name), true)
	}
	for _, c := range r.expect {
		if !c.met(f) {
			return refusal(pl.fault("line %d: turn %d of section %s expects %s, but %s", r.line, position+1, sec.name, c.source, f.instead(c.source)), true)
		}
	}
	for _, l := range r.lets {
		v, err := l.take(f)
		if err != nil {
			return refusal(pl.fault("line %d: turn %d of section %s takes %s, but %v", r.line, position+1, sec.name, l.source, err), true)
		}
		if f.values == nil {
			f.values = map[string]string{}
		}
		f.values[l.name] = v
	}
	play := pl.newPlay(p, f, r, pl.key(place, p))
	return answer{play: play, usage: play.usage}
}

// choose returns the first reply whose conditions hold, nil if there is none.
func (t *turn) choose(f *facts) *reply {
	for _, r := range t.replies {
		if allMet(r.when, f) {
			return r
		}
	}
	return nil
}

// instead tells what a condition that did not hold has looked at.
func (f *facts) instead(condition string) string {
	condition = strings.TrimPrefix(condition, "not ")
	subject, _, _ := strings.Cut(condition, " ")
	switch {
	case listed(textSubjects, subject):
		return subject + " is " + excerpt(f.subject(subject))
	case listed(numberSubjects, subject):
		return fmt.Sprintf("%s is %d", subject, f.number(subject))
	}
	return "that is not so"
}

// fault is the error for a script that has no answer. Trying again would not help, and the header says so.
func (pl *player) fault(format string, args ...any) *failure {
	return &failure{
		status: http.StatusInternalServerError, typ: errorType(http.StatusInternalServerError),
		message: "script " + pl.script.name + ": " + fmt.Sprintf(format, args...),
		headers: []header{{"x-should-retry", "false"}},
	}
}

// arrival returns the position of a request in a section that goes by arrival. A request that comes again gets the
// position that it had.
func (pl *player) arrival(sec *section, final digest) int {
	seen := pl.arrivals[sec.name]
	if seen == nil {
		seen = map[digest]int{}
		pl.arrivals[sec.name] = seen
	}
	if _, found := seen[final]; !found {
		seen[final] = len(seen)
	}
	return seen[final]
}

// session is the session that a request tells, if it tells one.
func session(p *prompt, head http.Header) string {
	if id := head.Get("X-Claude-Code-Session-Id"); id != "" {
		return id
	}
	return p.root.get("metadata").get("user_id").text()
}

// opening is what the user first said. Together with the session it names a conversation.
func opening(p *prompt) string {
	for _, m := range p.messages {
		if m.role != "user" {
			continue
		}
		if n := len(m.blocks); n > 0 {
			return string(m.blocks[n-1].get("text").raw())
		}
		return string(m.content.raw())
	}
	return ""
}

// key names one reply: the same place of the same conversation gets the same key, and another one when the prompt there
// is a different one, as after a compaction. Ids are made of it and not of the whole prompt, so that they do not
// change with the date or the folder that a system prompt tells, nor with the session.
func (pl *player) key(place digest, p *prompt) digest {
	final := p.final()
	serial := -1
	for i, d := range pl.serials[place] {
		if d == final {
			serial = i
		}
	}
	if serial < 0 {
		serial = len(pl.serials[place])
		pl.serials[place] = append(pl.serials[place], final)
	}
	return digestOf(string(place[:]), uint64(serial))
}

func digestOf(parts ...any) digest {
	h := sha256.New()
	for _, part := range parts {
		switch v := part.(type) {
		case string:
			h.Write(binary.AppendUvarint(nil, uint64(len(v))))
			h.Write([]byte(v))
		case uint64:
			h.Write(binary.BigEndian.AppendUint64(nil, v))
		}
	}
	return digest(h.Sum(nil))
}

// newID makes an id of a key: letters and digits, as the real service makes them.
func newID(prefix string, key digest) string {
	const length = 22
	text := new(big.Int).SetBytes(key[:]).Text(62)
	if len(text) < length {
		text = strings.Repeat("0", length-len(text)) + text
	}
	return prefix + "01" + text[len(text)-length:]
}

// signatureKey is no secret: a signature only has to show a test that it came back unchanged.
const signatureKey = "gofer scripted model"

// sign makes the signature of a thinking text. It can be checked without having been remembered, so that a session
// can be resumed against another server.
func sign(text string) string {
	sum := sha256.Sum256([]byte(text))
	mac := hmac.New(sha256.New, []byte(signatureKey))
	mac.Write(sum[:])
	return base64.StdEncoding.EncodeToString(append(sum[:], mac.Sum(nil)...))
}

// signed tells whether a signature is one that the script makes for text. The text may have been left out.
func (s *Script) signed(text, signature string) bool {
	if _, given := s.signatures[signature]; given {
		return true
	}
	if text != "" {
		return signature == sign(text)
	}
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) != 2*sha256.Size {
		return false
	}
	mac := hmac.New(sha256.New, []byte(signatureKey))
	mac.Write(raw[:sha256.Size])
	return hmac.Equal(mac.Sum(nil), raw[sha256.Size:])
}
