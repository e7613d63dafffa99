package mcp

import (
	"fmt"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gofer/internal/tool"
)

// A progressTable knows which call a server's progress belongs to.
type progressTable struct {
	mu   sync.Mutex
	next int
	by   map[string]func(tool.Progress)
}

func (t *progressTable) listen(f func(tool.Progress)) (token string, forget func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]func(tool.Progress){}
	}
	t.next++
	token = strconv.Itoa(t.next)
	t.by[token] = f
	return token, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.by, token)
	}
}

func (t *progressTable) tell(p *sdk.ProgressNotificationParams) {
	t.mu.Lock()
	f := t.by[fmt.Sprint(p.ProgressToken)]
	t.mu.Unlock()
	if f == nil {
		return
	}
	text := cutText(p.Message, 500)
	if p.Total > 0 {
		text = fmt.Sprintf("%.0f of %.0f %s", p.Progress, p.Total, text)
	}
	f(tool.Progress{Text: text + "\n"})
}
