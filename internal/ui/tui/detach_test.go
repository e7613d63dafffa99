package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/colorprofile"

	"gofer/internal/event"
	"gofer/internal/ui/keys"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// What takes long and can go on in the background names the key that sends it there, once it takes long.
func TestWhatTakesLongNamesTheKeyThatSendsItAway(t *testing.T) {
	t.Parallel()
	const hint = "Ctrl+B sends it to the background"
	c := screen.Canvas{Width: 80, Height: 24, Theme: theme.New("dark", colorprofile.NoTTY)}
	for _, k := range []struct {
		name    string
		can     bool
		elapsed time.Duration
		want    bool
	}{
		{"Bash", true, 2 * time.Second, false},
		{"Bash", true, 3 * time.Second, true},
		{"Agent", true, time.Minute, true},
		{"Read", true, time.Minute, false},
		{"Bash", false, time.Minute, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &model{Options: Options{Keys: keys.Default()}, host: &Host{}, width: c.Width, height: c.Height, theme: c.Theme}
			if k.can {
				m.host.Detach = func() int { return 1 }
			}
			m.toolEvent(event.ToolBegun{ID: "1", Name: k.name})
			time.Sleep(k.elapsed)
			if got := strings.Join(m.running(c), "\n"); strings.Contains(got, hint) != k.want {
				t.Errorf("%s after %s: %q", k.name, k.elapsed, got)
			}
			m.toolEvent(event.ToolEnded{ID: "1"})
			if got := strings.Join(m.flow.printed(), "\n"); strings.Contains(got, hint) {
				t.Errorf("%s has ended: %q", k.name, got)
			}
		})
	}
}
