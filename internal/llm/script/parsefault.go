package script

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// failLine reads: N STEP, or N after DELTAS STEP.
func (p *parser) failLine(arg string) error {
	count, rest, _ := strings.Cut(arg, " ")
	n, err := number(count, 1)
	if err != nil {
		return fmt.Errorf("expected fail N and what happens in the next N attempts, such as: fail 2 error 529 Overloaded; or: fail 1 after 3 drop")
	}
	f := fault{attempts: n, deltas: -1}
	word, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if word == "after" {
		count, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
		if f.deltas, err = number(count, 0); err != nil {
			return err
		}
		word, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	f.step, err = p.controlStep(word, strings.TrimSpace(rest))
	p.reply.fails = append(p.reply.fails, f)
	return err
}

// afterLine reads: DELTAS STEP.
func (p *parser) afterLine(arg string) error {
	count, rest, _ := strings.Cut(arg, " ")
	n, err := number(count, 0)
	if err != nil {
		return fmt.Errorf("expected after N and what happens after N deltas, such as: after 3 drop")
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	f := fault{deltas: n}
	f.step, err = p.controlStep(word, strings.TrimSpace(rest))
	p.reply.afters = append(p.reply.afters, f)
	return err
}

// stallLine reads: TIME [ping TIME | silent].
func (s *step) stallLine(arg string) error {
	fields := strings.Fields(arg)
	if len(fields) == 0 {
		return fmt.Errorf("expected stall TIME, stall TIME ping TIME or stall TIME silent")
	}
	var err error
	if s.wait, err = duration(fields[0]); err != nil {
		return err
	}
	s.ping = time.Second
	switch {
	case len(fields) == 1:
	case len(fields) == 2 && fields[1] == "silent":
		s.ping = 0
	case len(fields) == 3 && fields[1] == "ping":
		if s.ping, err = duration(fields[2]); err == nil && s.ping <= 0 {
			err = fmt.Errorf("the time between pings must be more than 0")
		}
	default:
		err = fmt.Errorf("expected stall TIME, stall TIME ping TIME or stall TIME silent")
	}
	return err
}

var failureHeader = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z][a-z0-9-]*)=(\S+)$`) })

// parseFailure reads: STATUS [TYPE] [HEADER=VALUE …] MESSAGE.
func parseFailure(arg string) (failure, error) {
	const form = "expected error STATUS [TYPE] [HEADER=VALUE …] [MESSAGE], such as: error 429 rate_limit_error retry-after=2 Slow down"
	fields := strings.Fields(arg)
	if len(fields) == 0 {
		return failure{}, fmt.Errorf("%s", form)
	}
	status, err := strconv.Atoi(fields[0])
	if err != nil || status < 300 || status > 599 {
		return failure{}, fmt.Errorf("%q is not the status of an error; %s", fields[0], form)
	}
	f := failure{status: status, typ: errorType(status)}
	fields = fields[1:]
	if len(fields) > 0 && strings.HasSuffix(fields[0], "_error") {
		f.typ, fields = fields[0], fields[1:]
	}
	for len(fields) > 0 {
		m := failureHeader().FindStringSubmatch(fields[0])
		if m == nil {
			break
		}
		f.headers = append(f.headers, header{m[1], m[2]})
		fields = fields[1:]
	}
	if f.message = strings.Join(fields, " "); f.message == "" {
		if f.message = http.StatusText(status); status == 529 {
			f.message = "Overloaded"
		}
	}
	return f, nil
}

// errorType is the name that the service gives to errors of a status.
func errorType(status int) string {
	switch status {
	case 400:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}
