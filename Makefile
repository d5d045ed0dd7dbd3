# `make demo` and `make test` work on a fresh machine with Python 3.11+ and make, in any order.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Small matrices: one BLAS thread per test process is faster than many that fight.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo paper test lint bench clean

demo: $(STAMP)
	$(BIN)/foldless demo

# Every table and figure of the paper, small.
paper: $(STAMP)
	$(BIN)/foldless reproduce all --quick --jobs 2 --resume --out out/paper

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python benchmarks/cost.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis out foldless-demo.png

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "foldless needs Python 3.11 or newer: run make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)
