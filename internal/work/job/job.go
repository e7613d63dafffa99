// Package job keeps track of work that goes on in the background: commands, agents and whatever else has an id, a state, an
// output and an end.
//
// A Registry promises that a job ends exactly once (the first end wins), that whoever waits for it wakes then, that its
// owner gets one notice of the end unless it has read of it before, and that watchers see all changes in their order.
// Jobs of one owner can be read by all: the id is the key. A Registry may be used by many goroutines at once.
package job

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gofer/internal/proc/spool"
)

// A Kind says what does the work.
type Kind string

const (
	Bash     Kind = "local_bash"
	Agent    Kind = "local_agent"
	Teammate Kind = "in_process_teammate"
	Workflow Kind = "local_workflow"
	Monitor  Kind = "monitor"
)

// A State says how far a job is.
type State string

const (
	Running   State = "running"
	Waiting   State = "waiting" // for an answer or a message
	Completed State = "completed"
	Failed    State = "failed"
	Killed    State = "killed"
)

// Ended reports whether s is final.
func (s State) Ended() bool { return s == Completed || s == Failed || s == Killed }

// A Job is what is known of a piece of work at one moment.
type Job struct {
	ID          string
	Kind        Kind
	State       State
	Description string
	Owner       string // the agent that started it; "" is the main agent
	CallID      string // the tool call that started it
	OutputFile  string // "" if there is none
	Foreground  bool   // somebody waits for it: its end needs no notice
	Started     time.Time
	Ended       time.Time // zero while it goes on
	Outcome
}

// An Outcome is what came of a job.
type Outcome struct {
	ExitCode *int   // of a command
	Summary  string // one line
	Result   string // what an agent answered
	Usage    *Usage
}

// Usage is what a job has used.
type Usage struct {
	Tokens   int
	ToolUses int
	CostUSD  float64
}

// A Spec describes work that is about to begin.
type Spec struct {
	ID          string // of work that names itself; "": a new one. Work that has ended may begin again under its id
	Kind        Kind
	Description string
	Owner       string
	CallID      string
	Output      *spool.Spool // nil: it has no output
	Stop        func()       // ends the work; End is called by the work itself then
	Foreground  bool         // somebody waits for it, until Background is called
}

// A Registry holds the jobs of one session. New makes one.
type Registry struct {
	dir   string
	now   func() time.Time
	limit int

	mu       sync.Mutex
	jobs     map[string]*entry
	order    []string
	pending  []Job // ends that their owners have not been told of
	watchers []*func(Job)
	changes  []Job // not yet told to the watchers
	telling  bool
}

// entry is a job with what only the registry needs. All of it is guarded by the registry's lock.
type entry struct {
	job      Job
	output   *spool.Spool
	stop     func()
	stopping bool
	stopper  *string // who stops it; nil: nobody in particular
	done     chan struct{}
	read     map[string]int64 // how far each reader has read the output
}

// New returns an empty Registry that keeps output files in dir and shows at most limit characters of an output at
// once; 0 is 30,000.
func New(dir string, limit int, now func() time.Time) *Registry {
	if limit <= 0 {
		limit = 30_000
	}
	return &Registry{dir: dir, limit: limit, now: now, jobs: map[string]*entry{}}
}

// A Handle is how the work itself speaks to the registry.
type Handle struct {
	r *Registry
	e *entry
}

// Add registers work that runs from now on. Its output, if any, is put into a file.
func (r *Registry) Add(s Spec) *Handle {
	e := &entry{output: s.Output, stop: s.Stop, done: make(chan struct{}), read: map[string]int64{}}
	e.job = Job{ID: s.ID, Kind: s.Kind, State: Running, Description: s.Description, Owner: s.Owner, CallID: s.CallID, Foreground: s.Foreground}
	r.mu.Lock()
	if e.job.ID == "" {
		e.job.ID = r.newID(s.Kind)
	}
	e.job.Started = r.now()
	if _, again := r.jobs[e.job.ID]; !again {
		r.order = append(r.order, e.job.ID)
	}
	r.jobs[e.job.ID] = e
	if !s.Foreground {
		r.persist(e)
	}
	r.changed(e)
	r.mu.Unlock()
	r.tell()
	return &Handle{r, e}
}

// persist puts the output into its file. A disk that is full is told of when the output is read.
func (r *Registry) persist(e *entry) {
	if e.output == nil {
		return
	}
	path := filepath.Join(r.dir, e.job.ID+".output")
	os.Remove(path) // of the same work when it ran before
	e.job.OutputFile, _ = e.output.Persist(path)
}

// Background says that nobody waits for the job any more: its owner gets a notice of the end. It reports false when the job has
// ended already, and then there is none.
func (h *Handle) Background() bool {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.e.job.State.Ended() {
		return false
	}
	if h.e.job.Foreground {
		h.e.job.Foreground = false
		h.r.persist(h.e)
	}
	return true
}

// newID returns an id that no job of this registry has: a letter for the kind and eight digits in base 36.
func (r *Registry) newID(k Kind) string {
	letter := "t"
	switch k {
	case Bash:
		letter = "b"
	case Agent, Teammate:
		letter = "a"
	case Monitor:
		letter = "m"
	}
	for {
		n, err := rand.Int(rand.Reader, new(big.Int).Exp(big.NewInt(36), big.NewInt(8), nil))
		if err != nil {
			panic(err) // crypto/rand does not fail
		}
		digits := n.Text(36)
		id := letter + strings.Repeat("0", 8-len(digits)) + digits
		if _, taken := r.jobs[id]; !taken {
			return id
		}
	}
}

// Job returns the job as it is now.
func (h *Handle) Job() Job {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	return h.e.job
}

// Wait marks the job as waiting, or as running again. It does nothing once the job has ended.
func (h *Handle) Wait(waiting bool) {
	h.r.mu.Lock()
	if !h.e.job.State.Ended() {
		h.e.job.State = Running
		if waiting {
			h.e.job.State = Waiting
		}
		h.r.changed(h.e)
	}
	h.r.mu.Unlock()
	h.r.tell()
}

// End ends the job. A job that was being stopped ends as killed, whatever state says. Only the first end counts.
func (h *Handle) End(state State, o Outcome) {
	h.r.mu.Lock()
	h.r.end(h.e, state, o)
	h.r.mu.Unlock()
	h.r.tell()
}

func (r *Registry) end(e *entry, state State, o Outcome) {
	if e.job.State.Ended() {
		return
	}
	if e.stopping {
		state = Killed
	}
	e.job.State, e.job.Outcome, e.job.Ended = state, o, r.now()
	if e.output != nil {
		if path, _ := e.output.Path(); path != "" {
			e.job.OutputFile = path
		}
	}
	close(e.done)
	if !e.job.Foreground && (e.stopper == nil || *e.stopper != e.job.Owner) { // who stopped it knows
		r.pending = append(r.pending, e.job)
	}
	r.changed(e)
}

// Get returns a job by its id.
func (r *Registry) Get(id string) (Job, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.jobs[id]; e != nil {
		return e.job, true
	}
	return Job{}, false
}

// List returns all jobs in the order in which they began.
func (r *Registry) List() []Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Job, len(r.order))
	for i, id := range r.order {
		list[i] = r.jobs[id].job
	}
	return list
}

// TakeNotices returns the ends that owner has not been told of, oldest first, and forgets them.
func (r *Registry) TakeNotices(owner string) []Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken []Notice
	r.pending = slices.DeleteFunc(r.pending, func(j Job) bool {
		if j.Owner != owner {
			return false
		}
		taken = append(taken, Notice{j})
		return true
	})
	return taken
}

// told forgets the notice of a job whose owner has seen its end.
func (r *Registry) told(id, owner string) {
	r.pending = slices.DeleteFunc(r.pending, func(j Job) bool { return j.ID == id && j.Owner == owner })
}

// Watch calls f with a job whenever one begins, changes its state or ends. The calls come one at a time and in order, from whatever
// goroutine made the change: f must be quick, and may use the registry. The returned function ends the watch.
func (r *Registry) Watch(f func(Job)) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &f
	r.watchers = append(r.watchers, p)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		// A new list: tell may be going through the old one.
		r.watchers = slices.DeleteFunc(slices.Clone(r.watchers), func(q *func(Job)) bool { return q == p })
	}
}

func (r *Registry) changed(e *entry) { r.changes = append(r.changes, e.job) }

// tell hands the changes to the watchers. Only one goroutine does so at a time, and takes the others' changes along.
func (r *Registry) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.telling {
		return
	}
	r.telling = true
	for len(r.changes) > 0 {
		j := r.changes[0]
		r.changes = r.changes[1:]
		watchers := r.watchers
		r.mu.Unlock()
		for _, f := range watchers {
			(*f)(j)
		}
		r.mu.Lock()
	}
	r.telling = false
}

// Close stops all jobs that go on, at once, and marks them as killed.
func (r *Registry) Close() {
	r.mu.Lock()
	var stops []func()
	for _, id := range r.order {
		e := r.jobs[id]
		if e.job.State.Ended() {
			continue
		}
		e.stopping = true
		if e.stop != nil {
			stops = append(stops, e.stop)
		}
	}
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, stop := range stops {
		all.Go(stop)
	}
	all.Wait()
	r.mu.Lock()
	for _, id := range r.order {
		r.end(r.jobs[id], Killed, Outcome{Summary: "ended because the session ended"})
	}
	r.mu.Unlock()
	r.tell()
}

func (r *Registry) names() string {
	var running []string
	for _, id := range r.order {
		if j := r.jobs[id].job; !j.State.Ended() {
			running = append(running, fmt.Sprintf("%s (%s)", id, j.Description))
		}
	}
	if running == nil {
		return "nothing runs in the background"
	}
	return "running are " + strings.Join(running, ", ")
}
