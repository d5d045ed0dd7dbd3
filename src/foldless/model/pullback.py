"""Walk through a fitted pipeline: apply the steps that did not see y, map weights back through the others.

Scores must be judged on the columns as they were before any step that used the labels; otherwise selection leaks into
the answer. A pipeline is therefore cut at its first step that saw y. What comes before is applied to X; every later
step T has to be affine on the data, and weights v on its output become weights w on its input:
``T(x) @ v = x @ w + c``. Nothing is refitted; only ``transform`` and ``get_support`` are called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from foldless.checks import Floats, as_matrix, dense, finite_scores, is_frame, is_sparse
from foldless.errors import EstimatorError, InputError
from foldless.model.steps import Steps, flattened, is_unknown, saw_y, sklearn_names, thawed

Pull = Callable[[Floats], tuple[Floats, float]]
Branch = tuple[str, Any, Any, slice, float]  # name, step, its input, its place in the output, its factor

WAY_OUT = "score rows that it was not trained on and pass them to auc_posterior_from_scores(y, scores)."
MAX_ROWS = 512  # rows on which affine maps are checked
PROBE_CELLS = 2**22  # cells of one block of probe rows: 32 MB
RTOL = 1e-6
MAX_QUOTED = 200  # characters quoted from the message of another library


class NotLinear(EstimatorError):
    """The classifier is not linear in X: it can only be refitted."""


class NotMappedBack(NotLinear):
    """A step that saw y, or one behind it, is not linear: the pipeline can only be refitted as a whole."""


@dataclass(frozen=True)
class Unfolded:
    """The table before the first step that saw y, and the function that maps weights on the output back to it."""

    table: Any
    pull: Pull
    supervised: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def unfold(steps: Steps, X: Any) -> Unfolded:
    """Apply the steps before the first that saw y; chain the maps back through that step and all later ones."""
    cut = next((k for k, (_, step) in enumerate(steps) if saw_y(step)), len(steps))
    unknown = tuple(described(*s) for s in steps[:cut] if is_unknown(s[1]))
    for name, step in steps[:cut]:
        X = applied(name, step, X)
    if cut == len(steps):
        return Unfolded(X, _chained([]), unknown=unknown)
    first = _opened(*steps[cut], X)
    pulls, rows = [first.pull], sampled_rows(X)
    for (name, step), following in zip(steps[cut:], steps[cut + 1 :], strict=False):
        rows = applied(name, step, rows)
        pulls.append(_way_back(*following, rows))
    later = tuple(described(*s) for s in steps[cut + 1 :] if saw_y(s[1]))
    return Unfolded(first.table, _chained(pulls), first.supervised + later, unknown + first.unknown)


def described(name: str, step: Any) -> str:
    """A step as it is named in messages."""
    return f"{name!r} ({type(step).__name__})"


def applied(name: str, step: Any, X: Any) -> Any:
    """``step.transform(X)``, with errors reported in terms of the step."""
    from sklearn.exceptions import NotFittedError

    if isinstance(step, str) and step == "passthrough":
        return X
    if not hasattr(step, "transform"):
        raise EstimatorError(
            f"step {described(name, step)} has no transform method, so X cannot be passed through it: {WAY_OUT}"
        )
    try:
        with quiet_names():
            return step.transform(X)
    except NotFittedError as err:
        raise EstimatorError(f"step {described(name, step)} is not fitted: call fit on the pipeline first.") from err
    except Exception as err:
        if "NaN" in str(err) or "infinity" in str(err):
            refuse_nonfinite(X)
        raise EstimatorError(
            f"step {described(name, step)} cannot transform X ({_first_line(err)}): pass X as it was given to fit."
        ) from err


@contextmanager
def quiet_names() -> Iterator[None]:
    """Silence scikit-learn's warnings about column names; `take_apart` compares the names once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names", category=UserWarning)
        yield


def refuse_nonfinite(X: Any) -> None:
    """Raise an error that names row and column if the table has missing or infinite entries."""
    M = as_matrix(X)
    with np.errstate(all="ignore"):
        finite_scores(np.asarray(M.sum(axis=1, dtype=np.float64)).ravel(), M)


def _first_line(err: Exception) -> str:
    line = (str(err).strip().splitlines() or [type(err).__name__])[0].rstrip(".")
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]} ..."


def n_rows(X: Any) -> int:
    """Number of rows of a table, or of a list of documents."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def sampled_rows(X: Any, most: int = MAX_ROWS) -> Any:
    """At most `most` rows, evenly spaced, in the same container as X; not all sparse ones can be cut."""
    from sklearn.utils import _safe_indexing

    rows = np.linspace(0, n_rows(X) - 1, most).astype(int)
    if rows[-1] < most or isinstance(X, np.ndarray):
        return X if rows[-1] < most else X[rows]
    return _safe_indexing(X.tocsr() if is_sparse(X) else X, rows)


def _chained(pulls: list[Pull]) -> Pull:
    def pull(v: Floats) -> tuple[Floats, float]:
        offset = 0.0
        for back in reversed(pulls):
            v, c = back(v)
            offset += c
        return v, offset

    return pull


def _opened(name: str, step: Any, X: Any) -> Unfolded:
    """The first step that saw y; a container is opened, so that its other branches can still be applied."""
    step = thawed(step)
    parts = _branches(name, step, X)
    if not parts:
        return Unfolded(_numeric(name, step, X), _way_back(name, step, sampled_rows(X)), (described(name, step),))
    opened = [unfold(flattened(f"{name}.{sub}", s), columns) for sub, s, columns, _, _ in parts]

    def pull(v: Floats) -> tuple[Floats, float]:
        backs = [o.pull(v[place] * factor) for o, (*_, place, factor) in zip(opened, parts, strict=True)]
        return np.concatenate([w for w, _ in backs]), sum(c for _, c in backs)

    return Unfolded(
        _side_by_side([o.table for o in opened]),
        pull,
        tuple(s for o in opened for s in o.supervised),
        tuple(s for o in opened for s in o.unknown),
    )


def _numeric(name: str, step: Any, X: Any) -> Any:
    try:
        M = as_matrix(X)
    except InputError as err:
        raise _not_linear(name, step, str(err)) from err
    refuse_nonfinite(M)
    return M


def _branches(name: str, step: Any, X: Any) -> list[Branch]:
    """The branches of a ColumnTransformer or FeatureUnion; none for a plain step."""
    from sklearn.utils import _safe_indexing

    factor = getattr(step, "transformer_weights", None) or {}
    if "ColumnTransformer" in sklearn_names(step):
        place = step.output_indices_
        kept = [(sub, s, c) for sub, s, c in step.transformers_ if place[sub].stop > place[sub].start]
        return [(sub, s, _safe_indexing(X, c, axis=1), place[sub], factor.get(sub, 1.0)) for sub, s, c in kept]
    if "FeatureUnion" not in sklearn_names(step):
        return []
    subs = [(sub, s) for sub, s in step.transformer_list if not (isinstance(s, str) and s == "drop")]
    rows = sampled_rows(X)
    ends = np.cumsum([applied(f"{name}.{sub}", s, rows).shape[1] for sub, s in subs]).tolist()
    places = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return [(sub, s, X, place, factor.get(sub, 1.0)) for (sub, s), place in zip(subs, places, strict=True)]


def _side_by_side(tables: list[Any]) -> Any:
    from scipy.sparse import hstack

    blocks = [as_matrix(t) for t in tables]
    return hstack(blocks, format="csr") if any(is_sparse(b) for b in blocks) else np.hstack(blocks)


def _way_back(name: str, step: Any, rows: Any) -> Pull:
    """Map weights back through a step, by the mask of a selector or else by probing; checked on the rows."""

    def pull(v: Floats) -> tuple[Floats, float]:
        R, expected = _numeric(name, step, rows), _scores(name, _dense(applied(name, step, rows)), v)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                w, c = _by_mask(step, v, R.shape[1]) or _by_probing(step, rows, R, v)
        except Exception as err:
            raise _not_linear(name, step, _first_line(err)) from err
        if not agrees(R, w, c, expected):
            raise _not_linear(name, step, "its output is not a linear function of its input")
        return w, c

    return pull


def _scores(name: str, transformed: Floats, v: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(transformed @ v)
    if not np.all(np.isfinite(scores)):
        raise InputError(f"the scores overflow behind {name!r}: rescale X, or the weights that follow this step.")
    return scores


def _by_mask(step: Any, v: Floats, width: int) -> tuple[Floats, float] | None:
    support = np.asarray(step.get_support()) if hasattr(step, "get_support") else np.empty(0)
    if support.dtype != np.bool_ or support.size != width:
        return None  # not a selector, or one of another library that reports indices
    w = np.zeros(width)
    w[support] = v
    return w, 0.0


def _by_probing(step: Any, rows: Any, R: Any, v: Floats) -> tuple[Floats, float]:
    """w_j = (T(o + h_j e_j) - T(o)) @ v / h_j, blockwise.

    The origin o is the mean row and o + h_j e_j reaches the largest value of column j: probes inside the range of
    the data lose no digits to large offsets and are not clipped. Sparse data are probed around zero.
    """
    origin = np.zeros(R.shape[1]) if is_sparse(R) else np.asarray(np.mean(R, axis=0, dtype=np.float64))
    reach = _dense(R.max(axis=0).reshape(1, -1)).ravel() - origin
    h = np.where(reach > 0, reach, 1.0)
    base = _dense(step.transform(_like(rows, origin[None, :]))).ravel()

    def slopes(block: npt.NDArray[Any]) -> Floats:
        probes = np.tile(origin, (block.size, 1))
        probes[np.arange(block.size), block] += h[block]
        return np.asarray((_dense(step.transform(_like(rows, probes))) - base) @ v / h[block])

    blocks = np.array_split(np.arange(h.size), 1 + h.size**2 // PROBE_CELLS)
    w = np.concatenate([slopes(block) for block in blocks])
    return w, float(base @ v - origin @ w)


def _like(rows: Any, probes: Floats) -> Any:
    """Probe rows in the container that the step expects."""
    if is_sparse(rows):
        return rows.tocsr().__class__(probes)
    if not is_frame(rows):
        return probes
    names = "schema" if type(rows).__module__.startswith("polars") else "columns"
    return type(rows)(probes, **{names: rows.columns})


def _dense(T: Any) -> Floats:
    return dense(as_matrix(T))


def agrees(R: Any, w: Floats, c: float, expected: Any) -> bool:
    """True when R @ w + c equals the expected scores, up to 1e-6 of their spread and rounding."""
    expected = np.asarray(expected).ravel()
    coarse = np.float32 in (R.dtype, expected.dtype)
    rounding = 64 * float(np.finfo(np.float32 if coarse else np.float64).eps)
    with np.errstate(over="ignore", invalid="ignore"):  # scores near the largest float are refused later
        size = float(np.max(abs(R) @ np.abs(w))) + abs(c)
        return bool(np.max(np.abs(R @ w + c - expected)) <= RTOL * float(np.ptp(expected)) + rounding * size)


def _not_linear(name: str, step: Any, why: str) -> NotMappedBack:
    place, cure = "follows a step that saw y", "put it before that step"
    if saw_y(step):
        place, cure = "saw y", "do without it"
    return NotMappedBack(
        f"step {described(name, step)} {place} and cannot be mapped back linearly ({why.rstrip('.')}): {cure}, use "
        f"method='refit', or {WAY_OUT}"
    )
