package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gofer/internal/extend/plugin"
)

// marketplace is gofer plugin marketplace.
func (c *pluginCommand) marketplace(name string) error {
	switch name {
	case "add":
		return c.addMarketplace()
	case "list", "ls":
		return c.listMarketplaces()
	case "update":
		return c.updateMarketplaces()
	case "remove", "rm":
		if len(c.words) != 1 {
			return usage("marketplace remove needs one name")
		}
		return c.removeMarketplace(c.words[0])
	}
	return usage("plugin marketplace knows add, list, update and remove, not %q", name)
}

func (c *pluginCommand) addMarketplace() error {
	if len(c.words) != 1 {
		return usage("marketplace add needs one place: a folder, owner/repo, the address of a git repository or that of a marketplace.json")
	}
	src, err := plugin.ParseSource(expandHome(c.words[0], c.e.place.home), c.e.place.cwd)
	if err != nil {
		return err
	}
	m, err := c.store.AddMarketplace(c.ctx, src)
	if err != nil {
		return err
	}
	if c.o.Scope != "" {
		err := c.keepTrust(func() error {
			return c.e.settings.Set(layerOf(c.o.Scope), `extraKnownMarketplaces."`+m.Name+`"`, map[string]any{"source": src})
		})
		if err != nil {
			return err
		}
	}
	c.say("Added the marketplace %s from %s, with %d plugins. gofer plugin list --available shows them.", m.Name, src, len(m.Entries()))
	return nil
}

func (c *pluginCommand) listMarketplaces() error {
	known, err := c.store.Known()
	if err != nil {
		return err
	}
	type one struct {
		Name string `json:"name"`
		plugin.Known
		Plugins int    `json:"plugins"`
		Problem string `json:"problem,omitempty"`
	}
	list := []one{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		o := one{Name: name, Known: known[name]}
		if m, _, err := c.store.Marketplace(name); err != nil {
			o.Problem = err.Error()
		} else {
			o.Plugins = len(m.Entries())
		}
		list = append(list, o)
	}
	if c.o.JSON {
		enc := json.NewEncoder(c.w.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	if len(list) == 0 {
		c.say("No marketplace was added yet. gofer plugin marketplace add does that.")
	}
	for _, o := range list {
		c.say("%s: %s, %d plugins, fetched %s", o.Name, o.Source, o.Plugins, firstOf(o.LastUpdated, "at an unknown time"))
		if o.Problem != "" {
			c.say("  problem: %s", o.Problem)
		}
	}
	for name, src := range c.store.Extra {
		if _, added := known[name]; !added {
			c.say("%s: %s, named in the settings; it is fetched when a plugin of it is installed", name, src)
		}
	}
	return nil
}

func (c *pluginCommand) updateMarketplaces() error {
	names := c.words
	if len(names) == 0 {
		known, err := c.store.Known()
		if err != nil {
			return err
		}
		names = slices.Sorted(maps.Keys(known))
	}
	var failed []error
	for _, name := range names {
		m, err := c.store.UpdateMarketplace(c.ctx, name)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		c.say("Updated the marketplace %s: %d plugins.", name, len(m.Entries()))
	}
	return errors.Join(failed...)
}

func (c *pluginCommand) removeMarketplace(name string) error {
	removed, err := c.store.RemoveMarketplace(c.ctx, name)
	if err != nil {
		return err
	}
	scopes := []string{"user"}
	if c.o.Scope != "" {
		scopes = []string{"user", c.o.Scope}
	}
	for _, scope := range scopes {
		err := c.keepTrust(func() error {
			failed := []error{c.e.settings.Unset(layerOf(scope), `extraKnownMarketplaces."`+name+`"`)}
			for _, id := range removed {
				failed = append(failed, c.e.settings.Unset(layerOf(scope), enabledKey(id)))
			}
			return errors.Join(failed...)
		})
		if err != nil {
			return err
		}
	}
	c.say("Removed the marketplace %s and %d plugins that came from it.", name, len(removed))
	for _, id := range removed {
		c.say("  %s", id)
	}
	return nil
}
