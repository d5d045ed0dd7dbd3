"""One model or several: names for what is drawn, and the warnings of their computation given once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from foldless._steps import innermost, is_estimator
from foldless.errors import FoldlessWarning, InputError, warn_user


def named_posteriors(posteriors: Any, kind: type, maker: str, name: Any = None) -> dict[str, Any]:
    """One posterior, or a dict or list of them, by name; an `InputError` for anything else."""
    if isinstance(posteriors, Mapping):
        if name is not None:
            raise InputError("name is for a single posterior or a list: the keys of the dict are the names.")
        found = {str(key): post for key, post in posteriors.items()}
    else:
        several = list(posteriors) if isinstance(posteriors, list | tuple) else [posteriors]
        found = dict(zip(_names(name, len(several)), several, strict=True))
    if not found:
        raise InputError(f"there is nothing to draw: pass at least one {kind.__name__}.")
    for post in found.values():
        if not isinstance(post, kind):
            raise InputError(
                f"expected {kind.__name__} objects, one or a dict or list of them, got {type(post).__name__}: "
                f"compute each with {maker}(estimator, X, y)."
            )
    return found


def _names(name: Any, n: int) -> list[str]:
    if name is None:
        return [""] if n == 1 else [f"model {k + 1}" for k in range(n)]
    names = [name] if isinstance(name, str) else [str(each) for each in name]
    if len(names) != n or len(set(names)) != n:
        raise InputError(f"name must be {n} different name(s), one per posterior, got {name!r}.")
    return names


def named_estimators(estimator: Any, name: str | None) -> dict[str, Any]:
    """A fitted classifier under its name, or the dict of classifiers as it is."""
    if not isinstance(estimator, Mapping):
        return {name or _class_name(estimator): estimator}
    if name is not None:
        raise InputError("name is for a single estimator: the keys of the dict are the names.")
    return {str(key): each for key, each in estimator.items()}


def _class_name(estimator: Any) -> str:
    if not is_estimator(estimator):
        return "weights"
    return type(innermost(estimator)).__name__


@contextmanager
def warned_once() -> Iterator[None]:
    """Give each warning of the block once, pointing at the line that asked for the picture.

    The ROC curve and the operating point are two analyses of one classifier with the same warnings.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    seen: set[tuple[type[Warning], str]] = set()
    for warning in caught:
        key = (warning.category, str(warning.message))
        if key in seen:
            continue
        seen.add(key)
        if issubclass(warning.category, FoldlessWarning):
            warn_user(warning.message, warning.category)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
