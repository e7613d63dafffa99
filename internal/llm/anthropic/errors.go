package anthropic

import (
	"encoding/json"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"gofer/internal/llm"
)

// maxErrorBody is as much of an error's body as is read.
const maxErrorBody = 64 << 10

// wireError is the error object of the API, in a body or in the middle of a stream.
type wireError struct {
	Type    string
	Message string
}

// UnmarshalJSON also takes the bare text that some gateways send in place of the object.
func (e *wireError) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &e.Message) == nil {
		return nil
	}
	type object wireError
	return json.Unmarshal(data, (*object)(e))
}

// asError sorts e by its type and words, and by the HTTP status if there is one.
func (e wireError) asError(status int, requestID string) *llm.Error {
	message := e.Message
	if message == "" {
		message = e.Type
	}
	if message == "" {
		message = "the provider reported an error and did not say which"
	}
	return &llm.Error{Kind: kindOf(status, e), Status: status, Message: message, RequestID: requestID}
}

// refusal returns the error of a response that is not a stream of events, or nil.
func refusal(resp *http.Response) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && (media == "" || media == "text/event-stream") {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a part of the words is better than none
	var w struct {
		Error     wireError
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(body, &w) != nil || w.Error == (wireError{}) {
		w.Error = wireError{Message: oneLine(string(body))}
	}
	id := requestID(resp.Header)
	if id == "" {
		id = w.RequestID
	}
	status := resp.StatusCode
	switch {
	case status == http.StatusOK && w.Error.Type == "":
		return &llm.Error{Kind: llm.BadStream, Message: "the server answered with " + media + " and not with a stream of events", RequestID: id}
	case status == http.StatusOK:
		status = 0
	case status/100 == 3:
		w.Error.Message = "the server redirects to " + oneLine(resp.Header.Get("Location")) + "; use that as the base URL if you trust it"
	case w.Error.Message == "" && w.Error.Type == "":
		w.Error.Message = http.StatusText(status)
	}
	e := w.Error.asError(status, id)
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	if verdict, err := strconv.ParseBool(resp.Header.Get("X-Should-Retry")); err == nil {
		e.ShouldRetry = &verdict
	}
	return e
}

func requestID(h http.Header) string {
	if id := h.Get("Request-Id"); id != "" {
		return id
	}
	return h.Get("X-Request-Id")
}

// kindOf sorts an error. What it says counts more than its status: one status means many things.
func kindOf(status int, e wireError) llm.ErrorKind {
	words := strings.ToLower(e.Message)
	switch {
	case status == 402 || e.Type == "billing_error" || has(words, "credit balance", "insufficient credit", "spend limit"):
		return llm.Billing
	case e.Type == "overloaded_error" || status == 529:
		return llm.Overloaded
	case e.Type == "rate_limit_error" || status == 429:
		return llm.RateLimit
	case e.Type == "authentication_error" || e.Type == "permission_error" || status == 401 || status == 403:
		return llm.Authentication
	case e.Type == "not_found_error" || status == 404 && strings.Contains(words, "model"):
		return llm.ModelNotFound
	case e.Type == "api_error" || e.Type == "timeout_error" || e.Type == "conflict_error" || status >= 500 || status == 408 || status == 409:
		return llm.ServerError
	}
	if status == 0 && e.Type != "invalid_request_error" && e.Type != "request_too_large" {
		return llm.ServerError // the request was taken, and then something broke
	}
	if status != 0 && status/100 != 4 {
		return llm.Unknown
	}
	return kindOfRequestError(status, e.Type, words)
}

// kindOfRequestError sorts errors that are due to what was sent.
func kindOfRequestError(status int, kind, words string) llm.ErrorKind {
	switch {
	case has(words, "prompt is too long", "input is too long", "exceed context limit", "context window", "context length",
		"context_length", "maximum context", "too many tokens", "too many total text bytes"):
		return llm.PromptTooLong
	case has(words, "image", "pdf", ".document", "document block", "documents"):
		return llm.BadMedia
	case status == 413 || kind == "request_too_large":
		return llm.PromptTooLong
	}
	if kind == "" && status != 400 && status != 404 && status != 422 {
		return llm.Unknown
	}
	return llm.InvalidRequest
}

func has(words string, phrases ...string) bool {
	for _, p := range phrases {
		if strings.Contains(words, p) {
			return true
		}
	}
	return false
}

// oneLine shortens a body that is no JSON, such as a gateway's page, to something that fits into a message.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	const most = 200
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return s
}

// retryAfter reads how long the provider wants to be left alone: in milliseconds, in seconds, or until a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return asDuration(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return asDuration(s, time.Second)
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(now), 0)
	}
	return 0
}

// asDuration keeps a hostile number from overflowing.
func asDuration(n float64, unit time.Duration) time.Duration {
	n *= float64(unit)
	switch {
	case !(n > 0): // also what is not a number
		return 0
	case n >= math.MaxInt64:
		return math.MaxInt64
	}
	return time.Duration(n)
}
