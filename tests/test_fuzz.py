"""The short fuzzing run: a few cases of every property, always the same ones. `make fuzz` is the long run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import foldless as fl
from fuzz.cases import Case, build
from fuzz.models import ModelSpec
from fuzz.outcome import Improper, judged
from fuzz.pages import well_formed
from fuzz.properties import PROPERTIES
from fuzz.questions import QUESTIONS, Question
from fuzz.sheets import COLUMNS, ENDINGS, LABELS, Sheet
from fuzz.spoken import figures
from fuzz.tables import CONTENTS, FRAMES, LAYOUTS, ODD, SPARSE, TYPES, TableSpec

SLOW = ("error_posterior", "roc_posterior", "command line", "FoldlessSearch", "baselines", "compare_many")
SLOWEST = ("report", "displays", "SearchDisplay", *QUESTIONS)


@pytest.mark.parametrize("name", PROPERTIES)
def test_proper_answer_or_named_refusal(name):
    """Whatever is drawn: a proper answer, or an error that names the problem."""
    tried = 1 if "report" in name else 3 if name in SLOWEST else 5 if name in SLOW else 15

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


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_kind_of_file(ending):
    """Each kind of file with each kind of column and of labels; a plain one is answered, whatever the command."""
    for kind in COLUMNS:
        outcome = ask("plan", Sheet(kinds=("number", kind), ending=ending), ("--one-hot",), ("--impute", "median"))
        assert outcome.kind != "surprise", f"{kind}: {outcome.text}"
    for label in LABELS:
        outcome = ask("search", Sheet(label=label, ending=ending), ("--Cs", "1"))
        assert outcome.kind != "surprise", f"{label}: {outcome.text}"
    for command, options in (("auc", ()), ("search", (("--Cs", "1"),)), ("compare", (("--models", "lda,ridge"),))):
        assert ask(command, Sheet(ending=ending), *options).kind == "answer", command


def ask(command, sheet, *options):
    """The outcome of one command."""
    return QUESTIONS[f"foldless {command}"].outcome(Question(command, sheet, options))


def test_judge_of_pages_and_answers_sees_what_is_wrong():
    """The harness itself: tags left open, nan in a page, a figure that is null or out of bounds."""
    page = "<!doctype html><html><body>{}</body></html>"
    well_formed(page.format("<p>AUC 0.9, of Nandini</p>"))
    for wrong in ("<p>AUC 0.9", "<p>AUC nan</p>", "</p>", '<p id="a"></p><p id="a"></p>', "<script></script>"):
        with pytest.raises(Improper):
            well_formed(page.format(wrong))
    figures({"auc": 0.9, "low": 0.8, "high": 1.0, "candidates": [{"auc": None}]})
    for wrong in ({"auc": None}, {"auc": 1.2}, {"models": [{"low": 0.9, "high": 0.1}]}):
        with pytest.raises(Improper):
            figures(wrong)


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
