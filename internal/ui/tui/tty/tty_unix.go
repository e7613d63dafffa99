//go:build unix

package tty

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// state is how a terminal is set.
type state struct{ unix.Termios }

func getState(f *os.File) (*state, error) {
	termios, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return nil, fmt.Errorf("the terminal's settings cannot be read: %w", err)
	}
	return &state{*termios}, nil
}

func setState(f *os.File, s *state) error {
	return retry(func() error { return unix.IoctlSetTermios(int(f.Fd()), setTermios, &s.Termios) })
}

// Settings are all settings of a terminal as text, to be compared.
func Settings(f *os.File) (string, error) {
	s, err := getState(f)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%+v", s.Termios), nil
}

// retry does again what a signal has cut off.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

// makeRaw lets every key through as it is, and writes what is written.
func makeRaw(f *os.File, was *state) error {
	raw := was.Termios
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag &^= unix.CSIZE | unix.PARENB
	raw.Cflag |= unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	return setState(f, &state{raw})
}

// Size tells how large the terminal is.
func Size(f *os.File) (width, height int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// Resizes delivers a signal for every change of the size.
func Resizes(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }

// startWatcher starts the watcher in a session of its own, where no signal of the terminal reaches it. It need not have come up before
// the terminal is changed: what it has to know waits in the pipe.
func startWatcher(self []string, terminal *os.File, saved *state) (*os.File, func(), error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var head bytes.Buffer
	binary.Write(&head, binary.NativeEndian, saved.Termios)
	if _, err := w.Write(head.Bytes()); err != nil {
		w.Close()
		return nil, nil, err
	}
	cmd := exec.Command(self[0], self[1:]...)
	cmd.Stdin, cmd.Stdout = r, terminal
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, func() { cmd.Wait() }, nil
}

// Watch is the main function of a watcher. It returns the exit code.
func Watch() int {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTTOU, syscall.SIGTTIN, syscall.SIGTSTP, syscall.SIGPIPE)
	in := bufio.NewReader(os.Stdin)
	var s state
	if binary.Read(in, binary.NativeEndian, &s.Termios) != nil {
		return 1
	}
	ours, alt := false, false
	for {
		what, err := in.ReadByte()
		switch {
		case err == io.EOF && ours:
			text := crashed
			if alt {
				text = leftAlt + crashed
			}
			os.Stdout.WriteString(text)
			setState(os.Stdout, &s)
			return 0
		case err != nil || what == sayBye:
			return 0
		case what == sayOurs:
			ours = true
		case what == sayTheirs:
			ours = false
		case what == sayAlt:
			alt = true
		case what == sayMain:
			alt = false
		}
	}
}

// Self is how this program is executed as a watcher; nil if it cannot be.
func Self() []string {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return []string{"/proc/self/exe", watchArg} // also right after the file was replaced
	}
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path, watchArg}
}

// Suspend stops the program, as Ctrl-Z does in a shell, and returns when it goes on. Where no shell is there to let it go on, the kernel
// does not stop it, and Suspend returns soon.
func Suspend() {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-goOn:
	case <-time.After(200 * time.Millisecond):
	}
}
