#!/bin/sh
# Installs what the tests need besides Go: a C compiler for the race detector, git, bash, tmux, gopls,
# and the official clients that drive gofer.
# It does nothing where all of it is there, and says what is missing where it cannot install.
set -eu

packages() {
	missing=""
	need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
	need git git
	need bash bash
	need cc gcc
	need tmux tmux
	need python3 python3
	need node nodejs
	need npm npm
	[ -n "$missing" ] || return 0
	sudo=""
	[ "$(id -u)" = 0 ] || sudo="sudo"
	if command -v apt-get >/dev/null 2>&1; then
		$sudo apt-get update -qq
		# shellcheck disable=SC2086
		DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq $missing libc6-dev
	elif command -v brew >/dev/null 2>&1; then
		# shellcheck disable=SC2086
		brew install $missing
	else
		echo "test/tools.sh: please install:$missing" >&2
		exit 1
	fi
}

# The language server that the tests of language servers talk to.
language_server() {
	command -v gopls >/dev/null 2>&1 && return 0
	bin="$(go env GOPATH)/bin"
	[ -x "$bin/gopls" ] || CGO_ENABLED=0 GOBIN="$bin" go install golang.org/x/tools/gopls@v0.21.0
}

# The clients are JavaScript, at the exact versions of their lock files. They run no scripts of their own when they are installed.
clients() {
	for lock in "$(dirname "$0")"/*/package-lock.json; do
		dir=$(dirname "$lock")
		cmp -s "$lock" "$dir/node_modules/.installed" && continue
		(cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
		cp "$lock" "$dir/node_modules/.installed"
	done
}

packages
language_server
clients
