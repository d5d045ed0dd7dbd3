"""Checks that `make` or a developer runs: fuzzing, kills, packaging, lengths of functions, the transcript."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]  # these need the checkout, with its sources and tests
