package script

import (
	"crypto/sha256"
	"hash"
	"time"
)

// A prompt is a request as the service sees it: a sequence of blocks (tools, then the system prompt, then the messages), each
// with the digest of everything up to and including it. Equal digests mean equal prefixes.
type prompt struct {
	root     value
	model    string
	tools    []value
	messages []message
	blocks   []promptBlock
	bytes    int // of the whole prompt
}

type message struct {
	value   value
	role    string
	content value
	blocks  []value // empty when the content is a string
}

type digest [sha256.Size]byte

type promptBlock struct {
	digest digest
	bytes  int           // of the prompt up to and including this block
	mark   time.Duration // the lifetime that a cache mark asks for, 0: no mark
}

// imageBytes stands for an image, whose tokens do not depend on its bytes, and documentShare for how many bytes of
// an encoded document there are to one byte of its text.
const (
	imageBytes    = 6000
	documentShare = 20
)

func newPrompt(root value) *prompt {
	p := &prompt{root: root, model: root.get("model").text()}
	for _, t := range root.get("tools").each {
		p.tools = append(p.tools, t)
	}
	for _, m := range root.get("messages").each {
		msg := message{value: m, role: m.get("role").text(), content: m.get("content")}
		if msg.content.kind() == nodeArray {
			for _, b := range msg.content.each {
				msg.blocks = append(msg.blocks, b)
			}
		}
		p.messages = append(p.messages, msg)
	}
	w := walker{p: p, h: sha256.New()}
	w.walk()
	return p
}

// final is the digest of the whole prompt. A repeated request has the same, wherever its cache marks are.
func (p *prompt) final() digest {
	if len(p.blocks) == 0 {
		return digest{}
	}
	return p.blocks[len(p.blocks)-1].digest
}

type walker struct {
	p    *prompt
	h    hash.Hash
	last digest
	size int
}

func (w *walker) walk() {
	for _, t := range w.p.tools {
		if t.get("defer_loading").kind() != nodeTrue { // such a tool is not part of the prompt
			w.block("tool", t)
		}
	}
	system := w.p.root.get("system")
	if system.kind() == nodeString {
		w.block("system", system)
	}
	if system.kind() == nodeArray {
		for _, b := range system.each {
			w.block("system", b)
		}
	}
	// What the real service says: a change of these makes the messages, but not the tools and the system prompt, new.
	w.h.Reset()
	w.h.Write(w.last[:])
	w.h.Write(w.p.root.get("thinking").raw())
	w.h.Write(w.p.root.get("tool_choice").raw())
	w.h.Sum(w.last[:0])
	for _, m := range w.p.messages {
		if m.content.kind() == nodeString {
			w.block(m.role, m.content)
		}
		for _, b := range m.blocks {
			w.block(m.role, b)
		}
	}
	w.p.bytes = w.size
	if mark := w.p.root.get("cache_control"); mark.exists() && len(w.p.blocks) > 0 { // the mark that goes where the prompt ends
		w.p.blocks[len(w.p.blocks)-1].mark = lifetime(mark)
	}
}

// block adds one block to the chain.
func (w *walker) block(role string, b value) {
	w.h.Reset()
	w.h.Write(w.last[:])
	w.h.Write([]byte(role))
	w.content(b)
	w.h.Sum(w.last[:0])
	w.p.blocks = append(w.p.blocks, promptBlock{digest: w.last, bytes: w.size, mark: lifetime(markOf(b))})
}

// content hashes a block without its cache marks. A plain string counts as the text block that it stands for.
func (w *walker) content(b value) {
	if b.kind() != nodeObject {
		w.write(b.raw())
		return
	}
	switch typ := b.get("type"); {
	case typ.is("text"):
		w.write(b.get("text").raw())
		return
	case typ.is("image") || typ.is("document"):
		size := w.size
		w.write(b.get("source").raw())
		if typ.is("image") {
			w.size = size + imageBytes
		} else if b.get("source").get("type").is("base64") {
			w.size = size + (w.size-size)/documentShare
		}
		return
	}
	for _, member := range b.each {
		switch key := member.key(); {
		case key == "cache_control":
		case key == "content" && member.kind() == nodeArray:
			for _, inner := range member.each {
				w.content(inner)
			}
		default:
			w.write([]byte(key))
			w.write(member.raw())
		}
	}
}

func (w *walker) write(b []byte) {
	w.h.Write(b)
	w.size += len(b)
}

// markOf returns the cache mark of a block, or the last one of the blocks that a tool result holds.
func markOf(b value) value {
	if mark := b.get("cache_control"); mark.exists() {
		return mark
	}
	var found value
	if b.get("type").is("tool_result") && b.get("content").kind() == nodeArray {
		for _, inner := range b.get("content").each {
			if mark := inner.get("cache_control"); mark.exists() {
				found = mark
			}
		}
	}
	return found
}

func lifetime(mark value) time.Duration {
	switch {
	case !mark.exists():
		return 0
	case mark.get("ttl").is("1h"):
		return time.Hour
	}
	return 5 * time.Minute
}
