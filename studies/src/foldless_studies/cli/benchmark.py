"""``foldless benchmark``: how far off are the estimates, and what do they cost?"""

from __future__ import annotations

import click

from foldless_studies.cli.benchmark_accuracy import accuracy
from foldless_studies.cli.benchmark_speed import speed

EXAMPLES = """\b
Examples:
  foldless benchmark accuracy --quick
  foldless benchmark accuracy --data datasets/ --no-simulations --sizes 40,80 --C 0.01,1,100 --jobs 4
  foldless benchmark speed --quick
"""


@click.group(epilog=EXAMPLES)
def benchmark() -> None:
    """Measure foldless against other methods."""


benchmark.add_command(accuracy)
benchmark.add_command(speed)
