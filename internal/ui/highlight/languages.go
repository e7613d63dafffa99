package highlight

// grammars are the languages made of words, by all their names; the first is the language's own.
func grammars() map[string]grammar {
	slashes := []string{"//"}
	hashes := []string{"#"}
	c := []quote{cBlock}
	triple := quote{open: `"""`, close: `"""`, escape: '\\', lines: true}
	script := grammar{
		keywords: "async await break case catch class const continue debugger default delete do else export extends finally for from function get if import in instanceof let new of " +
			"return set static super switch this throw try typeof var void while with yield abstract as asserts declare enum implements infer interface is keyof namespace private " +
			"protected public readonly satisfies type unique override",
		types:     "any bigint boolean never number object string symbol unknown Array Map Promise Record Set Date Error RegExp Partial",
		constants: "true false null undefined NaN Infinity",
		lines:     slashes, blocks: c, strings: []quote{double, single, {open: "`", close: "`", escape: '\\', lines: true}},
		letters: "$", sigils: "@", regexps: true, tags: true,
	}
	return map[string]grammar{
		"go golang": {
			keywords:  "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var",
			types:     "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr",
			constants: "true false nil iota", lines: slashes, blocks: c, strings: []quote{double, single, back},
		},
		"python py pyi python3 pyw": {
			keywords:  "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
			types:     "bool bytes dict float frozenset int list object set str tuple type self cls",
			constants: "True False None", lines: hashes, sigils: "@", prefixes: "rbfuRBFU",
			strings: []quote{triple, {open: "'''", close: "'''", escape: '\\', lines: true}, double, single},
		},
		"javascript js jsx mjs cjs node": script,
		"typescript ts tsx mts cts":      script,
		"bash sh shell zsh console ksh fish shellscript shell-session": {
			keywords: "if then else elif fi for in do done while until case esac function select return exit break continue local export readonly declare unset shift source alias set trap eval exec time",
			lines:    hashes, wordy: true, shell: true, letters: "-", sigils: "$",
			strings: []quote{{open: `"`, close: `"`, escape: '\\', lines: true}, {open: "'", close: "'", lines: true}},
		},
		"c h": {
			keywords:  "auto break case const continue default do else enum extern for goto if inline register restrict return sizeof static struct switch typedef union volatile while _Static_assert",
			types:     "bool char double float int long short signed size_t ssize_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t unsigned void FILE",
			constants: "NULL true false", lines: slashes, blocks: c, strings: []quote{double, single}, hash: true,
		},
		"cpp c++ cc cxx hpp hh hxx ino cuda cu objectivec objc m mm": {
			keywords: "alignas auto break case catch class co_await co_return co_yield concept const consteval constexpr constinit const_cast continue decltype default delete do dynamic_cast else enum explicit " +
				"export extern final for friend goto if inline mutable namespace new noexcept operator override private protected public register reinterpret_cast requires return sizeof static " +
				"static_assert static_cast struct switch template this thread_local throw try typedef typeid typename union using virtual volatile while",
			types:     "bool char char8_t char16_t char32_t double float int long short signed size_t std string unsigned vector void wchar_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t",
			constants: "NULL nullptr true false", lines: slashes, blocks: c, strings: []quote{{open: `R"(`, close: `)"`, lines: true}, double, single}, hash: true,
		},
		"java": {
			keywords: "abstract assert break case catch class continue default do else enum extends final finally for if implements import instanceof interface native new package permits private protected " +
				"public record return sealed static strictfp super switch synchronized this throw throws transient try var volatile when while yield",
			types: "boolean byte char double float int long short void", constants: "true false null",
			lines: slashes, blocks: c, strings: []quote{triple, double, single}, sigils: "@", upper: true,
		},
		"kotlin kt kts": {
			keywords: "abstract as break by catch class companion const constructor continue crossinline data do else enum expect external final finally for fun get if import in infix init inline inner interface " +
				"internal is lateinit noinline object open operator out override package private protected public reified return sealed set super suspend tailrec this throw try typealias val var vararg when where while",
			constants: "true false null", lines: slashes, blocks: c, nested: true, strings: []quote{triple, double, single}, sigils: "@", upper: true,
		},
		"swift": {
			keywords: "actor any as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough fileprivate for func guard if import in init inout internal is " +
				"lazy let mutating open operator override private protocol public repeat rethrows return self some static struct subscript super switch throw throws try typealias unowned var weak where while",
			constants: "true false nil", lines: slashes, blocks: c, nested: true, strings: []quote{triple, double}, sigils: "@#", upper: true,
		},
		"rust rs": {
			keywords:  "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self static struct super trait type union unsafe use where while",
			types:     "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize Self",
			constants: "true false", lines: slashes, blocks: c, nested: true, upper: true, rust: true,
			strings: []quote{{open: `r#"`, close: `"#`, lines: true}, {open: `"`, close: `"`, escape: '\\', lines: true}, single},
		},
		"csharp cs c#": {
			keywords: "abstract as async await base break case catch checked class const continue default delegate do else enum event explicit extern finally fixed for foreach get goto if implicit in init interface " +
				"internal is lock namespace new operator out override params private protected public readonly record ref return sealed set sizeof stackalloc static struct switch this throw try typeof unchecked unsafe using var virtual volatile when where while yield",
			types: "bool byte char decimal double dynamic float int long object sbyte short string uint ulong ushort void", constants: "true false null",
			lines: slashes, blocks: c, strings: []quote{triple, {open: `@"`, close: `"`, lines: true}, double, single}, prefixes: "$", letters: "$", upper: true, hash: true,
		},
		"scala sc": {
			keywords:  "abstract case catch class def do else enum export extends final finally for forSome given if implicit import lazy match new object override package private protected return sealed super then this throw trait try type using val var while with yield",
			constants: "true false null", lines: slashes, blocks: c, nested: true, strings: []quote{triple, double, single}, sigils: "@", upper: true,
		},
		"dart": {
			keywords: "abstract as assert async await break case catch class const continue covariant default deferred do else enum export extends extension external factory final finally for get if implements import in interface is late library mixin new of on operator part required rethrow return sealed set static super switch sync this throw try typedef var when while with yield",
			types:    "bool double dynamic int num void", constants: "true false null", lines: slashes, blocks: c, strings: []quote{triple, double, single}, sigils: "@", upper: true,
		},
		"php": {
			keywords: "abstract and array as break callable case catch class clone const continue declare default do echo else elseif enum extends final finally fn for foreach function global goto if implements " +
				"include include_once instanceof insteadof interface isset list match namespace new or print private protected public readonly require require_once return static switch throw trait try unset use var while xor yield",
			types: "bool float int iterable mixed never object self string void", constants: "true false null TRUE FALSE NULL",
			lines: []string{"//", "#"}, blocks: c, sigils: "$", upper: true,
			strings: []quote{{open: `"`, close: `"`, escape: '\\', lines: true}, {open: "'", close: "'", escape: '\\', lines: true}},
		},
		"ruby rb gemspec rake": {
			keywords:  "alias and begin break case class def defined? do else elsif end ensure extend for if in include module next not or private protected public raise redo require require_relative rescue retry return self super then undef unless until when while yield attr_accessor attr_reader",
			constants: "true false nil", lines: hashes, blocks: []quote{{open: "=begin", close: "=end", lines: true}},
			strings: []quote{double, single, back}, sigils: "@$", letters: "?", regexps: true, upper: true,
		},
		"perl pl pm": {
			keywords: "and cmp continue do else elsif eq eval foreach for ge gt if last le local lt my ne next no not or our package redo require return sub unless until use while",
			lines:    hashes, strings: []quote{double, single}, sigils: "$@%", wordy: true,
		},
		"lua": {
			keywords:  "and break do else elseif end for function goto if in local not or repeat return then until while",
			constants: "true false nil", lines: []string{"--"}, blocks: []quote{{open: "--[[", close: "]]", lines: true}},
			strings: []quote{{open: "[[", close: "]]", lines: true}, double, single},
		},
		"sql mysql postgresql postgres sqlite plsql psql": {
			keywords: "add all alter analyze and as asc begin between by cascade case check column commit constraint create cross database default delete desc distinct drop else end except exists explain foreign from full " +
				"function grant group having if in index inner insert intersect into is join key lateral left like limit materialized not null offset on or order outer over partition primary procedure references replace returning revoke right " +
				"rollback select set table temporary then transaction trigger truncate union unique update using values view when where window with",
			types:     "bigint blob boolean bytea char date decimal double float int integer interval json jsonb numeric real serial smallint text time timestamp timestamptz uuid varchar",
			constants: "true false", anyCase: true, lines: []string{"--"}, blocks: c, strings: []quote{{open: "'", close: "'", lines: true}, double},
		},
		"haskell hs": {
			keywords: "as case class data deriving do else forall hiding if import in infix infixl infixr instance let module newtype of qualified then type where",
			lines:    []string{"--"}, blocks: []quote{{open: "{-", close: "-}", lines: true}}, nested: true, strings: []quote{double}, letters: "'", upper: true,
		},
		"elixir ex exs": {
			keywords:  "after and case catch cond def defmacro defmodule defp defstruct do else end fn for if import in not or quote raise receive rescue require unless use when with alias",
			constants: "true false nil", lines: hashes, strings: []quote{triple, double, single}, sigils: "@", upper: true,
		},
		"zig": {
			keywords: "align and anytype asm async await break catch comptime const continue defer else enum errdefer error export extern fn for if inline noalias or orelse packed pub resume return struct suspend switch test threadlocal try union unreachable usingnamespace var volatile while",
			types:    "bool f32 f64 i8 i16 i32 i64 isize type u8 u16 u32 u64 usize void", constants: "true false null undefined", lines: slashes, strings: []quote{double, single}, sigils: "@",
		},
		"r": {
			keywords: "break else for function if in next repeat return while library require", constants: "TRUE FALSE NULL NA Inf NaN",
			lines: hashes, strings: []quote{double, single}, letters: ".",
		},
		"protobuf proto": {
			keywords: "enum extend import message oneof option optional package public repeated required reserved returns rpc service stream syntax",
			types:    "bool bytes double fixed32 fixed64 float int32 int64 map sint32 sint64 string uint32 uint64", constants: "true false", lines: slashes, blocks: c, strings: []quote{double, single},
		},
		"graphql gql": {
			keywords: "directive enum extend fragment implements input interface mutation on query scalar schema subscription type union",
			types:    "Boolean Float ID Int String", constants: "true false null", lines: hashes, strings: []quote{triple, double}, sigils: "$@",
		},
		"terraform hcl tf nomad": {
			keywords: "data dynamic for for_each if in locals module output provider resource terraform variable", constants: "true false null",
			lines: []string{"#", "//"}, blocks: c, strings: []quote{double}, letters: "-",
		},
		"nix": {
			keywords: "assert else if import in inherit let or rec then with", constants: "true false null",
			lines: hashes, blocks: c, strings: []quote{{open: "''", close: "''", lines: true}, double}, letters: "-'",
		},
		"powershell ps1 pwsh psm1": {
			keywords: "begin break catch class continue do else elseif end enum exit filter finally for foreach function if in param process return switch throw trap try until using while",
			anyCase:  true, lines: hashes, blocks: []quote{{open: "<#", close: "#>", lines: true}}, strings: []quote{{open: `"`, close: `"`, escape: '`', lines: true}, {open: "'", close: "'", lines: true}}, sigils: "$", letters: "-",
		},
		"vim viml": {
			keywords: "augroup autocmd call else elseif endfor endfunction endif endwhile execute for function if let map nnoremap noremap return set while", strings: []quote{single}, lines: []string{`"`},
		},
		"clojure clj cljs edn lisp el scheme scm": {
			keywords: "def defmacro defn defun do fn if lambda let loop ns quote recur require setq when", constants: "true false nil",
			lines: []string{";"}, strings: []quote{{open: `"`, close: `"`, escape: '\\', lines: true}}, letters: "-?!*",
		},
	}
}
