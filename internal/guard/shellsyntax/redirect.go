package shellsyntax

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects returns the files that the redirections of s open. feed is the text of a here-document, when known.
func (a *analysis) redirects(s *syntax.Stmt, sc *scope) (files []File, feed *string) {
	for _, r := range s.Redirs {
		if r.Word != nil {
			a.inside(r.Word, sc)
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if r.Hdoc != nil {
				a.inside(r.Hdoc, sc)
				text := a.heredoc(r)
				feed = &text
			}
			continue
		case syntax.WordHdoc:
			text := a.one(r.Word, sc)
			feed = &text
			continue
		}
		target := string(AnyText)
		if lists := a.words(r.Word, sc); len(lists) == 1 && len(lists[0]) == 1 {
			target = lists[0][0].Pattern
		}
		switch r.Op {
		case syntax.DplIn, syntax.DplOut:
			if target == "-" || strings.Trim(target, "0123456789") == "" || strings.Trim(target, "0123456789") == "-" {
				continue
			}
			if r.Op == syntax.DplIn {
				files = a.file(files, File{Use: Read, Aside: true}, target, sc.dirs)
			} else {
				files = a.file(files, File{Use: Write, Aside: true}, target, sc.dirs)
			}
		case syntax.RdrIn:
			files = a.file(files, File{Use: Read, Aside: true}, target, sc.dirs)
		case syntax.RdrInOut:
			files = a.file(files, File{Use: Read, Aside: true}, target, sc.dirs)
			files = a.file(files, File{Use: Write, Aside: true}, target, sc.dirs)
		default:
			files = a.file(files, File{Use: Write, Aside: true}, target, sc.dirs)
		}
	}
	return files, feed
}

// heredoc is the text of a here-document, with unknown text where something is substituted.
func (a *analysis) heredoc(r *syntax.Redirect) string {
	var b strings.Builder
	for _, p := range r.Hdoc.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		} else {
			b.WriteByte(AnyText)
		}
	}
	return b.String()
}

// file appends f for target as seen from each of the folders where the command may run.
func (a *analysis) file(files []File, f File, target string, dirs []string) []File {
	switch {
	case target == "":
		return files
	case path.IsAbs(target):
		f.Path = target
		return append(files, f)
	case dirs == nil || target[0] == AnyText:
		f.Path = string(AnyText) + "/" + target
		if target[0] == AnyText {
			f.Path = target
		}
		return append(files, f)
	}
	for _, d := range dirs {
		f.Path = strings.TrimSuffix(d, "/") + "/" + target
		files = append(files, f)
	}
	return files
}
