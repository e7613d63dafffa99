package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gofer/sdk"
)

// The examples run against a scripted model; with a key in the environment and zero Options they run against a real one.

func ExampleQuery() {
	options, clean := example(`
turn
  text I look at the folder.
  call Bash {"command": "echo hello"}
turn
  text It says hello.
`)
	defer clean()

	for m, err := range sdk.Query(context.Background(), "What does it say?", options) {
		if err != nil {
			fmt.Println("the session could not be held:", err)
			return
		}
		switch m := m.(type) {
		case *sdk.Assistant:
			for _, b := range m.Message.Content {
				if b.Type == "tool_use" {
					fmt.Printf("calls %s %s\n", b.Name, b.Input)
				}
			}
		case *sdk.Result:
			fmt.Println(m.Text)
		}
	}
	// Output:
	// calls Bash {"command":"echo hello"}
	// It says hello.
}

func ExampleNewTool() {
	options, clean := example(`
turn
  call mcp__shop__price {"item": "tea"}
turn
  text Tea is 4.50.
`)
	defer clean()

	type wish struct {
		Item string `json:"item" jsonschema:"what to look up"`
	}
	price := sdk.NewTool("price", "Tells what something costs", func(_ context.Context, w wish) (string, error) {
		if w.Item != "tea" {
			return "", fmt.Errorf("there is no %s; ask for tea", w.Item)
		}
		return "4.50", nil
	})
	options.Servers = map[string]sdk.Server{"shop": {Tools: []sdk.Tool{price}}}
	options.Allowed = []string{"mcp__shop__price"}

	r, err := sdk.Ask(context.Background(), "What is a tea?", options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Text)
	// Output: Tea is 4.50.
}

func ExampleQueryFor() {
	options, clean := example(`
turn
  call StructuredOutput {"title": "Off by one", "line": 12}
`)
	defer clean()

	type finding struct {
		Title string `json:"title"`
		Line  int    `json:"line" jsonschema:"where it is, from 1 on"`
	}
	found, _, err := sdk.QueryFor[finding](context.Background(), "Find the mistake", options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s in line %d\n", found.Title, found.Line)
	// Output: Off by one in line 12
}

func ExampleClient() {
	options, clean := example(`
turn
  text Hello, Ann.
turn
  text Your name is Ann.
`)
	defer clean()

	ctx := context.Background()
	c, err := sdk.NewClient(ctx, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, prompt := range []string{"I am Ann.", "Who am I?"} {
		r, err := c.Answer(ctx, prompt)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Text)
	}
	// Output:
	// Hello, Ann.
	// Your name is Ann.
}

func ExampleOptions_canUseTool() {
	options, clean := example(`
turn
  call Bash {"command": "rm -rf build"}
turn
  call Bash {"command": "touch done"}
turn
  text Done.
`)
	defer clean()

	options.CanUseTool = func(_ context.Context, r sdk.ToolRequest) (sdk.Decision, error) {
		fmt.Println("asked:", r.Title)
		if strings.Contains(r.Title, "rm") {
			return sdk.Deny("Nothing is removed here."), nil
		}
		return sdk.Allow(), nil
	}
	r, err := sdk.Ask(context.Background(), "Clean up", options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Text, len(r.Denied), "refused")
	// Output:
	// asked: rm -rf build
	// asked: touch done
	// Done. 1 refused
}

func ExampleHook() {
	options, clean := example(`
turn
  call Bash {"command": "echo secret"}
turn
  text I may not.
`)
	defer clean()

	options.Hooks = map[sdk.HookEvent][]sdk.Hook{sdk.PreToolUse: {{Matcher: "Bash", Run: func(_ context.Context, in sdk.HookInput) (sdk.HookOutput, error) {
		var call struct{ Command string }
		if err := json.Unmarshal(in.Input, &call); err != nil {
			return sdk.HookOutput{}, err
		}
		fmt.Println("about to run:", call.Command)
		return sdk.HookOutput{Block: true, Reason: "no secrets"}, nil
	}}}}
	r, err := sdk.Ask(context.Background(), "Tell", options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Text)
	// Output:
	// about to run: echo secret
	// I may not.
}
