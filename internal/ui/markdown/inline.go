package markdown

import (
	"html"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"gofer/internal/ui/screen"
	"gofer/internal/ui/theme"
)

// documents parses blocks and what is in them. HTML has no meaning in a terminal, so it is not parsed and stays text. Definitions of links
// stay text too: what refers to them may be on the screen already.
var documents = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(inlineParsers()...),
	)
})

// cells parses what stands in the cell of a table: there are no blocks in it.
var cells = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(inlineParsers()...),
	)
})

func inlineParsers() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(emphasisParser{}, 500),
		util.Prioritized(strikeParser{}, 500),
	}
}

// An emphasisParser reads *text* and **text**. The rule by which a mark opens or closes looks at blanks and punctuation around it, which
// wide scripts do not put between words: in "**注意：**请" the second mark would not close. So beside wide characters a mark may do both.
type emphasisParser struct{}

func (emphasisParser) Trigger() []byte { return []byte{'*', '_'} }

func (emphasisParser) Parse(_ ast.Node, block text.Reader, context parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 1, emphases{})
	if node == nil {
		return nil
	}
	after, _ := utf8.DecodeRune(line[node.OriginalLength:])
	if node.Char == '*' && (isWide(before) || isWide(after)) {
		node.CanOpen = node.OriginalLength < len(line) && !util.IsSpaceRune(after)
		node.CanClose = !util.IsSpaceRune(before)
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	context.PushDelimiter(node)
	return node
}

// isWide tells the characters of Chinese, Japanese and Korean, with their punctuation.
func isWide(r rune) bool { return r >= 0x2e80 && r != utf8.RuneError }

type emphases struct{}

func (emphases) IsDelimiter(b byte) bool { return b == '*' || b == '_' }
func (emphases) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}
func (emphases) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }

// struck is the level of emphasis that stands for text that is struck out.
const struck = 3

// A strikeParser reads ~~text~~.
type strikeParser struct{}

func (strikeParser) Trigger() []byte { return []byte{'~'} }

func (strikeParser) Parse(_ ast.Node, block text.Reader, context parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, strikes{})
	if node == nil || node.OriginalLength > 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	context.PushDelimiter(node)
	return node
}

type strikes struct{}

func (strikes) IsDelimiter(b byte) bool { return b == '~' }
func (strikes) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}
func (strikes) OnMatch(int) ast.Node { return ast.NewEmphasis(struck) }

// inline is the text of a block, painted. Lines end where the source lines end: writers for terminals mean them.
func (b *blocks) inline(parent ast.Node, style theme.Style) string {
	var out strings.Builder
	b.write(&out, parent, style)
	return strings.TrimRight(out.String(), "\n")
}

func (b *blocks) write(out *strings.Builder, parent ast.Node, style theme.Style) {
	t := b.c.Theme
	var run strings.Builder // texts that follow each other: an address may go over several of them
	flush := func() {
		if run.Len() > 0 {
			b.text(out, resolved(run.String()), style)
			run.Reset()
		}
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if piece, ok := n.(*ast.Text); ok {
			run.Write(piece.Segment.Value(b.source))
			if piece.SoftLineBreak() || piece.HardLineBreak() {
				flush()
				out.WriteByte('\n')
			}
			continue
		}
		flush()
		switch n := n.(type) {
		case *ast.String:
			b.text(out, resolved(string(n.Value)), style)
		case *ast.CodeSpan:
			out.WriteString(style.With(t.Code).Paint(b.raw(n)))
		case *ast.Emphasis:
			b.write(out, n, style.With([]theme.Style{t.Italic, t.Italic, t.Strong, t.Strike}[min(n.Level, struck)]))
		case *ast.Link:
			b.link(out, n, string(n.Destination), style)
		case *ast.AutoLink:
			b.text(out, string(n.Label(b.source)), style)
		case *ast.Image:
			out.WriteString(t.Faint.Paint("["))
			b.link(out, n, string(n.Destination), style)
			out.WriteString(t.Faint.Paint("]"))
		default:
			b.write(out, n, style)
		}
	}
	flush()
}

// raw is text in which no sign has a meaning.
func (b *blocks) raw(n ast.Node) string {
	var out strings.Builder
	for piece := n.FirstChild(); piece != nil; piece = piece.NextSibling() {
		if piece, ok := piece.(*ast.Text); ok {
			out.Write(piece.Segment.Value(b.source))
		}
	}
	return strings.ReplaceAll(out.String(), "\n", " ")
}

// link draws a link. Where the terminal cannot lead to it, the address is shown.
func (b *blocks) link(out *strings.Builder, n ast.Node, address string, style theme.Style) {
	t := b.c.Theme
	var label strings.Builder
	inner := blocks{c: b.c, source: b.source}
	plainTheme := *t
	plainTheme.Links = false // no link inside a link
	inner.c.Theme = &plainTheme
	inner.write(&label, n, style.With(t.Link))
	address = screen.OneLine(html.UnescapeString(address))
	shown := label.String()
	if shown == "" {
		shown = style.With(t.Link).Paint(address)
	}
	linked := t.Hyperlink(address, shown)
	out.WriteString(linked)
	if linked == shown && address != "" && !strings.Contains(shown, address) {
		out.WriteString(t.Faint.Paint(" (" + address + ")"))
	}
}

// text writes plain text, in which addresses become links.
func (b *blocks) text(out *strings.Builder, s string, style theme.Style) {
	for {
		at := strings.Index(s, "http")
		for at >= 0 && !strings.HasPrefix(s[at:], "http://") && !strings.HasPrefix(s[at:], "https://") {
			next := strings.Index(s[at+4:], "http")
			if next < 0 {
				at = -1
				break
			}
			at += 4 + next
		}
		if at < 0 {
			out.WriteString(style.Paint(s))
			return
		}
		end := at + addressLen(s[at:])
		out.WriteString(style.Paint(s[:at]))
		out.WriteString(b.c.Theme.Hyperlink(s[at:end], style.With(b.c.Theme.Link).Paint(s[at:end])))
		s = s[end:]
		if s == "" {
			return
		}
	}
}

// addressLen is how far an address in plain text goes: marks at its end belong to the sentence.
func addressLen(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("<>\"`|\\^{}", r) || r >= 0x3000 && r < 0x3100 || r >= 0xff00
	})
	if end < 0 {
		end = len(s)
	}
	address := strings.TrimRight(s[:end], ".,;:!?'*_")
	if strings.HasSuffix(address, ")") && !strings.Contains(address, "(") {
		address = strings.TrimRight(address, ").,;:!?")
	}
	return len(address)
}

// resolved takes the meaning out of escapes and entities. What comes out of an entity is as foreign as the rest.
func resolved(s string) string {
	if !strings.ContainsAny(s, "\\&") {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			out.WriteByte(s[i])
		case c == '&':
			end := strings.IndexByte(s[i:min(len(s), i+32)], ';')
			if end < 0 {
				out.WriteByte(c)
				continue
			}
			out.WriteString(screen.OneLine(html.UnescapeString(s[i : i+end+1])))
			i += end
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
