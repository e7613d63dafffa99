package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gofer/internal/cli"
	"gofer/internal/config"
	"gofer/internal/extend/plugin"
	"gofer/internal/guard/trust"
)

const pluginHelp = `Usage: gofer plugin COMMAND

  install NAME[@MARKETPLACE]      fetch a plugin and enable it; with it come the plugins that it needs
  uninstall NAME[@MARKETPLACE]    forget it; its own data go too, unless --keep-data
  enable NAME, disable NAME       let an installed plugin count or not; disable --all
  update [NAME]                   fetch the newest version, of one or of all
  list                            what is installed; --available lists what there is to be had
  details NAME                    all that one brings
  validate PATH                   look for mistakes in a plugin or a marketplace

  marketplace add SOURCE          a folder, owner/repo, the address of a git repository or of a marketplace.json; #branch behind it
  marketplace list                those that were added
  marketplace update [NAME]       fetch one or all anew
  marketplace remove NAME         forget one, and the plugins that came from it

Options:
  -s, --scope user|project|local  for you everywhere (user, if not given), for everyone in this folder, or for you in this folder
  --json                          list: for programs
`

// pluginOptions are the options of the subcommands.
type pluginOptions struct {
	Scope     string `flag:"scope,s" enum:"user|project|local"`
	JSON      bool   `flag:"json"`
	Available bool   `flag:"available"`
	All       bool   `flag:"all,a"`
	KeepData  bool   `flag:"keep-data"`
}

// runPlugin is gofer plugin.
func runPlugin(ctx context.Context, w World, args []string) error {
	if len(args) == 0 || slices.Contains([]string{"help", "--help", "-h"}, args[0]) {
		fmt.Fprint(w.Stdout, pluginHelp)
		return nil
	}
	name, args := args[0], args[1:]
	market := name == "marketplace"
	if market {
		if len(args) == 0 {
			return usage("plugin marketplace needs to know what to do: add, list, update or remove")
		}
		name, args = args[0], args[1:]
	}
	var o pluginOptions
	words, err := cli.Parse(args, &o, nil)
	if err != nil {
		return err
	}
	if name == "validate" && !market {
		return validatePlugins(w, words)
	}
	p, err := newPlace(w, Flags{})
	if err != nil {
		return err
	}
	c := &pluginCommand{ctx: ctx, w: w, o: o, words: words, e: &engine{ctx: ctx, world: w, place: p}}
	if c.e.settings, err = c.e.openSettings(); err != nil {
		return err
	}
	c.store = pluginStore(p, c.e.settings.Current())
	if market {
		return c.marketplace(name)
	}
	return c.plugin(name)
}

// pluginCommand is what the subcommands work with.
type pluginCommand struct {
	ctx   context.Context
	w     World
	o     pluginOptions
	words []string
	e     *engine
	store *plugin.Store
}

func (c *pluginCommand) say(format string, args ...any) {
	fmt.Fprintf(c.w.Stdout, format+"\n", args...)
}

func (c *pluginCommand) plugin(name string) error {
	switch name {
	case "install", "i":
		return c.each(c.install)
	case "uninstall", "remove", "rm":
		return c.each(c.uninstall)
	case "enable":
		return c.each(func(id string) error { return c.enable(id, true) })
	case "disable":
		if c.o.All && len(c.words) == 0 {
			for id, on := range c.e.settings.Current().Settings.EnabledPlugins {
				if on.On {
					c.words = append(c.words, id)
				}
			}
			slices.Sort(c.words)
			if len(c.words) == 0 {
				c.say("No plugin is enabled.")
				return nil
			}
		}
		return c.each(func(id string) error { return c.enable(id, false) })
	case "update":
		return c.update()
	case "list", "ls":
		return c.list()
	case "details", "info":
		return c.each(c.details)
	}
	return usage("plugin knows install, uninstall, enable, disable, update, list, details, validate and marketplace, not %q", name)
}

// each does something with every plugin that was named.
func (c *pluginCommand) each(do func(id string) error) error {
	if len(c.words) == 0 {
		return usage("a plugin must be named: NAME or NAME@MARKETPLACE")
	}
	for _, id := range c.words {
		if err := do(id); err != nil {
			return err
		}
	}
	return nil
}

// place is for whom a plugin is installed. Without --scope it is where it is already, else the user.
func (c *pluginCommand) place(id string) plugin.Place {
	at := plugin.Place{Scope: c.o.Scope, Project: c.e.place.cwd}
	if at.Scope != "" {
		return at
	}
	at.Scope = "user"
	installed, err := c.store.Installed()
	if err != nil {
		return at
	}
	for _, scope := range []string{"user", "project", "local"} {
		if slices.ContainsFunc(installed[id], func(i plugin.Installed) bool {
			return i.Scope == scope && (scope == "user" || i.ProjectPath == c.e.place.cwd)
		}) {
			at.Scope = scope
			break
		}
	}
	return at
}

// known completes the name of a plugin that is installed or enabled.
func (c *pluginCommand) known(id string) (string, error) {
	installed, err := c.store.Installed()
	if err != nil {
		return "", err
	}
	var found []string
	for have := range installed {
		if name, _ := plugin.SplitID(have); have == id || name == id {
			found = append(found, have)
		}
	}
	for have := range c.e.settings.Current().Settings.EnabledPlugins {
		if name, _ := plugin.SplitID(have); (have == id || name == id) && !slices.Contains(found, have) {
			found = append(found, have)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no plugin %q; gofer plugin list shows those that there are", id)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("several plugins are called %q: say which you mean, one of %s", id, strings.Join(found, ", "))
}

func (c *pluginCommand) install(id string) error {
	at := c.place(id)
	all, err := c.store.Install(c.ctx, id, at)
	if err != nil {
		return err
	}
	for _, d := range slices.Backward(all) { // what others need is enabled before them
		if on := c.e.settings.Current().Settings.EnabledPlugins[d.ID]; on.On && d.ID != all[0].ID {
			continue
		}
		if err := c.set(d.ID, at.Scope, true); err != nil {
			return fmt.Errorf("%s is installed, but could not be enabled: %w", d.ID, err)
		}
	}
	for i, d := range all {
		why := ""
		if i > 0 {
			why = ", because " + all[0].ID + " needs it"
		}
		c.say("Installed %s %s for the %s scope%s. It brings %s.", d.ID, d.Version, at.Scope, why, d.Plugin.Count())
		c.problems(d.Plugin)
	}
	c.noteTrust(at.Scope)
	return nil
}

func (c *pluginCommand) problems(p *plugin.Plugin) {
	for _, text := range p.Problems {
		fmt.Fprintf(c.w.Stderr, "%s: %s\n", p.ID(), text)
	}
}

// noteTrust says what the scope of the project waits for.
func (c *pluginCommand) noteTrust(scope string) {
	if scope != "user" && !c.e.trusted {
		c.say("It counts here once this folder is trusted: start gofer in it from a terminal.")
	}
}

// layerOf is the settings file of a scope.
func layerOf(scope string) config.Layer {
	switch scope {
	case "project":
		return config.Project
	case "local":
		return config.Local
	}
	return config.User
}

// set lets a plugin count or not. A folder that was trusted stays so: its user has made this change.
func (c *pluginCommand) set(id, scope string, on bool) error {
	return c.keepTrust(func() error { return c.e.settings.Set(layerOf(scope), enabledKey(id), on) })
}

// keepTrust changes settings of the project by the user's own command.
func (c *pluginCommand) keepTrust(change func() error) error {
	keeper := c.e.trustKeeper()
	state, err := keeper.Check(c.e.place.configRoot(), c.surfaces())
	if changed := change(); changed != nil {
		return changed
	}
	if err != nil || state.Verdict != trust.Trusted {
		return nil
	}
	c.e.trusted = true
	return keeper.Pin(c.e.place.configRoot(), c.surfaces())
}

func (c *pluginCommand) surfaces() []trust.Surface {
	snap := c.e.settings.Current()
	list := slices.Concat(c.e.agentSurfaces(), c.e.skillSurfaces(), c.e.pluginSurfaces(snap))
	for _, s := range snap.Surfaces() {
		list = append(list, trust.Surface(s))
	}
	return list
}

func (c *pluginCommand) uninstall(id string) error {
	id, err := c.known(id)
	if err != nil {
		return err
	}
	at := c.place(id)
	last, err := c.store.Uninstall(c.ctx, id, at, c.o.KeepData)
	if err != nil {
		return err
	}
	if err := c.keepTrust(func() error { return c.e.settings.Unset(layerOf(at.Scope), enabledKey(id)) }); err != nil {
		return fmt.Errorf("%s is not installed any more, but is still named in the settings: %w", id, err)
	}
	c.say("Uninstalled %s from the %s scope.", id, at.Scope)
	if last && !c.o.KeepData {
		c.say("Its data are removed.")
	}
	return nil
}

func (c *pluginCommand) enable(id string, on bool) error {
	id, err := c.known(id)
	if err != nil {
		return err
	}
	at, word := c.place(id), map[bool]string{true: "Enabled", false: "Disabled"}[on]
	if err := c.set(id, at.Scope, on); err != nil {
		return err
	}
	c.say("%s %s for the %s scope.", word, id, at.Scope)
	if now := c.e.settings.Current().Settings.EnabledPlugins[id].On; now != on && (at.Scope == "user" || c.e.trusted) {
		v, _ := c.e.settings.Current().Value(enabledKey(id))
		c.say("Stronger settings say otherwise: %s.", v.Origin)
	}
	if on {
		c.noteTrust(at.Scope)
	}
	return nil
}

func (c *pluginCommand) update() error {
	ids := c.words
	if len(ids) == 0 {
		installed, err := c.store.Installed()
		if err != nil {
			return err
		}
		for id, list := range installed {
			at := c.place(id)
			if slices.ContainsFunc(list, func(i plugin.Installed) bool { return i.Scope == at.Scope }) {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
	}
	var failed []error
	for _, id := range ids {
		id, err := c.known(id)
		if err != nil {
			return err
		}
		all, err := c.store.Update(c.ctx, id, c.place(id))
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", id, err))
			continue
		}
		switch d := all[0]; {
		case !d.Changed:
			c.say("%s is up to date (%s).", d.ID, d.Version)
		default:
			c.say("Updated %s from %s to %s. Sessions that run keep the old one until they reload their plugins.", d.ID, d.Before, d.Version)
		}
		c.problems(all[0].Plugin)
	}
	return errors.Join(failed...)
}
