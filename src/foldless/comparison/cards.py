"""What notebooks show of a comparison and of a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldless._html import numbers
from foldless._html.card import card
from foldless._html.results import METHODS

if TYPE_CHECKING:
    from foldless.comparison.many import Ranking
    from foldless.comparison.two import Comparison

LEVEL = 0.95
WIDTH, HEIGHT = 250.0, 18.0
COLOURS = ("#3b82f6", "#8b949e", "#d97706")


def comparison(result: Comparison) -> str:
    """A `Comparison`: the three probabilities as a bar, and the difference."""
    low, high = result.difference.interval(LEVEL)
    a, equal, b = result.difference.beyond(result.rope)
    first, second = result.names
    figure = f"{result.difference.mean:+.3f}, {numbers.percent(LEVEL)} interval {low:+.3f} to {high:+.3f}"
    facts = {f"P({first} better)": numbers.share(a)}
    if result.rope or result.difference.exactly_zero:
        facts[f"P(equal within {result.rope:g})"] = numbers.share(equal)
    facts |= {
        f"P({second} better)": numbers.share(b),
        f"AUC of {first}": _auc(result.a),
        f"AUC of {second}": _auc(result.b),
        "rows": f"{result.a.n1} positive, {result.a.n0} negative",
        "method": METHODS.get(result.method, result.method),
    }
    title = f"AUC on new data: {first} less {second}"
    return card(title, figure, facts, picture=_bar((a, equal, b)), notes=result.notes)


def ranking(result: Ranking) -> str:
    """A `Ranking`: one line per model."""
    best = result.models[0]
    facts = {m.name: f"{numbers.share(m.prob_best)}; AUC {_auc(m.auc)}" for m in result.models}
    facts["method"] = METHODS.get(result.method, result.method)
    figure = f"{best.name}, with probability {numbers.share(best.prob_best)}"
    return card("Best AUC on new data", figure, facts, notes=result.notes, remark="Probability of being the best; AUC.")


def _auc(post: object) -> str:
    mean, interval = post.mean, post.interval(LEVEL)  # type: ignore[attr-defined]
    return numbers.estimate(mean, *interval)


def _bar(shares: tuple[float, float, float]) -> str:
    """Three shares of one bar: a better, equal, b better."""
    parts, at = [], 0.0
    for share, colour in zip(shares, COLOURS, strict=True):
        parts.append(
            f'<rect x="{at:.1f}" y="0" width="{WIDTH * share:.1f}" height="{HEIGHT:g}" fill="{colour}" '
            f'fill-opacity="0.6"/>'
        )
        at += WIDTH * share
    words = "shares of probability: " + ", ".join(numbers.share(s) for s in shares)
    return (
        f'<svg role="img" aria-label="{words}" xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" '
        f'height="{HEIGHT:g}" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" style="max-width:100%;height:auto">'
        f"{''.join(parts)}</svg>"
    )
