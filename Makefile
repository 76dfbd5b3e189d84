# Autonous: `make run` starts everything, `make test` checks everything.
#
# `make run` builds without optimisation, so that a clean clone answers after a few minutes and not after a
# quarter of an hour. Measurements and the image use the release profile.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
PROGRAMS := -p command-line -p agent-worker -p tool-server
# The docs link to private items, too, for readers of the source.
RUSTDOC_LINTS := -D warnings -A rustdoc::private_intra_doc_links

.PHONY: help
help: ## List the targets
	@printf 'Autonous\n\n'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'
	@printf '\nAll documents: docs/README.md\n'

.PHONY: setup
setup: ## Install what `make run` and `make test` need and this machine lacks
	@./setup.sh test

.PHONY: run
run: ## Build and start everything, and print what to try next
	@./setup.sh run
	@printf 'Building. From a clean clone this takes a few minutes.\n'
	@$(CARGO) build --locked $(PROGRAMS) --bins
	@exec $(TARGET)/debug/supervisor run --print-next-steps

.PHONY: test
test: setup ## Check format, lints and docs, and run all tests
	@started=$$(date +%s); \
	$(MAKE) check || exit 1; \
	seconds=$$(($$(date +%s) - started)); \
	printf 'All checks passed in %d min %d s\n' $$((seconds / 60)) $$((seconds % 60))

.PHONY: check
# Most tests wait for something most of the time, so there are two for each core.
check:
	$(CARGO) build --locked --workspace --bins
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='$(RUSTDOC_LINTS)' $(CARGO) doc --quiet --locked --workspace --no-deps
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run --locked --workspace --no-fail-fast --test-threads $$(($$(nproc) * 2)) && \
		tests/postgres.sh $(CARGO) nextest run --locked --workspace --no-fail-fast -E 'package(store) or test(/^crash::/)'; \
	else \
		$(CARGO) test --locked --workspace --no-fail-fast && \
		tests/postgres.sh sh -c '$(CARGO) test --locked -p store --lib && $(CARGO) test --locked --workspace --test e2e crash::'; \
	fi

.PHONY: test-postgres
test-postgres: ## Run the tests of whole programs with their database on a PostgreSQL server (TESTS: some of them; 20 minutes)
	@./setup.sh test
	$(CARGO) build --locked --workspace --bins
	@CARGO='$(CARGO)' tests/whole_on_postgres.sh $(TESTS)

.PHONY: test-as-user
test-as-user: ## Run all tests as an ordinary user, after `make test` has built them as root (TESTS: some of them)
	@CARGO='$(CARGO)' tests/as_user.sh

.PHONY: bench
bench: ## Measure speed and memory (release profile; the first build is slow)
	@./setup.sh run
	$(CARGO) build --locked --release $(PROGRAMS) -p bench --bins
	@$(TARGET)/release/bench

.PHONY: peers
peers: ## Run the same work on programs that people compare this with, from PyPI and npm, in PEERS_DIR (two minutes)
	@./setup.sh run
	$(CARGO) build --locked --release $(PROGRAMS) --bins
	@python3 bench/peers/peers.py $(TARGET)/release $(or $(PEERS_DIR),$(TARGET)/peers)

.PHONY: first-answer
first-answer: ## Time the way from nothing to the first answer, and that of other programs (dist/; root; CLONE: seconds of make test-fresh; four minutes)
	@python3 bench/peers/first_answer.py $(or $(PEERS_DIR),$(TARGET)/peers)/first-answer $(if $(CLONE),--clone $(CLONE))

.PHONY: soak
soak: ## Try huge files, odd trees, floods and daemons (6 GB and two million files in TMPDIR, ten minutes)
	@./setup.sh test
	$(CARGO) build --locked -p tool-server -p e2e --bins
	@$(TARGET)/debug/soak
	@$(TARGET)/debug/floods

.PHONY: crash
crash: ## Kill random processes 300 times while 20 chats write, and count losses (five minutes; SEED, ROUNDS, WORKERS)
	@./setup.sh run
	$(CARGO) build --locked $(PROGRAMS) -p e2e --bins
	@SEED=$(SEED) ROUNDS=$(ROUNDS) WORKERS=$(WORKERS) $(TARGET)/debug/crash

.PHONY: nodes
nodes: ## Have three nodes answer 500 chats while one fault follows another (15 minutes; SEED, CHATS, MESSAGES, FAULTS, KINDS, SHARED)
	@./setup.sh test
	$(CARGO) build --locked $(PROGRAMS) -p e2e --bins
	@SEED=$(SEED) CHATS=$(CHATS) MESSAGES=$(MESSAGES) FAULTS=$(FAULTS) KINDS='$(KINDS)' SHARED=$(SHARED) \
		$(TARGET)/debug/nodes

.PHONY: crowd
crowd: ## Time what chats wait for each other, play a family, and hold a load for 20 minutes (15 more; MINUTES, PART)
	@./setup.sh test
	$(CARGO) build --locked $(PROGRAMS) -p e2e --bins
	@MINUTES=$(MINUTES) $(TARGET)/debug/crowd $(PART)

.PHONY: alerts
alerts: ## Cause each alert and wait for Prometheus, from Debian's packages, to fire it (PROMETHEUS: its directory; two minutes)
	@./setup.sh test
	$(CARGO) build --locked --workspace --bins
	@directory='$(PROMETHEUS)'; [ -n "$$directory" ] || directory=$$(tests/prometheus.sh $(TARGET)/prometheus); \
	$(TARGET)/debug/alerts "$$directory"

.PHONY: pictures
pictures: ## Take pictures of the bot's chats, with Chromium, into target/pictures (CHROMIUM; two minutes)
	@./setup.sh run
	$(CARGO) build --locked $(PROGRAMS) -p e2e --bins
	@$(TARGET)/debug/pictures $(TARGET)/pictures

.PHONY: mocks
mocks: ## Test with third-party model servers, if LLMOCK and AIMOCK name them: docs/model-servers.md (four minutes)
	@./setup.sh run
	$(CARGO) build --locked $(PROGRAMS) --bins
	@python3 tests/clients/mocks.py $(TARGET)/debug

.PHONY: small-model
small-model: ## Have a small model do ten tasks: MODEL_URL or MODEL_GGUF names it (an hour on one thread; docs/small-models.md)
	@./setup.sh run
	$(CARGO) build --locked $(PROGRAMS) --bins
	@python3 tests/clients/small_model.py $(TARGET)/debug

# Those that play whole chats. What they send and get is compared with the types of a library.
TELEGRAM_TESTS := telegram ask_user approvals:: family:: files:: gathering:: group_context:: incoming:: \
	languages:: progress:: schedules:: steering:: webhook:: words::

.PHONY: clients
clients: ## Try other people's clients, types, linters and SDKs, from PyPI and npm, in CLIENTS_DIR or a temporary directory
	$(CARGO) build --locked --workspace --bins
	@rm -rf $(TARGET)/telegram && mkdir $(TARGET)/telegram
	AUTONOUS_TEST_TELEGRAM_RECORD=$(abspath $(TARGET)/telegram) \
		$(CARGO) test --locked -p e2e --test e2e -- $(TELEGRAM_TESTS)
	@python3 tests/clients/clients.py $(TARGET)/debug $(TARGET)/telegram

# The same requests each time.
FUZZ ?= --seed 1 --max-examples 5

.PHONY: fuzz
fuzz: ## Send the tool server requests that its document allows and others, with schemathesis from PyPI (FUZZ: its options)
	@./setup.sh run
	$(CARGO) build --locked --workspace --bins
	@python3 tests/clients/fuzz.py $(TARGET)/debug $(TARGET)/schemathesis $(FUZZ)

.PHONY: image
image: ## Build the images autonous, autonous:full and autonous:tool-server with docker, podman or buildah (TARGETS, ENGINE)
	@ENGINE='$(ENGINE)' image/build.sh $(TARGETS)

.PHONY: image-test
image-test: ## Start the images as an engine does, and use them from outside (docker or podman; two minutes)
	@ENGINE='$(ENGINE)' image/test.py

.PHONY: package
package: ## Make a Debian package, an archive and the list of their crates in dist/ (BUILT, SBOM=no: docs/packages.md)
	@package/build.sh

.PHONY: test-package
test-package: ## Install, update and remove the package on a fresh Debian with its systemd (root; DEB, OLDER, PARENT=yes; two minutes)
	@older='$(OLDER)'; if [ '$(PARENT)' = yes ]; then older=$$(package/parent.sh) || exit 1; fi; \
	DEB='$(DEB)' OLDER="$$older" package/test.py

.PHONY: test-fresh
test-fresh: ## Do on a fresh Debian what README.md says, and time it (root; TESTS=yes also `make test`; 15 minutes)
	@package/fresh.sh

.PHONY: scale
scale: ## Print what a thousand and a million chats cost, and which wall comes next (OPTIONS: bench/scale.py --help)
	@python3 bench/scale.py $(OPTIONS)

.PHONY: check-deploy
check-deploy: ## Check the files in deploy/ with programs of others, from PyPI and npm (half a minute)
	@deploy/check.sh

.PHONY: deny
deny: ## Check licences, sources and advisories of all crates, with cargo-deny from crates.io (CHECKS: some of them)
	@package/deny.sh $(CHECKS)

.PHONY: openapi
openapi: ## Regenerate openapi/tool-server.json
	$(CARGO) run --quiet --locked -p tool-server -- openapi > $(TARGET)/openapi.json
	@mv $(TARGET)/openapi.json openapi/tool-server.json

.PHONY: docs
docs: ## Regenerate the generated parts of docs/
	UPDATE_DOCS=1 $(CARGO) test --quiet --locked -p settings --test docs
	UPDATE_DOCS=1 $(CARGO) test --quiet --locked -p e2e --test e2e docs:: each_metric
	UPDATE_DOCS=1 $(CARGO) test --quiet --locked -p command-policy
