package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Exit codes of an attack.
const (
	attackThrough = 0 // it got through
	attackHeld    = 1
	attackUnknown = 3 // this machine cannot even try
)

// errUntried means that an attack says nothing about the walls.
var errUntried = errors.New("cannot be tried here")

// attack tries one thing from inside that the walls should stop, and says what came of it. "each" tries several, with -- between
// them, and names those that got through.
func attack(name string, args []string) int {
	if name == "each" {
		result := attackHeld
		for one := range strings.SplitSeq(strings.Join(args, "\x00"), "\x00--\x00") {
			words := strings.Split(one, "\x00")
			if tryAttack(words[0], words[1:]) == nil {
				fmt.Println(words, "got through")
				result = attackThrough
			}
		}
		return result
	}
	err := tryAttack(name, args)
	switch {
	case err == nil:
		fmt.Println("it got through")
		return attackThrough
	case errors.Is(err, errUntried):
		fmt.Println(err)
		return attackUnknown
	}
	fmt.Println(err)
	return attackHeld
}

func tryAttack(name string, args []string) error {
	switch name {
	case "connect": // network, address
		d := net.Dialer{Timeout: 2 * time.Second}
		c, err := d.Dial(args[0], args[1])
		if err == nil {
			_, err = c.Write([]byte("through"))
			c.Close()
		}
		return err
	case "resolve": // server, name: the name itself can carry data out
		r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "udp", args[0])
		}}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := r.LookupHost(ctx, args[1])
		return err
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	case "write":
		return os.WriteFile(args[0], []byte("through"), 0o600)
	case "open": // for writing, without writing
		f, err := os.OpenFile(args[0], os.O_WRONLY, 0)
		if err == nil {
			f.Close()
		}
		return err
	case "read":
		text, err := os.ReadFile(args[0])
		if err == nil && len(text) == 0 {
			return errors.New("it is empty")
		}
		return err
	}
	return kernelAttack(name, args)
}
