# Two commands matter: `make test` and `make check`. Both build their own .venv with nothing but Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types layers docs bench soak simulate chaos fuzz clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

# The constraints come by the environment, so that they hold for what builds the package too. -qq keeps errors and
# hides warnings: some machines' pip has one for every package and registry.
$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Bide needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "Installing into $(VENV) (a minute or so)"
	@PIP_CONSTRAINT=constraints.txt $(BIN)/pip install -qq --disable-pip-version-check -e '.[dev]'
	@touch $@

test: $(VENV)/ready ## Run the test suite on a real PostgreSQL that it brings along
	$(BIN)/pytest -n 2 $(PYTEST_ARGS)

# The tests come last, so that the last line says whether all is well, and in this order under `make -j` too.
.NOTPARALLEL:
check: lint types layers test ## Everything that must hold before a change lands

lint: $(VENV)/ready ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready ## Strict types
	$(BIN)/mypy

layers: $(VENV)/ready ## Who may import whom
	$(BIN)/lint-imports --no-logo

demo: $(VENV)/ready ## Run a DAG on the database that comes along, and watch it
	@$(BIN)/bide demo

docs: $(VENV)/ready ## Generate the pages that the code decides: states, verbs, settings
	$(BIN)/python -m docs.generate

bench: $(VENV)/ready ## Measure every verb beside its floor
	$(BIN)/python -m benchmarks

soak: $(VENV)/ready ## A million waits and a day of idling: nothing may grow
	$(BIN)/python -m benchmarks soak

# Every night other seeds, and more of them: make simulate SEEDS=5000 FROM=$(date +%s)
simulate: $(VENV)/ready ## Run the seeded simulator: make simulate SEEDS=300 STEPS=300 FROM=1
	$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),300) --steps $(or $(STEPS),300) --from $(or $(FROM),1)

# A quarter of an hour, and another seed each time: make chaos SECONDS=900
chaos: $(VENV)/ready ## Kill, freeze and cut off real processes under load: make chaos SECONDS=60 SEED=1
	$(BIN)/python -m tests.chaos --seconds $(or $(SECONDS),60) --seed $(or $(SEED),$(shell date +%s))

fuzz: $(VENV)/ready ## Send 200 000 random values and as many random texts through the codec
	BIDE_HYPOTHESIS=thorough $(BIN)/pytest -n 2 tests/unit/test_codec_random.py

clean: ## Remove everything that was built
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis benchmarks/out
