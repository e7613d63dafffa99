package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Options says where settings are.
type Options struct {
	ConfigDir  string // CONFIG; see ConfigDir
	ProjectDir string // the folder that holds .claude; empty for no project

	Flag           string   // --settings: a file, or JSON that begins with {
	ManagedJSON    string   // --managed-settings: JSON from the program that drives gofer
	Sources        []string // --setting-sources: user, project, local; nil is all, empty is none of them
	ManagedFolders []string // nil is the system's: see ManagedDirs
	Trust          Trust

	lenient bool // faults that would stop gofer are only problems, for lint
}

// ConfigDir returns CONFIG and whether the environment chose it: $GOFER_CONFIG_DIR, else $CLAUDE_CONFIG_DIR, else ~/.claude.
func ConfigDir(getenv func(string) string, home string) (dir string, chosen bool) {
	for _, name := range []string{"GOFER_CONFIG_DIR", "CLAUDE_CONFIG_DIR"} {
		if dir := getenv(name); dir != "" {
			if abs, err := filepath.Abs(dir); err == nil {
				dir = abs
			}
			return dir, true
		}
	}
	return filepath.Join(home, ".claude"), false
}

// ParseSources reads the value of --setting-sources. An empty value is no source at all.
func ParseSources(value string) ([]string, error) {
	sources := []string{}
	for name := range strings.SplitSeq(value, ",") {
		switch name = strings.TrimSpace(name); name {
		case "":
		case "user", "project", "local":
			sources = append(sources, name)
		default:
			return nil, fmt.Errorf("--setting-sources: there is no source %q; the sources are user, project and local", name)
		}
	}
	return sources, nil
}

func (o Options) reads(source string) bool {
	return o.Sources == nil || slices.Contains(o.Sources, source)
}

// Path returns the file of a layer that can be written.
func (o Options) Path(l Layer) (string, error) {
	switch {
	case l == User && o.ConfigDir != "":
		return filepath.Join(o.ConfigDir, "settings.json"), nil
	case l == Project && o.ProjectDir != "":
		return filepath.Join(o.ProjectDir, ".claude", "settings.json"), nil
	case l == Local && o.ProjectDir != "":
		return filepath.Join(o.ProjectDir, ".claude", "settings.local.json"), nil
	}
	return "", fmt.Errorf("%s settings cannot be written", l)
}

// A text is one source of settings, read and parsed.
type text struct {
	layer Layer
	file  string
	src   *source
	root  *node // an object; empty when the text is broken
	loose *syntaxError
	fault *Problem // why the text as a whole does not count
	stamp stamp
	read  time.Time // when; see unsure
}

// A stamp tells whether a file changed.
type stamp struct {
	size  int64
	mtime int64
	inode uint64
}

// unsure reports that the stamp proves nothing: file systems count time in steps of milliseconds, so a file that was read right
// after a change may have changed again within the same step.
func (t *text) unsure() bool { return t.read.UnixNano()-t.stamp.mtime < int64(100*time.Millisecond) }

// at returns the value at a path, or nil.
func (t *text) at(path []string) *node {
	n := t.root
	for _, name := range path {
		if n = n.member(name); n == nil {
			return nil
		}
	}
	return n
}

// maxFile is far above any settings file. A larger one is a mistake, or an attack by a project.
const maxFile = 16 << 20

// parseText parses data. It never fails: a broken text is an empty one with a fault.
func parseText(l Layer, file string, data []byte) *text {
	t := &text{layer: l, file: file, src: &source{data}}
	root, loose, err := parse(data)
	switch {
	case err != nil:
		t.broken(offsetOf(err), err.Error())
	case root.kind != '{':
		t.broken(root.off, fmt.Sprintf("settings are an object in braces, but this is %s", root.what()))
	default:
		t.root, t.loose = root, loose
	}
	return t
}

func (t *text) broken(off int, msg string) {
	t.root = &node{kind: '{'}
	t.fault = &Problem{Severity: Error, Origin: Origin{Layer: t.layer, File: t.file, src: t.src, off: off}, Message: msg + "; nothing of this file counts"}
}

// readText reads a settings file; nil when there is none.
func readText(l Layer, file string) *text {
	read := time.Now()
	data, st, err := readRegular(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t := &text{layer: l, file: file, stamp: st, read: read, root: &node{kind: '{'}}
		t.fault = &Problem{Severity: Error, Origin: Origin{Layer: l, File: file}, Message: "cannot be read: " + reason(err) + "; nothing of this file counts"}
		return t
	}
	t := parseText(l, file, data)
	t.stamp, t.read = st, read
	return t
}

// reason is an error without the path that its reader knows already.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// readRegular reads a file that is a file: opening a pipe or a device that a project put there would hang.
func readRegular(file string, limit int64) ([]byte, stamp, error) {
	info, err := os.Stat(file)
	if err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			err = fs.ErrNotExist // .claude is a file, so there are no settings below it
		}
		return nil, stamp{}, err
	}
	st := stampOf(info)
	if !info.Mode().IsRegular() {
		return nil, st, errors.New("it is not a file")
	}
	if info.Size() > limit {
		return nil, st, fmt.Errorf("it has %d MB, but settings have at most %d", info.Size()>>20, limit>>20)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, st, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errors.New("it grows while it is read")
	}
	return data, st, err
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{info.Size(), info.ModTime().UnixNano(), inode(info)}
}

// A place is a file that may hold settings.
type place struct {
	layer Layer
	file  string
}

// places lists the files of all layers, weakest first.
func (o Options) places() ([]place, error) {
	var out []place
	if o.ConfigDir != "" && o.reads("user") {
		out = append(out, place{User, filepath.Join(o.ConfigDir, "settings.json")})
	}
	if o.ProjectDir != "" {
		// In the home folder the project's file is the user's own file, which must not be held to a project's limits.
		dir := filepath.Join(o.ProjectDir, ".claude")
		if o.reads("project") && !sameFolder(dir, o.ConfigDir) {
			out = append(out, place{Project, filepath.Join(dir, "settings.json")})
		}
		if o.reads("local") {
			out = append(out, place{Local, filepath.Join(dir, "settings.local.json")})
		}
	}
	if o.Flag != "" && !inline(o.Flag) {
		file, err := filepath.Abs(o.Flag)
		if err != nil {
			return nil, err
		}
		out = append(out, place{Flag, file})
	}
	for _, dir := range o.managedFolders() {
		files, err := managedFiles(dir)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			out = append(out, place{Managed, file})
		}
	}
	return out, nil
}

func (o Options) managedFolders() []string {
	if o.ManagedFolders != nil {
		return o.ManagedFolders
	}
	return ManagedDirs()
}

// managedFiles lists managed-settings.json and its drop-ins, in order of name. A folder that exists and cannot be listed is an error:
// it may hold rules.
func managedFiles(dir string) ([]string, error) {
	files := []string{filepath.Join(dir, "managed-settings.json")}
	drops := filepath.Join(dir, "managed-settings.d")
	entries, err := os.ReadDir(drops)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("managed settings in %s cannot be listed: %s", drops, reason(err))
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			files = append(files, filepath.Join(drops, name))
		}
	}
	return files, nil
}

// inline reports that --settings holds JSON and not the name of a file.
func inline(flag string) bool { return strings.HasPrefix(strings.TrimSpace(flag), "{") }

func sameFolder(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}
