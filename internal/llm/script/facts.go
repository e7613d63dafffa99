package script

import (
	"net/http"
	"strconv"
	"strings"
)

// facts is what conditions, lets and placeholders can see of a request. Texts are taken out of it only when they are
// asked for.
type facts struct {
	p       *prompt
	header  http.Header
	attempt int // from 1
	section string
	turn    int // the position in the section, from 1
	n       int // how often the turn has been played in this conversation, from 1
	values  map[string]string
	texts   map[string]string // what has been taken already
}

// depth is the number of assistant messages in the request.
func (f *facts) depth() int {
	n := 0
	for _, m := range f.p.messages {
		if m.role == "assistant" {
			n++
		}
	}
	return n
}

func (f *facts) tools() int { return len(f.p.tools) }

func (f *facts) hasTool(name string) bool {
	for _, t := range f.p.tools {
		if t.get("name").is(name) {
			return true
		}
	}
	return false
}

func (f *facts) number(subject string) int {
	switch subject {
	case "depth":
		return f.depth()
	case "attempt":
		return f.attempt
	case "messages":
		return len(f.p.messages)
	case "max_tokens":
		n, _ := f.p.root.get("max_tokens").integer()
		return n
	}
	return 0
}

// subject returns a text of the request by the name it has in scripts.
func (f *facts) subject(name string) string {
	if text, found := f.texts[name]; found {
		return text
	}
	var text string
	switch name {
	case "model":
		text = f.p.model
	case "system":
		text = blocksText(f.p.root.get("system"))
	case "first_user":
		text = f.firstUser()
	case "last_user":
		text = f.lastUser()
	case "result":
		if all := f.results(); len(all) > 0 {
			text = all[len(all)-1]
		}
	case "results":
		text = strings.Join(f.results(), "\n")
	case "history":
		text = f.history()
	}
	if f.texts == nil {
		f.texts = map[string]string{}
	}
	f.texts[name] = text
	return text
}

// value returns what a placeholder stands for.
func (f *facts) value(name string) string {
	if v, found := f.values[name]; found {
		return v
	}
	switch name {
	case "section":
		return f.section
	case "turn":
		return strconv.Itoa(f.turn)
	case "n":
		return strconv.Itoa(f.n)
	case "depth", "attempt":
		return strconv.Itoa(f.number(name))
	}
	return f.subject(name)
}

func (f *facts) firstUser() string {
	for _, m := range f.p.messages {
		if text := userWords(m); text != "" {
			return text
		}
	}
	return ""
}

func (f *facts) lastUser() string {
	for i := len(f.p.messages) - 1; i >= 0; i-- {
		if text := userWords(f.p.messages[i]); text != "" {
			return text
		}
	}
	return ""
}

// results are the texts of the tool results behind the last assistant message.
func (f *facts) results() []string {
	start := len(f.p.messages)
	for start > 0 && f.p.messages[start-1].role != "assistant" {
		start--
	}
	var texts []string
	for _, m := range f.p.messages[start:] {
		for _, b := range m.blocks {
			if b.get("type").is("tool_result") {
				texts = append(texts, blocksText(b.get("content")))
			}
		}
	}
	return texts
}

// history is all text of all messages, tool results included.
func (f *facts) history() string {
	var parts []string
	for _, m := range f.p.messages {
		if m.content.kind() == nodeString {
			parts = append(parts, m.content.text())
		}
		for _, b := range m.blocks {
			switch typ := b.get("type"); {
			case typ.is("text"):
				parts = append(parts, b.get("text").text())
			case typ.is("tool_result"):
				parts = append(parts, blocksText(b.get("content")))
			case typ.is("tool_use"):
				parts = append(parts, string(b.get("input").raw()))
			}
		}
	}
	return strings.Join(parts, "\n")
}

// userWords is the text of a user message without the reminders that a harness adds to it.
func userWords(m message) string {
	if m.role != "user" {
		return ""
	}
	if m.content.kind() == nodeString {
		return m.content.text()
	}
	var parts []string
	for _, b := range m.blocks {
		if !b.get("type").is("text") {
			continue
		}
		if text := b.get("text").text(); !strings.HasPrefix(strings.TrimSpace(text), "<system-reminder>") {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// blocksText is the text of a content: a string, or the text blocks of a list.
func blocksText(content value) string {
	if content.kind() == nodeString {
		return content.text()
	}
	var parts []string
	if content.kind() == nodeArray {
		for _, b := range content.each {
			if b.get("type").is("text") {
				parts = append(parts, b.get("text").text())
			}
		}
	}
	return strings.Join(parts, "\n")
}
