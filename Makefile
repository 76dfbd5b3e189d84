# Autonous: `make run` starts everything, `make test` checks everything.
#
# `make run` builds without optimisation on purpose: from a clean clone the first reply is a few minutes away,
# not a quarter of an hour. Measurements and the image use the release profile.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
PROGRAMS := -p supervisor -p agent-worker -p tool-server

# Names each missing program of a list of `program` or `program:package`, and the command that installs it; fails if there is one.
define require
	@missing=; \
	lacks() { \
		command -v "$$1" >/dev/null 2>&1 && return; \
		missing=yes; \
		printf '%s is missing. Install it with:\n    %s\n' "$$1" "$$2"; \
	}; \
	lacks cargo "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"; \
	lacks cc 'sudo apt-get install build-essential'; \
	lacks bash 'sudo apt-get install bash'; \
	for entry in $(1); do lacks "$${entry%%:*}" "sudo apt-get install $${entry##*:}"; done; \
	test -z "$$missing"
endef

.PHONY: help
help: ## Show what there is to do
	@printf 'Autonous\n\n'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'
	@printf '\nSettings and operation: docs/operations.md\n'

.PHONY: run
run: ## Build and start everything; it says what to try next
	$(call require,)
	@printf 'Building; from a clean clone this takes a few minutes.\n'
	@$(CARGO) build --locked $(PROGRAMS) --bins
	@exec $(TARGET)/debug/supervisor run --print-next-steps

.PHONY: test
test: ## Check format and lints, and run all tests
	$(call require,git curl jq chromium python3 perl node:nodejs rg:ripgrep fdfind:fd-find)
	$(CARGO) build --locked --workspace --bins
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --locked --workspace --no-fail-fast; \
	else \
		$(CARGO) test --locked --workspace; \
	fi

.PHONY: bench
bench: ## Measure speed and memory (release profile; the first build takes long)
	$(call require,)
	$(CARGO) build --locked --release $(PROGRAMS) -p bench --bins
	@$(TARGET)/release/bench

.PHONY: soak
soak: ## Huge files, odd trees, floods and daemons (6 GB and a million files in TMPDIR, ten minutes)
	$(call require,)
	$(CARGO) build --locked -p tool-server -p e2e --bins
	@$(TARGET)/debug/soak
	@$(TARGET)/debug/floods

.PHONY: crash
crash: ## 300 random kills while 20 chats write, and what was lost (five minutes; SEED=N repeats its choices)
	$(call require,)
	$(CARGO) build --locked $(PROGRAMS) -p e2e --bins
	@$(TARGET)/debug/crash $(SEED)

.PHONY: mocks
mocks: ## Foreign model servers, if LLMOCK and AIMOCK name them: docs/model-servers.md (four minutes)
	$(call require,)
	$(CARGO) build --locked $(PROGRAMS) -p e2e --bins
	@$(TARGET)/debug/mocks

.PHONY: openapi
openapi: ## Write openapi/tool-server.json anew
	$(CARGO) run --quiet --locked -p tool-server -- openapi > $(TARGET)/openapi.json
	@mv $(TARGET)/openapi.json openapi/tool-server.json

.PHONY: docs
docs: ## Write the generated parts of docs/ anew
	UPDATE_DOCS=1 $(CARGO) test --quiet --locked -p e2e --test e2e docs::
	UPDATE_DOCS=1 $(CARGO) test --quiet --locked -p tool-server --test server command_policy::
