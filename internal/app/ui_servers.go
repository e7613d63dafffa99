package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"gofer/internal/extend/mcp"
	dialogs "gofer/internal/ui/dialog"
	"gofer/internal/ui/screen"
	"gofer/internal/ui/tui"
)

// mcp shows the MCP servers.
func (u *uiDesk) mcp(ctx context.Context, _ string) tui.Action {
	return tui.Action{Dialog: &dialogs.Manager{Title: "MCP servers", Load: func() ([]dialogs.Section, error) {
		return []dialogs.Section{{Items: u.serverItems(ctx), Empty: "There are no MCP servers. gofer mcp add adds one."}}, nil
	}}}
}

func (u *uiDesk) serverItems(ctx context.Context) []dialogs.Item {
	tones := map[mcp.State]dialogs.Tone{mcp.Connected: dialogs.Good, mcp.Failed: dialogs.Bad, mcp.NeedsAuth: dialogs.Warn, mcp.Pending: dialogs.Info, mcp.Disabled: dialogs.Muted}
	var items []dialogs.Item
	for _, st := range u.e.servers.hub.Status() {
		detail := st.Scope
		if st.Known {
			detail += fmt.Sprintf(", %d tools", len(st.Tools))
		}
		items = append(items, dialogs.Item{ID: st.Name, Name: st.Name, Detail: detail, State: string(st.State), Tone: tones[st.State],
			Live: st.State == mcp.Pending && !st.Known, Acts: u.serverActs(ctx, st), Read: func() (dialogs.Page, error) { return serverPage(st), nil }})
	}
	return items
}

func (u *uiDesk) serverActs(ctx context.Context, st mcp.Status) []dialogs.Act {
	hub := u.e.servers.hub
	var acts []dialogs.Act
	if st.State == mcp.Disabled {
		return []dialogs.Act{{Key: "e", Name: "enable", Do: func(string) (string, error) { return u.say("%s is on.", st.Name), hub.Toggle(st.Name, true) }}}
	}
	acts = append(acts,
		dialogs.Act{Key: "r", Name: "reconnect", Do: func(string) (string, error) {
			return u.say("%s is connected.", st.Name), hub.Reconnect(ctx, st.Name, 30*time.Second)
		}},
		dialogs.Act{Key: "x", Name: "disable", Do: func(string) (string, error) {
			return u.say("%s is off for this session.", st.Name), hub.Toggle(st.Name, false)
		}})
	if st.Config.Kind() != "stdio" && st.Config.Kind() != "sdk" {
		if st.State == mcp.NeedsAuth || st.State == mcp.Failed {
			acts = append(acts, dialogs.Act{Key: "l", Name: "log in", Do: func(string) (string, error) { return u.loginServer(ctx, st.Name) }})
		} else {
			acts = append(acts, dialogs.Act{Key: "o", Name: "log out", Confirm: u.say("Forget the log-in to %s?", st.Name), Do: func(string) (string, error) { return u.logoutServer(ctx, st) }})
		}
	}
	return acts
}

// loginServer logs in to a server in a browser, and connects it again.
func (u *uiDesk) loginServer(ctx context.Context, name string) (string, error) {
	c := mcpCommand{w: u.e.world, p: u.e.place}
	page := ""
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return "", err
	}
	defer null.Close()
	c.w.Stdout, c.w.Stderr = null, null // the screen is the UI's
	hub, end, err := c.open(ctx, name, func(o *mcp.Options) {
		o.ConnectTimeout = loginWait
		o.Browse = func(ctx context.Context, url string) error {
			page = url
			u.desk.Note("info", u.say("Log in to %s on this page: %s", name, url))
			c.showPage(ctx, url)
			return nil
		}
	})
	if err != nil {
		return "", err
	}
	defer end()
	all := hub.Status()
	if len(all) == 0 {
		return "", noServer(name)
	}
	if all[0].State != mcp.Connected {
		return "", fmt.Errorf("logging in to %s: %s", name, firstOf(all[0].Error, "it did not answer"))
	}
	if err := u.e.servers.hub.Reconnect(ctx, name, 30*time.Second); err != nil {
		return "", err
	}
	if page == "" {
		return u.say("%s is connected; no log-in was needed.", name), nil
	}
	return u.say("Logged in to %s.", name), nil
}

func (u *uiDesk) logoutServer(ctx context.Context, st mcp.Status) (string, error) {
	if !u.e.servers.hub.Forget(st.Config) {
		return u.say("There was no log-in to %s.", st.Name), nil
	}
	u.e.servers.hub.Reconnect(ctx, st.Name, time.Second) // it now wants a log-in, which its state says
	return u.say("The log-in to %s is forgotten.", st.Name), nil
}

// serverPage shows how a server stands, what went wrong and what it offers.
func serverPage(st mcp.Status) dialogs.Page {
	return func(c screen.Canvas) []string {
		rows := [][2]string{{"State", string(st.State)}, {"From", st.Scope}, {"Reached by", commandHint(st.Config)}}
		if st.Info != nil {
			rows = append(rows, [2]string{"Program", st.Info.Name + " " + st.Info.Version})
		}
		var out []string
		for _, r := range rows {
			out = append(out, twoColumns(c, r[0], screen.Clean(r[1]))...)
		}
		if st.Error != "" {
			out = append(out, "")
			for _, line := range screen.Wrap(screen.Clean(st.Error), c.Width) {
				out = append(out, c.Theme.Bad.Paint(line))
			}
		}
		if len(st.Tools) > 0 {
			out = append(out, "", c.Theme.Strong.Paint(fmt.Sprintf("%d tools", len(st.Tools))))
		}
		for _, t := range st.Tools {
			first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
			out = append(out, twoColumns(c, screen.Clean(t.Name), screen.Clean(first))...)
		}
		return out
	}
}
