# `make demo` and `make test` work on a fresh machine with Python 3.11+ and make, in any order.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Small matrices: one BLAS thread per test process is faster than many that fight.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo paper test slow lint bench fuzz truth evidence docs kills planted compat package audit clean

demo: $(STAMP)
	$(BIN)/foldless demo

# Every table and figure of the paper, small.
paper: $(STAMP)
	$(BIN)/foldless reproduce all --quick --jobs 2 --resume --out out/paper

test: $(STAMP)
	$(BIN)/python -m pytest -n auto -m "not slow"

# What takes long: coverage of intervals, killed runs, clusters of processes. CI runs it where time is left.
slow: $(STAMP)
	$(BIN)/python -m pytest -n auto -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	rm -rf out/speed
	$(BIN)/foldless benchmark speed --out out/speed $(if $(FOLDLESS_DATA),--data "$(FOLDLESS_DATA)")

# Every public function on 100,000 drawn cases; fails if an answer is improper or an error does not name its cause.
fuzz: $(STAMP)
	cd tests && $(CURDIR)/$(BIN)/python -m fuzz

# results/truth.md: 20,000 situations whose truth is known, and where answers miss it beyond chance. Resumable.
truth: $(STAMP)
	$(BIN)/python -m foldless_studies.evidence truth

# Every page of results/ whose answers have changed, truth.md apart; needs FOLDLESS_DATA. Resumable: run it again.
evidence: $(STAMP)
	$(BIN)/python -m foldless_studies.evidence

# Thirty kills at random moments; what is left after resuming must be what an undisturbed run gives, byte by byte.
kills: $(STAMP)
	$(BIN)/python tests/kills.py --kills 30

# Three faults planted in the library, each to be found by a run of the fuzzer for truth; half an hour.
planted: $(STAMP)
	$(BIN)/python tests/planted.py

# The tests with the lowest versions that pyproject.toml allows; PYTHON=python3.13 VERSIONS=newest for the other end.
VERSIONS ?= lowest
OTHER := .venv-$(VERSIONS)

compat:
	$(PYTHON) -m venv --clear $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --disable-pip-version-check $(if $(filter lowest,$(VERSIONS)),--constraint requirements/lowest.txt) --editable '.[dev]' --editable studies
	$(OTHER)/bin/python -m pip list --disable-pip-version-check
	$(OTHER)/bin/python -m pytest -n auto

# Wheel and sdist, each installed into an empty environment, with and without extras and studies, and tried.
package: $(STAMP)
	$(BIN)/python -m foldless_studies.tools.package

# Known vulnerabilities of everything that is installed, from the advisory database of PyPI. Strict: a package that
# could not be looked up is a failure, not a pass.
audit: $(STAMP)
	@mkdir -p out
	$(BIN)/python -m pip freeze --exclude-editable > out/installed.txt
	$(BIN)/python -m pip_audit --strict --disable-pip --no-deps --requirement out/installed.txt

# The site, offline, warnings as errors: docs/_build/html/index.html. Made anew, so that no warning hides in a cache.
DOCS_MADE := docs/_build docs/gallery docs/results docs/reference/generated

docs: $(STAMP)
	rm -rf $(DOCS_MADE)
	$(BIN)/python -m sphinx -q -W --keep-going -n -b html docs docs/_build/html
	$(BIN)/python docs/_tools/offline.py docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(DOCS_MADE) $(VENV) .venv-lowest .venv-newest dist .pytest_cache .mypy_cache .ruff_cache .hypothesis out foldless-demo.png

$(STAMP): pyproject.toml studies/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "foldless needs Python 3.11 or newer: run make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --editable studies
	@touch $(STAMP)
