package highlight

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"gofer/internal/ui/theme"
)

// marked shows the spans of a text as letters around its pieces.
func marked(l *Language, text string) string {
	letters := map[Kind]string{Keyword: "k", Type: "t", Function: "f", String: "s", Number: "n", Comment: "c", Inserted: "i", Deleted: "d", Title: "h"}
	var lines []string
	var state State
	for line := range strings.SplitSeq(text, "\n") {
		var spans []Span
		spans, state = l.Line(line, state)
		var b strings.Builder
		at := 0
		for _, s := range spans {
			b.WriteString(line[at:s.Start] + letters[s.Kind] + "[" + line[s.Start:s.End] + "]")
			at = s.End
		}
		lines = append(lines, b.String()+line[at:])
	}
	return strings.Join(lines, "\n")
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"go", "func main() { x := `a\nb` + \"c\" // why\n}", "k[func] f[main]() { x := s[`a]\ns[b`] + s[\"c\"] c[// why]\n}"},
		{"go", "var n int = 0x1F + 1e-3", "k[var] n t[int] = n[0x1F] + n[1e-3]"},
		{"python", "@cache\ndef f(x): return rb'x' # hi\n\"\"\"doc\nmore\"\"\"", "t[@cache]\nk[def] f[f](x): k[return] s[rb'x'] c[# hi]\ns[\"\"\"doc]\ns[more\"\"\"]"},
		{"js", "const a = /x[/]y/g / 2; // c", "k[const] a = s[/x[/]y/g] / n[2]; c[// c]"},
		{"tsx", "return <Box id=\"a\">{n}</Box>", "k[return] t[<Box] id=s[\"a\"]>{n}t[</Box]>"},
		{"json", `{"a": [1, true, "x"]}`, `{t["a"]: [n[1], k[true], s["x"]]}`},
		{"yaml", "- name: \"x\" # c\n  n: 12", "k[-] t[name]: s[\"x\"] c[# c]\n  t[n]: n[12]"},
		{"toml", "[a.b]\nk = \"v\" # c", "h[[a.b]]\nt[k] = s[\"v\"] c[# c]"},
		{"bash", "for f in \"$a\"; do echo $HOME a#b # c\ndone", "k[for] f k[in] s[\"$a\"]; k[do] f[echo] t[$HOME] a#b c[# c]\nk[done]"},
		{"bash", "A=1 go test ./... | grep -v for && ls", "A=n[1] go test ./... | f[grep] -v for && f[ls]"},
		{"c", "#include <stdio.h>\nint main(void) { return 'a'; } /* x\ny */", "k[#include] s[<stdio.h>]\nt[int] f[main](t[void]) { k[return] s['a']; } c[/* x]\nc[y */]"},
		{"cpp", "auto s = R\"(x)\";", "k[auto] s = s[R\"(x)\"];"},
		{"java", "@Override public String a() { return null; }", "t[@Override] k[public] t[String] f[a]() { k[return] n[null]; }"},
		{"rust", "fn a<'b>(c: &'b str) { println!(\"{}\", 'x'); /* a /* b */ c */ }", "k[fn] f[a]<t['b]>(c: &t['b] t[str]) { f[println]!(s[\"{}\"], s['x']); c[/* a /* b */ c */] }"},
		{"html", "<a href=\"x\">t</a><!-- c\nd --><script>let x</script>", "k[<a] t[href]=s[\"x\"]k[>]tk[</a]k[>]c[<!-- c]\nc[d -->]k[<script]k[>]k[let] xk[</script]k[>]"},
		{"css", ".a { color: #fff; }", "f[.a] { t[color]: n[#fff]; }"},
		{"sql", "SELECT a FROM b WHERE c = 'd' -- e", "k[SELECT] a k[FROM] b k[WHERE] c = s['d'] c[-- e]"},
		{"md", "# T\n- `a` b\n```go\nx\n```", "h[# T]\nk[-] s[`a`] b\nc[```go]\ns[x]\nc[```]"},
		{"dockerfile", "FROM a:$V\nRUN x \\\n RUN", "k[FROM] a:t[$V]\nk[RUN] x \\\n RUN"},
		{"make", "all: $(X) b\nX := 1", "f[all]: n[$(X)] b\nt[X] := 1"},
		{"diff", "@@ -1 +1 @@\n-a\n+b\n c", "f[@@ -1 +1 @@]\nd[-a]\ni[+b]\n c"},
		{"ruby", "def a; @b = :c # d\nend", "k[def] f[a]; t[@b] = :c c[# d]\nk[end]"},
		{"php", "$a = new Foo('x'); // y", "t[$a] = k[new] t[Foo](s['x']); c[// y]"},
		{"kotlin", "fun a(b: Int) = \"$b\"", "k[fun] f[a](b: t[Int]) = s[\"$b\"]"},
		{"swift", "let a: Int? = nil", "k[let] a: t[Int]? = n[nil]"},
	} {
		l := Named(test.name)
		if l == nil {
			t.Errorf("%s is not known", test.name)
			continue
		}
		if got := marked(l, test.text); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"c++": "cpp", "JS": "javascript", "go {linenos}": "go", "py title=x": "python", ".rs": "rust", "nonsense": "", "": "", "console": "bash"} {
		if got := Named(name).Name(); got != want {
			t.Errorf("Named(%q) is %q, want %q", name, got, want)
		}
	}
	for path, want := range map[string]string{"/a/Makefile": "make", "Dockerfile.dev": "dockerfile", "a.TSX": "typescript", "x.h": "c", "noext": "", "a/b.yml": "yaml", ".bashrc": "bash"} {
		if got := ForFile(path).Name(); got != want {
			t.Errorf("ForFile(%q) is %q, want %q", path, got, want)
		}
	}
}

// Whatever comes, the spans lie in the line and in order, and painting changes no character.
func TestAnyTextIsReadWithoutHarm(t *testing.T) {
	t.Parallel()
	th := theme.New("dark", colorprofile.TrueColor)
	pieces := []string{"\"", "'", "`", "/*", "*/", "//", "#", "--", "{", "}", "<", ">", "</script>", "<script>", "<!--", "-->", "\\", "a", "1", ".", "0x", " ", ":", "=", "[", "]", "[[", "你", "\xff",
		"$", "@", "func", "r#\"", "\"\"\"", "=begin", "&", "!", "(", "e", "+", "-", ";", "%", "'a", "R\"("}
	r := rand.New(rand.NewPCG(5, 6))
	for name, l := range known() {
		var state State
		for range 60 {
			var line string
			for range r.IntN(12) {
				line += pieces[r.IntN(len(pieces))]
			}
			before := state
			var spans []Span
			spans, state = l.Line(line, state)
			at := 0
			for _, s := range spans {
				if s.Start < at || s.End <= s.Start || s.End > len(line) {
					t.Fatalf("%s: %q from state %d: %v", name, line, before, spans)
				}
				at = s.End
			}
			if painted, _ := l.Paint(th, strings.ToValidUTF8(line, "?"), before); ansi.Strip(painted) != strings.ToValidUTF8(line, "?") {
				t.Fatalf("%s: %q became %q", name, line, painted)
			}
		}
	}
	if spans, _ := Named("go").Line(strings.Repeat("a", maxLine+1), 0); spans != nil {
		t.Error("a line of data is read")
	}
}

func BenchmarkPaint(b *testing.B) {
	th := theme.New("dark", colorprofile.TrueColor)
	lines := strings.Split("func (p *pass) number() {\n\tstart := p.at // where it begins\n\tif c := p.line[p.at]; c == '\"' { return fmt.Errorf(\"no %d\", 12) }\n}", "\n")
	l := Named("go")
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		var s State
		for _, line := range lines {
			_, s = l.Paint(th, line, s)
		}
	}
}
