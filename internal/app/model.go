package app

import (
	"context"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gofer/internal/config"
	"gofer/internal/llm"
	"gofer/internal/llm/anthropic"
	"gofer/internal/llm/catalog"
	"gofer/internal/llm/retry"
	"gofer/internal/loop"
)

// A brain is the model of a run: who answers, and how it is asked. The model and the thinking may be changed while a session
// runs; everything else is fixed.
type brain struct {
	catalog catalog.Catalog
	model   llm.Model // with retries
	close   func()    // closes the connections that are kept for later requests

	mu       sync.Mutex
	name     string // as the user gave it
	thinking *llm.ThinkingMode
	effort   string
	maxOut   int
	betas    []string
	budget   int // tokens that a task may take; 0: no limit
	noAuto   bool
	window   int // not 0: compact as if the window had this many tokens
	long     bool
	switched bool // another model has answered before
}

func newBrain(w World, f Flags, settings *config.Snapshot, learnKey func(string)) (*brain, error) {
	env := environment(w, settings)
	set := settings.Settings
	described, err := catalog.Catalog{}.Describe(descriptions(set.Models))
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	b := &brain{catalog: described, effort: firstOf(f.Effort, set.EffortLevel), betas: f.Betas.Values,
		name:   firstOf(f.Model, env("ANTHROPIC_MODEL"), set.Model, "default"),
		noAuto: !set.AutoCompactEnabled, window: set.AutoCompactWindow, long: set.PromptCacheTTL == "1h"}
	if n, err := strconv.Atoi(env("CLAUDE_CODE_AUTO_COMPACT_WINDOW")); err == nil && n > 0 {
		b.window = n
	}
	if f.window > 0 {
		b.window = f.window
	}
	if b.budget = f.TaskBudget; b.budget > 0 {
		b.betas = append(slices.Clip(b.betas), "task-budgets-2026-03-13")
	}
	if n, err := strconv.Atoi(env("CLAUDE_CODE_MAX_OUTPUT_TOKENS")); err == nil && n > 0 {
		b.maxOut = n
	}
	if b.thinking, err = thinkingMode(f, env); err != nil {
		return nil, err
	}
	client := anthropic.New(anthropic.Config{
		BaseURL: env("ANTHROPIC_BASE_URL"), APIKey: env("ANTHROPIC_API_KEY"), AuthToken: env("ANTHROPIC_AUTH_TOKEN"),
		KeyHelper: keyHelper(set.APIKeyHelper, learnKey), Headers: anthropic.ParseHeaders(env("ANTHROPIC_CUSTOM_HEADERS")),
		UserAgent: userAgent(env),
	})
	b.close = client.Close
	opts := retry.Options{Adapt: b.catalog.Fit, Fallback: splitList(f.Fallback)}
	if len(opts.Fallback) == 0 {
		opts.Fallback = set.FallbackModel
	}
	if n, err := strconv.Atoi(env("CLAUDE_CODE_MAX_RETRIES")); err == nil {
		if opts.MaxRetries = n; n <= 0 {
			opts.MaxRetries = -1
		}
	}
	if ms, err := strconv.Atoi(env("GOFER_STREAM_STALL_MS")); err == nil && ms > 0 {
		opts.Stall = time.Duration(ms) * time.Millisecond
		opts.FirstToken = opts.Stall
	}
	b.model = ownThinking{retry.Wrap(client, opts), b}
	return b, nil
}

// ownThinking keeps the thinking of other models from a model that was changed to: providers refuse it.
type ownThinking struct {
	llm.Model
	brain *brain
}

func (m ownThinking) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	if m.brain.wasSwitched() {
		req.Messages = retry.WithoutForeignThinking(req.Messages, req.Model)
	}
	return m.Model.Stream(ctx, req)
}

// environment looks a variable up in the real environment and then in the settings.
func environment(w World, settings *config.Snapshot) func(string) string {
	return func(name string) string {
		if v := w.Env(name); v != "" {
			return v
		}
		return settings.Settings.Env[name]
	}
}

func userAgent(env func(string) string) string {
	agent := "gofer/" + Version
	if client := env("CLAUDE_AGENT_SDK_CLIENT_APP"); client != "" {
		agent += " (client-app/" + client + ")"
	}
	return agent
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// thinkingMode reads how the user wants the model to think; nil leaves it to the model.
func thinkingMode(f Flags, env func(string) string) (*llm.ThinkingMode, error) {
	budget := env("MAX_THINKING_TOKENS")
	if f.MaxThinking != nil {
		budget = *f.MaxThinking
	}
	switch f.Thinking {
	case "disabled":
		return &llm.ThinkingMode{Disabled: true}, nil
	case "adaptive":
		return &llm.ThinkingMode{Adaptive: true, Display: f.ThinkDisplay}, nil
	}
	if budget == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(budget)
	if err != nil {
		return nil, usage("the number of thinking tokens must be a whole number, not %q", budget)
	}
	if n <= 0 {
		return &llm.ThinkingMode{Disabled: true}, nil
	}
	return &llm.ThinkingMode{Budget: max(n, 1024), Display: f.ThinkDisplay}, nil
}

// keyHelper runs the user's command that prints a key, and keeps the key for five minutes. learn is told each key.
func keyHelper(command string, learn func(string)) func(context.Context, bool) (string, error) {
	if command == "" {
		return nil
	}
	var mu sync.Mutex
	var key string
	var at time.Time
	return func(ctx context.Context, refresh bool) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if !refresh && key != "" && time.Since(at) < 5*time.Minute {
			return key, nil
		}
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, "sh", "-c", command).Output()
		if err != nil {
			return "", fmt.Errorf("apiKeyHelper failed: %w", err)
		}
		key, at = strings.TrimSpace(string(out)), time.Now()
		if key == "" {
			return "", fmt.Errorf("apiKeyHelper printed no key")
		}
		learn(key)
		return key, nil
	}
}

func descriptions(models map[string]config.Model) map[string]catalog.Description {
	out := map[string]catalog.Description{}
	for name, m := range models {
		out[name] = describeModel(m)
	}
	return out
}

// info is what is known of the model in use.
func (b *brain) info() catalog.Model {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.catalog.Lookup(b.name)
}

// request begins a request to the model in use.
func (b *brain) request() llm.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.catalog.Lookup(b.name)
	req := llm.Request{MaxTokens: b.maxOut, Effort: firstOf(b.effort, m.DefaultEffort), Budget: b.budget, Betas: b.betas, LongCache: b.long, Thinking: m.DefaultThinking()}
	if b.thinking != nil {
		req.Thinking = *b.thinking
	}
	return b.catalog.Fit(req, b.name)
}

// limits is what a model can take.
func (b *brain) limits(model string) loop.Window {
	m := b.catalog.Lookup(model)
	w := loop.Window{Tokens: m.Window, MaxOutput: m.MaxOutput, NoAuto: b.noAuto}
	if b.window > 0 {
		w.Tokens = min(w.Tokens, b.window)
	}
	return w
}

// Cost prices the usage of one request.
func (b *brain) Cost(model string, u llm.Usage) float64 {
	return catalog.Cost(b.catalog.Lookup(model), u)
}

// Limits returns the window and the output limit of a model.
func (b *brain) Limits(model string) (window, maxOutput int) {
	m := b.catalog.Lookup(model)
	return m.Window, m.MaxOutput
}

// setModel changes the model for the next request; "" is the default.
func (b *brain) setModel(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.name, b.switched = firstOf(name, "default"), true
}

// given is the model as the user named it.
func (b *brain) given() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.name
}

// resume goes on with the model that a session had.
func (b *brain) resume(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.name = name
}

func (b *brain) wasSwitched() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.switched
}

// describeModel says to the catalogue what the settings say of a model.
func describeModel(m config.Model) catalog.Description {
	d := catalog.Description{ID: m.ID, Images: m.Images, Caching: m.Caching}
	if m.Family != "" {
		d.Aliases = []string{m.Family}
	}
	if m.Window > 0 {
		d.Window = &m.Window
	}
	if m.MaxOutput > 0 {
		d.MaxOutput = &m.MaxOutput
	}
	if m.Thinking != nil {
		t := catalog.NoThinking
		if *m.Thinking {
			t = catalog.Adaptive
		}
		d.Thinking = &t
	}
	if m.InputPrice > 0 || m.OutputPrice > 0 {
		d.Price = &catalog.PriceEntry{Input: m.InputPrice, Output: m.OutputPrice}
		if m.CacheReadPrice > 0 {
			d.Price.CacheRead = &m.CacheReadPrice
		}
		if m.CacheWritePrice > 0 {
			d.Price.CacheWrite = &m.CacheWritePrice
		}
	}
	return d
}
