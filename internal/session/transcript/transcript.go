// Package transcript keeps sessions on disk, one file each, and brings them back.
//
// A transcript is a file of JSON lines, CONFIG/projects/<project>/<session-id>.jsonl, in the form that Claude Code writes and
// reads, so that a session begun in one can go on in the other. What the package promises:
//
//   - A file is only ever appended to, by one writer, which holds a lock. Each record is one line, written whole with one
//     write. A kill at any moment loses nothing that Append has returned for. Prompts and ends of turns are also pushed to
//     the device (in the background), so that a power cut loses the turn that ran, and no more.
//   - What a failed or killed write left behind is one torn line. It is skipped when reading, and the next record begins on a
//     line of its own.
//   - Secrets that are known by value or by shape are masked on their way to disk, and only there.
//   - Reading takes any file: torn, broken or foreign lines are skipped and counted, never fatal. Only the conversation that
//     the model can still see is decoded; the rest of a large file is not even read. Messages come back so that a request made
//     from them has the same bytes as one of a process that never stopped (masked secrets excepted).
//   - Listing reads the ends of files and nothing else, and needs no index.
//
// Records form a tree by uuid and parentUuid; the last record is the leaf that the conversation ends with.
package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// ErrInUse says that another process writes the session. It may be forked.
var ErrInUse = errors.New("another gofer has this session open; to go on in a copy of it, fork it (--fork-session)")

// ErrExists says that a new session was given the id of an old one.
var ErrExists = errors.New("the session id is already in use")

// Extension is how the names of transcripts end.
const Extension = ".jsonl"

// Slug is a path as the name of a folder: every character that is not a letter or digit becomes a dash.
func Slug(path string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, path)
}

// A Root is the folder CONFIG, below which all transcripts lie.
type Root string

// Projects is the folder that has one folder for each project.
func (r Root) Projects() string { return filepath.Join(string(r), "projects") }

// Project is the folder of the project at path.
func (r Root) Project(path string) string { return filepath.Join(r.Projects(), Slug(path)) }

// Path is the file of a session of the project whose folder is dir.
func Path(dir, id string) string { return filepath.Join(dir, id+Extension) }

// AgentPath is the file of an agent that a session started.
func AgentPath(dir, id, agent string) string {
	return filepath.Join(dir, id, "subagents", "agent-"+agent+Extension)
}

// idOf is the id of the session whose file is path.
func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), Extension) }

// isAgentFile tells the transcript of an agent from that of a session.
func isAgentFile(path string) bool { return strings.HasPrefix(filepath.Base(path), "agent-") }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
