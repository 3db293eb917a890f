# The two commands of the README are `make demo` and `make test`. Everything they need is made here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCKS := default dev llm mcp aws google ladybug neo4j eval torch

.PHONY: demo test check gate bench bench-quality bench-peers stubs locks clean

demo: $(VENV)/.default ## build the shipped catalogue, serve it, ask it, show the answers
	$(BIN)/python -m services.cli.demo

test: $(VENV)/.dev ## every test
	$(BIN)/python -m pytest

check: $(VENV)/.dev ## what CI checks beside the tests: lint, types, stubs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/generate_stubs.sh --check

gate: $(VENV)/.dev ## CI's five minutes of quality: default must not lose to the flat hybrid on any set
	$(BIN)/python -m scripts.quality_gate $(GATE)

bench-quality: $(VENV)/.dev ## every system on every set; renews docs/results.md
	$(BIN)/python -m scripts.bench_quality $(BENCH)

bench-peers: $(VENV)/.dev ## other retrievers on the same sets, beside ours; renews docs/results.md
	$(BIN)/python -m scripts.bench_peers $(BENCH)

bench: $(VENV)/.dev ## speed and size, compared within one run
	$(BIN)/python -m scripts.bench $(BENCH)
	$(BIN)/python -m scripts.bench_datagen

stubs: $(VENV)/.dev ## generate egotools/v1 from proto/
	PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/generate_stubs.sh

locks: $(VENV)/.dev ## resolve requirements/*.txt anew
	PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/lock.sh

clean:
	rm -rf $(VENV) out

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "egotools needs Python 3.11 or newer; say: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.default: requirements/default.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/default.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.default
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@
