"""What a developer runs in a checkout: the check of the packages, and the transcript of the command line."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]  # these need the checkout, with its sources and tests
