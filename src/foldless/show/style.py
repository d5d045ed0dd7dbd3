"""What the pictures share: axes, names of models, the line of chance, notes under the axes."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from foldless.errors import FoldlessWarning, InputError, warn_user
from foldless.model.steps import innermost, is_estimator

# ---- What the pictures share: axes, the line of chance, and the notes under the axes.

FAINT, ALERT = "#8b949e", "#d97706"
BAND = 0.2  # opacity of intervals and bands
NOTE_SIZE = 8.0
NOTE_LINE = 1.35 * NOTE_SIZE / 72  # inches
LETTER = 0.54  # mean width of a letter, in units of the size of the font
SLIMMEST = 30  # letters; narrower notes would be a column of single words
# Marks of what is on the axes already, so that a second picture on them adds to it.
NOTES, CHANCE = "foldless-notes", "foldless-chance"


def axes_for(ax: Any, width: float, height: float, notes: Iterable[str]) -> tuple[Any, Any]:
    """Figure and axes: those given, or a new figure with room for the notes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as err:
        raise ImportError("a picture needs matplotlib: pip install 'foldless[plot]'.") from err
    if ax is not None and not hasattr(ax, "get_window_extent"):
        raise InputError(
            f"ax must be one matplotlib axes, got {type(ax).__name__}: of several, pass one, as in axes[0]."
        )
    if ax is not None:
        return ax.figure, ax
    lines = sum(len(_wrapped(note, width - 1.2)) for note in notes)
    figure, new = plt.subplots(figsize=(width, height + NOTE_LINE * lines), layout="constrained")
    return figure, new


def chance_line(ax: Any, x: tuple[float, float], y: tuple[float, float]) -> Any:
    """The dashed line of a useless classifier, drawn once however many pictures share the axes."""
    for line in ax.lines:
        if line.get_gid() == CHANCE:
            return line
    (line,) = ax.plot(x, y, color=FAINT, linewidth=1, linestyle=(0, (4, 4)), zorder=1, gid=CHANCE, label="chance")
    return line


def merged_notes(notes: Mapping[str, Iterable[str]]) -> list[str]:
    """Each note once; with several models, a note that does not concern them all says whose it is."""
    owners: dict[str, list[str]] = {}
    for name, own in notes.items():
        for note in dict.fromkeys(own):
            owners.setdefault(note, []).append(name)
    return [note if len(who) == len(notes) else f"{', '.join(who)}: {note}" for note, who in owners.items()]


def write_notes(ax: Any, notes: Iterable[str]) -> Any:
    """The notes under the label of the x axis, below those of earlier pictures; None without notes.

    They are part of the axes, so every layout engine and ``bbox_inches="tight"`` make room for them.
    """
    earlier = next((text for text in ax.texts if text.get_gid() == NOTES), None)
    width = ax.get_window_extent().width / ax.figure.dpi
    new = ["\n".join(_wrapped(note, width)) for note in notes]
    if earlier is not None:
        earlier.set_text("\n".join(dict.fromkeys([*re.split(r"\n(?=Note: )", earlier.get_text()), *new])))
        return earlier
    if not new:
        return None
    return ax.annotate(
        "\n".join(new),
        xy=(0, 0),
        xycoords=("axes fraction", ax.xaxis.label),
        xytext=(0, -6),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=NOTE_SIZE,
        color=ALERT,
        annotation_clip=False,
        gid=NOTES,
        # A dollar sign in a name is a dollar sign, not the start of a formula.
        parse_math=False,
    )


def _wrapped(note: str, inches: float) -> list[str]:
    letters = max(SLIMMEST, int(inches * 72 / (LETTER * NOTE_SIZE)))
    return textwrap.wrap(f"Note: {note}", letters, subsequent_indent="   ")


def legend(ax: Any, **where: Any) -> None:
    """Each label once, the line of chance last, and no formulas in names; nothing where there is no label."""
    found: dict[str, Any] = {}
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        found.setdefault(label, handle)
    if "chance" in found:
        found["chance"] = found.pop("chance")
    if not found:
        return
    drawn = ax.legend(list(found.values()), list(found), fontsize="small", framealpha=0.8, edgecolor="none", **where)
    for text in drawn.get_texts():
        text.set_parse_math(False)


def open_frame(ax: Any, *, left: bool = True) -> None:
    """No lines at the top and the right, nor at the left if that axis has no numbers."""
    hidden = ("top", "right") if left else ("top", "right", "left")
    ax.spines[list(hidden)].set_visible(False)


# ---- One model or several: names for what is drawn, and the warnings of their computation given once.


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
