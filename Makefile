# Everything starts from Python, git and make: each target installs what it needs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: help try newcomer docs test-fast test test-all nightly check house mutants format bench-start deaths bench-peers bench-quality bench-messages same-answers world soak clean

help:  ## Show the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml hatch_build.py $(wildcard src/native/*)
	@$(PYTHON) -c 'import sys; sys.exit("Findspot needs Python 3.11 or newer; set PYTHON=") if sys.version_info < (3, 11) else 0'
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "Installing Findspot into $(VENV); this takes a minute or two"
	@$(PIP) .
	@touch $@

$(STAMP): $(READY)
	@echo "Installing what development needs into $(VENV)"
	@$(PIP) '.[dev]'
	@touch $@

try: $(READY)  ## Install, index this repository, and ask it two questions
	$(BIN)/findspot index .
	$(BIN)/findspot search "how is a file recognised as binary" --limit 1
	$(BIN)/findspot callers find_secrets --no-tests

newcomer: $(READY)  ## Time the way from the README's first command to a connected assistant
	$(BIN)/python -m benchmarks.newcomer

docs: $(STAMP)  ## Build the documentation site into build/docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c docs -d build/doctrees . build/docs
	@echo "open build/docs/index.html"

# An installed package has its bytecode; without it, every process that a test starts compiles the source again.
# Three processes keep two cores busy, because tests also wait for servers and pipes.
test-fast test test-all nightly: export PYTHONDONTWRITEBYTECODE :=
# The tests of a module run in one process, which makes their fixtures once.
TESTS := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder --max-worker-restart=0 -n $(or $(JOBS),$(shell $(PYTHON) -c 'import os; print(3 * (os.cpu_count() or 2) // 2)'))

test-fast: $(STAMP)  ## Run the unit tests, in a minute
	$(TESTS) -m "not programs and not nightly" tests/unit

test: $(STAMP)  ## Run every test that needs only Python (and git)
	$(TESTS) -m "not programs and not nightly"

test-all: $(STAMP)  ## Run all tests, installing the programs some of them need
	@command -v npm >/dev/null || (apt-get update -qq && apt-get install -y -qq npm)
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium)
	$(TESTS) -m "not nightly" --durations=20

nightly: $(STAMP)  ## Run the tests that take minutes each
	@command -v npm >/dev/null || (apt-get update -qq && apt-get install -y -qq npm)
	$(TESTS) -m nightly

check: $(STAMP)  ## Lint, types, the layers of the architecture, and the limits of `make house`
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/tidy/house.py --check

house: $(READY)  ## Count modules, lines, repeated names and small modules
	$(BIN)/python tests/tidy/house.py

mutants: $(STAMP)  ## Change the code in small ways and count what the tests notice (takes long)
	$(BIN)/python -m benchmarks.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

format: $(STAMP)  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

same-answers: $(STAMP)  ## Compare an index after 500 random edits with a rebuilt one (PROJECT=folder)
	$(BIN)/python -m benchmarks.same_answers $(or $(PROJECT),src) --edits 500 --batch 50

bench-peers: $(STAMP)  ## Measure Findspot beside other tools (PROJECT=folder, STAND_IN=1 without a model hub)
	$(BIN)/python -m benchmarks.peers $(or $(PROJECT),.) $(if $(STAND_IN),--stand-in)

bench-quality: $(STAMP)  ## Measure answers (SETS=folder of query sets, MIRRORS=folder of git mirrors)
	$(BIN)/python -m benchmarks.quality --sets $(SETS) $(if $(MIRRORS),--mirrors $(MIRRORS))

world: $(STAMP)  ## Index and ask every repository of a folder of git mirrors (MIRRORS=folder)
	$(BIN)/python -m benchmarks.world $(MIRRORS)

bench-start: $(STAMP)  ## Measure how soon clients are answered (PROJECT=a folder to index)
	$(BIN)/python -m benchmarks.start $(PROJECT)

deaths: $(STAMP)  ## Kill the resident process under clients, and let two versions race
	$(BIN)/python -m benchmarks.deaths

bench-messages: $(STAMP)  ## Measure pasted error messages (MIRRORS=folder of git mirrors)
	$(BIN)/python -m benchmarks.messages --mirrors $(MIRRORS)

soak: $(STAMP)  ## Kill processes and feed them hostile input, at length
	$(BIN)/python -m benchmarks.soak

clean:  ## Remove what was built
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist
