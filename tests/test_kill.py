"""Kills at random moments lose nothing: a few of those that `make kills` makes by the dozen."""

from __future__ import annotations

import random
import sys

import pytest

import kills

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and SIGINT"),
]


@pytest.mark.parametrize("victim", kills.VICTIMS, ids=lambda v: v.name)
def test_killed_and_resumed_runs_end_in_the_same_bytes(victim, tmp_path):
    """Two kills each; whatever moment they hit, every file is whole after them and identical at the end."""
    tally = kills.torment(victim, 2, random.Random(3), tmp_path)
    assert tally.kills.total() == 2
    assert tally.runs >= 1
    assert tally.files >= 2


def test_the_comparison_notices_a_changed_byte(tmp_path):
    """The check can fail: a file that differs, is missing, or is cut short is reported."""
    (tmp_path / "results.csv").write_bytes(b"a,b\n1,2\n")
    same = {"results.csv": b"a,b\n1,2\n"}
    kills._compare(tmp_path, same)
    with pytest.raises(kills.Broken, match=r"results\.csv"):
        kills._compare(tmp_path, {"results.csv": b"a,b\n1,3\n"})
    with pytest.raises(kills.Broken, match="other files"):
        kills._compare(tmp_path, {**same, "summary.json": b"{}"})
    (tmp_path / "summary.json").write_bytes(b'{"table": [')
    with pytest.raises(kills.Broken, match=r"summary\.json is not whole"):
        kills._check_whole(tmp_path)
