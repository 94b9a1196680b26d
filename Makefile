# Every target is safe to run twice. Tools and the Python environment of the
# tests are built once under .cache, keyed by the files that pin them.

SHELL       := /bin/sh
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT      ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS     := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
GO          ?= go
GOFLAGS_ALL := -buildvcs=false
TOOLS       := .cache/bin
FUZZTIME    ?= 30s
PKG         ?= ./...

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build ./granary, one static file.
	CGO_ENABLED=0 $(GO) build $(GOFLAGS_ALL) -trimpath -ldflags '$(LDFLAGS)' -o granary ./cmd/granary

.PHONY: demo
demo: build ## Do the whole path on a year of flights, in .demo.
	$(GO) run $(GOFLAGS_ALL) ./examples/nycflights

.PHONY: test
test: python ## Run every test (PKG=./online/... for some).
	$(GO) test $(GOFLAGS_ALL) -timeout 30m $(PKG)

.PHONY: race
race: python ## Run every test under the race detector; needs a C compiler.
	CGO_ENABLED=1 $(GO) test $(GOFLAGS_ALL) -race -timeout 60m $(PKG)

.PHONY: lint
lint: tools ## Check formatting and every rule of .golangci.yml.
	$(TOOLS)/golangci-lint run $(PKG)

.PHONY: fmt
fmt: tools ## Format the code.
	$(TOOLS)/golangci-lint fmt

.PHONY: bench
bench: ## Run every benchmark in short form (some minutes); results are ratios.
	$(GO) run $(GOFLAGS_ALL) ./bench/lookup
	$(GO) run $(GOFLAGS_ALL) ./bench/online
	$(GO) run $(GOFLAGS_ALL) ./bench/offline
	$(GO) run $(GOFLAGS_ALL) ./bench/scan

.PHONY: bench-offline bench-online
bench-offline: ## The joins, ingest and scans over ten million rows (an hour).
	$(GO) run $(GOFLAGS_ALL) ./bench/offline -full
	$(GO) run $(GOFLAGS_ALL) ./bench/scan -full

bench-online: ## Lookups and materialization in full.
	$(GO) run $(GOFLAGS_ALL) ./bench/lookup -seconds 10
	$(GO) run $(GOFLAGS_ALL) ./bench/online -full

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME (30s) each.
	@set -e; for pkg in $$($(GO) list $(PKG)); do \
		for name in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$name"; \
			$(GO) test $(GOFLAGS_ALL) -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: soak
soak: python ## Kill, fuzz and randomize for longer; takes about an hour.
	GRANARY_KILL_ROUNDS=1000 $(GO) test $(GOFLAGS_ALL) -count=1 -timeout 60m -run Kill ./cmd/granary
	$(GO) test $(GOFLAGS_ALL) -count=1 -timeout 60m ./internal/metamorphic -seeds 300
	$(MAKE) fuzz FUZZTIME=1m

.PHONY: tools
tools: ## Build the Go tools that internal/tools pins.
	@./internal/tools/cache.sh tools >/dev/null

.PHONY: python
python: ## Build the Python environment of the cross-reading tests.
	@./internal/tools/cache.sh python >/dev/null

.PHONY: clean
clean: ## Remove what was built here, except .cache.
	rm -rf granary .demo bench/out
