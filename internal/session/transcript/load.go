package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"gofer/internal/llm"
)

// maxView bounds the bytes of the messages that are brought back. It is the most that a provider takes in one request.
const maxView = 32 << 20

// A State is what a transcript holds of a session.
type State struct {
	ID          string
	Messages    []llm.Message // the conversation as the model sees it; loop.Repair makes a request of it
	Leaf        string        // the record that it ends with
	CustomTitle string        // by the user
	Summary     string        // by a model
	LastPrompt  string
	Cwd, Branch string
	Mode, Model string            // the last ones in use; "" if unknown
	Kept        map[string]string // see Writer.Keep
	Totals      Totals            // as booked at the end of the last complete turn
	Unbooked    []Spent           // requests behind Totals, to be priced and added, oldest first
	Prompts     []Prompt          // what the user wrote, as far as the model sees it
	Files       []SeenFile        // files that tools have shown to the model or changed
	Notices     []string          // what was wrong with the file, for the user
	Torn        bool              // the file ends within a line

	records int // of messages in the whole file
}

// Title is what to call the session.
func (s *State) Title() string {
	for _, t := range []string{s.CustomTitle, s.Summary, s.LastPrompt} {
		if t != "" {
			return t
		}
	}
	return s.ID
}

// Load reads the session at path. at, if not "", is the record that the conversation is to end with.
func Load(path, at string) (*State, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return load(f, path, at)
}

func load(f *os.File, path, at string) (*State, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	x := newIndex(f, info.Size(), isAgentFile(path))
	lines, err := x.conversation(at)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	lines, cut := bounded(lines)
	v, err := decodeView(f, lines)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if err := x.findTotals(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	s := x.state(path)
	s.Messages, s.Prompts, s.Files = v.messages, v.prompts, v.files()
	if cut > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("%d older records were left out, because no model takes as much at once", cut))
	}
	if v.broken > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("%d records could not be understood and were skipped", v.broken))
	}
	return s, nil
}

func (x *index) state(path string) *State {
	m := x.meta
	s := &State{ID: m.id, Leaf: x.leaf, CustomTitle: m.title, Summary: m.summary, LastPrompt: m.prompt, Cwd: m.cwd, Branch: m.branch,
		Mode: m.mode, Model: m.model, Kept: m.kept, Torn: x.torn, records: m.messages}
	if s.ID == "" || !isAgentFile(path) {
		s.ID = idOf(path)
	}
	if s.Kept == nil {
		s.Kept = map[string]string{}
	}
	if m.totals != nil {
		s.Totals = *m.totals
	}
	if s.Totals.Models == nil {
		s.Totals.Models = map[string]ModelTotal{}
	}
	for _, id := range slices.Backward(m.order) {
		s.Unbooked = append(s.Unbooked, m.unbooked[id])
	}
	broken := x.broken
	if x.torn && broken > 0 {
		s.Notices = append(s.Notices, "the last record was torn off in the middle and is left out")
		broken--
	}
	if broken > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("%d broken lines were skipped", broken))
	}
	return s
}

// findTotals reads back to the last booked totals, or adds up all replies if there are none.
func (x *index) findTotals() error {
	for x.meta.totals == nil {
		if err := x.more(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// conversation returns the records that the model sees, in order.
func (x *index) conversation(at string) ([]line, error) {
	for !x.set {
		if err := x.more(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	if at != "" {
		if _, ok, err := x.get(at); err != nil {
			return nil, err
		} else if !ok {
			return nil, fmt.Errorf("there is no record %s in this session", at)
		}
		x.leaf = at
	}
	for {
		chain, err := x.chain(x.leaf)
		if err != nil || len(chain) == 0 {
			return nil, err
		}
		root := chain[0]
		if root.boundary == nil {
			return x.withSiblings(chain, nil), nil
		}
		if x.copies(root) < root.boundary.records {
			x.leaf = root.boundary.logical // killed while it wrote the new view: the old one holds
			continue
		}
		kept, err := x.preserved(root.boundary)
		if err != nil {
			return nil, err
		}
		return x.withSiblings(chain, kept), nil
	}
}

// chain follows the parents from the record leaf to the first one, which comes first.
func (x *index) chain(leaf string) ([]line, error) {
	var chain []line
	on := map[string]bool{}
	for leaf != "" && !on[leaf] {
		l, ok, err := x.get(leaf)
		if err != nil {
			return nil, err
		}
		if !ok {
			// The parent is in a line that is broken. What stands before it in the file is the best guess.
			if len(chain) == 0 {
				break
			}
			if l, ok = x.before(chain[len(chain)-1]); !ok || on[l.uuid] {
				break
			}
		}
		on[l.uuid] = true
		chain = append(chain, l)
		if l.boundary != nil {
			break
		}
		leaf = l.parent
	}
	slices.Reverse(chain)
	return chain, nil
}

// copies counts the records of the view behind a boundary.
func (x *index) copies(root line) int {
	n := 0
	for _, l := range x.lines {
		if l.copied && l.at > root.at {
			n++
		}
	}
	return n
}

// preserved returns the records from before a boundary that the model still sees.
func (x *index) preserved(b *boundary) ([]line, error) {
	var kept []line
	for _, uuid := range b.preserved {
		l, ok, err := x.get(uuid)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, l)
		}
	}
	if len(b.preserved) > 0 || b.headTail[1] == "" {
		return kept, nil
	}
	seen := map[string]bool{}
	for uuid := b.headTail[1]; uuid != "" && !seen[uuid]; {
		l, ok, err := x.get(uuid)
		if err != nil || !ok {
			return nil, err
		}
		seen[uuid] = true
		kept = append(kept, l)
		if uuid == b.headTail[0] {
			slices.Reverse(kept)
			return kept, nil
		}
		uuid = l.parent
	}
	return nil, nil // the chain does not hold together: the summary has to do
}

// withSiblings adds to a chain what hangs beside it and still belongs to it: the other blocks of its replies, and the results of
// all their calls. Records keep the order of the file; preserved ones stand behind their anchor.
func (x *index) withSiblings(chain, kept []line) []line {
	const upToAnchor, preserved, behind = 0, 1, 2
	var b *boundary
	if len(chain) > 0 {
		b = chain[0].boundary
	}
	section := map[string]int{}
	replies := map[string]int{} // by message id
	var all []line
	add := func(l line, p int) {
		if _, twice := section[l.uuid]; twice {
			return
		}
		section[l.uuid] = p
		all = append(all, l)
		if l.typ == "assistant" && l.message != "" {
			if _, known := replies[l.message]; !known {
				replies[l.message] = p
			}
		}
	}
	for _, l := range kept {
		add(l, preserved)
	}
	anchor := ""
	if len(kept) > 0 && len(chain) > 0 {
		anchor = chain[0].uuid // if the right one is in a broken line
		if slices.ContainsFunc(chain, func(l line) bool { return l.uuid == b.anchor }) {
			anchor = b.anchor
		}
	}
	now := upToAnchor
	for _, l := range chain {
		add(l, now)
		if l.uuid == anchor {
			now = behind
		}
	}
	first := int64(0)
	if len(chain) > 0 && len(kept) == 0 {
		first = chain[0].at
	}
	// From the oldest to the newest, so that results find their calls.
	for _, l := range slices.Backward(x.lines) {
		if l.at < first {
			continue
		}
		if p, ok := replies[l.message]; ok && l.typ == "assistant" && l.message != "" {
			add(l, p)
		} else if p, ok := section[l.parent]; ok && l.result && x.lines[x.byUUID[l.parent]].typ == "assistant" {
			add(l, p)
		}
	}
	slices.SortStableFunc(all, func(a, b line) int {
		return cmp.Or(section[a.uuid]-section[b.uuid], cmp.Compare(a.at, b.at))
	})
	return all
}

// bounded leaves out records in the middle when they are more than any model takes. The first prompt, which says what it is all about, and the newest records stay.
func bounded(lines []line) ([]line, int) {
	weight, from := 0, len(lines)
	for from > 0 && weight+lines[from-1].weight <= maxView {
		from--
		weight += lines[from].weight
	}
	if from == 0 {
		return lines, 0
	}
	head := 0
	for head < from && lines[head].typ != "assistant" && lines[head].weight < maxView/8 && head < 8 {
		head++
	}
	return append(slices.Clone(lines[:head]), lines[from:]...), from - head
}
