# Everything runs in .venv, made from Python ≥ 3.11 and the package registries alone.
PYTHON ?= python3
PORT ?= 8321
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
BASE := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help demo test install check format bench bench-peers eval serve lock browser clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(BASE) ## Ingest the sample book, answer two questions, serve the chat page
	@$(BIN)/python examples/demo.py --port $(PORT)

test: $(DEV) browser ## Run all tests
	@$(BIN)/pytest -n auto --dist loadfile tests
	@$(BIN)/python tests/conformance/coverage.py

install: $(BASE) ## Make the environment alone

check: $(DEV) ## Lint, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports

format: $(DEV) ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(DEV) ## Measure speed, each figure against its floor in the same run
	@$(BIN)/python benchmarks/bench.py $(ARGS)

bench-peers: $(DEV) ## Measure beside other tools, each in its own environment
	@$(BIN)/python benchmarks/bench_peers.py $(ARGS)

eval: $(DEV) ## Measure quality on the development data
	@$(BIN)/python benchmarks/eval_all.py $(ARGS)

serve: $(BASE) ## Serve what is ingested
	@$(BIN)/askbook serve --port $(PORT)

lock: $(VENV)/.made ## Resolve the dependencies anew
	@$(UV) pip compile -q --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  pyproject.toml -o requirements.lock
	@$(UV) pip compile -q --universal --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  pyproject.toml --extra server --extra pdf --extra otel --group check --group test --group eval -o requirements-dev.lock

browser:
	@command -v chromium >/dev/null 2>&1 || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1 || \
	  { echo "Installing Chromium for the browser tests"; apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || true

clean: ## Remove the environment and the demo's data
	@rm -rf $(VENV) .askbook

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "askbook needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv
	@touch $@

$(BASE): $(VENV)/.made requirements.lock pyproject.toml
	@echo "Installing askbook into $(VENV)"
	@$(UV) pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install -q --python $(BIN)/python --no-deps -e .
	@$(BIN)/python -m compileall -q src/askbook
	@touch $@

$(DEV): $(BASE) requirements-dev.lock
	@echo "Installing the development tools into $(VENV)"
	@$(UV) pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements-dev.lock
	@touch $@
