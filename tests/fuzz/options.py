"""Any legal parameter, and some that are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import foldless as fl
from fuzz.tables import mostly

PRIORS = {
    "default": lambda p: None,
    "effect": lambda p: fl.EffectPrior.default(),
    "flat": lambda p: fl.EffectPrior.flat(),
    "no chance": lambda p: fl.EffectPrior.no_chance_mass(),
    "narrow": lambda p: fl.EffectPrior(chance=0.5, chance_sd=1e-3, soft=1e-3, scale=1e-2),
    "paper": lambda p: fl.Prior.paper(),
    "improper": lambda p: fl.Prior.improper(),
    "adaptive": lambda p: fl.Prior.adaptive(),
    "niw": lambda p: fl.Prior.niw(nu0=0.0, nu1=2.0, scale=0.5, kappa=p + 5),
    "niw matrix": lambda p: fl.Prior.niw(mean0=np.ones(p), scale=np.eye(p) * 2),
    "identity": lambda p: fl.Prior.scaled_identity(),
    "known": lambda p: fl.Prior.known_covariance(1.0),
    "word": lambda p: "paper",
}
LEVELS = (0.5, 0.9, 0.95, 0.999999, 1e-9, 1 - 1e-12)
GROUPS = ("rows", "thirds", "pairs", "one", "words", "short", "nan", "none", "series")
WEIGHTS = ("ones", "random", "zeros", "some zero", "negative", "huge", "tiny", "short", "nan", "words", "number")


@dataclass(frozen=True)
class OptionSpec:
    """Parameters of the estimation functions."""

    method: str = "auto"
    prior: str = "default"
    groups: str | None = None
    weight: str | None = None
    positive: int | None = None
    level: float = 0.95
    multi_class: str = "ovo"
    seed: int = 0


def options(odd: bool = True) -> st.SearchStrategy[OptionSpec]:
    """Mostly the defaults; unless `odd`, parameters that go together."""
    calm = st.one_of(
        _drawn(("auto", "loo"), ("default", "effect", "flat", "no chance", "narrow"), ("rows", "pairs", "words"),
               ("ones", "random", "some zero", "number")),
        _drawn(("auto", "loo", "auto", "refit"), ("default",), (None,), (None,)),
        _drawn(("in-sample",), ("paper", "improper", "adaptive", "niw", "identity", "known"), (None,), (None,)),
    )  # fmt: skip
    methods = ("auto", "loo", "in-sample", "refit", "cv")
    return st.one_of(calm, _drawn(methods, tuple(PRIORS), GROUPS, WEIGHTS, (0, 5), ("ovr", "macro"))) if odd else calm


def _drawn(
    methods: Any, priors: Any, groups: Any, weights: Any, positive: Any = (0, 1), average: Any = ("ovr",)
) -> st.SearchStrategy[OptionSpec]:
    return st.builds(
        OptionSpec,
        method=st.sampled_from(methods),
        prior=mostly("default", priors, 1),
        groups=mostly(None, groups, 4),
        weight=mostly(None, weights, 4),
        positive=mostly(None, positive, 8),
        level=mostly(0.95, LEVELS, 3),
        multi_class=mostly("ovo", average, 5),
        seed=st.integers(0, 10**6),
    )


def build_prior(spec: OptionSpec, width: int) -> Any:
    """The prior for X of this width."""
    return PRIORS[spec.prior](width)


def build_groups(kind: str | None, n: int, seed: int) -> Any:
    """Labels of dependent rows."""
    if kind is None:
        return None
    import pandas as pd

    return {
        "rows": lambda: np.arange(n),
        "thirds": lambda: np.random.default_rng(seed).integers(0, max(n // 3, 1), size=n),
        "pairs": lambda: np.arange(n) // 2,
        "one": lambda: np.zeros(n),
        "words": lambda: [f"patient {i // 2}" for i in range(n)],
        "short": lambda: np.arange(max(n - 1, 0)),
        "nan": lambda: np.where(np.arange(n) == 0, np.nan, 1.0),
        "none": lambda: [None] * n,
        "series": lambda: pd.Series(np.arange(n) // 2, dtype="Int64"),
    }[kind]()


def build_weight(kind: str | None, n: int, seed: int) -> Any:
    """Weights of the rows."""
    if kind is None:
        return None
    random = np.random.default_rng(seed).uniform(0.1, 3.0, size=n)
    return {
        "ones": lambda: np.ones(n),
        "random": lambda: random,
        "zeros": lambda: np.zeros(n),
        "some zero": lambda: random * (np.arange(n) % 3 > 0),
        "negative": lambda: -random,
        "huge": lambda: random * 1e200,
        "tiny": lambda: random * 1e-200,
        "short": lambda: random[1:],
        "nan": lambda: random * np.nan,
        "words": lambda: ["heavy"] * n,
        "number": lambda: 2.0,
    }[kind]()
