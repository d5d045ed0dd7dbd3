"""Small pictures as inline SVG: a density, intervals of several rates, a ROC curve, a histogram.

Lines and letters are ``currentColor``, so they follow the page; one blue that reads on white and on black
marks what is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from foldless._html import numbers
from foldless._html.density import DensityCurve, Floats

BLUE = "#3b82f6"
WIDTH, HEIGHT, FOOT = 250.0, 64.0, 15.0
LETTERS = 'font-size="10" fill="currentColor" fill-opacity="0.75"'


def _svg(width: float, height: float, description: str, body: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(description)}" xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
        f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" style="max-width:100%;height:auto;overflow:visible">'
        f"{body}</svg>"
    )


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {LETTERS}>{escape(words)}</text>'


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{BLUE}"/>'


FAINT = 'stroke="currentColor" stroke-opacity="0.45"'
BAR = f'stroke="{BLUE}" stroke-opacity="0.5" stroke-width="4"'
DASHED = f'{FAINT} stroke-dasharray="3 3"'


def density(curve: DensityCurve, chance: float | None = None) -> str:
    """A density with its interval shaded, its mean as a dot, and the ends of the axis labelled."""
    left, right = float(curve.edges[0]), float(curve.edges[-1])
    base, top = HEIGHT, float(curve.heights.max()) or 1.0

    def across(a: Floats) -> Floats:
        return (np.asarray(a) - left) / (right - left) * WIDTH

    def up(h: Floats) -> Floats:
        return base - np.asarray(h) / top * (HEIGHT - 8)

    (x, y), (sx, sy) = curve.outline, curve.shaded
    area = f"{_points(across(sx), up(sy))} {across(sx[-1:])[0]:.1f},{base:.1f} {across(sx[:1])[0]:.1f},{base:.1f}"
    mean = float(across(np.array([curve.mean]))[0])
    body = [
        f'<polygon points="{area}" fill="{BLUE}" fill-opacity="0.3"/>',
        f'<polyline points="{_points(across(x), up(y))}" fill="none" stroke="{BLUE}" stroke-width="1.5"/>',
        _line(0, base, WIDTH, base, FAINT),
        # Under a spike the shaded area is invisible; the bar shows the interval whatever the shape.
        _line(float(across(sx[:1])[0]), base, float(across(sx[-1:])[0]), base, BAR),
        _dot(mean, base),
        _text(0, base + FOOT, f"{left:.3g}", "start"),
        _text(WIDTH, base + FOOT, f"{right:.3g}", "end"),
    ]
    if chance is not None and left < chance < right:
        at = float(across(np.array([chance]))[0])
        body.append(_line(at, 4, at, base, DASHED))
        if 30 < at < WIDTH - 30:
            body.append(_text(at, base + FOOT, f"{chance:g}"))
    words = f"density; mean {numbers.rate(curve.mean)}, interval {numbers.span(curve.low, curve.high)}"
    return _svg(WIDTH, HEIGHT + FOOT + 4, words, "".join(body))


def intervals(rates: Mapping[str, tuple[float, float, float]]) -> str:
    """One row per rate (mean, low, high) on a common axis from 0 to 1."""
    indent, step = 68.0, 17.0
    length, base = WIDTH - indent - 6, step * len(rates) + 4
    body = [
        _line(indent + length * t, 2, indent + length * t, base, FAINT + ' stroke-width="0.5"') for t in (0, 0.5, 1)
    ]
    body += [_text(indent + length * t, base + FOOT, f"{t:g}") for t in (0, 0.5, 1)]
    for row, (name, (mean, low, high)) in enumerate(rates.items()):
        y = step * (row + 0.5) + 2
        body += [
            _text(indent - 8, y + 3.5, name, "end"),
            _line(indent + length * low, y, indent + length * high, y, BAR),
        ]
        body.append(_dot(indent + length * mean, y))
    words = "; ".join(f"{name} {numbers.rate(m)}, {numbers.span(lo, hi)}" for name, (m, lo, hi) in rates.items())
    return _svg(WIDTH, base + FOOT + 4, words, "".join(body))


def roc(fpr: Floats, mean: Floats, low: Floats, high: Floats) -> str:
    """Mean ROC curve, its band, and the line of chance."""
    side, pad = 120.0, 4.0

    def x(f: Floats) -> Floats:
        return pad + np.asarray(f) * side

    def y(t: Floats) -> Floats:
        return pad + (1 - np.asarray(t)) * side

    band = f"{_points(x(fpr), y(high))} {_points(x(fpr[::-1]), y(low[::-1]))}"
    body = [
        f'<rect x="{pad}" y="{pad}" width="{side}" height="{side}" fill="none" {FAINT}/>',
        _line(pad, pad + side, pad + side, pad, DASHED),
        f'<polygon points="{band}" fill="{BLUE}" fill-opacity="0.3"/>',
        f'<polyline points="{_points(x(fpr), y(mean))}" fill="none" stroke="{BLUE}" stroke-width="1.8"/>',
        _text(pad + side / 2, pad + side + 13, "false positive rate"),
    ]
    return _svg(side + 2 * pad, side + 2 * pad + FOOT, "mean ROC curve with its credible band", "".join(body))


def histogram(values: Sequence[float] | Floats, bins: int = 30) -> str:
    """Counts of values, with a dashed line at 0 where it is in view."""
    counts, edges = np.histogram(np.asarray(values, dtype=np.float64), bins=bins)
    wide = WIDTH / bins
    tall = counts / counts.max() * (HEIGHT - 8)
    bars = "".join(
        f'<rect x="{k * wide:.1f}" y="{HEIGHT - h:.1f}" width="{wide - 0.8:.1f}" height="{h:.1f}" '
        f'fill="{BLUE}" fill-opacity="0.55"/>'
        for k, h in enumerate(tall)
    )
    left, right = float(edges[0]), float(edges[-1])
    body = [bars, _line(0, HEIGHT, WIDTH, HEIGHT, FAINT)]
    body += [_text(0, HEIGHT + FOOT, f"{left:.3g}", "start"), _text(WIDTH, HEIGHT + FOOT, f"{right:.3g}", "end")]
    if left < 0 < right:
        at = -left / (right - left) * WIDTH
        body.append(_line(at, 4, at, HEIGHT, DASHED))
        if 30 < at < WIDTH - 30:
            body.append(_text(at, HEIGHT + FOOT, "0"))
    words = f"histogram of {len(values)} scores from {left:.3g} to {right:.3g}"
    return _svg(WIDTH, HEIGHT + FOOT + 4, words, "".join(body))
