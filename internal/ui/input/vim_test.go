package input

import (
	"testing"

	"gofer/internal/ui/keys"
)

func TestVim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keys, want string }{
		{"one two<esc>", "one tw|o"},
		{"one two<esc>0", "|one two"},
		{"one two<esc>0w", "one |two"},
		{"one two<esc>bb", "|one two"},
		{"one two<esc>0e", "on|e two"},
		{"a.b c<esc>0w", "a|.b c"},
		{"a.b c<esc>0W", "a.b |c"},
		{"a.b cd<esc>B", "a.b |cd"},
		{"a.b c<esc>BB", "|a.b c"},
		{"  one<esc>0^", "  |one"},
		{"one<esc>0$", "on|e"},
		{"one two three<esc>02w", "one two |three"},
		{"one two<esc>0dw", "|two"},
		{"one two three<esc>0d2w", "|three"},
		{"one two three<esc>02dw", "|three"},
		{"one two<esc>0cwthree<esc>", "thre|e two"},
		{"one two<esc>diw", "one| "},
		{"one two three<esc>0wdaw", "one |three"},
		{"one two<esc>0x", "|ne two"},
		{"one two<esc>03x", "| two"},
		{"one two<esc>X", "one t|o"},
		{"one<esc>0sX<esc>", "|Xne"},
		{"one<esc>0rX", "|Xne"},
		{"one<esc>02rX", "X|Xe"},
		{"one<esc>0~", "O|ne"},
		{"one<esc>03~", "ON|E"},
		{"one two<esc>0D", "|"},
		{"one two<esc>0wD", "one| "},
		{"one two<esc>0wCx<esc>", "one |x"},
		{"one<ctrl+j>two<esc>dd", "|one"},
		{"one<ctrl+j>two<esc>ggdd", "|two"},
		{"one<ctrl+j>two<esc>ggyyp", "one\n|one\ntwo"},
		{"one<ctrl+j>two<esc>ggyyG0p", "one\ntwo\n|one"},
		{"one<ctrl+j>two<esc>ggddp", "two\n|one"},
		{"one<ctrl+j>two<esc>ggYP", "|one\none\ntwo"},
		{"one<ctrl+j>two<ctrl+j>three<esc>ggdj", "|three"},
		{"one<ctrl+j>two<ctrl+j>three<esc>dk", "|one"},
		{"one<ctrl+j>two<ctrl+j>three<esc>ggdG", "|"},
		{"one<ctrl+j>two<ctrl+j>three<esc>2G", "one\n|two\nthree"},
		{"one<ctrl+j>two<esc>ggccx<esc>", "|x\ntwo"},
		{"one<ctrl+j>  two<esc>ggJ", "one| two"},
		{"a<ctrl+j>b<ctrl+j>c<esc>gg3J", "a b| c"},
		{"one<esc>otwo<esc>", "one\ntw|o"},
		{"one<esc>Otwo<esc>", "tw|o\none"},
		{"one<esc>Ix<esc>", "|xone"},
		{"one<esc>0Ax<esc>", "one|x"},
		{"one<esc>0ax<esc>", "o|xne"},
		{"one<esc>ix<esc>", "on|xe"},
		{"abcabc<esc>0fc", "ab|cabc"},
		{"abcabc<esc>02fc", "abcab|c"},
		{"abcabc<esc>0fc;", "abcab|c"},
		{"abcabc<esc>0fc;,", "ab|cabc"},
		{"abcabc<esc>0tc", "a|bcabc"},
		{"abcabc<esc>0tc;", "abca|bc"},
		{"abcabc<esc>Fa", "abc|abc"},
		{"abcabc<esc>Ta", "abca|bc"},
		{"abcabc<esc>0dtc", "|cabc"},
		{"abcabc<esc>0dfc", "|abc"},
		{"abcabc<esc>0fz", "|abcabc"},
		{`say "hi you" now<esc>0fhci"yo<esc>`, `say "y|o" now`},
		{`say "hi" now<esc>0fhda"`, `say | now`},
		{"f(a, (b), c)<esc>0fadi(", "f(|)"},
		{"f(a, (b), c)<esc>0fbdib", "f(a, (|), c)"},
		{"f(a)<esc>0fada(", "|f"},
		{"x[1] {2}<esc>0f1di]f2di{", "x[] {|}"},
		{"one two<esc>0dwu", "|one two"},
		{"one two<esc>0dwu<ctrl+r>", "|two"},
		{"one two three<esc>0dw.", "|three"},
		{"a b c<esc>0cwx<esc>w.w.", "x x |x"},
		{"aaa<esc>0x.", "|a"},
		{"a<esc>ob<esc>.", "a\nb\n|b"},
		{"one two<esc>0vex", "| two"},
		{"one two<esc>0vly$p", "one twoo|n"},
		{"one two<esc>0vwd", "|wo"},
		{"one<ctrl+j>two<ctrl+j>x<esc>ggVjd", "|x"},
		{"one two<esc>0wviwcx<esc>", "one |x"},
		{"one two<esc>0ve~", "|ONE two"},
		{"one two<esc>0v$o<esc>", "|one two"},
		{"one<esc>0vp", "|ne"},
		{"one two<esc>0wxP", "one |two"},
		{"one two<esc>0xp", "n|oe two"},
		{"你好 世界<esc>0x", "|好 世界"},
		{"你好 世界<esc>0dw", "|世界"},
		{"one<esc>5l<bs>", "o|ne"},
		{"one<esc>99h", "|one"},
		{"<esc>dwxpJuD.", "|"},
		{"one<esc>zqZ", "on|e"},
		{"one two<esc>0d<esc>w", "one |two"},
		{"a<ctrl+j>b<esc>k", "|a\nb"},
		{"a<ctrl+j>b<esc>kj", "a\n|b"},
	} {
		b := New(keys.Default())
		b.SetVim(true)
		typeKeys(b, c.keys)
		if got := withCursor(b); got != c.want {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestVimModesAreShown(t *testing.T) {
	t.Parallel()
	b := New(keys.Default())
	b.SetVim(true)
	for _, step := range []struct{ keys, want string }{{"x", "INSERT"}, {"<esc>", "NORMAL"}, {"v", "VISUAL"}, {"V", "VISUAL LINE"}, {"<esc>", "NORMAL"}, {"i", "INSERT"}} {
		typeKeys(b, step.keys)
		if mode, on := b.Vim(); mode != step.want || !on {
			t.Errorf("after %s: %s", step.keys, mode)
		}
	}
	typeKeys(b, "<esc>")
	if events := typeKeys(b, "<esc>"); len(events) != 1 || events[0].Action != keys.Cancel {
		t.Errorf("Esc in normal mode is for others: %+v", events)
	}
	if m := sent(t, b, "<enter>"); m.Text != "x" {
		t.Errorf("Enter in normal mode sends: %+v", m)
	}
	if mode, _ := b.Vim(); mode != "INSERT" {
		t.Errorf("after sending: %s", mode)
	}
}
