"""Notebook cards: their layout, the density curve, and small pictures as inline SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from foldless import words
from foldless.checks import Floats

# ---- The layout of a card: title, main figure, picture, facts and notes.

# Only inherited colours and half-transparent greys: the card takes the page's colours, light or dark.
RULE = "rgba(128,128,128,0.4)"
ALERT = "#d97706"
FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-size:13px;line-height:1.45"
FRAME = f"{FONT};color:inherit;border:1px solid {RULE};border-radius:6px;padding:10px 14px;max-width:600px"
NOTE = f"border-left:3px solid {ALERT};padding:1px 0 1px 9px;margin-top:7px;overflow-wrap:anywhere"
ROW = "display:flex;flex-wrap:wrap;gap:6px 24px;align-items:flex-start"
FACTS = "display:grid;grid-template-columns:max-content minmax(0,1fr);gap:1px 14px"


def card(
    title: str,
    figure: str,
    facts: Mapping[str, str],
    *,
    picture: str = "",
    notes: Iterable[str] = (),
    remark: str = "",
) -> str:
    """One result as HTML. All text is escaped here; `picture` is the markup of one of the pictures below."""
    cells = "".join(
        f'<div style="opacity:0.75">{escape(name)}</div><div style="overflow-wrap:anywhere">{escape(value)}</div>'
        for name, value in facts.items()
    )
    left = f'<div style="flex:none;max-width:100%">{picture}</div>' if picture else ""
    right = f'<div style="flex:1 1 250px;min-width:0"><div style="{FACTS}">{cells}</div></div>'
    parts = [
        f'<div style="{ROW}">{left}{right}</div>',
        *(f'<div style="{NOTE}"><b>Note:</b> {escape(note)}</div>' for note in dict.fromkeys(notes)),
        f'<div style="margin-top:6px;opacity:0.75">{escape(remark)}</div>' if remark else "",
    ]
    return framed(title, escape(figure), parts)


def framed(title: str, figure: str, parts: Iterable[str]) -> str:
    """Title, figure and parts in a frame; figure and parts are markup already."""
    head = (
        f'<div style="font-weight:600">{escape(title)}</div><div style="font-size:17px;margin:2px 0 6px">{figure}</div>'
    )
    return f'<div class="foldless" style="{FRAME}">{head}{"".join(parts)}</div>'


# ---- The density of a rate as a curve that can be drawn, even if it is a spike or unbounded.
#
# The height of a bin is its probability divided by its width. It is finite for every distribution, even one with all
# its mass at 1, and the area under the curve is the probability in view.

TAIL = 5e-4  # probability left out of view at each end
NARROWEST = 0.02  # a narrower window would make certainty look like a spread
MARGIN = 0.05
BINS = 240


@dataclass(frozen=True, eq=False)
class DensityCurve:
    """A density over `edges`, one height per bin, with the mean and the interval of the posterior."""

    edges: Floats
    heights: Floats
    mean: float
    low: float
    high: float
    level: float

    @property
    def outline(self) -> tuple[Floats, Floats]:
        """x and y of the line: through the middle of each bin, and horizontal to both ends of the window."""
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        x = np.concatenate([self.edges[:1], middles, self.edges[-1:]])
        return x, np.concatenate([self.heights[:1], self.heights, self.heights[-1:]])

    @property
    def shaded(self) -> tuple[Floats, Floats]:
        """The part of the outline inside the interval."""
        return self.between(self.low, self.high)

    def between(self, low: float, high: float) -> tuple[Floats, Floats]:
        """The part of the outline from `low` to `high`, cut exactly there."""
        x, y = self.outline
        inside = (x > low) & (x < high)
        ends = np.array([low, high])
        at = np.interp(ends, x, y)
        return np.concatenate([ends[:1], x[inside], ends[1:]]), np.concatenate([at[:1], y[inside], at[1:]])


def window(posteriors: Sequence[Any]) -> tuple[float, float]:
    """The range of rates that shows every posterior, within [0, 1]."""
    ends = np.array([post.ppf(np.array([TAIL, 1 - TAIL])) for post in posteriors])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    half = max((high - low) * (1 + 2 * MARGIN), NARROWEST) / 2
    middle = min(max((low + high) / 2, half), 1 - half) if half < 0.5 else 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def density_curve(
    post: Any, level: float = 0.95, within: tuple[float, float] | None = None, bins: int = BINS
) -> DensityCurve:
    """The curve of a posterior, which has `mean`, `cdf`, `ppf` and `interval`, over a window, by default its own."""
    low, high = window([post]) if within is None else within
    edges = np.linspace(low, high, bins + 1)
    below = np.asarray(post.cdf(edges), dtype=np.float64)
    # A rate of exactly 0 belongs to the first bin; one of exactly 1 is in the last one already.
    below[0] = 0.0 if low == 0 else below[0]
    heights = np.maximum(np.diff(below), 0.0) / np.diff(edges)
    start, end = post.interval(level)
    return DensityCurve(edges, heights, post.mean, start, end, level)


# ---- Small pictures as inline SVG: a density, intervals of several rates, a ROC curve, a histogram.
#
# Lines and text are ``currentColor``, so they follow the page; the data are in a blue that is legible on white and on
# black.

BLUE = "#3b82f6"
WIDTH, HEIGHT, FOOT = 250.0, 64.0, 15.0
LETTERS = 'font-size="10" fill="currentColor" fill-opacity="0.75"'


def svg(width: float, height: float, description: str, body: Iterable[str]) -> str:
    return (
        f'<svg role="img" aria-label="{escape(description)}" xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" style="max-width:100%;height:auto;overflow:visible">'
        f"{''.join(body)}</svg>"
    )


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _text(x: float, y: float, label: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {LETTERS}>{escape(label)}</text>'


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{BLUE}"/>'


FAINT = 'stroke="currentColor" stroke-opacity="0.45"'
BAR = f'stroke="{BLUE}" stroke-opacity="0.5" stroke-width="4"'
DASHED = f'{FAINT} stroke-dasharray="3 3"'


def _ends(left: float, right: float, mark: float | None) -> list[str]:
    """Labels at the ends of the axis, and a dashed line at `mark` where that is in view."""
    ends = [_text(0, HEIGHT + FOOT, f"{left:.3g}", "start"), _text(WIDTH, HEIGHT + FOOT, f"{right:.3g}", "end")]
    if mark is None or not left < mark < right:
        return ends
    at = (mark - left) / (right - left) * WIDTH
    apart = 30 < at < WIDTH - 30
    return [*ends, _line(at, 4, at, HEIGHT, DASHED), *([_text(at, HEIGHT + FOOT, f"{mark:g}")] if apart else [])]


def density(curve: DensityCurve, chance: float | None = None) -> str:
    """A density with its interval shaded, its mean as a dot, and the ends of the axis labelled."""
    left, right = float(curve.edges[0]), float(curve.edges[-1])
    top = float(curve.heights.max()) or 1.0

    def placed(x: Floats, heights: Floats) -> tuple[Floats, Floats]:
        return (x - left) / (right - left) * WIDTH, HEIGHT - heights / top * (HEIGHT - 8)

    outline, shaded = placed(*curve.outline), placed(*curve.shaded)
    low, high = float(shaded[0][0]), float(shaded[0][-1])
    body = [
        f'<polygon points="{_points(*shaded)} {high:.1f},{HEIGHT:.1f} {low:.1f},{HEIGHT:.1f}" fill="{BLUE}" '
        f'fill-opacity="0.3"/>',
        f'<polyline points="{_points(*outline)}" fill="none" stroke="{BLUE}" stroke-width="1.5"/>',
        _line(0, HEIGHT, WIDTH, HEIGHT, FAINT),
        # Under a spike the shaded area is invisible; the bar shows the interval whatever the shape.
        _line(low, HEIGHT, high, HEIGHT, BAR),
        _dot((curve.mean - left) / (right - left) * WIDTH, HEIGHT),
        *_ends(left, right, chance),
    ]
    label = f"density; mean {words.rate(curve.mean)}, interval {words.span(curve.low, curve.high)}"
    return svg(WIDTH, HEIGHT + FOOT + 4, label, body)


def intervals(rates: Mapping[str, tuple[float, float, float]]) -> str:
    """One row per rate (mean, low, high) on a common axis from 0 to 1."""
    indent, step = 68.0, 17.0
    base, ticks = step * len(rates) + 4, (0, 0.5, 1)

    def across(rate: float) -> float:
        return indent + (WIDTH - indent - 6) * rate

    body = [_line(across(t), 2, across(t), base, FAINT + ' stroke-width="0.5"') for t in ticks]
    body += [_text(across(t), base + FOOT, f"{t:g}") for t in ticks]
    for row, (name, (mean, low, high)) in enumerate(rates.items()):
        y = step * (row + 0.5) + 2
        body += [_text(indent - 8, y + 3.5, name, "end"), _line(across(low), y, across(high), y, BAR)]
        body.append(_dot(across(mean), y))
    label = "; ".join(f"{name} {words.rate(m)}, {words.span(lo, hi)}" for name, (m, lo, hi) in rates.items())
    return svg(WIDTH, base + FOOT + 4, label, body)


def roc(fpr: Floats, mean: Floats, low: Floats, high: Floats) -> str:
    """Mean ROC curve, its band, and the line of chance."""
    side, pad = 120.0, 4.0

    def points(f: Floats, t: Floats) -> str:
        return _points(pad + f * side, pad + (1 - t) * side)

    body = [
        f'<rect x="{pad}" y="{pad}" width="{side}" height="{side}" fill="none" {FAINT}/>',
        _line(pad, pad + side, pad + side, pad, DASHED),
        f'<polygon points="{points(fpr, high)} {points(fpr[::-1], low[::-1])}" fill="{BLUE}" fill-opacity="0.3"/>',
        f'<polyline points="{points(fpr, mean)}" fill="none" stroke="{BLUE}" stroke-width="1.8"/>',
        _text(pad + side / 2, pad + side + 13, "false positive rate"),
    ]
    return svg(side + 2 * pad, side + 2 * pad + FOOT, "mean ROC curve with its credible band", body)


def histogram(
    values: Sequence[float] | Floats, bins: int = 30, *, mark: float | None = None, what: str = "scores"
) -> str:
    """Counts of values, with a dashed line at `mark`; without one, at 0 where it is in view."""
    given = np.asarray(values, dtype=np.float64)
    ends = given if mark is None else np.append(given, [mark - 0.01, mark + 0.01])  # the mark is always in view
    left, right = float(ends.min()), float(ends.max())
    room = bins * float(np.spacing(max(-left, right)))  # a bin holds one number
    if 0 < right - left < room:
        left, right = left - room, right + room
    counts, edges = np.histogram(given, bins=bins, range=(left, right))
    wide = WIDTH / bins
    tall = counts / counts.max() * (HEIGHT - 8)
    bars = [
        f'<rect x="{k * wide:.1f}" y="{HEIGHT - h:.1f}" width="{wide - 0.8:.1f}" height="{h:.1f}" '
        f'fill="{BLUE}" fill-opacity="0.55"/>'
        for k, h in enumerate(tall)
    ]
    left, right = float(edges[0]), float(edges[-1])
    body = [*bars, _line(0, HEIGHT, WIDTH, HEIGHT, FAINT), *_ends(left, right, 0.0 if mark is None else mark)]
    label = f"histogram of {len(values)} {what} from {left:.3g} to {right:.3g}"
    return svg(WIDTH, HEIGHT + FOOT + 4, label, body)
