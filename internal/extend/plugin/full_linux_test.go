package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gofer/internal/extend/plugin"
)

// A file system of its own, with little room, is made in a name space of its own; where the kernel does not let users do that there is
// nothing to test.
func TestAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	shop := put(t, t.TempDir(), ".claude-plugin/marketplace.json", market("shop", `{"name": "a", "source": "./a"}`), "a/agents/x.md", "1")
	disk := t.TempDir()
	inSpace := func(steps string) (string, error) {
		cmd := exec.Command("unshare", "-rm", "sh", "-ec", "mount -t tmpfs -o size=256k none "+disk+"\n"+steps)
		cmd.Env = append(os.Environ(), "PLUGIN_TEST_INSTALL="+filepath.Join(disk, "plugins")+" a@shop", quickExit)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := inSpace("true"); err != nil {
		t.Skipf("no file system of its own can be made: %v %s", err, out)
	}
	s := newStore(t)
	add(t, s, plugin.Source{Kind: "directory", Path: shop})
	out, err := inSpace("mkdir " + disk + "/plugins && cp " + s.Dir + "/known_marketplaces.json " + disk + "/plugins\n" +
		os.Args[0] + "\n" + // there is room for the small one
		"head -c 1000000 /dev/zero > " + shop + "/a/big\n" +
		"! " + os.Args[0] + "\n" +
		"cat " + disk + "/plugins/installed_plugins.json; ls -A " + disk + "/plugins/cache " + disk + "/plugins/cache/shop/a; cat " + disk + "/plugins/cache/shop/a/*/agents/x.md")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "the disk is full; nothing was changed") || strings.Contains(out, "\n.gofer-") || strings.Contains(out, "orphaned") || !strings.HasSuffix(strings.TrimSpace(out), "1") {
		t.Errorf("got\n%s", out)
	}
}
