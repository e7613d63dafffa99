package guard

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// A Request is what a person is asked.
type Request struct {
	ID          string // of the call
	Tool        string
	Input       json.RawMessage
	Title       string // what the call does, in a few words
	Decision    Decision
	AgentID     string // empty for the main agent
	Mode        Mode
	Suggestions []Update
}

// An Answer is what came back.
type Answer struct {
	Allow        bool
	UpdatedInput json.RawMessage // nil: as it was
	Updates      []Update        // for "always"
	Message      string          // with Allow false: the reason, which the model reads as it is
	Interrupt    bool            // with Allow false: the turn ends
}

// An Asker asks whoever can decide. An error means that there was no answer: ErrNoAnswer if nobody gave one in time.
type Asker interface {
	Ask(context.Context, Request) (Answer, error)
}

// AskFunc makes an Asker of a function.
type AskFunc func(context.Context, Request) (Answer, error)

// Ask calls the function.
func (f AskFunc) Ask(ctx context.Context, r Request) (Answer, error) { return f(ctx, r) }

// ErrNoAnswer is returned by an Asker that waited in vain. It is not a refusal.
var ErrNoAnswer = errors.New("nobody answered")

// ErrNobody is returned by an Asker that has nobody to ask.
var ErrNobody = errors.New("there is nobody to ask")

// First asks all askers at once. The first answer wins and the others are told by their context that it is over; an
// asker that fails is only counted if all fail.
func First(askers ...Asker) Asker {
	return AskFunc(func(ctx context.Context, r Request) (Answer, error) {
		if len(askers) == 0 {
			return Answer{}, ErrNoAnswer
		}
		ctx, over := context.WithCancel(ctx)
		type reply struct {
			answer Answer
			err    error
		}
		replies := make(chan reply, len(askers))
		var all sync.WaitGroup
		for _, a := range askers {
			all.Go(func() {
				answer, err := a.Ask(ctx, r)
				replies <- reply{answer, err}
			})
		}
		var errs []error
		var won *reply
		for range askers {
			got := <-replies
			if got.err == nil {
				won = &got
				break
			}
			errs = append(errs, got.err)
		}
		over()
		all.Wait()
		if won == nil {
			return Answer{}, errors.Join(errs...)
		}
		return won.answer, nil
	})
}

// A Classifier decides in auto mode what a person would be asked. Unsure means that it cannot tell.
type Classifier interface {
	Classify(context.Context, Request) (Classified, error)
}

// Classified is the answer of a Classifier.
type Classified struct {
	Allow  bool
	Unsure bool
	Reason string
}
