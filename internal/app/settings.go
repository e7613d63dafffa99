package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gofer/internal/config"
	"gofer/internal/guard/trust"
)

// openSettings reads the settings, as far as the project may be trusted.
func (e *engine) openSettings() (*config.Store, error) {
	o := config.Options{ConfigDir: e.place.config, ProjectDir: e.place.configRoot(), Flag: e.flags.Settings, ManagedJSON: e.flags.Managed}
	if e.flags.Sources != nil {
		sources, err := config.ParseSources(*e.flags.Sources)
		if err != nil {
			return nil, usage("%v", err)
		}
		o.Sources = sources
	}
	store, err := config.Open(o)
	if err != nil {
		return nil, err
	}
	if err := e.grantTrust(store); err != nil {
		return nil, err
	}
	snap := store.Current()
	for _, p := range snap.Problems {
		if p.Severity >= config.Warning {
			fmt.Fprintln(e.world.Stderr, p)
		}
	}
	if text := withheldRules(snap); text != "" {
		fmt.Fprintln(e.world.Stderr, text)
	}
	return store, nil
}

// grantTrust lets the project's own files count as far as its user has accepted them. A person is asked in every folder that is new to them; a run that
// nobody watches looks nothing up where the folder asks for nothing.
func (e *engine) grantTrust(store *config.Store) error {
	snap := store.Current()
	ofAgents := append(e.agentSurfaces(), e.skillSurfaces()...)
	ofAgents = append(ofAgents, e.pluginSurfaces(snap)...)
	_, noServers := os.Lstat(filepath.Join(e.place.configRoot(), ".mcp.json"))
	bare := e.flags.Bare || e.flags.SafeMode
	if len(snap.Withheld) == 0 && len(ofAgents) == 0 && noServers != nil && (e.askTrust == nil || bare) {
		return nil
	}
	keeper := e.trustKeeper()
	var surfaces []trust.Surface
	for _, s := range snap.Surfaces() {
		surfaces = append(surfaces, trust.Surface(s))
	}
	surfaces = append(surfaces, ofAgents...)
	state, err := keeper.Check(e.place.configRoot(), surfaces)
	if err != nil {
		fmt.Fprintf(e.world.Stderr, "This folder counts as not trusted, because what was accepted cannot be read: %v\n", err)
	}
	if state.Verdict != trust.Trusted && e.askTrust != nil && !bare && e.askTrust(e.place.configRoot(), state, trust.Names(surfaces)) {
		if err := keeper.Accept(e.place.configRoot(), surfaces); err != nil {
			return fmt.Errorf("the trust in this folder could not be kept: %w", err)
		}
		state = trust.State{Verdict: trust.Trusted}
	}
	if state.Pin {
		if err := keeper.Pin(e.place.configRoot(), surfaces); err != nil {
			fmt.Fprintf(e.world.Stderr, "What is trusted in this folder could not be recorded: %v\n", err)
		}
	}
	run := trust.Run{Headless: e.askTrust == nil, Careful: snap.Settings.HeadlessTrust == "careful", Bare: bare}
	grants := map[trust.Grant]config.Trust{trust.Nothing: config.Untrusted, trust.HooksAndServers: config.Headless, trust.Everything: config.Trusted}
	e.trusted = state.Verdict == trust.Trusted
	granted := trust.Decide(state.Verdict, run)
	e.agents.hooked = granted != trust.Nothing
	e.skills.hooked = granted != trust.Nothing
	e.servers.granted = granted != trust.Nothing
	_, err = store.SetTrust(grants[granted])
	return err
}

// withheldRules says which of the project's allow rules do not count.
func withheldRules(snap *config.Snapshot) string {
	n, file := 0, ""
	for _, w := range snap.Withheld {
		if w.Surface == "rules" && strings.HasSuffix(w.Key, "allow") {
			n, file = n+max(w.Count, 1), w.Origin.File
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d allow rules from %s do not count, because this folder is not trusted yet. Run gofer in it from a terminal once and accept it.", n, file)
}
