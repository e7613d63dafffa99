package lsp

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"
)

// The parts of the Language Server Protocol that are used here, with its own names.
type (
	position struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
	span struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	location struct {
		URI   string `json:"uri"`
		Range span   `json:"range"`
	}
	// link is the other form of a location.
	link struct {
		TargetURI            string `json:"targetUri"`
		TargetSelectionRange span   `json:"targetSelectionRange"`
	}
	document struct {
		URI string `json:"uri"`
	}
	versioned struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	}
	at struct {
		Document document `json:"textDocument"`
		Position position `json:"position"`
	}
	symbol struct {
		Name          string    `json:"name"`
		Detail        string    `json:"detail,omitempty"`
		Kind          int       `json:"kind"`
		Range         span      `json:"range"`
		Selection     span      `json:"selectionRange"`
		Children      []symbol  `json:"children,omitempty"`
		Location      *location `json:"location,omitempty"` // of the flat form
		ContainerName string    `json:"containerName,omitempty"`
	}
	callItem struct {
		Name      string          `json:"name"`
		Kind      int             `json:"kind"`
		Detail    string          `json:"detail,omitempty"`
		URI       string          `json:"uri"`
		Range     span            `json:"range"`
		Selection span            `json:"selectionRange"`
		Data      json.RawMessage `json:"data,omitempty"`
	}
	// complaint is a diagnostic.
	complaint struct {
		Range    span            `json:"range"`
		Severity int             `json:"severity"`
		Code     json.RawMessage `json:"code,omitempty"`
		Source   string          `json:"source"`
		Message  string          `json:"message"`
	}
	published struct {
		URI         string      `json:"uri"`
		Version     *int        `json:"version"`
		Diagnostics []complaint `json:"diagnostics"`
	}
	capabilities struct {
		PositionEncoding   string          `json:"positionEncoding"`
		DiagnosticProvider json.RawMessage `json:"diagnosticProvider"`
		DefinitionProvider json.RawMessage `json:"definitionProvider"`
		ReferencesProvider json.RawMessage `json:"referencesProvider"`
		HoverProvider      json.RawMessage `json:"hoverProvider"`
		SymbolProvider     json.RawMessage `json:"documentSymbolProvider"`
		WorkspaceSymbols   json.RawMessage `json:"workspaceSymbolProvider"`
		ImplementationsOf  json.RawMessage `json:"implementationProvider"`
		CallHierarchy      json.RawMessage `json:"callHierarchyProvider"`
		TypeDefinitionsOf  json.RawMessage `json:"typeDefinitionProvider"`
	}
)

// offered reports whether a server says of a provider that it has it.
func offered(provider json.RawMessage) bool {
	s := string(provider)
	return s != "" && s != "null" && s != "false"
}

// severities are the words for a diagnostic's severity; what has none counts as an error.
func (c complaint) severity() string {
	switch c.Severity {
	case 2:
		return "warning"
	case 3:
		return "info"
	case 4:
		return "hint"
	}
	return "error"
}

// symbolKind is the word for a kind of symbol.
func symbolKind(n int) string {
	kinds := []string{"file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface", "function",
		"variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct", "event", "operator", "type parameter"}
	if n < 1 || n > len(kinds) {
		return "symbol"
	}
	return kinds[n-1]
}

// uriOf is the address of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // of a Windows drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// pathOf is the file of an address, or the address itself if it is of no file.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// units counts the columns of text in the units of an encoding: bytes, characters, or the 16-bit units that the protocol uses if nothing
// else was agreed.
func units(text, encoding string) int {
	switch encoding {
	case "utf-8":
		return len(text)
	case "utf-32":
		return utf8.RuneCountInString(text)
	}
	n := 0
	for _, r := range text {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// columnIn is the place of a character, counted in characters from 1, in the units of an encoding.
func columnIn(line string, character int, encoding string) int {
	end := len(line)
	n := 1
	for i := range line {
		if n == character {
			end = i
			break
		}
		n++
	}
	return units(line[:end], encoding)
}

// characterAt is the character, counted from 1, that stands at a column in the units of an encoding.
func characterAt(line string, column int, encoding string) int {
	passed, n := 0, 1
	for _, r := range line {
		if passed >= column {
			break
		}
		passed += units(string(r), encoding)
		n++
	}
	return n
}
