package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/agents"
	"gofer/internal/event"
	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/session"
	"gofer/internal/session/history"
	"gofer/internal/session/history/tree"
	"gofer/internal/session/transcript"
	"gofer/internal/tool"
	"gofer/internal/tool/search/ignore"
	"gofer/internal/work/job"
)

// rewinding is what the engine has to take changes of files back.
type rewinding struct {
	watch  *tree.Watch
	warn   sync.Once
	sweep  sync.Once
	waited sync.WaitGroup

	mu        sync.Mutex
	lingering map[string]func(context.Context) error // by call: commands in the background
}

func (p place) histories() string { return filepath.Join(p.config, "file-history") }

func (p place) history() string { return filepath.Join(p.histories(), p.session) }

// openHistory opens the file history. A rewind that a kill cut off is finished first.
func (e *engine) openHistory() {
	if err := history.Recover(e.ctx, e.place.histories()); err != nil {
		fmt.Fprintln(e.world.Stderr, "Warning: "+err.Error())
	}
	set := e.settings.Current().Settings.FileHistory
	e.history = history.Open(e.place.history(), history.Options{Snapshots: set.MaxSnapshots, FileLimit: int64(set.MaxFileMB) << 20, SizeLimit: int64(set.MaxTotalMB) << 20})
	r := &e.rewinding
	r.lingering = map[string]func(context.Context) error{}
	r.watch = tree.New(e.history, tree.Options{Dirs: e.workDirs, Home: e.place.home, Rules: newIgnoreRules})
	e.closers = append(e.closers, e.closeHistory)
}

func (e *engine) closeHistory() {
	r := &e.rewinding
	r.mu.Lock()
	for id, end := range r.lingering {
		e.warnHistory(end(context.Background()))
		delete(r.lingering, id)
	}
	r.mu.Unlock()
	r.watch.Close()
	e.warnHistory(e.history.Close())
	r.waited.Wait()
}

// sweepHistories removes old histories, once and beside everything else, when this session is about to add to them.
func (e *engine) sweepHistories() {
	e.rewinding.sweep.Do(func() {
		set := e.settings.Current().Settings.FileHistory
		e.rewinding.waited.Go(func() {
			e.warnHistory(history.Sweep(e.place.histories(), time.Duration(set.MaxAgeDays)*24*time.Hour, int64(set.MaxTotalMB)<<20, e.place.session))
		})
	})
}

// warnHistory says once that changes may be missing from the history. The work itself goes on.
func (e *engine) warnHistory(err error) {
	if err == nil {
		return
	}
	e.rewinding.warn.Do(func() {
		e.emit(event.Info{Level: "warning", Content: "The file history may miss changes of commands: " + err.Error()})
	})
}

// watchFiles is the innermost middleware: it lets the file history see what calls change. File tools tell it themselves; around commands
// that may change files the working directories are looked at.
func (e *engine) watchFiles(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if c.Traits.ReadOnly {
			return next(ctx, c)
		}
		runs := false
		for _, a := range c.Access() {
			switch a.Verb {
			case tool.Exec:
				runs = true
			case tool.Write:
				e.sweepHistories()
				if dirs := history.Missing(a.Target); len(dirs) > 0 {
					e.history.WillMake(a.Target, dirs)
				}
			}
		}
		if !runs {
			return next(ctx, c)
		}
		e.sweepHistories()
		after, err := e.rewinding.watch.Before(ctx)
		e.warnHistory(err)
		tell := e.watchCommand()
		res, err := next(ctx, c)
		kept := context.WithoutCancel(ctx)
		e.warnHistory(after(kept))
		tell()
		e.linger(kept, c.ID)
		return res, err
	}
}

// watchedGate is the gate of an agent, behind which the file history sees what the agent's calls change.
func (e *engine) watchedGate(p agents.Post) tool.Middleware {
	gate := e.gateOf(p)
	return func(next tool.Handler) tool.Handler { return gate(e.watchFiles(next)) }
}

// linger goes on watching if the command of a call went to the background.
func (e *engine) linger(ctx context.Context, callID string) {
	runs := func(j job.Job) bool { return j.CallID == callID && j.Kind == job.Bash && !j.State.Ended() }
	if !slices.ContainsFunc(e.jobs.List(), runs) {
		return
	}
	r := &e.rewinding
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lingering[callID] = r.watch.Linger(ctx)
	if !slices.ContainsFunc(e.jobs.List(), runs) {
		e.warnHistory(r.lingering[callID](ctx)) // it ended in between, and nobody will say so again
		delete(r.lingering, callID)
	}
}

// jobEnded tells the file history that a command in the background has ended.
func (e *engine) jobEnded(j job.Job) {
	if j.Kind != job.Bash || !j.State.Ended() {
		return
	}
	r := &e.rewinding
	// Not at once: the registry of jobs waits for its watchers. Once the history is closed there is nothing left to do.
	go func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if end := r.lingering[j.CallID]; end != nil {
			e.warnHistory(end(context.WithoutCancel(e.ctx)))
			delete(r.lingering, j.CallID)
		}
	}()
}

// ignoreRules are the rules of .gitignore and the like.
type ignoreRules struct {
	reader *ignore.Reader
	folder *ignore.Folder
}

func newIgnoreRules(dir string) tree.Rules {
	reader := &ignore.Reader{}
	return ignoreRules{reader, reader.Above(filepath.ToSlash(dir))}
}

func (r ignoreRules) Enter(dir string, hasRules, isRepo bool) tree.Rules {
	return ignoreRules{r.reader, r.reader.Enter(r.folder, filepath.ToSlash(dir), ignore.Has{GitIgnore: hasRules, Git: isRepo})}
}

func (r ignoreRules) Ignores(path, name string, dir bool) bool {
	return r.folder.Match([]byte(filepath.ToSlash(path)), []byte(name), dir) == ignore.Exclude
}

// previewRewind says what rewindTo would do.
func (e *engine) previewRewind(ctx context.Context, messageID string) (history.Plan, error) {
	if err := e.locate(messageID); err != nil {
		return history.Plan{}, err
	}
	return e.history.Preview(ctx, messageID)
}

// rewindTo brings files back to what they were when a message of the user came. The model is told with the next prompt.
func (e *engine) rewindTo(ctx context.Context, messageID string) (history.Done, error) {
	if err := e.locate(messageID); err != nil {
		return history.Done{}, err
	}
	done, err := e.history.Rewind(ctx, messageID)
	if err == nil && len(done.Files) > 0 {
		text := "The user has taken back changes of files. These are no longer as you left them; read them again before you rely on them:"
		for _, f := range done.Files {
			text += "\n" + f.Path
		}
		err = e.session.Submit(ctx, session.Input{Notice: true, Quiet: true, Blocks: []llm.Block{llm.TextBlock(loop.Reminder(text))}})
	}
	return done, err
}

// locate finds messages that the file history was not told of: those that joined a running turn, and those without changes of their own
// before a kill.
func (e *engine) locate(messageID string) error {
	var prompts []transcript.Prompt
	if e.resumed != nil {
		prompts = e.resumed.Prompts
	}
	return locate(e.history, messageID, prompts)
}

func locate(h *history.Store, messageID string, prompts []transcript.Prompt) error {
	if _, err := h.Since(messageID); err == nil {
		return nil
	}
	i := slices.IndexFunc(prompts, func(p transcript.Prompt) bool { return p.UUID == messageID })
	if i < 0 || !h.Locate(messageID, prompts[i].Time) {
		return fmt.Errorf("the file history has nothing for the message %s: it is not one of this session, or it is too long ago", messageID)
	}
	return nil
}

// rewindRequest is what a client asks for.
type rewindRequest struct {
	MessageID string `json:"user_message_id"`
	DryRun    bool   `json:"dry_run"`
}

// rewindAnswer is what it gets.
type rewindAnswer struct {
	CanRewind    bool       `json:"canRewind"`
	Error        string     `json:"error,omitempty"`
	FilesChanged []string   `json:"filesChanged,omitempty"`
	Insertions   int        `json:"insertions"`
	Deletions    int        `json:"deletions"`
	Left         []leftFile `json:"leftAlone,omitempty"`
	Files        []diffFile `json:"files,omitempty"`      // only of a dry run
	Checkpoint   string     `json:"checkpoint,omitempty"` // rewinding to it takes the rewind back
}

type leftFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

type diffFile struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Diff string `json:"diff,omitempty"`
	Note string `json:"note,omitempty"`
}

func answerOf(p history.Plan) rewindAnswer {
	a := rewindAnswer{CanRewind: true, Insertions: p.Insertions, Deletions: p.Deletions}
	for _, f := range p.Files {
		a.FilesChanged = append(a.FilesChanged, f.Path)
	}
	for _, l := range p.Left {
		a.Left = append(a.Left, leftFile(l))
	}
	return a
}

func (e *engine) rewindFilesRequest(ctx context.Context, r rewindRequest) (any, error) {
	if r.DryRun {
		plan, err := e.previewRewind(ctx, r.MessageID)
		if err != nil {
			return rewindAnswer{Error: err.Error()}, nil
		}
		a := answerOf(plan)
		for _, f := range plan.Files {
			a.Files = append(a.Files, diffFile{f.Path, string(f.Kind), f.Diff, f.Note})
		}
		return a, nil
	}
	done, err := e.rewindTo(ctx, r.MessageID)
	if err != nil {
		return rewindAnswer{Error: err.Error()}, nil
	}
	a := answerOf(done.Plan)
	a.Checkpoint = done.Checkpoint
	return a, nil
}

// rewindFiles is gofer --resume SESSION --rewind-files MESSAGE: it restores files, says what it did and ends.
func rewindFiles(ctx context.Context, w World, f Flags, p place) error {
	if p.resume == "" || f.Fork {
		return usage("--rewind-files needs --resume, without --fork-session: it restores files of a session that was")
	}
	// While the transcript is open nobody else can go on with the session.
	record, state, err := transcript.Open(p.resume, "", transcript.Meta{})
	if err != nil {
		return err
	}
	defer record.Close()
	if err := history.Recover(ctx, p.histories()); err != nil {
		return err
	}
	h := history.Open(p.history(), history.Options{})
	if err := locate(h, f.Rewind, state.Prompts); err != nil {
		return err
	}
	done, err := h.Rewind(ctx, f.Rewind)
	if err != nil {
		return err
	}
	fmt.Fprint(w.Stdout, tellRewind(done, p))
	return nil
}

// tellRewind says in words what a rewind did.
func tellRewind(d history.Done, p place) string {
	var b strings.Builder
	short := func(path string) string {
		if rel, err := filepath.Rel(p.cwd, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
		return path
	}
	words := map[history.Kind]string{history.Creates: "brought back", history.Changes: "restored", history.Removes: "removed"}
	if len(d.Files) == 0 {
		b.WriteString("No file had to be restored.\n")
	}
	for _, f := range d.Files {
		fmt.Fprintf(&b, "%-12s %s (+%d -%d)\n", words[f.Kind], short(f.Path), f.Insertions, f.Deletions)
	}
	for _, l := range d.Left {
		fmt.Fprintf(&b, "%-12s %s: %s\n", "left", short(l.Path), l.Reason)
	}
	if d.Checkpoint != "" {
		fmt.Fprintf(&b, "To take this back: %s --resume %s --rewind-files %s\n", filepath.Base(os.Args[0]), p.session, d.Checkpoint)
	}
	return b.String()
}
