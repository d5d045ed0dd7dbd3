"""One call, judged: a proper answer, a refusal that names the problem, or a surprise."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import foldless as fl

REFUSALS = (fl.FoldlessError,)
FITTING = ("fit", "fit_transform", "_fit", "fit_predict")


class Improper(AssertionError):
    """An answer that is none: NaN, outside [0, 1], not in order."""


@dataclass(frozen=True)
class Outcome:
    """`kind` is "answer", "refusal" or "surprise"; a surprise has a text, and a `place` to count it by."""

    kind: str
    text: str = ""
    place: str = ""


def judged(call: Callable[[], Any], check: Callable[[Any], None], *, fits: bool = False) -> Outcome:
    """Run `call` and `check` its answer. `fits` says that the call fits estimators, whose own errors may pass."""
    seen: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = partial(_noted, seen)  # type: ignore[assignment]
        try:
            check(call())
        except REFUSALS as err:
            problem = wordless(err)
            return Outcome("surprise", problem, problem) if problem else _with(seen, Outcome("refusal", str(err)))
        except Exception as err:
            if fits and from_a_fit(err):
                return Outcome("refusal", str(err))
            return Outcome("surprise", "".join(traceback.format_exception(err)), place_of(err))
    return _with(seen, Outcome("answer"))


def _noted(seen: list[str], message: Any, category: Any, *_: Any, **__: Any) -> None:
    """Remember warnings of NumPy and Python that foldless lets through; those meant for the user may pass."""
    if not issubclass(category, RuntimeWarning | DeprecationWarning | PendingDeprecationWarning):
        return
    for frame in reversed(traceback.extract_stack()):
        if frame.name == "_repeat_warnings":  # a search passes on what it heard from scikit-learn
            return
        if frame.name == "warn_user":  # the messenger; who sent it comes next
            continue
        if "sklearn" in frame.filename or "/pandas/" in frame.filename:
            return
        if "foldless/" in frame.filename and "/tests/" not in frame.filename:
            seen.append(f"{category.__name__}: {message} ({short(frame.filename)}:{frame.lineno})")
            return


def _with(seen: list[str], outcome: Outcome) -> Outcome:
    return Outcome("surprise", seen[0], seen[0]) if seen else outcome


def wordless(err: Exception) -> str:
    """What is wrong with the message of a refusal, if anything."""
    text = str(err)
    if len(text) < 20 or "\n" in text.strip() or len(text) > 700:
        return f"a message that nobody can use: {text!r}"
    return ""


def from_a_fit(err: BaseException) -> bool:
    """Whether scikit-learn raised it in a fit, or in a check of its own before one."""
    if not isinstance(err, ValueError | TypeError):
        return False
    frames = traceback.extract_tb(err.__traceback__)
    inside = [frame for frame in frames if "sklearn" in frame.filename]
    return bool(inside) and (any(f.name in FITTING for f in inside) or "sklearn" in frames[-1].filename)


def place_of(err: BaseException) -> str:
    """Kind of error and the innermost line of foldless, to count surprises by."""
    frames = traceback.extract_tb(err.__traceback__)
    own = [f for f in frames if "foldless" in f.filename and "fuzz" not in f.filename] or frames
    return f"{type(err).__name__} at {short(own[-1].filename)}:{own[-1].lineno} ({str(err)[:90]})"


def short(path: str) -> str:
    """The path from the package on."""
    return path.rsplit("site-packages/", 1)[-1].rsplit("/src/", 1)[-1]
