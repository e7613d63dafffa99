package transcript

import (
	"encoding/json"
	"strings"

	"gofer/internal/llm"
	"gofer/internal/loop"
)

// attached turns an attachment that Claude Code recorded into what the model has to know of it. Lists of tools, agents and skills
// are left out: gofer tells its own.
func attached(raw []byte) []llm.Block {
	var a struct {
		Type     string
		Prompt   json.RawMessage
		Filename string
		Snippet  string
		Content  json.RawMessage
	}
	if json.Unmarshal(raw, &a) != nil {
		return nil
	}
	reminder := func(text string) []llm.Block {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		return []llm.Block{llm.TextBlock(loop.Reminder(text))}
	}
	switch a.Type {
	case "queued_command":
		blocks, err := llm.DecodeContent(a.Prompt)
		if err != nil {
			return nil
		}
		return blocks
	case "file", "already_read_file":
		var c struct {
			Type string
			File struct {
				Content, Base64, Type string
			}
		}
		if json.Unmarshal(a.Content, &c) != nil {
			return nil
		}
		if c.Type == "image" && c.File.Base64 != "" {
			return []llm.Block{{Kind: llm.Image, Media: &llm.Media{Type: "base64", MediaType: c.File.Type, Data: c.File.Base64}}}
		}
		return reminder("The user attached the file " + a.Filename + ". Its content:\n" + c.File.Content)
	case "edited_text_file":
		return reminder("The file " + a.Filename + " was changed by someone else. The part that changed:\n" + a.Snippet)
	case "hook_additional_context", "hook_success", "hook_blocking_error":
		return reminder(plainText(a.Content))
	}
	return nil
}

// plainText is a string, or a list of strings.
func plainText(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return strings.Join(many, "\n")
	}
	return ""
}
