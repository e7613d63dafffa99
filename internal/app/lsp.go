package app

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"gofer/internal/config"
	"gofer/internal/event"
	"gofer/internal/extend/lsp"
	"gofer/internal/guard/trust"
	"gofer/internal/prompt"
	"gofer/internal/tool"
)

// languages are the language servers of a session.
type languages struct {
	pool    *lsp.Pool   // nil: there are none
	granted func() bool // whether they may run
}

// openLanguages makes the pool of language servers. Nothing is started, or even looked for, before a file of a language is changed or asked
// about.
func (e *engine) openLanguages() {
	if e.flags.Bare || e.flags.SafeMode {
		return
	}
	set := e.settings.Current().Settings
	var known []lsp.Config
	if set.LanguageServers {
		known = lsp.Known()
	}
	all := lsp.Merge(append(languageServers(set.LSPServers), languageServers(e.pluginLanguages())...), known)
	if len(all) == 0 {
		return
	}
	e.languages.granted = e.languageTrust()
	e.languages.pool = lsp.New(e.ctx, lsp.Options{
		Runner: e.runner, Servers: all, Dir: e.root, Environ: e.serverEnv,
		Warn: func(text string) { e.emit(event.Info{Level: "warning", Content: text}) },
		Late: func(path, text string) { e.told.reminders.Set(prompt.Diagnostics, path, text) },
	})
	e.closers = append(e.closers, e.languages.pool.Close)
}

// languageServers are the servers of the settings, in a fixed order.
func languageServers(set map[string]config.LSPServer) []lsp.Config {
	var list []lsp.Config
	for name, s := range set {
		list = append(list, lsp.Config{Name: name, Command: s.Command, Args: s.Args, Env: s.Env, Languages: s.ExtensionToLanguage, Init: s.InitializationOptions, Settings: s.Settings})
	}
	slices.SortFunc(list, func(a, b lsp.Config) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// runsLanguages says whether language servers may run. They execute what a project brings, build scripts for one, so a person's folder has
// to be trusted; runs that nobody watches count as trusted unless the settings say otherwise. It is looked up once, on first use.
func (e *engine) runsLanguages() bool { return e.languages.pool != nil && e.languages.granted() }

func (e *engine) languageTrust() func() bool {
	return sync.OnceValue(func() bool {
		if e.askTrust == nil {
			return e.settings.Current().Settings.HeadlessTrust != "careful" || e.trusted
		}
		if e.trusted {
			return true
		}
		state, err := e.trustKeeper().Check(e.place.cwd, nil)
		return err == nil && state.Verdict == trust.Trusted
	})
}

// trustKeeper knows which folders the user has accepted.
func (e *engine) trustKeeper() *trust.Keeper {
	return trust.New(config.OpenState(e.place.config, e.place.chosen, e.place.home), e.place.home)
}

// fileChanged is told of each file that a tool has changed. It returns what language servers have against the change.
func (e *engine) fileChanged(ctx context.Context, path string) []string {
	if !e.runsLanguages() {
		return nil
	}
	text := e.languages.pool.Changed(ctx, path)
	if text == "" {
		return nil
	}
	return []string{prompt.Diagnostics.Say(e.told.language, text)}
}

// watchCommand returns a function that tells language servers of what a command has changed since.
func (e *engine) watchCommand() func() {
	if e.languages.pool == nil || e.languages.pool.Idle() {
		return func() {}
	}
	_, before := e.history.Paths(0)
	return func() {
		if paths, _ := e.history.Paths(before); len(paths) > 0 {
			e.languages.pool.Touched(paths...)
		}
	}
}

// languageTools is the LSP tool, where it can be of use.
func (e *engine) languageTools(cwd func() string) []*tool.Tool {
	if !e.runsLanguages() || !e.languages.pool.Useful() {
		return nil
	}
	return []*tool.Tool{e.languages.pool.Tool(cwd)}
}
