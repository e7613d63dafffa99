package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	protocol "github.com/coder/acp-go-sdk"
)

// A TerminalCommand is run in one of the client's terminals.
type TerminalCommand struct {
	CallID string
	Argv   []string
	Dir    string
	Env    []string // "NAME=value", besides those that the client gives
	Limit  time.Duration
	Output int // bytes that are kept, from the end
}

// A TerminalExit is how a command ended.
type TerminalExit struct {
	Output    string
	Truncated bool // the beginning is missing
	Code      int
	Signal    string
	TimedOut  bool
	Stopped   bool // by the end of the context
}

// Run runs a command in a terminal of the client and waits for its end. When ctx ends or the limit is reached the command is killed.
func (d *Desk) Run(ctx context.Context, c TerminalCommand) (TerminalExit, error) {
	d.shown(ctx, c.CallID)
	var made protocol.CreateTerminalResponse
	request := protocol.CreateTerminalRequest{SessionId: d.session, Command: c.Argv[0], Args: c.Argv[1:], Cwd: &c.Dir, OutputByteLimit: &c.Output}
	for _, pair := range c.Env {
		name, value, _ := strings.Cut(pair, "=")
		request.Env = append(request.Env, protocol.EnvVariable{Name: name, Value: value})
	}
	starting, cancel := within(ctx, writeWithin, protocol.ClientMethodTerminalCreate)
	defer cancel()
	if err := d.conn.call(starting, protocol.ClientMethodTerminalCreate, request, &made); err != nil {
		return TerminalExit{}, fmt.Errorf("the client could not open a terminal: %w", told(err))
	}
	defer d.about(protocol.ClientMethodTerminalRelease, made.TerminalId, nil)
	d.show(c.CallID, made.TerminalId)
	return d.await(ctx, c, made.TerminalId)
}

// about says something about a terminal, also when the session is being stopped.
func (d *Desk) about(method, terminal string, result any) error {
	ctx, cancel := within(context.Background(), talkWithin, method)
	defer cancel()
	return d.conn.call(ctx, method, map[string]any{"sessionId": d.session, "terminalId": terminal}, result)
}

// show puts the terminal into the call that it belongs to.
func (d *Desk) show(callID, terminal string) {
	d.mu.Lock()
	if d.terminals == nil {
		d.terminals = map[string]string{}
	}
	d.terminals[callID] = terminal
	d.mu.Unlock()
	d.conn.notify(protocol.ClientMethodSessionUpdate, protocol.SessionNotification{SessionId: d.session,
		Update: protocol.UpdateToolCall(protocol.ToolCallId(callID), protocol.WithUpdateContent([]protocol.ToolCallContent{protocol.ToolTerminalRef(terminal)}))})
}

// terminalOf is the terminal that a call runs in, or "".
func (d *Desk) terminalOf(callID string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.terminals[callID]
}

// released forgets the terminal of a call that is over.
func (d *Desk) released(callID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.terminals, callID)
}

var errLimit = errors.New("the time limit is reached")

func (d *Desk) await(ctx context.Context, c TerminalCommand, terminal string) (TerminalExit, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, c.Limit, errLimit)
	defer cancel()
	var exit TerminalExit
	var ended protocol.WaitForTerminalExitResponse
	err := d.conn.call(waiting, protocol.ClientMethodTerminalWaitForExit, protocol.WaitForTerminalExitRequest{SessionId: d.session, TerminalId: terminal}, &ended)
	if waiting.Err() != nil {
		exit.TimedOut, exit.Stopped = ctx.Err() == nil, ctx.Err() != nil
		err = d.about(protocol.ClientMethodTerminalKill, terminal, nil)
		exit.Code, exit.Signal = 137, "SIGKILL"
	}
	if err != nil && !exit.Stopped {
		return exit, fmt.Errorf("the client's terminal failed: %w", told(err))
	}
	var output protocol.TerminalOutputResponse
	if err := d.about(protocol.ClientMethodTerminalOutput, terminal, &output); err != nil && !exit.Stopped {
		return exit, fmt.Errorf("the output of the client's terminal cannot be read: %w", told(err))
	}
	exit.Output, exit.Truncated = output.Output, output.Truncated
	if ended.ExitCode != nil {
		exit.Code = *ended.ExitCode
	}
	if ended.Signal != nil && *ended.Signal != "" {
		exit.Signal, exit.Code = *ended.Signal, max(exit.Code, 128)
	}
	return exit, nil
}
