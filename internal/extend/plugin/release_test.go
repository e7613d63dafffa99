package plugin_test

import (
	"fmt"
	"testing"

	"gofer/internal/extend/plugin"
)

func TestReleasesThatDependantsAccept(t *testing.T) {
	t.Parallel()
	shop := t.TempDir()
	base := func(version string) {
		put(t, shop, ".claude-plugin/marketplace.json", market("shop", `{"name": "base", "source": "./base"}`, `{"name": "needy", "source": "./needy"}`, `{"name": "torn", "source": "./torn"}`),
			"base/.claude-plugin/plugin.json", fmt.Sprintf(`{"name": "base", "version": %q}`, version),
			"needy/.claude-plugin/plugin.json", `{"name": "needy", "version": "1.0.0", "dependencies": [{"name": "base", "version": "~1.1"}]}`,
			"torn/.claude-plugin/plugin.json", `{"name": "torn", "version": "1.0.0", "dependencies": [{"name": "base", "version": "^2"}]}`)
	}
	base("1.0.0")
	address := repo(t, shop)
	for _, version := range []string{"1.1.0", "1.1.9", "1.2.0", "2.0.0"} {
		base(version)
		gitIn(t, shop, "commit", "-q", "-a", "-m", version)
		gitIn(t, shop, "tag", "base--v"+version)
	}
	s := newStore(t)
	add(t, s, plugin.Source{Kind: "git", URL: address})
	all, err := s.Install(t.Context(), "needy@shop", user)
	if err != nil || len(all) != 2 || all[1].ID != "base@shop" || all[1].Version != "1.1.9" {
		t.Fatalf("%+v, %v", all, err)
	}
	if all, err := s.Update(t.Context(), "base@shop", user); err != nil || all[0].Changed || all[0].Version != "1.1.9" {
		t.Errorf("an update goes beyond what needy accepts: %+v, %v", all, err)
	}
	_, err = s.Install(t.Context(), "torn@shop", user)
	wantError(t, err, "^2 and ~1.1", "no release that fits")
	list, faults := s.Load([]plugin.Wanted{{ID: "needy@shop"}, {ID: "base@shop"}}, "")
	if len(list) != 2 || faults != nil {
		t.Errorf("%v, %v", list, faults)
	}
	if _, err := s.Uninstall(t.Context(), "needy@shop", user, false); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Update(t.Context(), "base@shop", user); err != nil || all[0].Version != "2.0.0" {
		t.Errorf("nobody holds it back any more: %+v, %v", all, err)
	}
}
