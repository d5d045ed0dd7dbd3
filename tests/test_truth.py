"""The fuzzer for truth: its bets are fair, its runs can be repeated, and it finds faults that are planted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import foldless as fl
import planted
from foldless_studies.truth.questions import TRUE_RISKS, perform
from foldless_studies.truth.regions import (
    HELD,
    Ledger,
    figures_of,
    log_stake,
    needed,
    region_of,
    regions,
    suspects,
    text_of,
)
from foldless_studies.truth.run import FIRST, TruthSettings, page, run
from foldless_studies.truth.situations import FACTORS, Situation, fits

ENOUGH = needed(len(regions()))


def belongs(levels, region):
    return all(levels[factor] == level for factor, level in region)


def test_slow_situations_are_drawn_less_often_but_all_are_drawn():
    drawn = [Situation(5, k).levels for k in range(1500)]
    for factor, levels in FACTORS.items():
        assert {each[factor] for each in drawn} == set(levels)
    forests, hinges = (sum(each["family"] == family for each in drawn) for family in ("forest", "hinge"))
    assert 0 < forests < hinges


@pytest.mark.parametrize("truth", [0.82, 0.9])
def test_a_true_claim_is_seldom_lost_whenever_one_stops(truth):
    """The stake against a true claim reaches 20 in at most one of twenty games, looked at after every round."""
    rng = np.random.default_rng(0)
    games = rng.random((400, 300)) < truth
    highest = [max(log_stake(game[:k], HELD) for k in range(10, 301, 10)) for game in games]
    assert np.mean(np.array(highest) > np.log(20)) <= 0.05


def test_a_false_claim_is_lost_soon():
    rng = np.random.default_rng(1)
    assert log_stake(rng.random(200) < 0.6, HELD) > ENOUGH


@pytest.mark.parametrize("question", dict.fromkeys(FACTORS["question"]))
def test_every_question_has_an_outcome_and_the_same_one_again(question):
    region = (("question", question), ("rows", "41-80"), ("columns", "6-30"))
    index = next(k for k in range(50) if "held" in perform(Situation(0, k, region)))
    line = perform(Situation(0, index, region))
    assert line == perform(Situation(0, index, region))
    assert belongs(line["levels"], region)
    assert line["held"] is not None or line["alarm"] is not None


def test_situations_fit_and_reach_every_level():
    drawn = [Situation(1, k).levels for k in range(600)]
    assert all(map(fits, drawn))
    for factor, levels in FACTORS.items():
        assert {each[factor] for each in drawn} == set(levels)


@pytest.mark.parametrize("structure", ["subjects", "gaps", "batches", "blocks"])
def test_data_are_as_their_levels_say(structure):
    data = Situation(0, 3, (("structure", structure), ("rows", "81-200"), ("question", "auc"))).data()
    assert np.isnan(data.X).any() == (structure == "gaps")
    assert (data.groups is not None) == (structure == "subjects")
    if structure == "subjects":
        assert all(np.unique(data.y[data.groups == g]).size == 1 for g in np.unique(data.groups))
    if data.levels["effect"] == "none":
        assert not data.shifts.any()


def test_truths_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, weight = np.arange(400) % 2, np.full(400, 1 / 400)
    scores = 4 * rng.normal(size=400) + y
    assert fl.baselines.delong(y, scores) == pytest.approx(roc_auc_score(y, scores))
    assert TRUE_RISKS["brier"](y, scores, weight) == pytest.approx(brier_score_loss(y, expit(scores)))
    assert TRUE_RISKS["log loss"](y, scores, weight) == pytest.approx(log_loss(y, expit(scores)))
    free = LogisticRegression(C=np.inf, tol=1e-10).fit(scores[:, None], y)
    assert TRUE_RISKS["slope"](y, scores, weight)[0] == pytest.approx(free.coef_[0, 0], rel=1e-4)
    shift, _ = TRUE_RISKS["intercept"](y, scores, weight)
    assert expit(scores + shift).mean() == pytest.approx(y.mean())


def line_of(index, region, held, levels):
    return {
        "task": Situation(0, index, region).key,
        "levels": levels,
        "held": held,
        "alarm": None,
        "bias": None,
        "doubts": [],
        "besides": {},
    }


def test_regions_count_situations_at_large_and_suspects_their_own():
    levels = Situation(0, 0).levels
    mine, other = (
        (("rows", levels["rows"]), ("cells", levels["cells"])),
        (("rows", levels["rows"]), ("share", levels["share"])),
    )
    lines = [line_of(0, (), True, levels), line_of(1, mine, False, levels), line_of(2, other, False, levels)]
    found = figures_of(mine, Ledger.of(lines))
    assert (found.answers, found.held, found.example) == (1, 1.0, "")
    found = figures_of(mine, Ledger.of(lines), text_of(mine))
    assert (found.answers, found.held, found.example) == (1, 0.0, lines[1]["task"])
    doubted = [{**line, "doubts": ["few rows"]} for line in lines]
    assert figures_of(mine, Ledger.of(doubted)).answers == 0


def tosses(wrong_in, misses):
    """Answers by tosses of a coin, which miss the truth in one of twelve cases, and more often in a region."""

    def tossed(situation):
        rng = np.random.default_rng(situation.index)
        held = rng.random() >= (misses if wrong_in and belongs(situation.levels, wrong_in) else 1 / 12)
        return line_of(situation.index, situation.region, bool(held), situation.levels)

    return tossed


def test_suspects_are_the_regions_that_look_worst_each_for_wrong_answers_of_its_own():
    wrong_in = region_of("cells=spikes;pipeline=scaler")
    ledger = Ledger.of([tosses(wrong_in, 0.7)(Situation(0, k)) for k in range(600)])
    found = suspects(ledger, 4)
    assert set(wrong_in) <= set(found[0])
    wrong = [ledger.among(region) & ledger.wrong for region in found]
    assert all(np.sum(a & b) <= np.sum(b) / 2 for k, b in enumerate(wrong) for a in wrong[:k])


@pytest.mark.parametrize("wrong_in", ["", "cells=spikes;pipeline=scaler"])
def test_a_run_finds_the_region_that_goes_wrong_and_names_no_other(wrong_in, tmp_path, monkeypatch):
    """Nobody tells it where: two levels of two factors, one situation in twenty."""
    region = region_of(wrong_in) if wrong_in else ()
    monkeypatch.setattr("foldless_studies.truth.run.perform", tosses(region, 0.45))
    condemned = {each["region"] for each in run(TruthSettings(2000, 0), tmp_path)["condemned"]}
    assert bool(condemned) == bool(wrong_in)
    assert all(set(region_of(text)) & set(region) for text in condemned)


def alarming(often, misses):
    """Answers by tosses: false alarms `often` where an AUC is asked for and there is nothing to find, .05 elsewhere."""

    def tossed(situation):
        rng, levels = np.random.default_rng(situation.index), situation.levels
        alarm = bool(rng.random() < (often if levels["question"] == "auc" else 0.05))
        line = line_of(situation.index, situation.region, bool(rng.random() >= misses), levels)
        return {**line, "alarm": alarm if levels["effect"] == "none" else None}

    return tossed


@pytest.mark.parametrize(("often", "misses", "found"), [(0.13, 0.1, True), (0.08, 0.18, False)])
def test_a_fault_that_is_spread_thinly_is_found_and_what_is_claimed_is_none(
    often, misses, found, tmp_path, monkeypatch
):
    """Alarms of .13 everywhere for the .08 claimed, nowhere more: the first region is followed for many rounds."""
    monkeypatch.setattr("foldless_studies.truth.run.perform", alarming(often, misses))
    condemned = {each["region"] for each in run(TruthSettings(2000, 0), tmp_path)["condemned"]}
    assert (text_of(FIRST[0]) in condemned) == found
    assert found or not condemned


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path, monkeypatch):
    """Answers are replaced by coin tosses: what a later round looks at must depend on the earlier ones alone."""

    monkeypatch.setattr("foldless_studies.truth.run.perform", tosses((), 0.0))
    settings = TruthSettings(200, 0)
    whole = run(settings, tmp_path / "whole")

    def stopping(done, total, remaining):
        if done == 70:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "stopped", progress=stopping)
    assert run(settings, tmp_path / "stopped", resume=True) == whole
    assert (tmp_path / "stopped" / "summary.md").read_bytes() == (tmp_path / "whole" / "summary.md").read_bytes()
    assert whole["condemned"] == []
    assert "200 situations" in page(whole).markdown()
    with pytest.raises(fl.InputError, match="at least 20"):
        TruthSettings(3)


ONCE_CRASHED = {
    261: "rows=21-40;columns=31-200;share=30-50 %;cells=normal;structure=subjects;"
    "family=l1;strength=strong penalty;pipeline=scaler;question=compare;effect=strong",
    1020: "rows=10-20;columns=31-200;share=30-50 %;cells=counts;structure=batches;"
    "family=lda;strength=medium penalty;pipeline=minmax;question=brier;effect=weak",
}


ONCE_FAR_OFF = (
    "rows=41-80;columns=201-2000;share=30-50 %;cells=rounded;structure=batches;"
    "family=logistic;strength=weak penalty;pipeline=scaler;question=sensitivity;effect=strong"
)


@pytest.mark.parametrize("index", ONCE_CRASHED)
def test_situations_that_once_crashed(index):
    """Refits that ignore every column, compared; probabilities without any error in the sample."""
    assert "held" in perform(Situation(0, index, region_of(ONCE_CRASHED[index])))


def test_a_sensitivity_that_was_far_off():
    """A fit that stopped early among many columns, judged at a thousand times the penalty: .001 to .13 for .62."""
    line = perform(Situation(0, 145, region_of(ONCE_FAR_OFF)))
    assert line["low"] < line["truth"] < line["high"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", planted.FAULTS, ids=lambda fault: fault.__name__)
def test_planted_faults_are_found(fault, monkeypatch):
    """In the region where a fault does harm, few situations refute the claim, at the level for all regions together.

    Whole runs that nobody directs take minutes: `make planted`.
    """
    region = planted.FAULTS[fault]

    def evidence(lines):
        return figures_of(region, Ledger.of(lines), text_of(region)).low

    assert evidence([perform(Situation(0, k, region)) for k in range(40)]) < 0
    fault(monkeypatch)
    lines = []
    while len(lines) < 500 and evidence(lines) <= ENOUGH:
        lines += [perform(Situation(0, len(lines) + k, region)) for k in range(20)]
    assert evidence(lines) > ENOUGH
