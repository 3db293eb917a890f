# The two commands of the README are `make demo` and `make test`. Everything they need is made here.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
MARKED ?= not slow
COVERAGE ?=
# A process that is done takes half of what the other still has, in the order of the files: fixtures of a module are made twice at these seams only.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations=10 $(if $(COVERAGE),--cov --cov-report=term:skip-covered --cov-report=html)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow coverage format lint types check gate docs bench bench-quality bench-needs bench-peers chaos dist stubs locks clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)$$/  \1\t\2/p' Makefile | expand -t 18

demo: $(VENV)/.default ## build the shipped catalogue, serve it, ask it, show the answers
	$(BIN)/egotools demo

test: $(VENV)/.dev ## what each change must pass, in JOBS processes; COVERAGE=1 also measures coverage
	$(PYTEST) -m "$(MARKED)"

test-slow: $(VENV)/.dev ## the rest, weekly: browser, Neo4j, sandbox escapes, real sizes, wheel, faults
	$(PYTEST) -m slow

coverage: ## both rings, and the coverage of the packages; fails below the floor in pyproject.toml
	$(MAKE) test COVERAGE=1 MARKED=

format: $(VENV)/.dev ## format the code, and repair what the linter can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(VENV)/.dev ## linter and format, changing nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## mypy --strict over packages, scripts, benchmarks and tests
	$(BIN)/mypy

check: lint types ## lint, types, and the stubs: what CI checks beside the tests
	PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/generate_stubs.sh --check

gate: $(VENV)/.dev ## the regression gate: default must not be below the flat hybrid, nor below itself without the graph
	$(BIN)/python -m benchmarks.gate $(GATE)

docs: $(VENV)/.docs ## build the documentation site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir out/site

bench: $(VENV)/.dev ## what a request costs beside its encoding, compared within one run
	$(BIN)/python -m benchmarks.speed $(BENCH)

bench-quality: $(VENV)/.dev ## every system on every set; rewrites the tables of docs/results.md
	$(BIN)/python -m benchmarks.quality $(BENCH)

bench-needs: $(VENV)/.dev ## whole requests and needs side by side, on sets with recorded needs; rewrites tables of README and docs/results.md
	$(BIN)/python -m benchmarks.needs $(BENCH)

bench-peers: $(VENV)/.dev ## other retrievers on the same sets, beside ours
	$(BIN)/python -m benchmarks.peers.run_peers $(BENCH)

chaos: $(VENV)/.dev ## faults, swaps and attacks against a store and a server: rows of benchmarks/notes/reliability.md
	$(BIN)/python -m benchmarks.reliability $(ROWS)

dist: $(VENV)/.dev ## wheel, source archive and wheel of the client in dist/, built twice and compared
	$(BIN)/python -m scripts.dist --check

stubs: $(VENV)/.dev ## generate egotools/v1 and the OpenAPI document of REST from proto/
	PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/generate_stubs.sh
	$(BIN)/python -m scripts.rest_document

locks: $(VENV)/.dev ## resolve requirements/*.txt again
	PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/lock.sh

clean: ## remove the environment and everything under out/
	rm -rf $(VENV) out

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "egotools needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

# uv installs a lock for a tenth of the processor that pip takes; where it cannot, since only pip knows the index, pip does.
$(BIN)/uv: | $(BIN)/python
	sed -n '/^uv==/,/[^\\]$$/p' requirements/dev.txt >$(VENV)/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(VENV)/uv.txt

install = $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r $(1) || \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(1)

$(VENV)/.default: requirements/default.txt pyproject.toml | $(BIN)/uv
	$(call install,requirements/default.txt)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.default
	$(call install,requirements/dev.txt)
	touch $@

$(VENV)/.docs: requirements/docs.txt $(VENV)/.default
	$(call install,requirements/docs.txt)
	touch $@
