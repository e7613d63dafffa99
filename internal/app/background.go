package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gofer/internal/llm"
	"gofer/internal/proc"
	"gofer/internal/session"
	"gofer/internal/session/live"
	"gofer/internal/ui/control"
	"gofer/internal/ui/remote"
	"gofer/internal/ui/stdin"
)

// startLimit is how long a session in the background may take until it is ready.
const startLimit = time.Minute

// readyFile is where the process in the background says that it is ready.
const readyFile = 3

// live is the register of running sessions.
func (p place) live() live.Register { return live.Register(filepath.Join(p.config, "run")) }

// startBackground starts a gofer that runs the session by itself, and returns when it is ready. The other process gets the same
// command line, and what was piped as a file.
func startBackground(ctx context.Context, w World, p place, words string, args []string) error {
	if err := canDetach(); err != nil {
		return err
	}
	in, err := stdin.Read(ctx, w.Stdin, words != "")
	if err != nil {
		return fmt.Errorf("reading standard input: %w", err)
	}
	if strings.TrimSpace(join(words, in.Text)) == "" {
		return usage(`--bg needs a prompt: gofer --bg "what to do"`)
	}
	if err := os.MkdirAll(string(p.live()), 0o700); err != nil {
		return fmt.Errorf("there is no place for sessions in the background: %w", err)
	}
	log, err := os.CreateTemp(string(p.live()), "start-*.log") // mode 0600
	if err != nil {
		return fmt.Errorf("there is no place for sessions in the background: %w", err)
	}
	defer log.Close()
	started, err := launch(ctx, w, args, in.Text, log)
	if err != nil {
		os.Remove(log.Name())
		return err
	}
	id := shortID(started.ID)
	fmt.Fprintf(w.Stdout, "Session %s runs in the background (process %d).\n\n  gofer ps                 all that run\n  gofer logs -f %-8s   read along\n  gofer attach %-8s    talk to it; Ctrl-C leaves it running\n  gofer kill %-8s      end it\n",
		started.ID, started.PID, id, id, id)
	return nil
}

// shortID is enough of an id to name a session.
func shortID(id string) string { return id[:min(8, len(id))] }

// launch starts the process and waits until it is ready. One that fails has said why in its log.
func launch(ctx context.Context, w World, args []string, piped string, log *os.File) (started live.Entry, err error) {
	ready, say, err := os.Pipe()
	if err != nil {
		return started, err
	}
	defer ready.Close()
	cmd := exec.Command(proc.Self()[0])
	cmd.Args = append([]string{w.Args[0], "--bg-child=" + log.Name()}, args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.SysProcAttr = log, log, []*os.File{say}, detached()
	input, err := pipedFile(filepath.Dir(log.Name()), piped)
	if err != nil {
		say.Close()
		return started, err
	}
	defer input.Close()
	cmd.Stdin = input
	err = cmd.Start()
	say.Close()
	if err != nil {
		return started, fmt.Errorf("the session in the background could not be started: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("the session in the background was not ready within %v", startLimit))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { ready.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = json.NewDecoder(ready).Decode(&started)
	if err == nil {
		return started, cmd.Process.Release()
	}
	if ctx.Err() != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return started, context.Cause(ctx)
	}
	cmd.Wait()
	said, _ := os.ReadFile(log.Name())
	why := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(string(said)), "Error: "), "error: ")
	return started, fmt.Errorf("the session in the background could not begin: %s", cmp.Or(why, "it ended without a word"))
}

// pipedFile is a file without a name that holds the text; for no text, the null device.
func pipedFile(dir, text string) (*os.File, error) {
	if text == "" {
		return os.Open(os.DevNull)
	}
	f, err := os.CreateTemp(dir, "input-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	if _, err = f.WriteString(text); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("keeping what was piped: %w", err)
	}
	return f, nil
}

// errKilled is the cause of the end of a session that was ended by gofer kill.
var errKilled = errors.New("the session was ended by gofer kill")

// serveBackground is the process in the background: it answers the prompt and then waits for more, until it is ended.
func serveBackground(ctx context.Context, w World, f Flags, p place, text string) error {
	ready := stayAlive()
	defer ready.Close()
	if other, ok := p.live().Running(p.session); ok {
		return fmt.Errorf("session %s runs already, in process %d: gofer attach %s", p.session, other.PID, shortID(p.session))
	}
	log := p.live().Log(p.session)
	if err := os.Rename(f.BackgroundLog, log); err != nil {
		return err
	}
	socket, err := socketPath(p)
	if err != nil {
		os.Rename(log, f.BackgroundLog)
		return err
	}
	n, err := newNameplate(p, f, live.Background, text)
	if err == nil {
		n.entry.Socket = socket
		err = host(ctx, w, f, p, text, n, ready)
	}
	if err != nil && (n == nil || !n.shown) {
		os.Rename(log, f.BackgroundLog) // whoever started this reads there why it failed
	}
	if n != nil {
		n.remove()
	}
	return err
}

// host runs the session behind its socket.
func host(ctx context.Context, w World, f Flags, p place, text string, n *nameplate, ready io.Writer) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	os.Remove(n.entry.Socket) // of a process that was killed
	listener, err := net.Listen("unix", n.entry.Socket)
	if err != nil {
		return fmt.Errorf("opening the socket of the session: %w", err)
	}
	defer listener.Close()
	if err := os.Chmod(n.entry.Socket, 0o600); err != nil {
		return err
	}
	server := &remote.Server{SessionID: p.session, Waiting: n.waiting}
	e, err := newEngine(ctx, w, f, p, people{asker: server})
	if err != nil {
		return err
	}
	defer e.close()
	s := e.session
	server.Connect = func(out io.Writer) remote.Watcher {
		return &watcher{clientAsker{control.NewConn(out)}, e, func() { end(errKilled) }}
	}
	records := s.Watch(context.WithoutCancel(ctx), 0)
	var all sync.WaitGroup
	all.Go(func() {
		defer server.End()
		for r := range records {
			if err := server.Add(r.Event, r.UUID); err != nil {
				fmt.Fprintln(w.Stderr, "An event could not be shown:", err)
			}
			n.note(r.Event)
		}
	})
	all.Go(func() {
		if err := server.Serve(context.WithoutCancel(ctx), listener); err != nil {
			fmt.Fprintln(w.Stderr, "The socket of the session failed:", err)
		}
	})
	all.Go(func() { s.Submit(ctx, session.Input{Blocks: []llm.Block{llm.TextBlock(text)}}) })
	if err := n.show(); err != nil {
		end(fmt.Errorf("telling that the session runs: %w", err))
	} else {
		json.NewEncoder(ready).Encode(n.entry)
	}
	err = s.Serve(ctx)
	listener.Close()
	all.Wait()
	if errors.Is(err, errKilled) {
		return nil
	}
	return err
}

// A watcher is one who is connected to a session in the background.
type watcher struct {
	clientAsker
	engine *engine
	end    func() // ends the session
}

func (w *watcher) Write(lines []byte) (int, error) { return w.conn.Write(lines) }

// Serve does what the watcher asks for.
func (w *watcher) Serve(ctx context.Context, in io.Reader) error {
	return w.conn.Serve(ctx, in, control.Options{Handlers: w.handlers(), User: w.engine.userLine})
}

// handlers are those of any client, and one to end the session. What a client brings with it, hooks and servers, would be gone when
// it leaves, so a watcher cannot bring any.
func (w *watcher) handlers() map[string]control.Handler {
	all := w.engine.handlers(w.conn)
	all["initialize"] = handle(func(_ context.Context, r map[string]json.RawMessage) (any, error) {
		if len(r) > 1 {
			return nil, errors.New("whoever watches a session in the background cannot bring hooks, servers, agents or prompts: it may leave at any time")
		}
		return w.engine.initialize(w.conn, initialize{})
	})
	all["end_session"] = handle(func(context.Context, struct{}) (any, error) {
		w.end()
		return nil, nil
	})
	return all
}

// maxSocket is how long the path of a socket may be; systems differ a little.
const maxSocket = 100

// socketPath is where the socket of a session goes: beside its entry, or where the path is shorter. Nobody else can get into its folder.
func socketPath(p place) (string, error) {
	sum := sha256.Sum256([]byte(p.session)) // the id itself is long, and its beginning may be that of another
	name := hex.EncodeToString(sum[:8]) + ".sock"
	own := fmt.Sprintf("gofer-%d", os.Getuid())
	var errs []error
	for _, dir := range []string{string(p.live()), filepath.Join(os.TempDir(), own, "run"), filepath.Join("/tmp", own, "run")} {
		path := filepath.Join(dir, name)
		if len(path) > maxSocket {
			continue
		}
		if err := privateFolder(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		return path, nil
	}
	return "", fmt.Errorf("there is no place for the socket of the session: %w", cmp.Or(errors.Join(errs...), errors.New("all paths are too long")))
}
