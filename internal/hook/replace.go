package hook

import (
	"encoding/json"

	"gofer/internal/llm"
	"gofer/internal/tool"
)

// replace puts a hook's output in the place of a tool's.
func replace(res *tool.Result, output json.RawMessage) {
	res.Content = contentOf(output)
	var data any
	if json.Unmarshal(output, &data) == nil {
		res.Data = data
	}
	res.Display.Body, res.Display.Diff = "", ""
}

// contentOf is what the model reads of an output: a text, a list of content blocks as a server sends them, an object that holds
// one of these, or the output of a command. Anything else stays JSON.
func contentOf(output json.RawMessage) []llm.Block {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return []llm.Block{llm.TextBlock(text)}
	}
	var items []json.RawMessage
	if json.Unmarshal(output, &items) == nil {
		blocks := make([]llm.Block, len(items))
		for i, item := range items {
			blocks[i] = blockOf(item)
		}
		return blocks
	}
	var object struct {
		Content        json.RawMessage
		Stdout, Stderr *string
	}
	if json.Unmarshal(output, &object) == nil {
		if content := present(object.Content); content != nil {
			return contentOf(content)
		}
		if object.Stdout != nil || object.Stderr != nil {
			for _, s := range []*string{object.Stdout, object.Stderr} {
				if s != nil {
					text = join(text, *s)
				}
			}
			return []llm.Block{llm.TextBlock(text)}
		}
	}
	return []llm.Block{llm.TextBlock(string(output))}
}

// blockOf reads one block: text, or an image as servers and as models write it. Whatever a model could not take becomes text.
func blockOf(item json.RawMessage) llm.Block {
	var b struct {
		Type, Text, Data, MimeType string
		Source                     json.RawMessage
	}
	if json.Unmarshal(item, &b) != nil {
		return llm.TextBlock(string(item))
	}
	switch {
	case b.Type == "text":
		return llm.TextBlock(b.Text)
	case b.Type == "image" && b.Data != "":
		return llm.Block{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: b.MimeType, Data: b.Data}}
	case b.Type == "image" && present(b.Source) != nil:
		var block llm.Block
		if json.Unmarshal(item, &block) == nil && block.Media != nil {
			return block
		}
	}
	return llm.TextBlock(string(item))
}
