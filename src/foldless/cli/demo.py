"""``foldless demo``: nine ways to estimate one AUC, against the truth, in a table and a picture."""

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

LEVEL = 0.95
SHUFFLES = 10

EXAMPLES = """\b
Examples:
  foldless demo
  foldless demo --out comparison.svg
  foldless demo --shuffles 0 --json
"""


@click.command(epilog=EXAMPLES)
@click.option("--out", **FILE, help="The picture (.png, .svg, .pdf).  [default: foldless-demo.png]")
@click.option(
    "--shuffles", type=click.IntRange(0, 1000), default=SHUFFLES, show_default=True, help="Shuffled label sets."
)
@click.option("--json", "as_json", **JSON)
def demo(out: Path | None, shuffles: int, as_json: bool) -> None:
    """Compare estimators of the AUC on scikit-learn's breast-cancer data.

    A logistic regression is trained on 60 rows. Each estimator sees those 60 rows only; the other
    509 rows tell the truth. The last column repeats it all on shuffled labels, where the truth is 0.5.
    """
    from rich.console import Console
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    path = picture.writable_path(picture.DEFAULT if out is None else out, wanted=out is not None)
    # The results carry the notes that matter; ten shuffles would repeat each warning ten times. The fits are small and
    # many: BLAS threads would only get in each other's way, tenfold on a busy machine.
    with console.gathered_warnings(), threadpool_limits(1), Console(stderr=True).status("comparing") as status:
        result, roc, held_out = run(shuffles, lambda name: status.update(f"comparing: {name}"))
    draw = partial(picture.draw_demo, result=result, roc=roc, held_out=held_out)
    result["picture"] = picture.write(path, draw, 11, 4.7, 110, picture.STYLE)
    console.say_result(result, as_json, show)


def show(result: dict[str, Any]) -> None:
    """The true AUC, the table, and every note."""
    truth = result["held_out"]
    console.say(
        f"Logistic regression on {result['n_train']} rows and {result['n_features']} columns of the breast-cancer "
        f"data. On {result['n_test']} held-out rows its AUC is {truth['auc']:.3f} "
        f"(DeLong {words.span(truth['low'], truth['high'])})."
    )
    columns = ("estimator", "AUC", "95 % interval", "error", "shuffled", "ms")
    bold = [k for k, row in enumerate(result["estimators"]) if row["name"] == picture.HIGHLIGHTED]
    console.say_table(columns, [_cells(row) for row in result["estimators"]], bold)
    if result["shuffles"]:
        console.say(
            f"Shuffled labels: mean of {result['shuffles']} shuffles; nothing can be learned, so the truth is 0.5."
        )
    console.say_notes(result["notes"])
    console.say("no picture: pip install 'foldless[plot]'" if result["picture"] is None else result["picture"])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    shuffled, took = row["on_shuffled_labels"], row["milliseconds"]
    return (
        row["name"],
        words.rate(row["auc"]),
        words.span(row["low"], row["high"]),
        f"{row['error']:+.3f}",
        "-" if shuffled is None else f"{shuffled:.3f}",
        f"{took:.1f}" if took < 10 else f"{took:.0f}",
    )


# ---- The estimators side by side: one line each.

BOOTSTRAPS = 50
PAIRS = 100
TIMED_CALLS = 4
SLOW = 300.0  # milliseconds


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
        Rival("5 x 5-fold CV", partial(b.cv_auc, folds=5, repeats=5)),
        Rival(f"leave-pair-out, {PAIRS} pairs", partial(b.leave_pair_out_auc, max_pairs=PAIRS)),
        Rival(f".632+, {BOOTSTRAPS} bootstraps", partial(b.bootstrap632plus_auc, n_bootstraps=BOOTSTRAPS)),
        Rival("resubstitution", b.resubstitution_auc),
        Rival("sample binormal", b.binormal_auc),
        Rival("EBAUC", b.ebauc),
        Rival("CBAUC, the paper", partial(fl.auc_posterior, method="in-sample")),
    )


def point(estimate: Any) -> float:
    """The number itself: a posterior has a mean, a baseline is one."""
    return float(estimate.mean if isinstance(estimate, fl.AUCPosterior) else estimate)


def interval(estimate: Any) -> tuple[float, float] | tuple[None, None]:
    """The interval of an estimate; a baseline that has none says so with an error."""
    try:
        low, high = estimate.interval(LEVEL)
    except fl.InputError:
        return None, None
    return float(low), float(high)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a call and its time in milliseconds: the shortest of a few, as the first also pays for imports."""
    best = np.inf
    for _ in range(TIMED_CALLS):
        start = perf_counter()
        result = call()
        best = min(best, 1000 * (perf_counter() - start))
        if best > SLOW:
            break
    return result, best


# ---- The experiment: 60 training rows, 509 held-out rows, and shuffled labels.

TRAIN_ROWS = 60
SEED = 0


def run(shuffles: int, progress: Callable[[str], None]) -> tuple[dict[str, Any], Any, Any]:
    """The comparison as a plain dict, the ROC posterior and the held-out curve; deterministic except for the times."""
    from sklearn.metrics import roc_curve

    X, X_test, y, y_test = load()
    model = fit(X, y)
    test_scores = model.decision_function(X_test)
    truth = fl.baselines.delong(y_test, test_scores)
    low, high = truth.interval(LEVEL)
    # Whatever a classifier learns from shuffled labels, its AUC on new data is 0.5.
    rng = np.random.default_rng(SEED)
    null_fits = [(fit(X, labels), labels) for labels in (rng.permutation(y) for _ in range(shuffles))]
    rows, notes = [], []
    for rival in all_rivals():
        progress(rival.name)
        estimate, milliseconds = timed(partial(rival.estimate, model, X, y))
        on_noise = [point(rival.estimate(null_model, X, labels)) for null_model, labels in null_fits]
        rows.append(_row(rival.name, estimate, float(truth), on_noise, milliseconds))
        notes += [f"{rival.name}: {note}" for note in getattr(estimate, "notes", ())]
    analysis = fl.analyse(model, X, y)
    result = {
        "n_train": len(y),
        "n_test": len(y_test),
        "n_features": X.shape[1],
        "method": analysis.auc.method,
        "level": LEVEL,
        "held_out": {"auc": float(truth), "low": low, "high": high},
        "shuffles": shuffles,
        "estimators": rows,
        "notes": list(dict.fromkeys(notes)),
    }
    return result, analysis.roc, roc_curve(y_test, test_scores)[:2]


def _row(name: str, estimate: Any, truth: float, on_noise: list[float], milliseconds: float) -> dict[str, Any]:
    low, high = interval(estimate)
    return {
        "name": name,
        "auc": point(estimate),
        "low": low,
        "high": high,
        "error": point(estimate) - truth,
        "on_shuffled_labels": float(np.mean(on_noise)) if on_noise else None,
        "milliseconds": milliseconds,
    }


def load() -> list[Any]:
    """scikit-learn's breast-cancer data as X, X_test, y and y_test: always the same split."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True)
    split: list[Any] = train_test_split(X, y, train_size=TRAIN_ROWS, stratify=y, random_state=SEED)
    return split


def fit(X: Any, y: Any) -> Any:
    """The classifier to be judged: columns standardised, then logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000)).fit(X, y)
