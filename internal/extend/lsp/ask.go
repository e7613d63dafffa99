package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// mostLines bounds an answer.
const mostLines = 200

// mustOffer is the error of a question that the server cannot answer.
func (s *server) mustOffer(provider json.RawMessage, what string) error {
	if offered(provider) {
		return nil
	}
	return fmt.Errorf("the language server %s does not know %s; use Grep and Read instead", s.cfg.Name, what)
}

// locate answers the questions whose answer is a list of places.
func (s *server) locate(ctx context.Context, place at, operation string) (text, summary string, err error) {
	var method, what string
	var provider json.RawMessage
	var params any = place
	switch operation {
	case "goToImplementation":
		method, what, provider = "textDocument/implementation", "implementations", s.caps.ImplementationsOf
	case "findReferences":
		method, what, provider = "textDocument/references", "references", s.caps.ReferencesProvider
		params = struct {
			at
			Context map[string]bool `json:"context"`
		}{place, map[string]bool{"includeDeclaration": true}}
	default:
		method, what, provider = "textDocument/definition", "definitions", s.caps.DefinitionProvider
	}
	if err := s.mustOffer(provider, what); err != nil {
		return "", "", err
	}
	var raw json.RawMessage
	if err := s.call(ctx, method, params, &raw); err != nil {
		return "", "", err
	}
	places := decodeLocations(raw)
	if len(places) == 0 {
		return "The language server knows no " + what + " of that.", "none", nil
	}
	return s.list(places), fmt.Sprintf("%d %s", len(places), what), nil
}

// list shows places with their lines of text, sorted.
func (s *server) list(places []location) string {
	slices.SortFunc(places, func(a, b location) int {
		if c := strings.Compare(a.URI, b.URI); c != 0 {
			return c
		}
		if a.Range.Start.Line != b.Range.Start.Line {
			return a.Range.Start.Line - b.Range.Start.Line
		}
		return a.Range.Start.Character - b.Range.Start.Character
	})
	sources := sources{}
	var lines []string
	for i, l := range places {
		if i == mostLines {
			lines = append(lines, fmt.Sprintf("… and %d more", len(places)-i))
			break
		}
		path := pathOf(l.URI)
		line := sources.line(path, l.Range.Start.Line)
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", s.pool.relative(path), l.Range.Start.Line+1, characterAt(line, l.Range.Start.Character, s.encoding), clip(line)))
	}
	return strings.Join(lines, "\n")
}

// sources are files, split into lines.
type sources map[string][]string

func (s sources) line(path string, n int) string {
	lines, ok := s[path]
	if !ok {
		if info, err := os.Stat(path); err == nil && info.Size() <= largestFile {
			data, _ := os.ReadFile(path)
			lines = strings.Split(string(data), "\n")
		}
		s[path] = lines
	}
	if n < 0 || n >= len(lines) {
		return ""
	}
	return strings.TrimSuffix(lines[n], "\r")
}

// clip shortens a line of source.
func clip(line string) string {
	line = strings.TrimSpace(line)
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	return line
}

// hover tells what the server knows of a name: its type and what is written about it.
func (s *server) hover(ctx context.Context, place at) (text, summary string, err error) {
	if err := s.mustOffer(s.caps.HoverProvider, "hover texts"); err != nil {
		return "", "", err
	}
	var answer *struct {
		Contents json.RawMessage `json:"contents"`
	}
	if err := s.call(ctx, "textDocument/hover", place, &answer); err != nil {
		return "", "", err
	}
	if answer != nil {
		text = strings.TrimSpace(hoverText(answer.Contents))
	}
	if text == "" {
		return "The language server has nothing to say about that.", "nothing", nil
	}
	return text, clip(strings.SplitN(text, "\n", 2)[0]), nil
}

// hoverText reads all forms of hover contents: a text, an object with a value, or a list of both.
func hoverText(raw json.RawMessage) string {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	var marked struct{ Value string }
	if json.Unmarshal(raw, &marked) == nil && marked.Value != "" {
		return marked.Value
	}
	var many []json.RawMessage
	json.Unmarshal(raw, &many)
	var parts []string
	for _, one := range many {
		parts = append(parts, hoverText(one))
	}
	return strings.Join(parts, "\n")
}

// symbols lists what a file declares, as a tree.
func (s *server) symbols(ctx context.Context, path string) (text, summary string, err error) {
	if err := s.mustOffer(s.caps.SymbolProvider, "symbols"); err != nil {
		return "", "", err
	}
	var list []symbol
	if err := s.call(ctx, "textDocument/documentSymbol", map[string]any{"textDocument": document{uriOf(path)}}, &list); err != nil {
		return "", "", err
	}
	if len(list) == 0 {
		return "The file declares nothing that the language server knows.", "none", nil
	}
	var lines []string
	var add func(list []symbol, depth int)
	add = func(list []symbol, depth int) {
		for _, y := range list {
			start := y.Selection.Start
			if y.Location != nil {
				start = y.Location.Range.Start
			}
			detail := ""
			if y.Detail != "" {
				detail = "  " + clip(y.Detail)
			}
			lines = append(lines, fmt.Sprintf("%s%d: %s %s%s", strings.Repeat("  ", min(depth, 8)), start.Line+1, symbolKind(y.Kind), y.Name, detail))
			add(y.Children, depth+1)
		}
	}
	add(list, 0)
	return bounded(lines), fmt.Sprintf("%d symbols", len(lines)), nil
}

func bounded(lines []string) string {
	if len(lines) > mostLines {
		lines = append(lines[:mostLines:mostLines], fmt.Sprintf("… and %d more", len(lines)-mostLines))
	}
	return strings.Join(lines, "\n")
}

// search lists declarations of the whole project.
func (s *server) search(ctx context.Context, query string) (text, summary string, err error) {
	if err := s.mustOffer(s.caps.WorkspaceSymbols, "symbols of a project"); err != nil {
		return "", "", err
	}
	var list []symbol
	if err := s.call(ctx, "workspace/symbol", map[string]any{"query": query}, &list); err != nil {
		return "", "", err
	}
	if len(list) == 0 {
		return fmt.Sprintf("Nothing in the project matches %q.", query), "none", nil
	}
	var lines []string
	for _, y := range list {
		if y.Location == nil {
			continue
		}
		in := ""
		if y.ContainerName != "" {
			in = "  in " + y.ContainerName
		}
		lines = append(lines, fmt.Sprintf("%s:%d: %s %s%s", s.pool.relative(pathOf(y.Location.URI)), y.Location.Range.Start.Line+1, symbolKind(y.Kind), y.Name, in))
	}
	return bounded(lines), fmt.Sprintf("%d symbols", len(lines)), nil
}

// calls lists who calls a function, or whom it calls.
func (s *server) calls(ctx context.Context, place at, operation string) (text, summary string, err error) {
	if err := s.mustOffer(s.caps.CallHierarchy, "calls"); err != nil {
		return "", "", err
	}
	var items []callItem
	if err := s.call(ctx, "textDocument/prepareCallHierarchy", place, &items); err != nil {
		return "", "", err
	}
	if len(items) == 0 {
		return "There is no function at that place.", "none", nil
	}
	method, far := "callHierarchy/incomingCalls", "from"
	if operation == "outgoingCalls" {
		method, far = "callHierarchy/outgoingCalls", "to"
	}
	var lines []string
	for _, item := range items {
		var found []map[string]json.RawMessage
		if err := s.call(ctx, method, map[string]any{"item": item}, &found); err != nil {
			return "", "", err
		}
		for _, f := range found {
			var other callItem
			if json.Unmarshal(f[far], &other) != nil {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s:%d: %s %s", s.pool.relative(pathOf(other.URI)), other.Selection.Start.Line+1, symbolKind(other.Kind), other.Name))
		}
	}
	if len(lines) == 0 {
		return "The language server knows no such calls.", "none", nil
	}
	return bounded(lines), fmt.Sprintf("%d calls", len(lines)), nil
}

// diagnose tells all that the server has against a file.
func (s *server) diagnose(ctx context.Context, path string, version int) (text, summary string, err error) {
	f := s.findings
	if offered(s.caps.DiagnosticProvider) {
		s.pull(ctx, path, version)
	}
	f.mu.Lock()
	known := f.file(path)
	current := known.stamp > 0 && (known.version == 0 || known.version >= version)
	f.mu.Unlock()
	if !current {
		wait, cancel := context.WithTimeout(ctx, s.pool.o.ColdWait)
		f.settle(wait, path, 0, version)
		cancel()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, c := range known.list {
		lines = append(lines, s.line(path, c))
		known.told[c.key()]++
	}
	switch {
	case known.stamp == 0:
		return "", "", fmt.Errorf("the language server %s has not looked at the file yet; ask again in a moment", s.cfg.Name)
	case len(lines) == 0:
		return "The language server finds nothing wrong.", "none", nil
	}
	return bounded(lines), fmt.Sprintf("%d findings", len(lines)), nil
}
