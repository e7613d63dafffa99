package app

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"gofer/internal/extend/mcp"
)

// loginWait is how long a person may take to log in.
const loginWait = 5 * time.Minute

// login is gofer mcp login.
func (c mcpCommand) login(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("login needs one name")
	}
	asked := false
	hub, done, err := c.open(ctx, args[0], func(o *mcp.Options) {
		o.ConnectTimeout = loginWait
		o.Browse = func(ctx context.Context, url string) error {
			asked = true
			fmt.Fprintf(c.w.Stdout, "Log in to %s on this page:\n\n  %s\n\n", args[0], url)
			c.showPage(ctx, url)
			return nil
		}
	})
	if err != nil {
		return err
	}
	defer done()
	all := hub.Status()
	switch {
	case len(all) == 0:
		return noServer(args[0])
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case all[0].State != mcp.Connected:
		return fmt.Errorf("logging in to %s: %w", args[0], errors.New(firstOf(all[0].Error, "it did not answer")))
	case !asked:
		fmt.Fprintf(c.w.Stdout, "%s is connected; no log-in was needed.\n", args[0])
	default:
		fmt.Fprintf(c.w.Stdout, "Logged in to %s: %d tools.\n", args[0], len(all[0].Tools))
	}
	return nil
}

// showPage opens a browser: the one that BROWSER names, or that of the system. If none comes up the address is there to be copied.
func (c mcpCommand) showPage(ctx context.Context, url string) {
	argv := []string{"xdg-open"}
	switch browser := c.w.Env("BROWSER"); {
	case browser != "":
		argv = strings.Fields(browser)
	case runtime.GOOS == "darwin":
		argv = []string{"open"}
	case runtime.GOOS == "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], url)...)
	if cmd.Start() == nil {
		go cmd.Wait()
	}
}

// logout is gofer mcp logout.
func (c mcpCommand) logout(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("logout needs one name")
	}
	e := &engine{ctx: ctx, world: c.w, place: c.p}
	var err error
	if e.settings, err = e.openSettings(); err != nil {
		return err
	}
	hub := mcp.New(ctx, mcp.Options{TokenDir: tokenDir(c.p)})
	for _, s := range e.allServers(nil) {
		if s.Name != args[0] {
			continue
		}
		text := "There was no log-in to %s.\n"
		if hub.Forget(s) {
			text = "The log-in to %s is forgotten.\n"
		}
		fmt.Fprintf(c.w.Stdout, text, s.Name)
		return nil
	}
	return noServer(args[0])
}
