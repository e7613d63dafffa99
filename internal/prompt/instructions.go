package prompt

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
)

// A Source says whose an instruction file is. The words are those that hooks read as memory_type.
type Source string

const (
	FromManaged Source = "Managed" // an administrator's
	FromUser    Source = "User"    // the user's, for all projects
	FromProject Source = "Project" // the project's, shared
	FromLocal   Source = "Local"   // the user's, for this project
)

// A LoadReason says why a file was loaded. The words are those that hooks read as load_reason.
type LoadReason string

const (
	AtStart   LoadReason = "session_start"
	OnNested  LoadReason = "nested_traversal" // a file below its folder was touched
	OnPath    LoadReason = "path_glob_match"  // a file that its paths name was touched
	OnImport  LoadReason = "include"
	OnCompact LoadReason = "compact"
)

const (
	warnBeyond = 40_000  // characters: a file this long costs more than it helps
	fileMost   = 100_000 // bytes of one file
	totalMost  = 300_000 // bytes of all files
	importDeep = 5
)

// An Instruction is a file that was loaded.
type Instruction struct {
	Path   string
	Source Source
	Reason LoadReason
	Text   string
	By     string // the file that imports it

	from found
}

// InstructionOptions say where instruction files are looked for, and what counts.
type InstructionOptions struct {
	Cwd, Home, ConfigDir string
	Managed              []string // the administrator's folders
	ManagedText          string   // the administrator's words from the settings
	ExtraDirs            []string // further folders whose files count: --add-dir
	Excludes             []string // globs over absolute paths of files that do not count

	User, Project, Local bool // which setting sources count; an administrator's always do
	Bare                 bool // only ExtraDirs, which somebody asked for

	// Approve is asked before text from outside of the project is taken in because a file of the project imports it or leads to it.
	// nil means no. It must not call the Instructions.
	Approve func(by, path string) bool
	Loaded  func(Instruction) // told about each file, in order; may be nil
	Warn    func(string)      // told what a person should know; may be nil

	Language Language
}

// Instructions are the instruction files of a session. Every file and every text counts once. Nothing is read before it is
// needed. Its methods may be called by several goroutines.
type Instructions struct {
	o InstructionOptions

	mu      sync.Mutex
	ready   bool
	place   ground
	seen    map[string]bool   // real paths of files
	texts   map[[32]byte]bool // texts that were told
	folders map[string]bool   // folders whose files were looked for
	rules   []rule            // rules that wait for a file which they are about
	start   []Instruction
	nested  []Instruction
	total   int
	answers map[string]bool // what Approve said: nobody is asked twice
	warned  map[string]bool
}

// NewInstructions reads nothing yet.
func NewInstructions(o InstructionOptions) *Instructions {
	o.Cwd = filepath.Clean(o.Cwd)
	extra := o.ExtraDirs
	o.ExtraDirs = nil
	for _, dir := range extra {
		o.ExtraDirs = append(o.ExtraDirs, absolute(o.Cwd, dir))
	}
	return &Instructions{o: o, answers: map[string]bool{}, warned: map[string]bool{}}
}

// Text returns the instructions that hold from the start, ready for Opening. The first call reads the files.
func (in *Instructions) Text() string {
	in.mu.Lock()
	var told report
	if !in.ready {
		told = in.loadStart(AtStart)
	}
	text := in.render(in.start)
	in.mu.Unlock()
	in.tell(told)
	return text
}

// List returns all that was loaded, for whoever shows what fills the context.
func (in *Instructions) List() []Instruction {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append(append([]Instruction(nil), in.start...), in.nested...)
}

// Told notes files that the model knows already: a resumed session's. It comes after Text.
func (in *Instructions) Told(paths ...string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range paths {
		if in.ready {
			in.seen[realPath(p)] = true
		}
	}
}

// Forget lets the next Text begin anew: after /clear.
func (in *Instructions) Forget() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reset()
}

// Compacted reads everything again that was loaded, because the conversation that held it is gone: the text for the opening, and
// those of sub-folders and paths as reminders.
func (in *Instructions) Compacted() (opening string, reminders []string) {
	in.mu.Lock()
	before := in.nested
	in.reset()
	told := in.loadStart(OnCompact)
	opening = in.render(in.start)
	l := in.loader(OnCompact)
	for _, n := range before {
		if n.By == "" {
			n.from.met = true
			l.load(n.from, "", 0)
		}
	}
	in.nested = append(in.nested, l.out...)
	if len(l.out) > 0 {
		reminders = []string{in.renderNested(l.out)}
	}
	told = told.add(l.report)
	in.mu.Unlock()
	in.tell(told)
	return opening, reminders
}

func (in *Instructions) reset() {
	in.ready, in.start, in.nested, in.rules, in.total = false, nil, nil, nil, 0
}

// loadStart reads what holds from the start.
func (in *Instructions) loadStart(why LoadReason) report {
	in.ready = true
	in.place = newGround(in.o)
	in.seen, in.texts, in.folders = map[string]bool{}, map[[32]byte]bool{}, map[string]bool{}
	l := in.loader(why)
	if text := strings.TrimSpace(in.o.ManagedText); text != "" && !in.o.Bare {
		l.add(Instruction{Path: "managed settings", Source: FromManaged, Reason: why, Text: text})
	}
	for _, f := range in.place.startFiles(in.o, func(dir string) { in.folders[dir] = true }) {
		l.load(f, "", 0)
	}
	in.start = l.out
	return l.report
}

func (in *Instructions) render(list []Instruction) string {
	if len(list) == 0 {
		return ""
	}
	l := in.o.Language
	return l.in("Instructions of the user and the project follow. Keep to them: they come before your own habits, and where two contradict each other the later one counts. Some may have nothing to do with the task at hand.",
		"以下是用户和项目的要求。请遵守：它们优先于你自己的习惯；若两条相互矛盾，以后者为准。有些可能与当前任务无关。") + "\n\n" + in.renderFiles(list)
}

func (in *Instructions) renderNested(list []Instruction) string {
	return in.o.Language.in("These instructions belong to files that you have just come to. Keep to them when you work there.",
		"以下要求适用于你刚刚接触的文件。在那里工作时请遵守。") + "\n\n" + in.renderFiles(list)
}

func (in *Instructions) renderFiles(list []Instruction) string {
	var parts []string
	for _, i := range list {
		parts = append(parts, fmt.Sprintf("## %s (%s)\n%s", oneLine(i.Path, 1000), in.whose(i), inert(i.Text)))
	}
	return strings.Join(parts, "\n\n")
}

func (in *Instructions) whose(i Instruction) string {
	l := in.o.Language
	if i.By != "" {
		return fmt.Sprintf(l.in("imported by %s", "由 %s 引入"), oneLine(i.By, 1000))
	}
	switch i.Source {
	case FromManaged:
		return l.in("set by the administrator", "由管理员设定")
	case FromUser:
		return l.in("the user's, for all projects", "用户的，适用于所有项目")
	case FromLocal:
		return l.in("the user's, for this project", "用户的，仅用于本项目")
	}
	return l.in("the project's", "项目的")
}

// A report is what has to be told when no lock is held any more.
type report struct {
	loaded   []Instruction
	warnings []string
}

func (r report) add(more report) report {
	return report{append(r.loaded, more.loaded...), append(r.warnings, more.warnings...)}
}

func (in *Instructions) tell(r report) {
	for _, i := range r.loaded {
		if in.o.Loaded != nil {
			in.o.Loaded(i)
		}
	}
	if in.o.Warn == nil {
		return
	}
	for _, w := range r.warnings {
		in.o.Warn(w)
	}
}

func digest(text string) [32]byte { return sha256.Sum256([]byte(text)) }
