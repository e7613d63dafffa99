package script

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestEveryExampleOfTheUserPageIsAScript keeps the page that users read true.
func TestEveryExampleOfTheUserPageIsAScript(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/scripted-model.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(page), "\n```script\n")[1:]
	if len(examples) < 5 {
		t.Errorf("the page has %d examples", len(examples))
	}
	for i, example := range examples {
		src, _, _ := strings.Cut(example, "\n```")
		s, err := Parse(fmt.Sprintf("example%d", i+1), []byte(src))
		if err != nil {
			t.Errorf("%v\n%s", err, src)
			continue
		}
		// The first turn of each can be played.
		if status, body := serveDirectly(NewServer(s), request(hi)); status != 200 && status != 529 {
			t.Errorf("%s: got %d %s", s.Name(), status, body)
		}
	}
}
