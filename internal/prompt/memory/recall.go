package memory

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/tool"
)

const (
	mostRecalled    = 5
	recalledBytes   = 4_000
	recallPatience  = 2 * time.Second
	promptForRecall = 4_000 // bytes of a prompt that are looked at
)

// Recall finds the memories that bear on a prompt. It belongs to one session: what was shown once is not shown again.
type Recall struct {
	Store    *Store
	Small    Asker         // nil: a local ranking decides
	Patience time.Duration // how long Small may take; 0: two seconds

	mu     sync.Mutex
	shown  map[string]bool
	ignore bool
}

// For returns at most five memories, each as a text for a reminder. tools are the names of the tools that were used lately. If
// the small model fails or takes too long, the local ranking decides.
func (r *Recall) For(ctx context.Context, prompt string, tools []string) []string {
	prompt = tool.Prefix(prompt, promptForRecall)
	if r.ignored(prompt) {
		return nil
	}
	list := r.candidates()
	if len(list) == 0 || len(words(prompt)) == 0 {
		return nil
	}
	chosen, err := r.ask(ctx, prompt, tools, list)
	if err != nil {
		chosen = rank(prompt, withoutUsage(list, tools))
	}
	chosen = chosen[:min(len(chosen), mostRecalled)]
	var out []string
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shown == nil {
		r.shown = map[string]bool{}
	}
	for _, m := range chosen {
		if !r.shown[m.File] {
			r.shown[m.File] = true
			out = append(out, r.Store.show(m))
		}
	}
	return out
}

// Shown tells that the model has seen these files already, because it read or wrote them itself.
func (r *Recall) Shown(files ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shown == nil {
		r.shown = map[string]bool{}
	}
	for _, f := range files {
		r.shown[f] = true
	}
}

// Forget lets everything be shown again: after /clear and compaction.
func (r *Recall) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = nil
}

// Ignored tells whether the user wants memory to be ignored: then nothing is to be extracted either.
func (r *Recall) Ignored() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ignore
}

var (
	ignoreWish = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:ignore|disregard|(?:do not|don't|dont|never) use|forget about)\s+(?:all |any |the |your |my |our |saved |stored )*memor(?:y|ies)[ \t]*(?:$|[\n.,;:!?()—–，。；！？]|\b(?:and|for|in|on|when|while|from|now|here|this|please|but|then|today)\b)|\bwithout (?:using )?(?:any |the |your )*memor(?:y|ies)[ \t]*(?:$|[\n.,;:!?()，。；！？])|忽略.{0,4}记忆|不要?(?:使?用|参考).{0,4}记忆`)
	})
	useWish = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\W*(?:(?:please|you (?:can|may)|now) )*use (?:the |your |my )*memor(?:y|ies)\b|^\W*(?:请)?(?:重新|继续)?使用记忆`)
	})
)

// ignored notes what the prompt says about memory itself: the wish to ignore it holds until it is taken back.
func (r *Recall) ignored(prompt string) bool {
	ignore := ignoreWish().MatchString(prompt)
	use := !ignore && useWish().MatchString(prompt)
	r.mu.Lock()
	defer r.mu.Unlock()
	if ignore || use {
		r.ignore = ignore
	}
	return r.ignore
}

func (r *Recall) candidates() []Memory {
	list := r.Store.List()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(list, func(m Memory) bool { return r.shown[m.File] })
}

// ask lets the small model choose. What it names and does not exist is left out.
func (r *Recall) ask(ctx context.Context, prompt string, tools []string, list []Memory) ([]Memory, error) {
	if r.Small == nil {
		return nil, errNoModel
	}
	patience := r.Patience
	if patience == 0 {
		patience = recallPatience
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	question := fmt.Sprintf("<prompt>\n%s\n</prompt>\n\n<tools-in-use>%s</tools-in-use>\n\n<notes>\n%s</notes>", prompt, strings.Join(tools, ", "), manifest(list))
	answer, err := r.Small.Ask(ctx, r.Store.text("recall.md"), question)
	if err != nil {
		return nil, err
	}
	var choice struct {
		Files []string `json:"files"`
	}
	if err := decode(answer, &choice); err != nil {
		return nil, err
	}
	var chosen []Memory
	for _, file := range choice.Files {
		if i := slices.IndexFunc(list, func(m Memory) bool { return m.File == file }); i >= 0 && len(chosen) < mostRecalled {
			chosen = append(chosen, list[i])
		}
	}
	return chosen, nil
}

// manifest lists memories in one line each.
func manifest(list []Memory) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "- %s (%s, %s): %s. %s\n", m.File, m.Type, m.Written.Format(time.DateOnly), m.Name, m.Description)
	}
	return b.String()
}

// show renders a memory for the model. One that is older than a day carries its age.
func (s *Store) show(m Memory) string {
	age := ""
	if days := int(s.o.Now().Sub(m.Written) / (24 * time.Hour)); days >= 1 {
		age = fmt.Sprintf(s.in("\nWritten %d days ago: it says what was so then. Check the files and functions it names before you rely on it.",
			"\n写于 %d 天前：说的是当时的情况。依赖其中提到的文件和函数之前，先核实。"), days)
		if days == 1 {
			age = strings.Replace(age, "1 days ago", "a day ago", 1)
		}
	}
	body := m.Body
	if len(body) > recalledBytes {
		body = tool.Prefix(body, recalledBytes) + fmt.Sprintf(s.in("\n[cut: the rest is in %s/%s]", "\n[已截断：其余内容在 %s/%s]"), s.o.Dir, m.File)
	}
	return fmt.Sprintf(s.in("A memory that may bear on this: %s (%s, %s)%s\n\n%s", "一条可能相关的记忆：%s（%s，%s）%s\n\n%s"), m.Name, m.Type, m.File, age, body)
}
