package files

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"

	"gofer/internal/llm"
	"gofer/internal/tool"
)

const (
	wholePDFPages = 10      // a PDF of up to this many pages is sent whole, for the model to see
	wholePDFBytes = 3 << 20 // if it is not larger than this
	mostPDFPages  = 20      // of which the text is taken in one call
	largestPDF    = 256 << 20
	pdfPatience   = 20 * time.Second
)

func (k *kit) readPDF(ctx context.Context, b *body, in readIn) (tool.Result, error) {
	if b.size > largestPDF {
		return tool.Result{}, fmt.Errorf("%s is a PDF of %s, which is too large. Take the text out with Bash (pdftotext -f -l)", b.path, sizeText(b.size))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pdfPatience, errors.New("it takes too long"))
	defer cancel()
	doc, err := openPDF(ctx, b)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s is a PDF that cannot be read: %w", b.path, err)
	}
	if in.Pages != "" {
		return k.readPDFPages(ctx, b, doc, in)
	}
	if doc.pages > wholePDFPages || b.size > wholePDFBytes {
		return tool.Result{}, fmt.Errorf("%s has %d pages and %s, which is too much at once. Ask for a range with pages, such as \"1-%d\"; at most %d pages a time",
			b.path, doc.pages, sizeText(b.size), min(doc.pages, 5), mostPDFPages)
	}
	data, err := b.slice(0, b.size)
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", b.path, err)
	}
	encoded := base64.StdEncoding.EncodeToString(data)
	return tool.Result{
		Content: []llm.Block{
			llm.TextBlock(fmt.Sprintf("%s (PDF, %d pages, %s)", b.path, doc.pages, sizeText(b.size))),
			{Kind: llm.Document, Media: &llm.Media{Type: "base64", MediaType: "application/pdf", Data: encoded}},
		},
		Data:    map[string]any{"type": "pdf", "file": map[string]any{"filePath": k.abs(in.Path), "base64": encoded, "originalSize": b.size}},
		Display: tool.Display{Summary: fmt.Sprintf("Read a PDF (%d pages)", doc.pages)},
	}, nil
}

func (k *kit) readPDFPages(ctx context.Context, b *body, doc *pdfDoc, in readIn) (tool.Result, error) {
	first, last, err := parsePages(in.Pages, doc.pages)
	if err != nil {
		return tool.Result{}, fmt.Errorf("pages %q of %s: %w", in.Pages, b.path, err)
	}
	texts, err := doc.text(ctx, b.path, first, last)
	if err != nil {
		return tool.Result{}, fmt.Errorf("the text of %s cannot be taken out: %w", b.path, err)
	}
	var out strings.Builder
	for i, text := range texts {
		number := first + i
		text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
		if text == "" {
			text = "(no text on this page; it may be a picture. To see it, make an image of it with Bash, for example pdftoppm -png)"
		}
		entry := fmt.Sprintf("--- page %d of %d ---\n%s\n\n", number, doc.pages, text)
		if out.Len()+len(entry) > resultBudget {
			if i > 0 {
				fmt.Fprintf(&out, "[As much as fits into one result. To read on: pages=\"%d-%d\".]", number, last)
				break
			}
			entry = strings.ToValidUTF8(entry[:resultBudget], "") + "\n[The page is longer than fits into one result.]"
		}
		out.WriteString(entry)
	}
	result := tool.Text(strings.TrimSpace(out.String()))
	result.Data = map[string]any{"type": "parts", "file": map[string]any{"filePath": k.abs(in.Path), "originalSize": b.size, "count": len(texts)}}
	result.Display = tool.Display{Summary: fmt.Sprintf("Read pages %d to %d of %d", first, last, doc.pages)}
	return result, nil
}

// parsePages understands "3", "1-5" and "7-".
func parsePages(text string, total int) (first, last int, err error) {
	from, to, isRange := strings.Cut(strings.ReplaceAll(text, " ", ""), "-")
	first, err = strconv.Atoi(from)
	last = first
	if err == nil && isRange {
		if to == "" {
			last = min(total, first+mostPDFPages-1)
		} else {
			last, err = strconv.Atoi(to)
		}
	}
	switch {
	case err != nil || first < 1 || last < first:
		return 0, 0, errors.New("this is no range of pages; write \"3\" or \"1-5\"")
	case first > total:
		return 0, 0, fmt.Errorf("the file has %d pages only", total)
	case last-first >= mostPDFPages:
		return 0, 0, fmt.Errorf("at most %d pages can be read in one call", mostPDFPages)
	}
	return first, min(last, total), nil
}

// A pdfDoc is a PDF whose structure could be read.
type pdfDoc struct {
	reader *pdf.Reader
	pages  int
}

// openPDF reads the structure of a PDF. The library panics on some broken files and may not come to an end on others.
func openPDF(ctx context.Context, b *body) (*pdfDoc, error) {
	return patiently(ctx, func() (*pdfDoc, error) {
		r, err := pdf.NewReader(io.NewSectionReader(b, 0, b.size), b.size)
		if errors.Is(err, pdf.ErrInvalidPassword) {
			return nil, errors.New("it is protected by a password")
		}
		if err != nil {
			return nil, fmt.Errorf("it is damaged (%w)", err)
		}
		n := r.NumPage()
		if n < 1 {
			return nil, errors.New("it has no pages")
		}
		return &pdfDoc{r, n}, nil
	})
}

// text takes out the text of pages, by pdftotext where there is one: it knows far more about layout.
func (d *pdfDoc) text(ctx context.Context, path string, first, last int) ([]string, error) {
	if program, err := exec.LookPath("pdftotext"); err == nil {
		if texts, err := runPDFToText(ctx, program, path, first, last); err == nil {
			return texts, nil
		}
	}
	return patiently(ctx, func() ([]string, error) {
		var texts []string
		for n := first; n <= last; n++ {
			text, err := d.pageText(n)
			if err != nil {
				text = fmt.Sprintf("(the text of this page cannot be taken out: %v)", err)
			}
			texts = append(texts, text)
		}
		return texts, nil
	})
}

func (d *pdfDoc) pageText(n int) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it is damaged (%v)", r)
		}
	}()
	page := d.reader.Page(n)
	if page.V.IsNull() {
		return "", nil
	}
	return page.GetPlainText(nil)
}

func runPDFToText(ctx context.Context, program, path string, first, last int) ([]string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-enc", "UTF-8", "-layout", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), path, "-")
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	texts := strings.Split(strings.TrimSuffix(out.String(), "\f"), "\f")
	for len(texts) < last-first+1 {
		texts = append(texts, "")
	}
	return texts[:last-first+1], nil
}

// patiently runs work that may panic or hang. If it hangs it is left behind when ctx ends: it cannot be stopped, but holds nothing
// except memory.
func patiently[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if r := recover(); r != nil {
				o.err = fmt.Errorf("it is damaged (%v)", r)
			}
			done <- o
		}()
		o.value, o.err = work()
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
