"""`plan_sample_size`, which takes numbers and no data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import foldless as fl
from fuzz import answers
from fuzz.options import LEVELS
from fuzz.outcome import Outcome, judged

UNIT = st.one_of(st.floats(0.01, 0.99), st.floats(), st.sampled_from((0, 1, None, "x", 0.5, 1e-12, 1 - 1e-12)))


@dataclass(frozen=True)
class PlanProperty:
    """`plan_sample_size`, which takes no data."""

    draw: st.SearchStrategy[Any]
    share: int

    def outcome(self, given: dict[str, Any]) -> Outcome:
        """The judged call of one set of parameters."""
        return judged(lambda: fl.plan_sample_size(**given), answers.plan)


MORE = {
    "level": st.sampled_from(LEVELS),
    "balance": st.floats(0.05, 0.95),
    "prior": st.sampled_from((None, fl.EffectPrior.flat(), fl.EffectPrior.no_chance_mass())),
}
PROPER = (
    st.fixed_dictionaries(
        {"auc": st.floats(0.51, 0.999), "half_width": st.floats(0.02, 0.3)},
        optional={**MORE, "noise_share": st.floats(0.0, 1.0)},
    ),
    st.fixed_dictionaries(
        {"auc": st.floats(0.7, 0.999), "above": st.floats(0.3, 0.69)},
        optional={**MORE, "power": st.floats(0.1, 0.95), "n_features": st.integers(1, 1000)},
    ),
)
ANYTHING = st.fixed_dictionaries(
    {"auc": UNIT},
    optional={
        **dict.fromkeys(("half_width", "above", "power", "balance", "noise_share", "n_features"), UNIT),
        "level": UNIT,
        "prior": st.sampled_from((None, fl.Prior.paper(), "flat")),
    },
)
PLAN = PlanProperty(st.one_of(*PROPER, ANYTHING), 20)
