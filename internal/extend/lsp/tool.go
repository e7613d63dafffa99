package lsp

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gofer/internal/tool"
)

// ToolName is the name of the tool.
const ToolName = "LSP"

//go:embed lsp.md
var toolDoc string

// askWait bounds a question; a large project takes its time to load.
const askWait = 60 * time.Second

type input struct {
	Operation string `json:"operation" enum:"goToDefinition|goToImplementation|findReferences|hover|documentSymbol|workspaceSymbol|incomingCalls|outgoingCalls|diagnostics"`
	FilePath  string `json:"filePath" desc:"a file of the language"`
	Line      int    `json:"line,omitempty" min:"1"`
	Character int    `json:"character,omitempty" min:"1"`
	Symbol    string `json:"symbol,omitempty"`
	Query     string `json:"query,omitempty"`
}

// Tool is the tool of one agent, whose working directory is cwd.
func (p *Pool) Tool(cwd func() string) *tool.Tool {
	abs := func(in input) string {
		if filepath.IsAbs(in.FilePath) {
			return filepath.Clean(in.FilePath)
		}
		return filepath.Join(cwd(), in.FilePath)
	}
	return tool.Define(tool.Spec[input]{Name: ToolName, Doc: toolDoc, Hint: "language server definition references hover symbols calls diagnostics of code",
		Traits: func(input) tool.Traits { return tool.Traits{ReadOnly: true, Parallel: true} },
		Access: func(in input) []tool.Access { return []tool.Access{{Verb: tool.Read, Target: abs(in)}} },
		Title:  func(in input) string { return in.Operation + " in " + in.FilePath },
		Run: func(ctx context.Context, in input, _ tool.Call) (tool.Result, error) {
			ctx, cancel := context.WithTimeout(ctx, askWait)
			defer cancel()
			text, summary, err := p.ask(ctx, in, abs(in))
			if err != nil {
				return tool.Result{}, err
			}
			res := tool.Text(text)
			res.Display = tool.Display{Summary: summary, Body: text}
			return res, nil
		},
	})
}

// ask answers one question.
func (p *Pool) ask(ctx context.Context, in input, path string) (text, summary string, err error) {
	if _, err := os.Stat(path); err != nil {
		return "", "", fmt.Errorf("there is no file %s; name one that exists", path)
	}
	s, _, err := p.server(path)
	if err != nil {
		return "", "", err
	}
	if s == nil {
		return "", "", p.noServer(path)
	}
	if err := s.await(ctx); err != nil {
		return "", "", err
	}
	source, version, err := s.open(ctx, path)
	if err != nil {
		return "", "", err
	}
	switch in.Operation {
	case "documentSymbol":
		return s.symbols(ctx, path)
	case "workspaceSymbol":
		return s.search(ctx, in.Query)
	case "diagnostics":
		return s.diagnose(ctx, path, version)
	}
	place, err := s.place(path, source, in)
	if err != nil {
		return "", "", err
	}
	switch in.Operation {
	case "hover":
		return s.hover(ctx, place)
	case "incomingCalls", "outgoingCalls":
		return s.calls(ctx, place, in.Operation)
	}
	return s.locate(ctx, place, in.Operation)
}

func (p *Pool) noServer(path string) error {
	for _, c := range p.o.Servers {
		if c.Language(path) != "" {
			return fmt.Errorf("the language server for %s files, %s, is not installed; use Grep and Read instead", c.Language(path), c.Command)
		}
	}
	return fmt.Errorf("there is no language server for %s; use Grep and Read instead", filepath.Base(path))
}

// place is where the question points, as the server counts.
func (s *server) place(path, source string, in input) (at, error) {
	lines := strings.Split(source, "\n")
	if in.Line < 1 || in.Line > len(lines) {
		return at{}, fmt.Errorf("give the line, from 1 to %d", len(lines))
	}
	line := strings.TrimSuffix(lines[in.Line-1], "\r")
	column := 0
	switch {
	case in.Symbol != "":
		i := findWord(line, in.Symbol)
		if i < 0 {
			return at{}, fmt.Errorf("line %d of %s does not hold %q; it is: %s", in.Line, path, in.Symbol, strings.TrimSpace(line))
		}
		column = units(line[:i], s.encoding)
	case in.Character > 0:
		column = columnIn(line, in.Character, s.encoding)
	default:
		return at{}, errors.New("give symbol, the name as it stands on the line, or character")
	}
	return at{document{uriOf(path)}, position{in.Line - 1, column}}, nil
}

// findWord finds a name in a line: where it stands as a whole word if it does, otherwise anywhere.
func findWord(line, word string) int {
	inWord := func(b byte) bool {
		return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
	}
	// Of a.B the last part is meant.
	last := word
	if i := strings.LastIndexAny(word, ".:"); i >= 0 && i+1 < len(word) {
		last = word[i+1:]
	}
	shift := len(word) - len(last)
	for from := 0; ; {
		i := strings.Index(line[from:], word)
		if i < 0 {
			break
		}
		i += from
		end := i + len(word)
		if (i == 0 || !inWord(line[i-1]) || !inWord(word[0])) && (end == len(line) || !inWord(line[end])) {
			return i + shift
		}
		from = i + 1
	}
	if i := strings.Index(line, word); i >= 0 {
		return i + shift
	}
	return -1
}

// decodeLocations reads all forms in which servers tell places.
func decodeLocations(raw json.RawMessage) []location {
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		many = []json.RawMessage{raw}
	}
	var list []location
	for _, one := range many {
		var l location
		var k link
		if json.Unmarshal(one, &l) == nil && l.URI != "" {
			list = append(list, l)
		} else if json.Unmarshal(one, &k) == nil && k.TargetURI != "" {
			list = append(list, location{k.TargetURI, k.TargetSelectionRange})
		}
	}
	return list
}
