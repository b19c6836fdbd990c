# Worksite: `make run` builds and opens it, `make test` checks everything.
# `make help` lists the rest.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOFLAGS_ := -trimpath -ldflags "-s -w -X worksite/backend/config.Version=$(VERSION)"
comma := ,
# The window; webkit2_41 is the WebKitGTK that Debian and Ubuntu carry now.
WINDOW_TAGS := desktop,production$(if $(filter Linux,$(shell uname -s)),$(comma)webkit2_41)
GOLANGCI := go tool -modfile=build/tools/go.mod golangci-lint
DEADCODE := go tool -modfile=build/tools/go.mod deadcode
STEP     := build/step.sh

PAGE_SOURCES := $(shell find frontend/src frontend/public -type f 2>/dev/null) frontend/index.html frontend/vite.config.ts frontend/svelte.config.js frontend/tsconfig.json

##@ Use it

.PHONY: run
run: ## build what changed and open the window (without a display: serve the page)
	@build/setup.sh run
	@$(MAKE) build
	@if [[ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" || "$$(uname -s)" != Linux ]]; then \
	  exec bin/worksite-desktop; \
	else \
	  echo "There is no display here, so the window cannot open. Serving the page instead; open this address in a browser:"; \
	  exec bin/worksite serve; \
	fi

.PHONY: demo
demo: ## the whole sample job in the terminal, with the recorded practice model
	@build/setup.sh run
	@$(MAKE) bin/worksite
	@home=$$(mktemp -d); trap 'rm -rf "$$home"' EXIT; WORKSITE_HOME="$$home" bin/worksite demo

.PHONY: build
build: bin/worksite bin/worksite-desktop ## both binaries in bin/

.PHONY: setup
setup: ## install what building and testing needs, by package name
	@build/setup.sh test

##@ Change it

.PHONY: generate
generate: ## write the generated files again
	go generate ./...

.PHONY: fmt
fmt: frontend/node_modules/.package-lock.json ## format everything
	$(GOLANGCI) fmt
	cd frontend && npx prettier --log-level warn --write .

.PHONY: lint
lint: frontend/node_modules/.package-lock.json ## formatting, linters, dead code, shell scripts
	$(GOLANGCI) config verify
	$(GOLANGCI) run
	build/deadcode.sh
	shellcheck build/*.sh .ci/run
	cd frontend && npm run --silent check && npm run --silent lint

.PHONY: vet-cross
vet-cross: ## vet for macOS and Windows; cross-build for Windows where MinGW is installed
	build/vet-cross.sh
	@if command -v x86_64-w64-mingw32-gcc >/dev/null; then \
	  CGO_ENABLED=1 GOOS=windows GOARCH=amd64 CC=x86_64-w64-mingw32-gcc go build $(GOFLAGS_) -o bin/worksite.exe ./backend/cmd/worksite; \
	  echo "vet-cross: bin/worksite.exe was built with MinGW"; \
	else echo "vet-cross: skipped: the Windows cross-build, MinGW is not installed"; fi

##@ Check it

.PHONY: test
test: ## everything, from a clean clone; what CI runs
	@$(STEP) "setup" build/setup.sh test
	@$(STEP) "page" $(MAKE) frontend/dist/index.html
	@$(STEP) "generated files are fresh" build/fresh.sh
	@$(STEP) "lint" $(MAKE) lint
	@$(STEP) "Go" $(MAKE) test-go
	@$(STEP) "page: unit tests" $(MAKE) test-ui
	@$(STEP) "macOS and Windows" $(MAKE) vet-cross
	@$(STEP) "page in Chromium" $(MAKE) e2e
	@$(STEP) "real window" $(MAKE) window-smoke
	@echo && echo "Everything passed."

.PHONY: test-go
test-go: helper ## the Go tests, with the race detector
	go vet ./...
	go test -race -timeout 15m ./...
	cd verify && go test ./...

.PHONY: test-ui
test-ui: frontend/node_modules/.package-lock.json ## the page's unit tests
	cd frontend && npx vitest run

.PHONY: e2e
e2e: bin/worksite frontend/node_modules/.package-lock.json ## the page in Chromium, with axe
	cd frontend && npx playwright test

.PHONY: window-smoke
window-smoke: bin/worksite bin/worksite-desktop ## the real window under Xvfb
	WORKSITE_WINDOW=1 go test -count=1 -timeout 10m -v ./e2e/window

.PHONY: test-ollama
test-ollama: bin/worksite ## against a real Ollama, built from its module
	build/ollama-test.sh

.PHONY: bench
bench: bin/worksite ## the figures that the README claims, as ratios of one run
	go run ./backend/internal/bench -binary bin/worksite

.PHONY: bench-ui
bench-ui: bin/worksite frontend/node_modules/.package-lock.json ## what is felt in the page, measured in Chromium
	cd frontend && npx playwright test --config e2e/bench/playwright.config.ts

.PHONY: soak
soak: helper ## the crash tests at length: power cuts, kills at every write, flipped bits, eight writers
	@build/soak.sh

.PHONY: screenshots
screenshots: bin/worksite frontend/node_modules/.package-lock.json ## docs/images, light and dark
	cd frontend && npx playwright test --config e2e/screenshots/playwright.config.ts

##@ Rest

.PHONY: clean
clean: ## remove what was built
	rm -rf bin frontend/node_modules frontend/test-results frontend/playwright-report e2e/window/out
	find frontend/dist -mindepth 1 ! -name .gitkeep -delete

.PHONY: help
help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The files. Go's own cache decides what is compiled, so the binaries are always asked for.

frontend/node_modules/.package-lock.json: frontend/package-lock.json
	cd frontend && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

frontend/dist/index.html: frontend/node_modules/.package-lock.json $(PAGE_SOURCES)
	cd frontend && npx vite build --logLevel warn
	@touch frontend/dist/.gitkeep $@

# Process 1 of the Linux sandbox, embedded into both; the script keeps an unchanged one.
.PHONY: helper
helper:
	@build/sandbox-helper.sh

bin/worksite: frontend/dist/index.html helper
	@mkdir -p bin
	go build $(GOFLAGS_) -o $@ ./backend/cmd/worksite

bin/worksite-desktop: frontend/dist/index.html helper
	@mkdir -p bin
	go build $(GOFLAGS_) -tags $(WINDOW_TAGS) -o $@ .
