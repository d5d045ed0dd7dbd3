"""What the displays share: their base, axes, the chance line, legends, notes under the axes, and names of models."""

from __future__ import annotations

import io
import re
import textwrap
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Self

from foldless import words
from foldless.analysis import Analysis, analysed
from foldless.cards.drawing import DensityCurve
from foldless.computation import Options
from foldless.errors import InputError, warn_user
from foldless.model.steps import innermost, is_estimator

FAINT, ALERT = "#8b949e", "#d97706"
BAND = 0.2  # opacity of intervals and bands
DASHED = {"color": FAINT, "linewidth": 1, "linestyle": (0, (4, 4))}
NOTE_SIZE = 8.0
NOTE_LINE = 1.35 * NOTE_SIZE / 72  # inches
LETTER = 0.54  # mean width of a letter, in units of the font size
FEWEST_LETTERS = 30  # per line; narrower notes would be a column of single words
# Ids of artists that a second display on the same axes adds to instead of drawing them again.
NOTES, CHANCE = "foldless-notes", "foldless-chance"


# ---- the base of the displays


class Display:
    """Base of the displays: the constructor takes numbers, `plot` draws them and stores the artists as attributes.

    `notes` are written under the axes: a tuple, or a dict of tuples by model name.
    """

    notes: Any
    figure_: Any
    ax_: Any
    notes_: Any

    @contextmanager
    def _axes(self, ax: Any, width: float, height: float) -> Iterator[Any]:
        """The axes to draw on, given or new; on exit the notes are written under the finished picture."""
        notes = words.merged_notes(self.notes) if isinstance(self.notes, Mapping) else list(self.notes)
        self.figure_, self.ax_ = _axes_for(ax, width, height, notes)
        yield self.ax_
        self.notes_ = _write_notes(self.ax_, notes)


class PosteriorDisplay(Display):
    """Base of the displays of posteriors: what `from_posterior` draws can also be computed from a classifier."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Compute and draw the posterior of a fitted classifier, or of each in a dict of them, from its training data.

        Parameters
        ----------
        estimator : fitted linear classifier, Pipeline ending in one, weights, Analysis, or a dict of them by name
            An `Analysis` has its data and options already: leave them out.
        X, y
            As in `auc_posterior`.
        name : str, optional
            Name of a single model; its class by default.
        ax : matplotlib axes, optional
        **kwargs
            Options of `auc_posterior` (method, prior, groups, sample_weight, pos_label, multi_class); `level` and the
            rest as in `from_posterior`.
        """
        models, rest = analyses(estimator, X, y, name=name, **kwargs)
        posteriors = {key: analysis.auc for key, analysis in models.items()}
        emit_warnings(models)
        return cls.from_posterior(posteriors, ax=ax, **rest)

    @classmethod
    @abstractmethod
    def from_posterior(cls, posterior: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a posterior that was computed before, or several by name."""


@dataclass(repr=False, eq=False)
class ModelsDisplay(PosteriorDisplay):
    """Base of the displays of several models: one curve for each, by name."""

    curves: Mapping[str, Any]
    notes: Mapping[str, Iterable[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.notes = {name: tuple(self.notes.get(name, ())) for name in self.curves}


# ---- axes, lines and legends


def drawn(draw: Callable[[Any], object], size: tuple[float, float], kind: str, metadata: Any) -> bytes:
    """A file of this kind, with what `draw` puts on a figure of its own: no window system, no state of pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure, content = Figure(figsize=size, layout="constrained"), io.BytesIO()
    FigureCanvasAgg(figure)
    draw(figure)
    figure.savefig(content, format=kind, metadata=metadata)
    return content.getvalue()


def _axes_for(ax: Any, width: float, height: float, notes: list[str]) -> tuple[Any, Any]:
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
    """The dashed line of a useless classifier, drawn once even if several displays share the axes."""
    for line in ax.lines:
        if line.get_gid() == CHANCE:
            return line
    (line,) = ax.plot(x, y, zorder=1, gid=CHANCE, label="chance", **DASHED)
    return line


def mean_and_interval(ax: Any, curve: DensityCurve, height: float, bar: dict[str, Any], dot: Any) -> tuple[Any, Any]:
    """A bar for the interval of a density and a dot at its mean, not clipped at the edge of the axes."""
    look = {"linewidth": 4, "solid_capstyle": "butt", "clip_on": False, "zorder": 3, **bar}
    (interval,) = ax.plot([curve.low, curve.high], [height, height], **look)
    look = {"markersize": 7, "markeredgecolor": "white", "clip_on": False, "zorder": 4}
    (mean,) = ax.plot(curve.mean, height, "o", color=dot, **look)
    return interval, mean


def legend(ax: Any, **where: Any) -> None:
    """A legend with each label once, the chance line last, and no formulas in names; none if there are no labels."""
    handles: dict[str, Any] = {}
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        handles.setdefault(label, handle)
    if "chance" in handles:
        handles["chance"] = handles.pop("chance")
    if handles:
        drawn = ax.legend([*handles.values()], [*handles], fontsize="small", framealpha=0.8, edgecolor="none", **where)
        without_formulas(drawn.get_texts())


def without_formulas(texts: Iterable[Any]) -> None:
    """Show a dollar sign in a name as it is, not as the start of a formula."""
    for text in texts:
        text.set_parse_math(False)


def open_frame(ax: Any, *, left: bool = True) -> None:
    """Hide the lines at the top and on the right; also on the left if that axis has no numbers."""
    hidden = ("top", "right") if left else ("top", "right", "left")
    ax.spines[list(hidden)].set_visible(False)


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


# ---- notes under the axes


def _write_notes(ax: Any, notes: list[str]) -> Any:
    """The notes under the label of the x axis, below those of earlier displays; None without notes.

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
    below_label = {"xy": (0, 0), "xycoords": ("axes fraction", ax.xaxis.label), "xytext": (0, -6)}
    look = {"ha": "left", "va": "top", "fontsize": NOTE_SIZE, "color": ALERT, "parse_math": False}
    return ax.annotate(
        "\n".join(new), textcoords="offset points", annotation_clip=False, gid=NOTES, **below_label, **look
    )


def _wrapped(note: str, inches: float) -> list[str]:
    letters = max(FEWEST_LETTERS, int(inches * 72 / (LETTER * NOTE_SIZE)))
    return textwrap.wrap(f"Note: {note}", letters, subsequent_indent="   ")


# ---- one model or several, by name


def analyses(
    estimator: Any, X: Any, y: Any, *, name: str | None = None, **kwargs: Any
) -> tuple[dict[str, Analysis], dict[str, Any]]:
    """Analyses of one classifier or of a dict of them, by name, and the keywords that are not options of an analysis.

    An `Analysis` is used as it is.
    """
    options = Options(**{f.name: kwargs.pop(f.name) for f in fields(Options) if f.name in kwargs})
    if not isinstance(estimator, Mapping):
        return {name or _class_name(estimator): analysed(estimator, X, y, options)}, kwargs
    if name is not None:
        raise InputError("name is for a single estimator: the keys of the dict are the names.")
    return {str(key): analysed(each, X, y, options) for key, each in estimator.items()}, kwargs


def _class_name(model: Any) -> str:
    estimator = model.estimator if isinstance(model, Analysis) else model
    return type(innermost(estimator)).__name__ if is_estimator(estimator) else "weights"


def emit_warnings(models: Mapping[str, Analysis]) -> None:
    """Emit each distinct warning of the analyses once, at the line that asked for the picture."""
    distinct = {(type(warning), str(warning)): warning for a in models.values() for warning in a.warnings}
    for warning in distinct.values():
        warn_user(warning)


def of_kind(result: Any, kind: type, maker: str) -> Any:
    """The result, or an `InputError` that says how to compute one of its kind."""
    if not isinstance(result, kind):
        raise InputError(f"expected a {kind.__name__}, got {type(result).__name__}: compute it with {maker}.")
    return result


def named_posteriors(posteriors: Any, kind: type, maker: str, name: Any = None) -> dict[str, Any]:
    """One posterior, or a dict or list of them, by name; an `InputError` for anything else."""
    if isinstance(posteriors, Mapping):
        if name is not None:
            raise InputError("name is for a single posterior or a list: the keys of the dict are the names.")
        named = {str(key): post for key, post in posteriors.items()}
    else:
        several = list(posteriors) if isinstance(posteriors, list | tuple) else [posteriors]
        named = dict(zip(_names(name, len(several)), several, strict=True))
    if not named:
        raise InputError(f"there is nothing to draw: pass at least one {kind.__name__}.")
    for post in named.values():
        if not isinstance(post, kind):
            raise InputError(
                f"expected {kind.__name__} objects, one or a dict or list of them, got {type(post).__name__}: "
                f"compute each with {maker}(estimator, X, y)."
            )
    return named


def _names(name: Any, n: int) -> list[str]:
    if name is None:
        return [""] if n == 1 else [f"model {k + 1}" for k in range(n)]
    names = [name] if isinstance(name, str) else [str(each) for each in name]
    if len(names) != n or len(set(names)) != n:
        raise InputError(f"name must be {n} different name(s), one per posterior, got {name!r}.")
    return names
