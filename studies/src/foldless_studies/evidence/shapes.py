"""Fit and posterior against 5-fold cross-validation over shapes: results/shapes.md, and a map, results/shapes.png."""

from __future__ import annotations

import matplotlib.pyplot as plt

from foldless_studies.evidence import begin, begin_table, print_row
from foldless_studies.runs import quietly
from foldless_studies.speed.measurement import SIGNAL, Effort, gaussian, in_turns, noise, shape
from foldless_studies.speed.page import span
from foldless_studies.speed.rivals import CV5, WITH_FIT, calls
from foldless_studies.speed.subjects import exponent

# The ratio that each shape should reach.
AIMS = {(1_000, 20): 1.8, (3_000, 20): 1.8, (10_000, 20): 1.8, (100_000, 20): 1.6, (1_000_000, 20): 1.6}
AIMS |= {(30_000, 50): 1.6, (10_000, 200): 1.4, (20_000, 768): 1.4, (1_000, 5_000): 1.4}
AIMS |= {(2_000, 768): 0.9, (5_000, 768): 0.9, (3_000, 5_000): 0.9}
TEXT = """\
Logistic regression with C = 1 on normal columns, ten of which differ between the classes. Both in turns, in one
process; processor time, one thread of linear algebra, the shortest of at least three rounds. The posterior includes its
interval, notes and checks. Noise: by how much the median round exceeds the shortest, at worst."""


def drawn(ratios: dict[tuple[int, int], float]) -> None:
    """The map: rows to the right, columns upwards, the ratio as text and colour."""
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained", subplot_kw={"xmargin": 0.15, "ymargin": 0.15})
    N, P = zip(*ratios, strict=True)
    axes.scatter(N, P, c=list(ratios.values()), s=900, cmap="RdYlGn", vmin=0, vmax=2, edgecolors="0.5")
    for at, ratio in ratios.items():
        axes.annotate(f"{ratio:.1f}", at, ha="center", va="center")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="columns", title="5-fold CV / (fit + posterior)")
    figure.savefig("results/shapes.png", dpi=150)


if __name__ == "__main__":
    begin("shapes", "Fit and posterior against 5-fold cross-validation, by shape", TEXT)
    begin_table("N x P | 5-fold CV | fit + posterior | ratio | aim | noise")
    ratios, ours = {}, {}
    for (N, P), aim in AIMS.items():
        with quietly():
            all_calls = calls(*gaussian(N, P, signal=SIGNAL), 0)
            times = in_turns({name: all_calls[name] for name in (WITH_FIT, CV5)}, Effort(3, 9, 10.0))
        ours[N, P], folds = times[WITH_FIT].seconds, times[CV5].seconds
        ratios[N, P] = folds / ours[N, P]
        print_row(shape(N, P), span(folds), span(ours[N, P]), f"{ratios[N, P]:.2f}", aim, f"{noise(times):.2f}")
    for P in (20, 768):
        sizes = {at[0]: seconds for at, seconds in ours.items() if at[1] == P}
        print(f"\nExponent of fit + posterior in N, P = {P}: {exponent([*sizes], [*sizes.values()])[0]:.2f}.")
    drawn(ratios)
    print("\n![The ratios as a map](shapes.png)")
