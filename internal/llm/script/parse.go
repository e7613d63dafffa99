package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parse reads a script. An error names the file, the line, what is wrong there and what was expected.
func Parse(name string, src []byte) (*Script, error) {
	p := &parser{
		script: &Script{name: name, settings: defaultSettings(), signatures: map[string]struct{}{}},
		lines:  bytes.SplitAfter(src, []byte("\n")),
	}
	p.startSection("main", 1)
	if err := p.parse(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, p.at, err)
	}
	return p.script, nil
}

// MustParse reads a script that is part of a program. It panics when the script is wrong, which is a mistake there.
func MustParse(src string) *Script {
	s, err := Parse("script", []byte(src))
	if err != nil {
		panic(err)
	}
	return s
}

type parser struct {
	script *Script
	lines  [][]byte // with their line ends
	next   int      // the line that comes next
	at     int      // the number of the line that an error is about

	section *section
	turn    *turn  // nil: none has begun in this section
	reply   *reply // the reply of turn that is being read
	seen    bool   // a turn or a section has begun, so settings are over
}

// takeLine returns the next line without its line end.
func (p *parser) takeLine() (string, bool) {
	if p.next >= len(p.lines) {
		return "", false
	}
	line := p.lines[p.next]
	p.next++
	return strings.TrimRight(string(line), "\r\n"), true
}

func (p *parser) parse() error {
	for {
		line, more := p.takeLine()
		if !more {
			break
		}
		p.at = p.next
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, arg, _ := strings.Cut(line, " ")
		if tab := strings.IndexByte(word, '\t'); tab >= 0 {
			word, arg = line[:tab], line[tab+1:]
		}
		if err := p.directive(word, strings.TrimSpace(arg)); err != nil {
			return err
		}
	}
	if err := p.endSection(); err != nil {
		return err
	}
	if len(p.script.sections) == 1 && len(p.script.sections[0].turns) == 0 {
		return fmt.Errorf("the script has no turns; expected at least one line that says turn")
	}
	return nil
}

func (p *parser) directive(word, arg string) error {
	switch word {
	case "section":
		return p.sectionLine(arg)
	case "turn":
		return p.turnLine(arg)
	case "else":
		return p.elseLine(arg)
	case "loop", "order":
		return p.sectionSetting(word, arg)
	}
	if p.turn != nil {
		return p.replyLine(word, arg)
	}
	if word == "when" {
		if len(p.script.sections) == 1 {
			return fmt.Errorf("when stands before the first turn; expected it behind a section or a turn line")
		}
		c, err := parseCondition(arg)
		p.section.when = append(p.section.when, c)
		return err
	}
	if p.seen {
		return fmt.Errorf("%q cannot stand between section and turn; expected when, order, loop or turn", word)
	}
	return p.setting(word, arg)
}

func (p *parser) startSection(name string, line int) {
	p.section = &section{name: name, line: line, loopFrom: -1}
	p.turn, p.reply = nil, nil
	p.script.sections = append(p.script.sections, p.section)
}

// endSection checks what can be checked only when a section is complete.
func (p *parser) endSection() error {
	if err := p.endReply(); err != nil {
		return err
	}
	s := p.section
	switch {
	case s.loopFrom >= len(s.turns) && s.loopFrom > 0:
		return fmt.Errorf("no turn follows the loop line of section %s; expected loop before the first turn that is to be played again", s.name)
	case len(s.turns) == 0 && s.name != "main":
		p.at = s.line
		return fmt.Errorf("section %s has no turns; expected at least one line that says turn", s.name)
	case len(s.when) == 0 && s.name != "main":
		p.at = s.line
		return fmt.Errorf("section %s has no conditions, so nothing would ever reach it or all would; expected at least one when line", s.name)
	}
	return nil
}

func (p *parser) sectionLine(name string) error {
	if err := p.endSection(); err != nil {
		return err
	}
	if name == "" || strings.Contains(name, " ") {
		return fmt.Errorf("expected section NAME, the name being one word")
	}
	for _, s := range p.script.sections {
		if s.name == name {
			return fmt.Errorf("there is a section %s already, at line %d; expected another name", name, s.line)
		}
	}
	p.seen = true
	p.startSection(name, p.at)
	return nil
}

func (p *parser) turnLine(label string) error {
	if err := p.endReply(); err != nil {
		return err
	}
	p.seen = true
	p.reply = &reply{line: p.at}
	p.turn = &turn{label: label, line: p.at, repeat: 1, replies: []*reply{p.reply}}
	p.section.turns = append(p.section.turns, p.turn)
	return nil
}

func (p *parser) elseLine(arg string) error {
	if p.turn == nil {
		return fmt.Errorf("else without a turn; expected turn")
	}
	if err := p.endReply(); err != nil {
		return err
	}
	if len(p.reply.when) == 0 {
		return fmt.Errorf("else can never be reached, because what stands before it has no when line")
	}
	if arg != "" {
		return fmt.Errorf("expected nothing behind else")
	}
	p.reply = &reply{line: p.at}
	p.turn.replies = append(p.turn.replies, p.reply)
	return nil
}

func (p *parser) sectionSetting(word, arg string) error {
	if err := p.endReply(); err != nil {
		return err
	}
	switch {
	case word == "loop" && arg == "":
		p.section.loopFrom = len(p.section.turns)
		p.turn, p.reply = nil, nil
		p.seen = true
	case word == "loop":
		return fmt.Errorf("expected nothing behind loop")
	case p.turn != nil:
		return fmt.Errorf("order stands inside a turn; expected it before the first turn of its section")
	case arg == "arrival" || arg == "depth":
		p.section.arrival = arg == "arrival"
	default:
		return fmt.Errorf("order cannot be %q; expected depth or arrival", arg)
	}
	return nil
}

func (p *parser) setting(word, arg string) error {
	set := &p.script.settings
	var err error
	switch word {
	case "models":
		set.models = strings.FieldsFunc(arg, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
		if len(set.models) == 0 {
			return fmt.Errorf("expected at least one name behind models")
		}
	case "window":
		set.window, err = number(arg, 1)
	case "max_output":
		set.maxOutput, err = number(arg, 1)
	case "cache_min":
		set.cacheMin, err = number(arg, 0)
	case "token_bytes":
		set.tokenBytes, err = number(arg, 1)
	case "chunk":
		set.chunk, err = number(arg, 1)
	case "delay":
		set.delay, err = duration(arg)
	case "strict":
		set.lenient, err = oneOf(arg, "off", "on")
	case "usage":
		set.noUsage, err = oneOf(arg, "off", "on")
	default:
		return fmt.Errorf("%q is not a setting; expected one of models, window, max_output, cache_min, token_bytes, chunk, delay, strict, usage, or turn, section, order, loop", word)
	}
	return err
}

// oneOf tells whether arg is the first of two words; it must be one of them.
func oneOf(arg, first, second string) (bool, error) {
	if arg != first && arg != second {
		return false, fmt.Errorf("it cannot be %q; expected %s or %s", arg, second, first)
	}
	return arg == first, nil
}

func number(arg string, least int) (int, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(arg, "_", ""))
	if err != nil || n < least || n > 1<<40 {
		return 0, fmt.Errorf("%q is not a number that fits here; expected a whole number, at least %d", arg, least)
	}
	return n, nil
}

func duration(arg string) (time.Duration, error) {
	if arg == "forever" {
		return -1, nil
	}
	d, err := time.ParseDuration(arg)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time; expected something like 300ms, 2s, 5m or forever", arg)
	}
	return d, nil
}

// longText returns arg, or the lines that follow up to the word that << announces. What the lines have in common as
// indentation is taken off, and so is the last line end.
func (p *parser) longText(arg string) (string, error) {
	word, found := strings.CutPrefix(arg, "<<")
	if !found || word == "" || strings.ContainsAny(word, " \t") {
		return arg, nil
	}
	var lines []string
	for {
		line, more := p.takeLine()
		if !more {
			return "", fmt.Errorf("the text that starts here never ends; expected a line that says %s", word)
		}
		if strings.TrimSpace(line) == word {
			return strings.Join(dedent(lines), "\n"), nil
		}
		lines = append(lines, line)
	}
}

func dedent(lines []string) []string {
	common, first := "", true
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if first {
			common, first = indent, false
			continue
		}
		n := 0
		for n < len(common) && n < len(indent) && common[n] == indent[n] {
			n++
		}
		common = common[:n]
	}
	out := slices.Clone(lines)
	for i, l := range out {
		if rest, found := strings.CutPrefix(l, common); found {
			out[i] = rest
		} else {
			out[i] = strings.TrimLeft(l, " \t")
		}
	}
	return out
}

// jsonText returns the JSON value that begins with arg and may go on over the next lines. Placeholders may stand in it
// where a value may.
func (p *parser) jsonText(arg string) (string, error) {
	if strings.HasPrefix(arg, "<<") {
		text, err := p.longText(arg)
		if err == nil && !json.Valid(blankPlaceholders([]byte(text))) {
			err = fmt.Errorf("the text up to the end word is not one JSON value; to send broken JSON use broken instead of call")
		}
		return text, err
	}
	if json.Valid(blankPlaceholders([]byte(arg))) {
		return arg, nil
	}
	src := append([]byte(arg), '\n')
	src = append(src, bytes.Join(p.lines[p.next:], nil)...)
	var raw json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(blankPlaceholders(src)))
	if err := dec.Decode(&raw); err != nil {
		return "", fmt.Errorf("the JSON that starts here is wrong: %v; to send broken JSON use broken instead of call", err)
	}
	end := int(dec.InputOffset())
	line, _, _ := bytes.Cut(src[end:], []byte("\n"))
	if len(bytes.TrimSpace(line)) > 0 {
		return "", fmt.Errorf("expected nothing behind the JSON, but there is %s", excerpt(string(line)))
	}
	p.next += bytes.Count(src[:end], []byte("\n"))
	return string(bytes.TrimSpace(src[:end])), nil
}
