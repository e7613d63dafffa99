package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// builtinNames are the placeholders that every text may hold.
const builtinNames = "last_user, first_user, result, results, model, section, turn, n, depth, attempt"

// replyLine reads one line of a turn.
func (p *parser) replyLine(word, arg string) error {
	r := p.reply
	var err error
	switch word {
	case "when":
		if r.said {
			return fmt.Errorf("when stands behind what the turn says; expected it right behind turn or else")
		}
		var c condition
		c, err = parseCondition(arg)
		r.when = append(r.when, c)
	case "expect":
		var c condition
		c, err = parseCondition(arg)
		r.expect = append(r.expect, c)
	case "let":
		var l let
		l, err = parseLet(arg)
		r.lets = append(r.lets, l)
	case "repeat":
		p.turn.repeat, err = number(arg, 1)
	case "fail":
		err = p.failLine(arg)
	case "after":
		err = p.afterLine(arg)
	case "header":
		err = r.headerLine(arg)
	case "stop":
		err = r.stopLine(arg)
	case "usage":
		err = r.usageLine(arg)
	case "signature":
		err = p.signatureLine(arg)
	case "empty":
		r.said = true
		if arg != "" {
			err = fmt.Errorf("expected nothing behind empty")
		}
	default:
		var s step
		s, err = p.step(word, arg)
		r.steps = append(r.steps, s)
		r.said = true
	}
	return err
}

// endReply checks the reply that has been read, if any.
func (p *parser) endReply() error {
	r := p.reply
	if r == nil {
		return nil
	}
	if !r.said && len(r.afters) == 0 {
		p.at = r.line
		return fmt.Errorf("the turn says nothing; expected text, think, call, block, error or another step, or empty for a reply without content")
	}
	known := map[string]bool{}
	for name := range strings.SplitSeq(builtinNames, ", ") {
		known[name] = true
	}
	for _, l := range r.lets {
		known[l.name] = true
	}
	steps := append([]step(nil), r.steps...)
	for _, f := range append(append([]fault(nil), r.fails...), r.afters...) {
		steps = append(steps, f.step)
	}
	for _, s := range steps {
		for _, name := range s.text.names {
			if !known[name] {
				p.at = s.line
				return fmt.Errorf("nothing is called {{%s}}; expected a name that a let line gives, or one of %s; write \\{{%s}} for the text itself (in JSON: {\\u007b%s}})", name, builtinNames, name, name)
			}
		}
	}
	return nil
}

// step reads a step that stands at its place in the reply.
func (p *parser) step(word, arg string) (step, error) {
	s := step{line: p.at}
	var err error
	switch word {
	case "text", "think", "redacted":
		s.kind = map[string]stepKind{"text": stepText, "think": stepThink, "redacted": stepRedacted}[word]
		if arg == "" {
			return s, fmt.Errorf("expected the text behind %s, or <<END and then lines up to END", word)
		}
		arg, err = p.longText(arg)
		s.text = newTemplate(arg, false)
	case "fill":
		s.kind = stepText
		var n int
		if n, err = number(arg, 1); err == nil && n > 64<<20 {
			err = fmt.Errorf("fill makes at most 64 MB")
		}
		if err == nil {
			s.text = template{src: filler(n)}
		}
	case "call", "broken":
		return p.callStep(word, arg)
	case "block":
		s.kind = stepBlock
		arg, err = p.jsonText(arg)
		s.text = newTemplate(arg, true)
		var object struct{ Type string }
		if err == nil && (json.Unmarshal(blankPlaceholders([]byte(arg)), &object) != nil || object.Type == "") {
			err = fmt.Errorf("expected a JSON object with a type behind block")
		}
	default:
		return p.controlStep(word, arg)
	}
	return s, err
}

// controlStep reads a step that adds no block, and can therefore also follow fail and after.
func (p *parser) controlStep(word, arg string) (step, error) {
	s := step{line: p.at}
	var err error
	switch word {
	case "wait":
		s.kind = stepWait
		s.wait, err = duration(arg)
	case "stall":
		s.kind = stepStall
		err = s.stallLine(arg)
	case "drop", "reset", "close":
		s.kind = map[string]stepKind{"drop": stepDrop, "reset": stepReset, "close": stepClose}[word]
		if arg != "" {
			err = fmt.Errorf("expected nothing behind %s", word)
		}
	case "error":
		s.kind = stepError
		s.fail, err = parseFailure(arg)
	case "raw":
		s.kind = stepRaw
		if strings.HasPrefix(arg, "<<") {
			arg, err = p.longText(arg)
			arg += "\n"
		} else if arg, err = strconv.Unquote(arg); err != nil {
			err = fmt.Errorf(`expected a quoted text behind raw, such as "data: {\n\n", or <<END and then lines up to END`)
		}
		s.text = newTemplate(arg, false)
	default:
		err = fmt.Errorf("%q is not a line of a turn; expected one of text, think, signature, redacted, call, broken, block, fill, empty, stop, usage, header, wait, stall, drop, reset, close, raw, error, after, fail, repeat, when, else, expect, let", word)
	}
	return s, err
}

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`) })

// callStep reads: NAME [as ID] JSON.
func (p *parser) callStep(word, arg string) (step, error) {
	s := step{kind: stepCall, line: p.at}
	name, rest, _ := strings.Cut(arg, " ")
	rest = strings.TrimSpace(rest)
	if !toolName().MatchString(name) {
		return s, fmt.Errorf("%q is not a tool name; expected %s NAME [as ID] and its input", name, word)
	}
	s.name = name
	if after, found := strings.CutPrefix(rest, "as "); found {
		id, input, _ := strings.Cut(strings.TrimSpace(after), " ")
		if !toolName().MatchString(id) {
			return s, fmt.Errorf("%q is not an id; expected letters, digits, _ and -", id)
		}
		s.id, rest = id, strings.TrimSpace(input)
	}
	var err error
	if word == "broken" {
		s.kind = stepBroken
		rest, err = p.longText(rest)
		s.text = newTemplate(rest, false)
		return s, err
	}
	if rest == "" {
		rest = p.jsonBelow()
	}
	if rest == "{}" {
		s.text = template{src: rest}
		return s, nil
	}
	rest, err = p.jsonText(rest)
	if err == nil && !strings.HasPrefix(rest, "{") {
		err = fmt.Errorf("the input of a call must be a JSON object; to send something else use broken instead of call")
	}
	s.text = newTemplate(rest, true)
	return s, err
}

// jsonBelow returns the next line if an input begins there; a call without any input has the empty object.
func (p *parser) jsonBelow() string {
	if p.next < len(p.lines) {
		if line := strings.TrimSpace(string(p.lines[p.next])); strings.HasPrefix(line, "{") {
			p.next++
			return line
		}
	}
	return "{}"
}

func (r *reply) headerLine(arg string) error {
	name, value, found := strings.Cut(arg, ":")
	if !found || !toolName().MatchString(name) {
		return fmt.Errorf("expected header NAME: VALUE")
	}
	r.headers = append(r.headers, header{name, strings.TrimSpace(value)})
	return nil
}

// stopLine reads: REASON [SEQUENCE].
func (r *reply) stopLine(arg string) error {
	r.stop, r.stopSequence, _ = strings.Cut(arg, " ")
	if r.stop == "" {
		return fmt.Errorf("expected stop and a reason: end_turn, tool_use, max_tokens, stop_sequence, pause_turn, refusal or model_context_window_exceeded")
	}
	return nil
}

// usageLine reads: any of input=N output=N cache_read=N cache_write=N.
func (r *reply) usageLine(arg string) error {
	const form = "expected some of input=N output=N cache_read=N cache_write=N behind usage"
	fields := strings.Fields(arg)
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		n, err := number(value, 0)
		if err != nil {
			return fmt.Errorf("%q: %w; %s", field, err, form)
		}
		switch name {
		case "input":
			r.usage.input = &n
		case "output":
			r.usage.output = &n
		case "cache_read":
			r.usage.cacheRead = &n
		case "cache_write":
			r.usage.cacheWrite = &n
		default:
			return fmt.Errorf("there is no count %q; %s", name, form)
		}
	}
	if len(fields) == 0 {
		return fmt.Errorf("%s", form)
	}
	return nil
}

func (p *parser) signatureLine(arg string) error {
	steps := p.reply.steps
	if len(steps) == 0 || steps[len(steps)-1].kind != stepThink || arg == "" {
		return fmt.Errorf("expected signature and its text right behind a think line")
	}
	steps[len(steps)-1].signature = arg
	p.script.signatures[arg] = struct{}{}
	return nil
}

// filler makes n bytes of text that looks like lines of prose.
func filler(n int) string {
	const line = "The quick brown fox jumps over the lazy dog, and nothing else happens here.\n"
	text := strings.Repeat(line, n/len(line)+1)[:n]
	if strings.HasSuffix(text, "\n") {
		text = text[:n-1] + "."
	}
	return text
}
