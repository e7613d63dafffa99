// Package archtest holds the laws of the house as tests: which package may import which, and what must never be linked.
package archtest

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// layers lists packages from the bottom up; a package may import only layers below its own. A name that ends in /... stands
// for all packages below it that have no entry of their own.
var layers = [][]string{
	{"llm", "cli", "proc", "proc/spool"},
	{"llm/sse", "llm/catalog"},
	{"llm/anthropic", "llm/retry", "llm/script", "tool", "event"},
	{"tool/picture", "tool/search/ignore", "tool/search/match", "guard/shellsyntax", "session/history", "session/history/gitindex"},
	{"guard", "guard/...", "hook", "prompt", "prompt/...", "work/...", "tool/...", "extend/..."},
	{"hook/..."},
	{"loop"},
	{"compact"},
	{"session"},
	{"session/...", "config", "compact"},
	{"agents", "agents/..."},
	{"ui/words", "ui/theme"},
	{"ui/screen", "ui/fileindex", "ui/keys", "ui/highlight"},
	{"ui/markdown", "ui/diff"},
	{"ui/message"},
	{"ui/..."},
	{"ui/tui"},
	{"app"},
	{"archtest"},
}

const root = "gofer/internal/"

func level(pkg string) (int, bool) {
	name := strings.TrimPrefix(pkg, root)
	best, bestLen := -1, -1
	for i, row := range layers {
		for _, p := range row {
			prefix, wild := strings.CutSuffix(p, "/...")
			if p == name || wild && strings.HasPrefix(name, prefix+"/") && len(prefix) > bestLen {
				if p == name {
					return i, true
				}
				best, bestLen = i, len(prefix)
			}
		}
	}
	return best, best >= 0
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p goPackage
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "gofer/internal/...") {
		mine, ok := level(p.ImportPath)
		if !ok {
			t.Errorf("%s has no layer: add it to layers", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, root) {
				continue
			}
			// A package may use what stands below it in its own folder.
			if strings.HasPrefix(imp, p.ImportPath+"/") {
				continue
			}
			if theirs, ok := level(imp); ok && theirs >= mine {
				t.Errorf("%s (layer %d) imports %s (layer %d): arrows point down", p.ImportPath, mine, imp, theirs)
			}
		}
		if name := strings.TrimPrefix(p.ImportPath, root); name != "app" && !strings.HasPrefix(name, "config") {
			for _, imp := range p.Imports {
				if imp == root+"config" {
					t.Errorf("%s imports config: only app may, everyone else is handed options", p.ImportPath)
				}
			}
		}
	}
}

// heavy lists what must never be linked, because its initialisation alone costs a start that we promise to be quick.
var heavy = []string{
	"github.com/alecthomas/chroma/v2/lexers", "github.com/alecthomas/chroma/v2/styles", "github.com/alecthomas/chroma/v2/quick",
	"github.com/charmbracelet/glamour", "github.com/santhosh-tekuri/jsonschema", "github.com/blevesearch/bleve",
	"go.opencensus.io", "google.golang.org/grpc", "google.golang.org/protobuf", "google.golang.org/genai",
	"github.com/openai/openai-go", "github.com/anthropics/anthropic-sdk-go", "github.com/mark3labs/mcp-go",
	"github.com/pdfcpu/pdfcpu", "github.com/tiktoken-go", "github.com/pkoukk/tiktoken-go", "github.com/klippa-app/go-pdfium",
	"go.opentelemetry.io/otel/exporters/otlp", "github.com/charmbracelet/huh", "testing",
}

func TestNothingHeavyIsLinked(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "-deps", "gofer/cmd/gofer") {
		for _, h := range heavy {
			if p.ImportPath == h || strings.HasPrefix(p.ImportPath, h+"/") {
				t.Errorf("%s is linked into gofer", p.ImportPath)
			}
		}
	}
}
