package llm

import (
	"fmt"
	"time"
)

// An ErrorKind sorts the ways in which a provider fails. The names are those that clients see in assistant.error.
type ErrorKind string

const (
	RateLimit      ErrorKind = "rate_limit"
	Overloaded     ErrorKind = "overloaded"
	ServerError    ErrorKind = "server_error"
	Authentication ErrorKind = "authentication_failed"
	Billing        ErrorKind = "billing_error"
	ModelNotFound  ErrorKind = "model_not_found"
	InvalidRequest ErrorKind = "invalid_request"
	// PromptTooLong means that the conversation must become shorter before it can be sent.
	PromptTooLong ErrorKind = "prompt_too_long"
	// BadMedia means that an image or document of the request was refused.
	BadMedia ErrorKind = "image_error"
	// Connection means that the network failed: no connection, or one that dropped.
	Connection ErrorKind = "connection"
	// Stalled means that the stream said nothing for too long.
	Stalled ErrorKind = "stalled"
	// BadStream means that the stream could not be understood or ended too early.
	BadStream ErrorKind = "bad_stream"
	// NotLoggedIn means that there is no credential; nothing was sent.
	NotLoggedIn ErrorKind = "not_logged_in"
	Unknown     ErrorKind = "unknown"
)

// An Error is how a provider says that a request failed.
type Error struct {
	Kind        ErrorKind
	Status      int           // the HTTP status, 0 if there was none
	Message     string        // the provider's words
	RetryAfter  time.Duration // as the provider asked, 0 if it did not
	ShouldRetry *bool         // the provider's own verdict, nil if it gave none
	RequestID   string
	Err         error // the cause, when it is not the provider's
}

func (e *Error) Error() string {
	switch {
	case e.Status != 0:
		return fmt.Sprintf("%d %s", e.Status, e.Message)
	case e.Err != nil && e.Message != "":
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	case e.Err != nil:
		return e.Err.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	if e.ShouldRetry != nil {
		return *e.ShouldRetry
	}
	switch e.Kind {
	case RateLimit, Overloaded, ServerError, Connection, Stalled, BadStream:
		return true
	}
	return e.Status == 408 || e.Status == 409
}
