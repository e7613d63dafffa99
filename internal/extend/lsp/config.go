package lsp

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Config says how a language server is started and which files it is for.
type Config struct {
	Name      string
	Command   string
	Args      []string
	Env       map[string]string
	Languages map[string]string // the language by extension, with its dot, as in ".go"
	// Markers are the files that mark the folder the server works on. The nearest one above a file counts; a file below none of
	// them belongs to the folder that is worked in.
	Markers  []string
	Init     json.RawMessage // initializationOptions
	Settings json.RawMessage // what workspace/configuration answers
	Starting time.Duration   // how long it may take to start; 0: as long as the pool's Options say
}

// Language is the language of a file for this server, "" if it is not for it.
func (c Config) Language(path string) string {
	return c.Languages[strings.ToLower(filepath.Ext(path))]
}

// Known are the servers that need no configuration: those of common languages, where they are installed.
func Known() []Config {
	same := func(language string, extensions ...string) map[string]string {
		m := map[string]string{}
		for _, e := range extensions {
			m[e] = language
		}
		return m
	}
	script := same("typescript", ".ts", ".mts", ".cts")
	script[".tsx"] = "typescriptreact"
	script[".jsx"] = "javascriptreact"
	for _, e := range []string{".js", ".mjs", ".cjs"} {
		script[e] = "javascript"
	}
	c := same("cpp", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx")
	c[".c"], c[".h"] = "c", "c"
	return []Config{
		{Name: "gopls", Command: "gopls", Languages: same("go", ".go"), Markers: []string{"go.work", "go.mod"}},
		{Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"}, Languages: same("python", ".py", ".pyi"),
			Markers: []string{"pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"}},
		{Name: "typescript", Command: "typescript-language-server", Args: []string{"--stdio"}, Languages: script,
			Markers: []string{"tsconfig.json", "jsconfig.json", "package.json"}},
		{Name: "rust-analyzer", Command: "rust-analyzer", Languages: same("rust", ".rs"), Markers: []string{"Cargo.toml"}},
		{Name: "clangd", Command: "clangd", Languages: c, Markers: []string{"compile_commands.json", "compile_flags.txt", ".clangd", "CMakeLists.txt"}},
	}
}

// Merge puts configured servers before the known ones, and drops the known ones whose name or files they take over.
func Merge(configured, known []Config) []Config {
	all := slices.Clone(configured)
	for _, k := range known {
		taken := func(c Config) bool {
			if c.Name == k.Name {
				return true
			}
			for ext := range k.Languages {
				if c.Languages[ext] != "" {
					return true
				}
			}
			return false
		}
		if !slices.ContainsFunc(configured, taken) {
			all = append(all, k)
		}
	}
	return all
}
