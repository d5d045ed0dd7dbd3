"""``foldless demo``: nine ways to estimate one AUC, against the truth, in a table and a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np

import foldless as fl
from foldless import words
from foldless.cli import console, picture
from foldless.cli.options import json_option

# ---- The command.

SHUFFLES = 10

EXAMPLES = """\b
Examples:
  foldless demo
  foldless demo --out comparison.svg
  foldless demo --shuffles 0 --json
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--out", type=click.Path(path_type=Path), help="The picture (.png, .svg, .pdf).  [default: foldless-demo.png]"
)
@click.option(
    "--shuffles", type=click.IntRange(0, 1000), default=SHUFFLES, show_default=True, help="Shuffled label sets."
)
@json_option
def demo(out: Path | None, shuffles: int, as_json: bool) -> None:
    """Compare estimators of the AUC on scikit-learn's breast-cancer data.

    A logistic regression is trained on 60 rows. Each estimator sees those 60 rows only; the other
    509 rows tell the truth. The last column repeats it all on shuffled labels, where the truth is 0.5.
    """
    path = picture.writable_path(picture.DEFAULT if out is None else out, wanted=out is not None)
    demonstration = _run_quietly(shuffles)
    drawn = picture.write(path, lambda figure: picture.draw_demo(figure, demonstration), 11, 4.7, 110, picture.STYLE)
    console.say_result(as_dict(demonstration, drawn), as_json, lambda _: _show(demonstration, drawn))


def _run_quietly(shuffles: int) -> Demonstration:
    from rich.console import Console

    # The results carry the notes that matter; ten shuffles would repeat each warning ten times.
    with console.gathered_warnings(), Console(stderr=True).status("comparing") as status:
        return run(shuffles, lambda name: status.update(f"comparing: {name}"))


def as_dict(demo: Demonstration, path: str | None) -> dict[str, Any]:
    """The demo as plain data."""
    low, high = demo.truth.interval(0.95)
    return {
        "n_train": demo.n_train,
        "n_test": demo.n_test,
        "n_features": demo.n_features,
        "method": demo.method,
        "level": 0.95,
        "held_out": {"auc": float(demo.truth), "low": low, "high": high},
        "shuffles": demo.shuffles,
        "estimators": [_row_dict(row, float(demo.truth)) for row in demo.rows],
        "notes": demo.notes,
        "picture": path,
    }


def _row_dict(row: Result, truth: float) -> dict[str, Any]:
    return {
        "name": row.rival.name,
        "auc": row.real.auc,
        "low": row.real.low,
        "high": row.real.high,
        "error": row.real.auc - truth,
        "on_shuffled_labels": row.shuffled,
        "milliseconds": row.real.milliseconds,
    }


def _show(demo: Demonstration, drawn: str | None) -> None:
    console.say(
        f"Logistic regression on {demo.n_train} rows and {demo.n_features} columns of the breast-cancer data. On "
        f"{demo.n_test} held-out rows its AUC is {demo.truth:.3f} (DeLong {words.span(*demo.truth.interval(0.95))})."
    )
    columns = ("estimator", "AUC", "95 % interval", "error", "shuffled", "ms")
    bold = [k for k, row in enumerate(demo.rows) if row.rival.ours]
    console.say_table(columns, [_cells(row, float(demo.truth)) for row in demo.rows], bold)
    if demo.shuffles:
        console.say(f"Shuffled labels: mean of {demo.shuffles} shuffles; nothing can be learned, so the truth is 0.5.")
    console.say_notes(demo.notes)
    console.say("no picture: pip install 'foldless[plot]'" if drawn is None else drawn)


def _cells(row: Result, truth: float) -> tuple[str, ...]:
    real, noise = row.real, "-" if row.shuffled is None else f"{row.shuffled:.3f}"
    took = f"{real.milliseconds:.1f}" if real.milliseconds < 10 else f"{real.milliseconds:.0f}"
    return (
        row.rival.name,
        words.rate(real.auc),
        words.span(real.low, real.high),
        f"{real.auc - truth:+.3f}",
        noise,
        took,
    )


# ---- The estimators side by side: one line each.

BOOTSTRAPS = 50
PAIRS = 100
# Fast estimators are timed several times and the best taken: the first call also pays for imports.
TIMED_CALLS = 4
SLOW = 0.3


@dataclass(frozen=True)
class Rival:
    """A name, and a function of a fitted classifier and its training data."""

    name: str
    estimate: Callable[[Any, Any, Any], Any]
    ours: bool = False


@dataclass(frozen=True)
class TimedEstimate:
    """The answer of a rival: an AUC, its 95 % interval if it has one, and the time it took."""

    auc: float
    low: float | None
    high: float | None
    milliseconds: float
    notes: tuple[str, ...] = ()


def all_rivals() -> tuple[Rival, ...]:
    """Ours first, then the refitting ones, then those that trust the training scores."""
    b = fl.baselines
    return (
        Rival("foldless", fl.auc_posterior, ours=True),
        Rival("5-fold CV", b.cv_auc),
        Rival("5 x 5-fold CV", partial(b.cv_auc, folds=5, repeats=5)),
        Rival(f"leave-pair-out, {PAIRS} pairs", partial(b.leave_pair_out_auc, max_pairs=PAIRS)),
        Rival(f".632+, {BOOTSTRAPS} bootstraps", partial(b.bootstrap632plus_auc, n_bootstraps=BOOTSTRAPS)),
        Rival("resubstitution", b.resubstitution_auc),
        Rival("sample binormal", b.binormal_auc),
        Rival("EBAUC", b.ebauc),
        Rival("CBAUC, the paper", partial(fl.auc_posterior, method="in-sample")),
    )


def ask(rival: Rival, model: Any, X: Any, y: Any) -> TimedEstimate:
    """Run one rival and time it."""
    took, result = _timed(lambda: rival.estimate(model, X, y))
    low, high = _interval(result)
    notes = tuple(f"{rival.name}: {note}" for note in getattr(result, "notes", ()))
    return TimedEstimate(point(result), low, high, 1000 * took, notes)


def point(result: Any) -> float:
    """The number itself: a posterior has a mean, a baseline is one."""
    return float(result.mean if isinstance(result, fl.AUCPosterior) else result)


def _interval(result: Any) -> tuple[float, float] | tuple[None, None]:
    try:
        low, high = result.interval(0.95)
    except fl.InputError:  # a baseline without an interval says so in this way
        return None, None
    return float(low), float(high)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    best, result = _once(call)
    for _ in range(TIMED_CALLS - 1):
        if best > SLOW:
            break
        best = min(best, _once(call)[0])
    return best, result


def _once(call: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


# ---- The experiment: 60 training rows, 509 held-out rows, and labels without meaning.

TRAIN_ROWS = 60
SEED = 0


@dataclass(frozen=True)
class Split:
    """Training rows and the held-out rows that stand for the truth."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


@dataclass(frozen=True)
class Result:
    """One estimator: on the real labels, and on average over shuffled ones (None when not asked)."""

    rival: Rival
    real: TimedEstimate
    shuffled: float | None


@dataclass(frozen=True)
class Demonstration:
    """All that the demo prints and draws."""

    rows: tuple[Result, ...]
    truth: Any
    roc: Any
    held_out_roc: tuple[Any, Any]
    method: str
    n_train: int
    n_test: int
    n_features: int
    shuffles: int

    @property
    def notes(self) -> list[str]:
        """Notes of all estimators, each once."""
        return list(dict.fromkeys(note for row in self.rows for note in row.real.notes))


def run(shuffles: int, progress: Callable[[str], None]) -> Demonstration:
    """The whole comparison; deterministic but for the times."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    split = load()
    # Hundreds of tiny fits: BLAS threads only get in each other's way, tenfold on a busy machine.
    with threadpool_limits(1):
        return _compared(split, shuffles, progress)


def _compared(split: Split, shuffles: int, progress: Callable[[str], None]) -> Demonstration:
    model = fit(split.X, split.y)
    null_fits = [(y, fit(split.X, y)) for y in shuffled_labels(split.y, shuffles)]
    rows = []
    for rival in all_rivals():
        progress(rival.name)
        rows.append(Result(rival, ask(rival, model, split.X, split.y), _mean_on_noise(rival, split.X, null_fits)))
    truth = fl.baselines.delong(split.y_test, model.decision_function(split.X_test))
    method = fl.auc_posterior(model, split.X, split.y).method
    n_test, n_features = split.X_test.shape
    return Demonstration(tuple(rows), truth, *_rocs(model, split), method, len(split.y), n_test, n_features, shuffles)


def load() -> Split:
    """scikit-learn's breast-cancer data, split once and for all."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=TRAIN_ROWS, stratify=y, random_state=SEED)
    return Split(X, y, X_test, y_test)


def fit(X: Any, y: Any) -> Any:
    """Standardise, then logistic regression: the classifier under judgement."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=10_000)).fit(X, y)


def shuffled_labels(y: Any, count: int) -> list[Any]:
    """Permutations of the labels: whatever a classifier learns from them, its AUC on new data is 0.5."""
    rng = np.random.default_rng(SEED)
    return [rng.permutation(y) for _ in range(count)]


def _mean_on_noise(rival: Rival, X: Any, fits: list[tuple[Any, Any]]) -> float | None:
    return float(np.mean([point(rival.estimate(model, X, y)) for y, model in fits])) if fits else None


def _rocs(model: Any, split: Split) -> tuple[Any, tuple[Any, Any]]:
    """The posterior of the ROC curve, and the curve of the held-out rows."""
    from sklearn.metrics import roc_curve

    fpr, tpr, _ = roc_curve(split.y_test, model.decision_function(split.X_test))
    return fl.roc_posterior(model, split.X, split.y), (fpr, tpr)
