package main

import "encoding/json"

// sizes are the bytes of a request and of its larger parts.
type sizes struct {
	Whole, Tools, System int
}

// sizesOf measures a request of any of the protocols that the scripted model speaks.
func sizesOf(body []byte) sizes {
	var parts map[string]json.RawMessage
	json.Unmarshal(body, &parts)
	s := sizes{Whole: len(body)}
	var tools []json.RawMessage
	if json.Unmarshal(parts["tools"], &tools) == nil && len(tools) > 0 {
		s.Tools = len(parts["tools"])
	}
	for _, name := range []string{"system", "instructions", "systemInstruction"} {
		s.System += len(parts[name])
	}
	// OpenAI's protocols have messages of the system among the others.
	for _, name := range []string{"messages", "input"} {
		var messages []json.RawMessage
		json.Unmarshal(parts[name], &messages)
		for _, m := range messages {
			var of struct{ Role string }
			if json.Unmarshal(m, &of) == nil && (of.Role == "system" || of.Role == "developer") {
				s.System += len(m)
			}
		}
	}
	return s
}
