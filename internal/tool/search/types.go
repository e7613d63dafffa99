package search

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// typeTable names kinds of files and the file names that belong to each, by the names that ripgrep knows.
const typeTable = `agda: *.agda *.lagda
asciidoc: *.adoc *.asc *.asciidoc
asm: *.S *.asm *.s
astro: *.astro
awk: *.awk
bazel: *.BUILD *.bazel *.bazelrc *.bzl BUILD WORKSPACE
c: *.[chH] *.[chH].in *.cats
cabal: *.cabal
clojure: *.clj *.cljc *.cljs *.cljx
cmake: *.cmake CMakeLists.txt
coffeescript: *.coffee
config: *.cfg *.conf *.config *.ini
cpp: *.[ChH] *.[ChH].in *.[ch]pp *.[ch]pp.in *.[ch]xx *.[ch]xx.in *.cc *.cc.in *.hh *.hh.in *.inl
crystal: *.cr Projectfile
cs: *.cs
csharp: *.cs
css: *.css *.scss
csv: *.csv
cython: *.pxd *.pxi *.pyx
d: *.d
dart: *.dart
diff: *.diff *.patch
docker: *Dockerfile* *.dockerfile
elisp: *.el
elixir: *.eex *.ex *.exs
elm: *.elm
env: .env .env.*
erb: *.erb
erlang: *.erl *.hrl
fish: *.fish
fortran: *.F *.F77 *.F90 *.F95 *.f *.f77 *.f90 *.f95 *.pfo
fsharp: *.fs *.fsi *.fsx
gn: *.gn *.gni
go: *.go
gomod: go.mod go.sum go.work
gradle: *.gradle
graphql: *.graphql *.gql *.graphqls
groovy: *.gradle *.groovy
h: *.h *.hpp
haml: *.haml
haskell: *.c2hs *.cpphs *.hs *.hsc *.lhs
hcl: *.hcl
html: *.ejs *.htm *.html
java: *.java *.jsp *.jspx *.properties
jinja: *.j2 *.jinja *.jinja2
js: *.js *.jsx *.mjs *.cjs *.vue
json: *.json *.jsonc *.json5 composer.lock
jsonl: *.jsonl
jsx: *.jsx
julia: *.jl
jupyter: *.ipynb *.jpynb
kotlin: *.kt *.kts
less: *.less
license: *[.-]LICEN[CS]E* AGPL-*[0-9]* APACHE-*[0-9]* BSD-*[0-9]* CC-BY-* COPYING COPYING[.-]* COPYRIGHT COPYRIGHT[.-]* EULA EULA[.-]* GFDL-*[0-9]* GNU-*[0-9]* GPL-*[0-9]* LGPL-*[0-9]* LICEN[CS]E LICEN[CS]E[.-]* MIT-*[0-9]* MPL-*[0-9]* NOTICE NOTICE[.-]* OFL-*[0-9]* PATENTS PATENTS[.-]* UNLICEN[CS]E UNLICEN[CS]E[.-]* agpl[.-]* gpl[.-]* lgpl[.-]* licen[cs]e licen[cs]e.*
lisp: *.el *.jl *.lisp *.lsp *.sc *.scm
lock: *.lock package-lock.json
log: *.log
lua: *.lua
m4: *.ac *.m4
make: *.mak *.mk [Gg][Nn][Uu]makefile [Gg][Nn][Uu]makefile.am [Gg][Nn][Uu]makefile.in [Mm]akefile [Mm]akefile.am [Mm]akefile.in
man: *.[0-9][cEFMmpSx] *.[0-9lnpx]
markdown: *.md *.mdx *.markdown *.mdown *.mkdn
matlab: *.m
md: *.md *.mdx *.markdown *.mdown *.mkdn
mdx: *.mdx
meson: meson.build meson_options.txt
ml: *.ml
nim: *.nim *.nimble *.nimf *.nims
nix: *.nix
objc: *.h *.m
objcpp: *.h *.mm
ocaml: *.ml *.mli *.mll *.mly
org: *.org *.org_archive
pascal: *.dpr *.inc *.lpr *.pas *.pp
perl: *.PL *.perl *.pl *.plh *.plx *.pm *.t
php: *.php *.php3 *.php4 *.php5 *.phtml
po: *.po
prisma: *.prisma
proto: *.proto
protobuf: *.proto
ps: *.cdxml *.ps1 *.ps1xml *.psd1 *.psm1
puppet: *.erb *.pp *.rb
py: *.py *.pyi
qml: *.qml
r: *.R *.Rmd *.Rnw *.r
racket: *.rkt
readme: *README README*
rst: *.rst
ruby: *.gemspec *.rb *.rbw .irbrc Gemfile Rakefile config.ru
rust: *.rs
sass: *.sass *.scss
scala: *.sbt *.scala
sh: *.bash *.bashrc *.csh *.cshrc *.ksh *.kshrc *.sh *.tcsh *.zsh .bash_login .bash_logout .bash_profile .bashrc .cshrc .kshrc .login .logout .profile .tcshrc .zlogin .zlogout .zprofile .zshenv .zshrc bash_login bash_logout bash_profile bashrc profile zlogin zlogout zprofile zshenv zshrc
slim: *.skim *.slim *.slime
sml: *.sig *.sml
solidity: *.sol
spec: *.spec
sql: *.psql *.sql
stylus: *.styl
sv: *.h *.sv *.svh *.v *.vg
svelte: *.svelte
svg: *.svg
swift: *.swift
systemd: *.automount *.conf *.device *.link *.mount *.path *.scope *.service *.slice *.socket *.swap *.target *.timer
tcl: *.tcl
terraform: *.tf *.tfvars *.tf.json
tex: *.bib *.cls *.dtx *.ins *.ltx *.sty *.tex
textile: *.textile
tf: *.tf *.tfvars *.tf.json
thrift: *.thrift
toml: *.toml Cargo.lock
ts: *.ts *.tsx *.mts *.cts
tsx: *.tsx
twig: *.twig
txt: *.txt
vala: *.vala
vb: *.vb
verilog: *.sv *.svh *.v *.vh
vhdl: *.vhd *.vhdl
vim: *.vim
vue: *.vue
webidl: *.idl *.webidl *.widl
xml: *.dtd *.rng *.sch *.xhtml *.xjb *.xml *.xml.dist *.xsd *.xsl *.xslt
yacc: *.y
yaml: *.yaml *.yml
zig: *.zig
zsh: *.zsh .zlogin .zlogout .zprofile .zshenv .zshrc zlogin zlogout zprofile zshenv zshrc`

// typeAliases are other names that people use.
const typeAliases = `bash sh
c# cs
c++ cpp
cc cpp
dockerfile docker
erl erlang
ex elixir
exs elixir
f# fsharp
golang go
hpp cpp
hs haskell
htm html
javascript js
kt kotlin
makefile make
objective-c objc
pl perl
powershell ps
python py
rb ruby
rs rust
scss css
shell sh
text txt
typescript ts
yml yaml`

var fileTypes = sync.OnceValue(func() map[string][]string {
	types := make(map[string][]string)
	for line := range strings.Lines(typeTable) {
		name, globs, _ := strings.Cut(strings.TrimSpace(line), ": ")
		types[name] = strings.Fields(globs)
	}
	for line := range strings.Lines(typeAliases) {
		alias, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		types[alias] = types[name]
	}
	return types
})

// typeGlobs returns the file names of a type.
func typeGlobs(name string) ([]string, error) {
	types := fileTypes()
	name = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), "."))
	if globs, ok := types[name]; ok {
		return globs, nil
	}
	all := make([]string, 0, len(types))
	for t := range types {
		all = append(all, t)
	}
	slices.Sort(all)
	advice := fmt.Sprintf("use glob instead, such as *.%s", name)
	if near := nearest(name, all, 3); len(near) > 0 {
		advice = fmt.Sprintf("did you mean %s? Or %s", strings.Join(near, ", "), advice)
	}
	return nil, fmt.Errorf("there is no file type %q: %s", name, advice)
}

// splitTypes splits a list of types at commas and spaces.
func splitTypes(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
