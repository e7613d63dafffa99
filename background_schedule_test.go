//go:build unix

package gofer_test

import "testing"

// A session in the background lives on, so that it can be given work for later.
func TestASessionInTheBackgroundHasASchedule(t *testing.T) {
	t.Parallel()
	y := newYard(t, "turn\n  call CronList\nturn\n  text I see {{results}}\n")
	id := y.start("/loop 2h look around")
	follower := y.talk("logs", "-f", id)
	follower.hear("(@every 2h, recurring)")
	s := y.until(id, "idle")
	if out, code := y.do("kill", id); code != 0 {
		t.Errorf("kill: %d %s", code, out)
	}
	follower.end()
	y.nothingLeft(s.PID)
}
