package sandbox

import (
	"runtime"
	"slices"
	"testing"

	"gofer/internal/proc"
)

func prove(t *testing.T, without ...Feature) ([]Probe, Report) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has these walls")
	}
	runner := proc.New(proc.Self())
	t.Cleanup(runner.Close)
	probes, report, err := Prove(t.Context(), runner, t.TempDir(), without, nil)
	if err != nil {
		t.Fatal(err)
	}
	return probes, report
}

func TestProveHolds(t *testing.T) {
	t.Parallel()
	probes, report := prove(t)
	if report.State != Enforced {
		t.Skipf("this kernel cannot: %s", report)
	}
	if len(probes) < 60 {
		t.Errorf("only %d probes", len(probes))
	}
	tried := 0
	for _, p := range probes {
		if p.Tried {
			tried++
		}
		if !p.Held {
			t.Errorf("%s: %s got through: %s", p.Group, p.Name, p.Detail)
		}
	}
	if tried < len(probes)*3/4 {
		t.Errorf("only %d of %d were tried", tried, len(probes))
	}
}

// A proof that cannot fail proves nothing.
func TestProveFindsHoles(t *testing.T) {
	t.Parallel()
	probes, report := prove(t, Landlock, Mounts, Bwrap, UserNS)
	if report.State != Off {
		t.Fatalf("the sandbox is %s", report)
	}
	for _, group := range []string{"files", "hidden files", "protected files", "network", "processes"} {
		if !slices.ContainsFunc(probes, func(p Probe) bool { return p.Group == group && p.Tried && !p.Held }) {
			t.Errorf("%s: nothing got through where there are no walls", group)
		}
	}
	through := 0
	for _, p := range probes {
		if p.Tried && !p.Held {
			through++
		}
	}
	if through < 35 {
		t.Errorf("only %d of %d got through where there are no walls", through, len(probes))
	}
}

func TestProveFindsThePortHole(t *testing.T) {
	t.Parallel()
	if a := Detect(Policy{Without: []Feature{Notify}}); a.Landlock < 4 {
		t.Skip("this kernel has no walls that know ports")
	}
	runner := proc.New(proc.Self())
	t.Cleanup(runner.Close)
	g := &ground{ctx: t.Context(), runner: runner, top: resolve(t.TempDir())}
	if err := g.prepare([]Feature{Notify}, nil); err != nil {
		t.Fatal(err)
	}
	defer g.close()
	g.attackNet()
	if g.box.Report().State != Partial {
		t.Errorf("the sandbox is %s", g.box.Report())
	}
	var through []string
	for _, p := range g.probes {
		if p.Tried && !p.Held {
			through = append(through, p.Name)
		}
	}
	if !slices.Equal(through, []string{"another host on the port of the proxy"}) {
		t.Errorf("got through: %q", through)
	}
}
