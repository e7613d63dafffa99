# gofer: build, try and test. Everything needs Go; `make test` installs what else the tests need.
GO      ?= go
BIN     := bin/gofer
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X gofer/internal/app.Version=$(VERSION)

export CGO_ENABLED = 0

.PHONY: build demo test check race cross bench bench-peers tools clean

build: ## the binary, in bin/
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/gofer

demo: build ## the main job, with the built-in scripted model: no key, no network
	@$(BIN) demo

test: tools check cross race ## all that must hold before a change lands

tools: ## what the tests need besides Go
	@./test/tools.sh

check: ## format, vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'ed:" $$unformatted; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

cross: ## it builds where it has to
	GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/gofer
	GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/gofer

race: ## the suite, with the race detector
	CGO_ENABLED=1 $(GO) test -race ./...

bench: build ## figures and ratios, never a pass or fail
	$(GO) run ./bench

bench-peers: build ## the same for the CLIs a user would pick instead, side by side
	$(GO) run ./bench -peers

clean:
	rm -rf bin
