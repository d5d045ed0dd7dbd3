"""The short fuzzing run: a few cases of every property, always the same ones. `make fuzz` is the long run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import foldless as fl
from fuzz.cases import Case, build
from fuzz.models import ModelSpec
from fuzz.outcome import Improper, judged
from fuzz.properties import PROPERTIES
from fuzz.tables import CONTENTS, FRAMES, LAYOUTS, ODD, SPARSE, TYPES, TableSpec

SLOW = ("error_posterior", "roc_posterior", "command line", "FoldlessSearch", "baselines", "compare_many")


@pytest.mark.parametrize("name", PROPERTIES)
def test_proper_answer_or_named_refusal(name):
    """Whatever is drawn: a proper answer, or an error that names the problem."""
    tried = 12 if name in SLOW else 30

    @settings(max_examples=tried, derandomize=True, database=None, deadline=None,
              phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(PROPERTIES[name].draw)
    def probe(case):
        outcome = PROPERTIES[name].outcome(case)
        assert outcome.kind != "surprise", f"{case!r}\n{outcome.text}"

    probe()


@pytest.mark.parametrize("holder", LAYOUTS + SPARSE + FRAMES + ODD)
def test_every_container(holder):
    """Each kind of table at least once."""
    outcome = PROPERTIES["auc_posterior"].outcome(Case(TableSpec(holder=holder)))
    assert outcome.kind != "surprise", outcome.text
    if holder in LAYOUTS + SPARSE or holder in ("pandas", "polars", "list"):
        assert outcome.kind == "answer", outcome.text


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type(dtype):
    """Each type of number at least once."""
    assert PROPERTIES["honest_scores"].outcome(Case(TableSpec(dtype=dtype))).kind != "surprise"


@pytest.mark.parametrize("content", CONTENTS)
def test_every_content(content):
    """Each kind of content, at both ends of the range of floating point as well."""
    for power in (0, -150, 150):
        outcome = PROPERTIES["auc_posterior"].outcome(Case(TableSpec(content=content, power=power)))
        assert outcome.kind != "surprise", outcome.text


def test_judge_sees_what_is_wrong():
    """The harness itself: NaN, numpy's warnings and other exceptions are surprises, refusals are not."""
    import numpy as np

    def improper(_):
        raise Improper("mean is nan")

    def refuse():
        raise fl.InputError("X is empty: expected at least one row.")

    assert judged(lambda: 1, improper).kind == "surprise"
    assert judged(lambda: 1 / 0, print).kind == "surprise"
    assert judged(refuse, print).kind == "refusal"
    assert judged(lambda: fl.auc_posterior(None, 1, 2), print).kind == "refusal"
    build(Case(model=ModelSpec("weights")))
    assert np.isfinite(fl.cbauc([1.0], [[0.0], [1.0], [2.0], [4.0]], [0, 1, 0, 1]))
