package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Answers of SOCKS5 (RFC 1928).
const (
	socksOK         = 0
	socksFailure    = 1
	socksNotAllowed = 2
	socksNoHost     = 4
	socksNoCommand  = 7
	socksNoAddress  = 8
)

// socks serves one SOCKS5 client: CONNECT only, without a password.
func (p *Proxy) socks(c *client) {
	c.SetDeadline(time.Now().Add(helloTime))
	target, code := readSocks(c)
	if code != socksOK {
		answer(c, byte(code))
		return
	}
	if target == "" {
		return
	}
	c.SetDeadline(time.Time{})
	up, err := p.dial(p.ctx, target)
	if err != nil {
		code := byte(socksNoHost)
		if refused := (*RefusedError)(nil); errors.As(err, &refused) {
			code = socksNotAllowed
		}
		answer(c, code)
		return
	}
	if !p.keep(up) {
		return
	}
	defer p.forget(up)
	answer(c, socksOK)
	join(c, c, up)
}

// readSocks reads the greeting and the request. Without a target the client is gone.
func readSocks(c *client) (target string, code int) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:2]); err != nil {
		return "", socksOK
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(c, methods); err != nil {
		return "", socksOK
	}
	c.Write([]byte{5, 0})
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", socksOK
	}
	if head[0] != 5 {
		return "", socksFailure
	}
	var host string
	size := map[byte]int{1: 4, 4: 16}[head[3]]
	switch head[3] {
	case 1, 4:
		raw := make([]byte, size)
		if _, err := io.ReadFull(c, raw); err != nil {
			return "", socksOK
		}
		a, _ := netip.AddrFromSlice(raw)
		host = a.Unmap().String()
	case 3:
		var n [1]byte
		if _, err := io.ReadFull(c, n[:]); err != nil {
			return "", socksOK
		}
		raw := make([]byte, n[0])
		if _, err := io.ReadFull(c, raw); err != nil {
			return "", socksOK
		}
		host = string(raw)
	default:
		return "", socksNoAddress
	}
	var port [2]byte
	if _, err := io.ReadFull(c, port[:]); err != nil {
		return "", socksOK
	}
	if head[1] != 1 {
		return "", socksNoCommand // neither listening nor UDP
	}
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port[:])))), socksOK
}

func answer(c net.Conn, code byte) { c.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0}) }
