package script

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gofer/internal/llm"
)

// A play is one reply, ready to run: all that depends on the request has been decided.
type play struct {
	set      settings
	info     llm.ReplyInfo
	steps    []step
	afters   []fault
	headers  []header
	usage    llm.Usage
	stop     string
	sequence string
	omit     bool // thinking comes without its text

	ids []string // of the calls, in order

	section string // where the reply comes from
	turn    int
	attempt int
}

// status is the HTTP status with which the reply begins, 0 if there will be none.
func (y *play) status() int {
	for _, s := range y.steps {
		switch s.kind {
		case stepWait:
			continue
		case stepError:
			return s.fail.status
		case stepDrop, stepReset:
			return 0
		}
		break
	}
	return 200
}

// A sink receives a reply. An error that it returns ends the reply.
type sink interface {
	event(event) error
	// pause waits; if ping is not 0, a ping goes out in every such time.
	pause(d, ping time.Duration) error
	// fault does what a drop, reset, close, raw or error step says. It returns an error unless the reply goes on.
	fault(step) error
}

// newPlay joins a reply to a request. The player's lock is held.
func (pl *player) newPlay(p *prompt, f *facts, r *reply, key digest) *play {
	y := &play{
		set: pl.script.settings, headers: r.headers, stop: r.stop, sequence: r.stopSequence, afters: slices.Clone(r.afters),
		info: llm.ReplyInfo{ID: newID("msg_", key), Model: p.model},
		omit: p.root.get("thinking").get("display").is("omitted"),

		section: f.section, turn: f.turn, attempt: f.attempt,
	}
	early := y.spoil(r, f.attempt)
	y.steps = append(y.steps, r.steps...)
	for i := range y.steps {
		y.steps[i].text = template{src: y.steps[i].text.fill(f.value)}
	}
	for i := range y.afters {
		y.afters[i].step.text = template{src: y.afters[i].step.text.fill(f.value)}
	}
	y.nameCalls(p, key)
	if !early {
		pl.remember(y)
		y.count(pl, p, r)
	}
	return y
}

// spoil adds the fault that an attempt meets, and tells whether it is one that comes before any reply.
func (y *play) spoil(r *reply, attempt int) (early bool) {
	for _, f := range r.fails {
		if attempt > f.attempts {
			attempt -= f.attempts
			continue
		}
		if f.deltas >= 0 {
			y.afters = append(y.afters, f)
		} else {
			y.steps = append(y.steps, f.step)
		}
		break
	}
	first := slices.Concat(y.steps, r.steps)
	for _, s := range first {
		switch s.kind {
		case stepWait:
			continue
		case stepError, stepDrop, stepReset, stepClose:
			return true
		}
		return false
	}
	return false
}

// nameCalls gives an id to every call that has none: the same for the same key, and never one that the request has.
func (y *play) nameCalls(p *prompt, key digest) {
	used := map[string]bool{}
	for _, m := range p.messages {
		if m.role != "assistant" {
			continue
		}
		for _, b := range m.blocks {
			if id := b.get("id"); id.exists() {
				used[id.text()] = true
			}
		}
	}
	for i := range y.steps {
		s := &y.steps[i]
		if s.kind != stepCall && s.kind != stepBroken {
			continue
		}
		for try := uint64(0); s.id == ""; try++ {
			if id := newID("toolu_", digestOf(string(key[:]), uint64(i), try)); !used[id] {
				s.id = id
			}
		}
		used[s.id] = true
		y.ids = append(y.ids, s.id)
	}
	if y.stop == "" {
		y.stop = string(llm.EndTurn)
		if len(y.ids) > 0 {
			y.stop = string(llm.StopToolUse)
		}
	}
}

// remember keeps which calls came behind thinking, because a request that brings them back must bring it back too.
func (pl *player) remember(y *play) {
	for _, s := range y.steps {
		if s.kind == stepThink || s.kind == stepRedacted {
			for _, id := range y.ids {
				pl.thought[id] = struct{}{}
			}
			return
		}
	}
}

// count fills in the usage.
func (y *play) count(pl *player, p *prompt, r *reply) {
	y.usage = pl.cache.count(p, y.set, pl.now())
	bytes := 0
	for _, s := range y.steps {
		if s.kind.isContent() {
			bytes += len(s.text.src) + len(s.name)
		}
	}
	y.usage.Output = max(1, bytes/y.set.tokenBytes)
	if y.set.noUsage {
		y.usage = llm.Usage{}
	}
	give(&y.usage.Input, r.usage.input)
	give(&y.usage.Output, r.usage.output)
	give(&y.usage.CacheRead, r.usage.cacheRead)
	give(&y.usage.CacheWrite, r.usage.cacheWrite)
	y.usage.CacheWrite1h = min(y.usage.CacheWrite1h, y.usage.CacheWrite)
}

func give(count *int, given *int) {
	if given != nil {
		*count = *given
	}
}

// run sends the reply to out.
func (y *play) run(out sink) error {
	r := &runner{play: y, out: out}
	for _, s := range y.steps {
		if err := r.step(s); err != nil {
			return err
		}
	}
	return r.finish()
}

// A runner is a play in progress.
type runner struct {
	*play
	out     sink
	started bool
	pinged  bool
	index   int // of the block
	deltas  int // that have been sent
}

func (r *runner) step(s step) error {
	switch s.kind {
	case stepWait:
		return r.out.pause(s.wait, 0)
	case stepDrop, stepReset, stepClose, stepError, stepRaw:
		return r.out.fault(s)
	}
	if err := r.start(); err != nil {
		return err
	}
	if s.kind == stepStall {
		return r.out.pause(s.wait, s.ping)
	}
	return r.block(s)
}

func (r *runner) start() error {
	if r.started {
		return nil
	}
	r.started = true
	usage := r.usage
	usage.Output = min(1, usage.Output)
	if err := r.out.event(event{kind: messageStart, info: r.info, usage: usage}); err != nil {
		return err
	}
	return r.interfere(false)
}

// interfere does what the script wants to happen after the deltas sent so far; at the end also what has not been reached.
func (r *runner) interfere(end bool) error {
	for i := range r.afters {
		f := &r.afters[i]
		if f.deltas < 0 || f.deltas > r.deltas && !end {
			continue
		}
		f.deltas = -1 // done
		if err := r.step(f.step); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) block(s step) error {
	b := s.block()
	if err := r.out.event(event{kind: blockStart, index: r.index, block: b}); err != nil {
		return err
	}
	if !r.pinged { // the real service sends one here
		r.pinged = true
		if err := r.out.event(event{kind: ping}); err != nil {
			return err
		}
	}
	if err := r.contents(s, b); err != nil {
		return err
	}
	err := r.out.event(event{kind: blockStop, index: r.index, block: b})
	r.index++
	return err
}

// block returns the block that the step makes, whole.
func (s step) block() *llm.Block {
	text := s.text.src
	switch s.kind {
	case stepText:
		return &llm.Block{Kind: llm.Text, Text: text}
	case stepThink:
		signature := s.signature
		if signature == "" {
			signature = sign(text)
		}
		return &llm.Block{Kind: llm.Thinking, Text: text, Signature: signature}
	case stepRedacted:
		return &llm.Block{Kind: llm.RedactedThinking, Data: text}
	case stepCall, stepBroken:
		return &llm.Block{Kind: llm.ToolUse, Call: &llm.Call{ID: s.id, Name: s.name, Input: []byte(text), BadInput: s.kind == stepBroken}}
	}
	return &llm.Block{Kind: llm.Opaque, Raw: []byte(text)}
}

// contents sends the deltas of a block.
func (r *runner) contents(s step, b *llm.Block) error {
	switch s.kind {
	case stepText:
		return r.pieces(textDelta, b.Text)
	case stepThink:
		if r.omit {
			b.Text = ""
		}
		if err := r.pieces(thinkingDelta, b.Text); err != nil {
			return err
		}
		return r.out.event(event{kind: signatureDelta, index: r.index, text: b.Signature})
	case stepCall, stepBroken:
		// The real service begins with an empty piece.
		if err := r.out.event(event{kind: inputDelta, index: r.index}); err != nil {
			return err
		}
		return r.pieces(inputDelta, string(b.Call.Input))
	}
	return nil
}

func (r *runner) pieces(kind eventKind, text string) error {
	for text != "" {
		piece := text[:pieceEnd(text, r.set.chunk)]
		text = text[len(piece):]
		if r.set.delay != 0 {
			if err := r.out.pause(r.set.delay, 0); err != nil {
				return err
			}
		}
		if err := r.out.event(event{kind: kind, index: r.index, text: piece}); err != nil {
			return err
		}
		r.deltas++
		if err := r.interfere(false); err != nil {
			return err
		}
	}
	return nil
}

// pieceEnd returns where the first piece of text ends: at most size bytes, but at least one character, and no
// character in halves.
func pieceEnd(text string, size int) int {
	if len(text) <= size {
		return len(text)
	}
	end := size
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == 0 {
		_, end = utf8.DecodeRuneInString(text)
	}
	return end
}

func (r *runner) finish() error {
	if err := r.start(); err != nil {
		return err
	}
	if err := r.interfere(true); err != nil {
		return err
	}
	err := r.out.event(event{kind: messageDelta, usage: r.usage, stop: r.stop, text: strings.TrimSpace(r.sequence)})
	if err != nil {
		return err
	}
	return r.out.event(event{kind: messageStop})
}
