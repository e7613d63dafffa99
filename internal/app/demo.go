package app

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"gofer/internal/cli"
	"gofer/internal/llm/script"
)

// demoFiles is the project of the demo, in plain sh, so that a bare machine can run its test, and the script of its model.
//
//go:embed demo
var demoFiles embed.FS

const demoPrompt = "The test in prices_test.sh fails. Find out why and fix it."

// runDemo makes a small project with a failing test and lets the scripted model fix it, with the real loop, the real tools
// and real HTTP.
func runDemo(ctx context.Context, w World, args []string) error {
	if len(args) > 0 {
		return usage("demo takes no arguments, but got %q", args[0])
	}
	dir, err := os.MkdirTemp("", "gofer-demo-")
	if err != nil {
		return fmt.Errorf("making the demo's folder: %w", err)
	}
	project := filepath.Join(dir, "shop")
	if err := os.Mkdir(project, 0o700); err != nil {
		return fmt.Errorf("making the demo's folder: %w", err)
	}
	for _, name := range []string{"prices.sh", "prices_test.sh"} {
		data, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(project, name), data, 0o600); err != nil {
			return fmt.Errorf("writing the demo's project: %w", err)
		}
	}
	src, err := demoFiles.ReadFile("demo/demo.script")
	if err != nil {
		return err
	}
	s, err := script.Parse("demo.script", src)
	if err != nil {
		return err
	}
	server := script.NewServer(s)
	url, err := server.Start()
	if err != nil {
		return fmt.Errorf("starting the scripted model: %w", err)
	}
	defer server.Close()
	fmt.Fprintf(w.Stdout, `This is gofer's demo. The model is SCRIPTED: its words and calls stand in a file. The rest is real:
the loop, the tools, HTTP, and the files in %s
`, project)
	if err := demoRun(ctx, w, project, filepath.Join(dir, "config"), url); err != nil {
		return err
	}
	fmt.Fprintf(w.Stdout, `
The test passes now; see for yourself: cd %s && sh prices_test.sh

That was the scripted model. With a real one:
  export ANTHROPIC_API_KEY=…
  gofer -p "what does this project do?"
`, project)
	return nil
}

// demoRun lets the engine answer the demo's prompt in the demo's project.
func demoRun(ctx context.Context, w World, project, configDir, url string) error {
	outer := w.Env
	w.Env = func(name string) string {
		switch name {
		case "ANTHROPIC_BASE_URL":
			return url
		case "ANTHROPIC_API_KEY":
			return "scripted"
		case "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL", "ANTHROPIC_CUSTOM_HEADERS":
			return ""
		}
		return outer(name)
	}
	f, _, err := parseFlags([]string{"--setting-sources="})
	if err != nil {
		return err
	}
	p, err := newPlace(w, f)
	if err != nil {
		return err
	}
	p.cwd, p.config = project, configDir
	return answerPrompt(ctx, w, f, p, demoPrompt, nil, true)
}

// runServeScript serves a script over HTTP until it is stopped.
func runServeScript(ctx context.Context, w World, args []string) error {
	var f struct {
		Address string `flag:"addr" arg:"host:port"`
	}
	words, err := cli.Parse(args, &f, nil)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return usage("serve-script needs one file: gofer serve-script [--addr 127.0.0.1:8080] FILE")
	}
	src, err := os.ReadFile(words[0])
	if err != nil {
		return fmt.Errorf("reading the script: %w", err)
	}
	s, err := script.Parse(words[0], src)
	if err != nil {
		return err
	}
	server := script.NewServer(s, script.KeepBodies(1))
	url, err := server.StartAt(firstOf(f.Address, "127.0.0.1:0"))
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	defer server.Close()
	fmt.Fprintf(w.Stdout, "The scripted model of %s listens at %s\nTry it: ANTHROPIC_BASE_URL=%s ANTHROPIC_API_KEY=any gofer -p hello\n", words[0], url, url)
	<-ctx.Done()
	return nil
}
