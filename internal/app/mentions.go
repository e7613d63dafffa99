package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/loop"
	"gofer/internal/tool"
	"gofer/internal/tool/files"
	"gofer/internal/ui/input"
)

// Bounds of what is looked at for mentions: a pasted log can hold thousands of @.
const (
	mostLookedAt    = 200
	mostFolderNames = 200
)

// mentioned reads what a prompt mentions by @, for the model to have it beside the prompt: files as Read shows them, folders as a list, resources
// of servers; an agent that is mentioned is to be used. What does not exist is only a word. Deny rules hold as they do for Read.
func (e *engine) mentioned(ctx context.Context, text string) []llm.Block {
	if !strings.Contains(text, "@") {
		return nil
	}
	var blocks []llm.Block
	seen := map[string]bool{}
	found := 0
	for _, name := range input.Mentions(text) {
		if seen[name] {
			continue
		}
		if seen[name] = true; len(seen) > mostLookedAt || found == mostMentions || ctx.Err() != nil {
			break
		}
		if more := e.mention(ctx, name); more != nil {
			blocks = append(blocks, more...)
			found++
		}
	}
	return blocks
}

// mention is what the model is to know of one thing that is mentioned; nil when it is nothing.
func (e *engine) mention(ctx context.Context, name string) []llm.Block {
	if server, uri, ok := strings.Cut(name, ":"); ok && uri != "" && e.servers.hub != nil && slices.Contains(e.servers.hub.Names(), server) {
		return e.readMentioned(ctx, server, uri)
	}
	if agent, ok := strings.CutPrefix(name, "agent-"); ok {
		if _, err := e.definitions().Find(agent); err == nil {
			return []llm.Block{llm.TextBlock(loop.Reminder(fmt.Sprintf("The user mentions the agent %q: let it do what the prompt asks of it, by a call of the Agent tool with this subagent_type.", agent)))}
		}
	}
	file, lines := e.mentionedFile(name)
	if file == "" {
		return nil
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil
	case e.forbidden(file):
		return []llm.Block{llm.TextBlock(loop.Reminder(fmt.Sprintf("The user mentions %s, but a rule forbids to read it.", file)))}
	case info.IsDir():
		return e.mentionFolder(file)
	case !info.Mode().IsRegular():
		return nil
	}
	return e.mentionFile(ctx, file, lines)
}

// forbidden reports whether a rule keeps a file from being read, by its own name or by the one that links lead to.
func (e *engine) forbidden(file string) bool {
	hidden := hides(e.policy.Policy)
	if hidden(filepath.ToSlash(file)) {
		return true
	}
	real, err := filepath.EvalSymlinks(file)
	return err != nil || hidden(filepath.ToSlash(real))
}

// mentionedFile is the path that a mention stands for, and the lines it chooses. The whole name comes first: a # may be part of it.
func (e *engine) mentionedFile(name string) (file string, lines [2]int) {
	if file := e.pathOf(name); file != "" {
		return file, lines
	}
	path, fragment, ok := strings.Cut(name, "#")
	if !ok {
		return "", lines
	}
	from, to, isRange := strings.Cut(strings.TrimPrefix(fragment, "L"), "-")
	first, err := strconv.Atoi(from)
	if err != nil || first < 1 {
		return e.pathOf(path), lines
	}
	lines = [2]int{first, first}
	if last, err := strconv.Atoi(strings.TrimPrefix(to, "L")); isRange && err == nil && last >= first {
		lines[1] = last
	}
	return e.pathOf(path), lines
}

// pathOf is the absolute path of something that exists, else "".
func (e *engine) pathOf(name string) string {
	if name == "" || strings.ContainsRune(name, 0) {
		return ""
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(e.place.home, rest)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(e.dir.Cwd(), name)
	}
	if _, err := os.Lstat(name); err != nil {
		return ""
	}
	return filepath.Clean(name)
}

// mentionFile says what Read would say. The file counts as read from then on.
func (e *engine) mentionFile(ctx context.Context, file string, lines [2]int) []llm.Block {
	in := map[string]any{"file_path": file}
	if lines[0] > 0 {
		in["offset"], in["limit"] = lines[0], lines[1]-lines[0]+1
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil
	}
	all := files.Tools(files.Env{Cwd: e.dir.Cwd, Seen: e.seen, Locks: e.locks, Editor: e.editorFiles()})
	i := slices.IndexFunc(all, func(t *tool.Tool) bool { return t.Name == "Read" })
	call, err := all[i].Bind("mention", data)
	if err != nil {
		return nil
	}
	head := fmt.Sprintf("The user mentions %s. ", file)
	result, err := tool.Run(ctx, call)
	if err != nil {
		return []llm.Block{llm.TextBlock(loop.Reminder(head + "It could not be read: " + err.Error()))}
	}
	blocks := []llm.Block{llm.TextBlock(loop.Reminder(head + "Read says, as of now:\n" + inside(result.Text())))}
	for _, b := range result.Content {
		if b.Kind != llm.Text {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// inside keeps the text of a file from ending the reminder that it stands in.
func inside(text string) string {
	return strings.ReplaceAll(text, "</system-reminder>", "</system-reminder >")
}

// mentionFolder lists a folder.
func (e *engine) mentionFolder(folder string) []llm.Block {
	f, err := os.Open(folder)
	if err != nil {
		return []llm.Block{llm.TextBlock(loop.Reminder(fmt.Sprintf("The user mentions the folder %s. It could not be read: %v", folder, err)))}
	}
	defer f.Close()
	hidden := hides(e.policy.Policy)
	var names []string
	more := false
	for !more {
		entries, err := f.ReadDir(256)
		for _, entry := range entries {
			if hidden(filepath.ToSlash(filepath.Join(folder, entry.Name()))) {
				continue
			}
			name := strings.ToValidUTF8(entry.Name(), "\uFFFD")
			if entry.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
		if err != nil && err != io.EOF || len(entries) == 0 {
			break
		}
		more = len(names) > 20*mostFolderNames
	}
	slices.Sort(names)
	note := ""
	switch {
	case more:
		names, note = names[:mostFolderNames], "\n… and many more"
	case len(names) > mostFolderNames:
		note = fmt.Sprintf("\n… and %d more", len(names)-mostFolderNames)
		names = names[:mostFolderNames]
	case len(names) == 0:
		note = "(nothing)"
	}
	return []llm.Block{llm.TextBlock(loop.Reminder(fmt.Sprintf("The user mentions the folder %s. It holds:\n%s%s", folder, inside(strings.Join(names, "\n")), note)))}
}
