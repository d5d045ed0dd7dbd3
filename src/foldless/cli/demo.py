"""``foldless demo``: many small studies of one kind, and how far off each estimator of the AUC is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import click
import numpy as np

import foldless as fl
from foldless import words
from foldless.cli import console, picture
from foldless.cli.options import FILE, JSON

# ---- The command.

LEVEL = 0.9
STUDIES, ROWS = 40, 60

EXAMPLES = """\b
Examples:
  foldless demo
  foldless demo --out comparison.svg
  foldless demo --studies 10 --seed 1 --json
"""


@click.command(epilog=EXAMPLES)
@click.option("--out", **FILE, help="The picture (.png, .svg, .pdf).  [default: foldless-demo.png]")
@click.option("--studies", type=click.IntRange(2, 1000), default=STUDIES, show_default=True, help="Small studies.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Which rows the studies have.")
@click.option("--json", "as_json", **JSON)
def demo(out: Path | None, studies: int, seed: int, as_json: bool) -> None:
    """Compare estimators of the AUC on many small studies.

    Each study has 60 of the 442 patients of scikit-learn's diabetes data and asks for whom the disease progresses more
    than in the median. A logistic regression is fitted to them; each estimator sees those 60 only, and the others tell
    the truth. Then once more with shuffled labels, where the truth is 0.5.
    """
    from rich.console import Console
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    path = picture.writable_path(picture.DEFAULT if out is None else out, wanted=out is not None)
    # Forty studies would repeat each warning forty times. The fits are small and many: BLAS threads would only get in
    # each other's way, tenfold on a busy machine.
    with console.gathered_warnings(), threadpool_limits(1), Console(stderr=True).status("comparing") as status:
        result, errors = run(studies, seed, lambda done: status.update(f"comparing: study {done} of {studies}"))
    draw = partial(picture.draw_demo, result=result, errors=errors)
    result["picture"] = picture.write(path, draw, 11, 4.4, 110, picture.STYLE)
    console.say_result(result, as_json, show)


def show(result: dict[str, Any]) -> None:
    """What was done, and the table."""
    truth = result["held_out"]
    console.say(
        f"{result['studies']} studies of {result['n_train']} patients and {result['n_features']} columns: logistic "
        f"regression. On the other {result['n_test']} patients its AUC is {truth['mean']:.3f} on average (from "
        f"{truth['low']:.3f} to {truth['high']:.3f}); on shuffled labels it is 0.5."
    )
    columns = ("estimator", "error", "bias", "covers", "error, shuffled", "covers", "ms")
    bold = [k for k, row in enumerate(result["estimators"]) if row["name"] == picture.HIGHLIGHTED]
    console.say_table(columns, [_cells(row) for row in result["estimators"]], bold)
    console.say(
        "error: mean distance from the truth; covers: how often the 90 % interval holds it; each with real and with "
        "shuffled labels."
    )
    console.say("no picture: pip install 'foldless[plot]'" if result["picture"] is None else result["picture"])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    real, noise, took = row["real"], row["shuffled"], row["milliseconds"]
    return (
        row["name"],
        f"{real['error']:.3f}",
        f"{real['bias']:+.3f}",
        _share(real["held"]),
        f"{noise['error']:.3f}",
        _share(noise["held"]),
        f"{took:.1f}" if took < 10 else f"{took:.0f}",
    )


def _share(held: float | None) -> str:
    return "-" if held is None else words.percent(held)


# ---- The estimators: one line each.


class Rival(NamedTuple):
    """An estimator of the AUC: its name, and a function of a fitted classifier and its training data."""

    name: str
    estimate: Callable[[Any, Any, Any], Any]


def all_rivals() -> tuple[Rival, ...]:
    """Ours first, then those that refit, then those that trust the training scores."""
    b = fl.baselines
    return (
        Rival(picture.HIGHLIGHTED, fl.auc_posterior),
        Rival("5-fold CV", b.cv_auc),
        Rival("training rows", b.resubstitution_auc),
        Rival("CBAUC, the paper", partial(fl.auc_posterior, method="in-sample")),
    )


def point(estimate: Any) -> float:
    """The number itself: a posterior has a mean, a baseline is one."""
    return float(estimate.mean if isinstance(estimate, fl.AUCPosterior) else estimate)


def holds(estimate: Any, truth: float) -> float:
    """1 if the interval of an estimate holds the truth, 0 if not; NaN for a baseline that has none."""
    try:
        low, high = estimate.interval(LEVEL)
    except fl.InputError:
        return float("nan")
    return float(low <= truth <= high)


# ---- The experiment: studies of 60 rows, the other rows for the truth; and the same rows with shuffled labels.


def run(studies: int, seed: int, progress: Callable[[int], None]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The comparison as a plain dict, and the errors (studies, estimators); deterministic except for the times."""
    X, y = load()
    rivals = all_rivals()
    truths, found = np.empty(studies), np.empty((2, studies, len(rivals), 3))
    for k in range(studies):
        progress(k + 1)
        train, labels = _study(y, seed, k)
        model = fit(X[train], y[train])
        rest = np.setdiff1d(np.arange(y.size), train)
        truths[k] = fl.baselines.delong(y[rest], model.decision_function(X[rest]))
        found[0, k] = [_asked(rival, model, X[train], y[train], truths[k]) for rival in rivals]
        # Whatever a classifier learns from shuffled labels, its AUC on new data is 0.5.
        model = fit(X[train], labels)
        found[1, k] = [_asked(rival, model, X[train], labels, 0.5) for rival in rivals]
    result = {
        "studies": studies,
        "seed": seed,
        "n_train": ROWS,
        "n_test": y.size - ROWS,
        "n_features": X.shape[1],
        "level": LEVEL,
        "held_out": {"mean": float(truths.mean()), "low": float(truths.min()), "high": float(truths.max())},
        "estimators": [_row(rival.name, *found[:, :, m]) for m, rival in enumerate(rivals)],
    }
    return result, {"real": found[0, :, :, 0], "shuffled": found[1, :, :, 0]}


def _study(y: Any, seed: int, k: int) -> tuple[Any, Any]:
    """The rows of a study, and their labels shuffled."""
    rng = np.random.default_rng([seed, k])
    train = rng.permutation(y.size)[:ROWS]
    return train, rng.permutation(y[train])


def _asked(rival: Rival, model: Any, X: Any, y: Any, truth: float) -> tuple[float, float, float]:
    """Error, whether the interval holds the truth, and milliseconds."""
    start = perf_counter()
    estimate = rival.estimate(model, X, y)
    took = 1000 * (perf_counter() - start)
    return point(estimate) - truth, holds(estimate, truth), took


def _row(name: str, real: Any, shuffled: Any) -> dict[str, Any]:
    took = float(np.median(np.concatenate([real[:, 2], shuffled[:, 2]])))
    return {"name": name, "real": _figures(real), "shuffled": _figures(shuffled), "milliseconds": took}


def _figures(found: Any) -> dict[str, float | None]:
    errors, held = found[:, 0], float(found[:, 1].mean())
    return {
        "error": float(np.abs(errors).mean()),
        "bias": float(errors.mean()),
        "held": None if np.isnan(held) else held,
    }


def load() -> tuple[Any, Any]:
    """scikit-learn's diabetes data: X, and whether the disease progressed more than in the median."""
    from sklearn.datasets import load_diabetes

    X, progression = load_diabetes(return_X_y=True, scaled=False)
    return X, (progression > np.median(progression)).astype(int)


def fit(X: Any, y: Any) -> Any:
    """The classifier to be judged: columns standardised, then logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
