package cachewatch

import (
	"bytes"
	"fmt"
	"slices"

	"gofer/internal/llm"
)

// compare looks for the first place where after does not go on from before, and describes it in b. It reports whether there is one.
// Messages may have been added at the end, and blocks to the last message.
func compare(before, after llm.Request, b *Break) bool {
	if before.Model != after.Model {
		b.Part, b.Name, b.Change = Model, after.Model, fmt.Sprintf("%s became %s", before.Model, after.Model)
		return true
	}
	return compareTools(before.Tools, after.Tools, b) || compareSystem(before.System, after.System, b) ||
		compareSettings(before, after, b) || compareMessages(before.Messages, after.Messages, b)
}

func compareTools(before, after []llm.ToolDef, b *Break) bool {
	has := func(list []llm.ToolDef, name string) bool {
		return slices.ContainsFunc(list, func(t llm.ToolDef) bool { return t.Name == name })
	}
	for i := range max(len(before), len(after)) {
		switch {
		case i >= len(before):
			b.found(Tools, i, after[i].Name, "added", 0)
		case i >= len(after):
			b.found(Tools, i, before[i].Name, "removed", 0)
		case before[i].Name != after[i].Name && !has(before, after[i].Name):
			b.found(Tools, i, after[i].Name, "added", 0)
		case before[i].Name != after[i].Name && !has(after, before[i].Name):
			b.found(Tools, i, before[i].Name, "removed", 0)
		case before[i].Name != after[i].Name:
			b.found(Tools, i, after[i].Name, "moved", 0)
		case before[i].Description != after[i].Description:
			b.found(Tools, i, after[i].Name, "changed", len(after[i].Name)+common(before[i].Description, after[i].Description))
		case !bytes.Equal(before[i].Schema, after[i].Schema):
			b.found(Tools, i, after[i].Name, "changed", len(after[i].Name)+len(after[i].Description)+common(before[i].Schema, after[i].Schema))
		default:
			b.Offset += len(after[i].Name) + len(after[i].Description) + len(after[i].Schema)
			continue
		}
		return true
	}
	return false
}

func compareSystem(before, after []llm.SystemBlock, b *Break) bool {
	for i := range max(len(before), len(after)) {
		switch {
		case i >= len(before):
			b.found(System, i, "block", "added", 0)
		case i >= len(after):
			b.found(System, i, "block", "removed", 0)
		case before[i].Text != after[i].Text:
			b.found(System, i, "block", "changed", common(before[i].Text, after[i].Text))
		default:
			b.Offset += len(after[i].Text)
			continue
		}
		return true
	}
	return false
}

// compareSettings compares what makes a provider forget the messages, though not what stands before them.
func compareSettings(before, after llm.Request, b *Break) bool {
	switch {
	case before.Thinking != after.Thinking:
		b.found(Settings, 0, "thinking", "changed", 0)
	case before.Choice != after.Choice:
		b.found(Settings, 0, "tool choice", "changed", 0)
	default:
		return false
	}
	return true
}

func compareMessages(before, after []llm.Message, b *Break) bool {
	for i, old := range before {
		if i >= len(after) {
			b.Inner = 0
			b.found(Messages, i, string(old.Role), "removed", 0)
			return true
		}
		m := after[i]
		for j, block := range old.Blocks {
			b.Inner = j
			if j >= len(m.Blocks) || m.Role != old.Role {
				b.found(Messages, i, string(block.Kind), "removed", 0)
				return true
			}
			if !sameBlock(block, m.Blocks[j]) {
				b.found(Messages, i, string(m.Blocks[j].Kind), "changed", firstDifference(block, m.Blocks[j]))
				return true
			}
			b.Offset += blockSize(block)
		}
		if len(m.Blocks) > len(old.Blocks) && i < len(before)-1 {
			b.Inner = len(old.Blocks)
			b.found(Messages, i, string(m.Blocks[b.Inner].Kind), "added", 0)
			return true
		}
	}
	return false
}

func (b *Break) found(p Part, block int, name, change string, at int) {
	b.Part, b.Block, b.Name, b.Change, b.Byte = p, block, name, change, at
	b.Offset += at
}

// sameBlock compares two blocks. Strings that were handed on are not read: they share their bytes.
func sameBlock(a, b llm.Block) bool {
	if a.Kind != b.Kind || a.Text != b.Text || a.Signature != b.Signature || a.Data != b.Data || !bytes.Equal(a.Raw, b.Raw) {
		return false
	}
	if (a.Media == nil) != (b.Media == nil) || (a.Call == nil) != (b.Call == nil) || (a.Result == nil) != (b.Result == nil) {
		return false
	}
	switch {
	case a.Media != nil && a.Media != b.Media && *a.Media != *b.Media:
		return false
	case a.Call != nil && a.Call != b.Call:
		return a.Call.ID == b.Call.ID && a.Call.Name == b.Call.Name && bytes.Equal(a.Call.Input, b.Call.Input)
	case a.Result != nil && a.Result != b.Result:
		return a.Result.CallID == b.Result.CallID && a.Result.IsError == b.Result.IsError && slices.EqualFunc(a.Result.Content, b.Result.Content, sameBlock)
	}
	return true
}

func blockSize(b llm.Block) int {
	n := len(b.Text) + len(b.Signature) + len(b.Data) + len(b.Raw)
	if b.Media != nil {
		n += len(b.Media.Data)
	}
	if b.Call != nil {
		n += len(b.Call.Name) + len(b.Call.Input)
	}
	if b.Result != nil {
		for _, c := range b.Result.Content {
			n += blockSize(c)
		}
	}
	return n
}

// firstDifference is the first byte of the texts of two different blocks that is not the same.
func firstDifference(a, b llm.Block) int {
	if a.Kind != b.Kind {
		return 0
	}
	if a.Result != nil && b.Result != nil {
		at := 0
		for i := range min(len(a.Result.Content), len(b.Result.Content)) {
			x, y := a.Result.Content[i], b.Result.Content[i]
			if !sameBlock(x, y) {
				return at + firstDifference(x, y)
			}
			at += blockSize(x)
		}
		return at
	}
	if a.Call != nil && b.Call != nil {
		if a.Call.Name != b.Call.Name {
			return common(a.Call.Name, b.Call.Name)
		}
		return len(a.Call.Name) + common(a.Call.Input, b.Call.Input)
	}
	if a.Media != nil && b.Media != nil {
		return common(a.Media.Data, b.Media.Data)
	}
	if a.Text != b.Text {
		return common(a.Text, b.Text)
	}
	if a.Signature != b.Signature {
		return len(a.Text) + common(a.Signature, b.Signature)
	}
	return common(a.Raw, b.Raw)
}

// common is how many bytes two texts have in common at their beginning.
func common[T string | ~[]byte](a, b T) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
