"""Defects that fuzzing found in the command line. What is wanted is said in the name."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from foldless.cli.app import app

Y = np.arange(24) % 2
X = np.random.default_rng(0).normal(size=(24, 2)) + Y[:, None]


def refusal(*words):
    """The one line of a command that ends with exit code 2."""
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="foldless")
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


@pytest.fixture
def table(tmp_path):
    """A function that writes an archive with this X."""

    def written(X):
        np.savez(tmp_path / "table.npz", X=X, y=Y)
        return tmp_path / "table.npz"

    return written


@pytest.mark.parametrize("C", ["1e-300", "1e300"])
@pytest.mark.parametrize("command", [("auc", "--model", "svm", "--C"), ("compare", "--models", "lda,svm", "--C"),
                                     ("search", "--model", "svm", "--Cs")])  # fmt: skip
def test_strengths_at_which_the_support_vector_machine_never_ends_are_refused(table, command, C):
    """The solver squares C, which overflows or vanishes, and it went round forever."""
    assert "C of svm must lie between 1e-30 and 1e+30" in refusal(command[0], table(X), *command[1:], C)


@pytest.mark.parametrize(("size", "how"), [(1e120, "--no-standardize"), (1e-220, "--standardize")])
def test_numbers_at_which_the_support_vector_machine_never_ends_are_refused(table, size, how):
    """The same for squares of the columns; those of 1e-220 vanish, so that standardizing leaves them as they are."""
    line = refusal("auc", table(X * size), "--model", "svm", how)
    assert "the largest number that reaches the svm is" in line
    assert "rescale the columns" in line
