package prompt

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Kind is one sort of fact that becomes known during a session. The order of the kinds is the order in which they are told.
type Kind int

const (
	DateChange     Kind = iota + 1
	PlanMode            // whether the model may only plan
	TodoState           // the list as it stands
	ChangedFiles        // files that the model has read and others have changed; the key is the path
	Editor              // what the user looks at in the editor
	Diagnostics         // what language servers say that is new; the key is the path
	LateServers         // instructions of servers that joined late; the key is the server
	Nested              // instructions of a folder that was first touched
	Recalled            // memories that may bear on the prompt
	HookContext         // what hooks add
	TaskNotices         // what background work has come to
	QueuedMessages      // what the user wrote meanwhile
	kinds
)

// A kindRule says how facts of a kind are told.
type kindRule struct {
	most   int  // bytes of all facts of the kind in one telling
	state  bool // the newest fact of a key counts, and one that was told already is not told again
	sorted bool // by key: they come from parallel work, and the same work has to give the same bytes
	eng    string
	chn    string
}

func (k Kind) rule() kindRule {
	switch k {
	case DateChange:
		return kindRule{most: 200, state: true}
	case PlanMode:
		return kindRule{most: 4_000, state: true}
	case TodoState:
		return kindRule{most: 6_000, state: true, eng: "The todo list as it stands. Go on with it; do not speak of this reminder.", chn: "当前的待办清单。请继续推进；不要提及这条提醒。"}
	case ChangedFiles:
		return kindRule{most: 8_000, state: true, sorted: true, eng: "These files were changed on disk since you read them, by the user or another program. That was on purpose: build on it, do not undo it.",
			chn: "以下文件在你读取之后被用户或其他程序改动。这是有意为之：请在此基础上工作，不要还原。"}
	case Editor:
		return kindRule{most: 4_000, state: true}
	case Diagnostics:
		return kindRule{most: 6_000, state: true, sorted: true, eng: "New diagnostics:", chn: "新的诊断信息："}
	case LateServers:
		return kindRule{most: 6_000, state: true, sorted: true, eng: "MCP servers that have joined:", chn: "新加入的 MCP 服务器："}
	case Nested:
		return kindRule{most: fileMost}
	case Recalled:
		return kindRule{most: 24_000}
	case HookContext:
		return kindRule{most: 12_000}
	case TaskNotices:
		return kindRule{most: 12_000}
	}
	return kindRule{most: 50_000, eng: "The user wrote this while you were working. Take it into account before you go on.", chn: "用户在你工作期间写了以下内容。继续之前请加以考虑。"}
}

// Reminders collect facts until the next message to the model takes them along. They are only ever appended: what was told stays as
// it was told. The zero value is ready; it may be used by several goroutines.
type Reminders struct {
	Language Language

	mu      sync.Mutex
	pending []fact
	told    map[factKey][32]byte
	day     string
}

type factKey struct {
	kind Kind
	key  string
}

type fact struct {
	factKey
	text string
}

// Add adds a fact. It panics for a kind that is none, which is a mistake in the program.
func (r *Reminders) Add(k Kind, text string) { r.Set(k, "", text) }

// Set adds a fact about something. For kinds that speak of a state it takes the place of an older one about the same thing that
// was not told yet, and is dropped if the same was told last. An empty text takes the older one back.
func (r *Reminders) Set(k Kind, key, text string) {
	if k <= 0 || k >= kinds {
		panic("prompt: a reminder of no kind")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := fact{factKey{k, key}, cut(r.Language, strings.TrimSpace(text), k.rule().most)}
	if k.rule().state {
		r.pending = slices.DeleteFunc(r.pending, func(p fact) bool { return p.factKey == f.factKey })
		if last, ok := r.told[f.factKey]; ok && last == digest(f.text) {
			return
		}
	}
	if f.text != "" {
		r.pending = append(r.pending, f)
	}
}

// Today tells the date when it is not the one that was told last. The first call only notes what Opening has said.
func (r *Reminders) Today(now time.Time) {
	day := now.Format(time.DateOnly)
	r.mu.Lock()
	last := r.day
	r.day = day
	r.mu.Unlock()
	if last != "" && last != day {
		r.Add(DateChange, r.Language.in("The date has changed. Today is "+day+". Do not speak of it unless it matters.", "日期已变。今天是 "+day+"。若无关紧要，不必提及。"))
	}
}

// Take returns what is to be told now, one text for each kind, and forgets it. Each text is for a reminder of its own.
func (r *Reminders) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		return nil
	}
	slices.SortStableFunc(r.pending, func(a, b fact) int {
		if c := cmp.Compare(a.kind, b.kind); c != 0 || !a.kind.rule().sorted {
			return c
		}
		return cmp.Compare(a.key, b.key)
	})
	if r.told == nil {
		r.told = map[factKey][32]byte{}
	}
	var out []string
	for facts := range chunkBy(r.pending, func(a, b fact) bool { return a.kind == b.kind }) {
		out = append(out, r.tell(facts))
	}
	r.pending = nil
	return out
}

// tell renders the facts of one kind. What does not fit is cut, and said to be.
func (r *Reminders) tell(facts []fact) string {
	rule := facts[0].kind.rule()
	var parts []string
	for _, f := range facts {
		if rule.state {
			r.told[f.factKey] = digest(f.text)
		}
		parts = append(parts, f.text)
	}
	return facts[0].kind.Say(r.Language, strings.Join(parts, "\n\n"))
}

// Say is one fact of a kind as it is told, for whoever tells it at once.
func (k Kind) Say(l Language, text string) string {
	rule := k.rule()
	return join(l.in(rule.eng, rule.chn), inert(cut(l, text, rule.most)))
}

// Compacted forgets what was told, because the conversation that held it is gone: a state that still holds may be told again.
func (r *Reminders) Compacted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = nil
}

// chunkBy yields the runs of neighbours that belong together.
func chunkBy(list []fact, same func(a, b fact) bool) func(yield func([]fact) bool) {
	return func(yield func([]fact) bool) {
		for start := 0; start < len(list); {
			end := start + 1
			for end < len(list) && same(list[start], list[end]) {
				end++
			}
			if !yield(list[start:end]) {
				return
			}
			start = end
		}
	}
}
