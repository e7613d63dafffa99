package acp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	protocol "github.com/coder/acp-go-sdk"

	"gofer/internal/guard"
	"gofer/internal/llm"
)

// A Desk is what the client does for one session: it asks its user, shows and writes files, and runs commands in its terminals.
type Desk struct {
	conn    *conn
	session protocol.SessionId
	cwd     string
	can     clientAbilities
	shown   func(ctx context.Context, callID string) // waits until the client knows the call

	mu        sync.Mutex
	terminals map[string]string // of calls
}

// Files says whether the client shows and writes files.
func (d *Desk) Files() bool { return d.can.read || d.can.write }

// Terminals says whether the client has terminals.
func (d *Desk) Terminals() bool { return d.can.terminal }

// How long the client may take for what it does by itself. Questions to its user may take for ever.
const (
	readWithin  = 5 * time.Second
	writeWithin = 30 * time.Second
	talkWithin  = 5 * time.Second // about terminals
)

func within(ctx context.Context, d time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("the client did not answer %s within %v", what, d))
}

// Content is the text of a file as the client has it, with what was not saved.
func (d *Desk) Content(ctx context.Context, path string) (string, bool) {
	if !d.can.read {
		return "", false
	}
	ctx, cancel := within(ctx, readWithin, protocol.ClientMethodFsReadTextFile)
	defer cancel()
	var answer protocol.ReadTextFileResponse
	err := d.conn.call(ctx, protocol.ClientMethodFsReadTextFile, protocol.ReadTextFileRequest{SessionId: d.session, Path: path}, &answer)
	return answer.Content, err == nil
}

// Save lets the client write a file. A client that does not write files leaves it to others.
func (d *Desk) Save(ctx context.Context, path, text string) (bool, error) {
	if !d.can.write {
		return false, nil
	}
	ctx, cancel := within(ctx, writeWithin, protocol.ClientMethodFsWriteTextFile)
	defer cancel()
	return true, told(d.conn.call(ctx, protocol.ClientMethodFsWriteTextFile, protocol.WriteTextFileRequest{SessionId: d.session, Path: path, Content: text}, nil))
}

// told is an error of the client in its own words, without the form of the protocol.
func told(err error) error {
	var r *protocol.RequestError
	if !errors.As(err, &r) {
		return err
	}
	if r.Data == nil {
		return errors.New(r.Message)
	}
	data, _ := llm.Marshal(r.Data)
	return fmt.Errorf("%s (%s)", r.Message, cut(string(data), 500))
}

// A choice that the user has when asked for a permission.
type option struct {
	protocol.PermissionOption
	answer guard.Answer
}

// Ask asks the client's user for a permission. What "always" means is said to the letter.
func (d *Desk) Ask(ctx context.Context, r guard.Request) (guard.Answer, error) {
	if r.AgentID == "" {
		d.shown(ctx, r.ID)
	}
	if r.Tool == "AskUserQuestion" {
		return d.question(ctx, r)
	}
	return d.choose(ctx, d.toolCall(r), d.options(r))
}

// choose lets the user pick one of the options.
func (d *Desk) choose(ctx context.Context, call protocol.ToolCallUpdate, options []option) (guard.Answer, error) {
	request := protocol.RequestPermissionRequest{SessionId: d.session, ToolCall: call}
	for i := range options {
		if options[i].OptionId == "" {
			options[i].OptionId = protocol.PermissionOptionId(strconv.Itoa(i))
		}
		request.Options = append(request.Options, options[i].PermissionOption)
	}
	var answer struct {
		Outcome struct {
			Outcome string                      `json:"outcome"`
			Option  protocol.PermissionOptionId `json:"optionId"`
		} `json:"outcome"`
	}
	if err := d.conn.call(ctx, protocol.ClientMethodSessionRequestPermission, request, &answer); err != nil {
		return guard.Answer{}, told(err)
	}
	if answer.Outcome.Outcome == "cancelled" {
		return guard.Answer{Message: "The user closed the question without an answer.", Interrupt: true}, nil
	}
	for _, o := range options {
		if o.OptionId == answer.Outcome.Option {
			return o.answer, nil
		}
	}
	return guard.Answer{}, fmt.Errorf("the client chose %q, which was not among the options", answer.Outcome.Option)
}

// toolCall shows what exactly is asked for.
func (d *Desk) toolCall(r guard.Request) protocol.ToolCallUpdate {
	in := readInput(r.Input)
	kind, title := kindOf(r.Tool), r.Title
	if in.Command != "" && r.Tool == "Bash" {
		title = cut(in.Command, 2000)
	}
	u := protocol.ToolCallUpdate{ToolCallId: protocol.ToolCallId(r.ID), Kind: &kind, Title: &title, RawInput: raw(r.Input)}
	if path := in.file(); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(d.cwd, path)
		}
		u.Locations = []protocol.ToolCallLocation{{Path: path}}
		u.Content = d.effect(r.Tool, path, in, func(path string) (string, bool) {
			old, ok := smallText(path)
			if text, open := d.Content(context.Background(), path); ok && open {
				return text, true
			}
			return old, ok
		})
	}
	if in.Plan != "" {
		u.Content = append(u.Content, protocol.ToolContent(protocol.TextBlock(in.Plan)))
	}
	if in.Description != "" && r.Tool == "Bash" {
		u.Content = append(u.Content, protocol.ToolContent(protocol.TextBlock(in.Description)))
	}
	if r.Decision.Reason != "" {
		u.Content = append(u.Content, protocol.ToolContent(protocol.TextBlock(r.Decision.Reason)))
	}
	return u
}

func (d *Desk) options(r guard.Request) []option {
	once, always, no := protocol.PermissionOptionKindAllowOnce, protocol.PermissionOptionKindAllowAlways, protocol.PermissionOptionKindRejectOnce
	one := func(id, name string, kind protocol.PermissionOptionKind, a guard.Answer) option {
		return option{protocol.PermissionOption{OptionId: protocol.PermissionOptionId(id), Name: name, Kind: kind}, a}
	}
	if r.Tool == "ExitPlanMode" {
		edits := guard.Answer{Allow: true, Updates: []guard.Update{{Type: guard.SetMode, Mode: guard.AcceptEdits, Destination: guard.FromSession}}}
		return []option{
			one("begin-edits", "Begin, and let edits pass", always, edits),
			one("begin", "Begin, and ask for edits", once, guard.Answer{Allow: true}),
			one("reject", "Keep planning", no, guard.Answer{Message: "The user does not accept the plan yet. Stay in plan mode and ask what should be different."}),
		}
	}
	list := []option{one("allow", "Allow", once, guard.Answer{Allow: true})}
	for i, u := range r.Suggestions {
		list = append(list, one("always-"+strconv.Itoa(i), lasting(u), always, guard.Answer{Allow: true, Updates: []guard.Update{u}}))
	}
	return append(list, one("reject", "Reject", no, guard.Answer{Message: "The user does not want this call. Do not try it in another way; ask how to go on, or do something else."}))
}

// lasting says what an update of the permissions would let pass.
func lasting(u guard.Update) string {
	where := ""
	switch u.Destination {
	case guard.FromSession, guard.FromCLI:
		where = " in this session"
	case guard.FromUser:
		where = " everywhere"
	case guard.FromLocal, guard.FromProject:
		where = " in this project"
	}
	switch u.Type {
	case guard.AddRules, guard.ReplaceRules:
		var rules []string
		for _, r := range u.Rules {
			rules = append(rules, r.String())
		}
		return "Always allow " + strings.Join(rules, ", ") + where
	case guard.AddDirectories:
		return "Allow work in " + strings.Join(u.Directories, ", ") + where
	case guard.SetMode:
		if u.Mode == guard.AcceptEdits {
			return "Allow all edits" + where
		}
		return "Change to the mode " + string(u.Mode) + where
	}
	return "Always allow" + where
}
