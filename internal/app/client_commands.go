package app

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"gofer/internal/event"
)

// commandsTold are the slash commands that the client knows of.
type commandsTold struct {
	mu   sync.Mutex
	list []event.Command // sorted by name; nil: it knows of none
}

// note takes the list that is told now, and says whether it is another one than before. How often a command is used changes the order, and that
// is no news.
func (c *commandsTold) note(list []event.Command) (news bool) {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b event.Command) int { return cmp.Compare(a.Name, b.Name) })
	c.mu.Lock()
	defer c.mu.Unlock()
	news = c.list != nil && !slices.Equal(c.list, sorted)
	c.list = sorted
	return news
}

func (e *engine) commandList() []event.Command {
	list := []event.Command{}
	for _, c := range e.slashCommands() {
		list = append(list, event.Command{Name: c.name, Description: c.help, Hint: c.hint})
	}
	return list
}

// newCommands is the list of commands if it has changed since the client was told of it; else nil.
func (e *engine) newCommands() []event.Event {
	if e.people.client == nil {
		return nil // scripts do not ask for commands
	}
	list := e.commandList()
	if !e.commands.note(list) {
		return nil
	}
	return []event.Event{event.CommandsChanged{Commands: list}}
}

// thenCommands lets the client know of commands that a request has brought or taken away.
func thenCommands[In any](e *engine, f func(context.Context, In) (any, error)) func(context.Context, In) (any, error) {
	return func(ctx context.Context, in In) (any, error) {
		answer, err := f(ctx, in)
		for _, ev := range e.newCommands() {
			e.emit(ev)
		}
		return answer, err
	}
}
