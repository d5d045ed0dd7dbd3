"""FoldlessSearch: classifiers and grids of one parameter, two classes or more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

import foldless as fl
from fuzz.cases import Built, Case, cases, keywords
from fuzz.models import ModelSpec, endless, unfitted
from fuzz.tables import mostly

KINDS = ("logistic", "ridge", "svc", "liblinear", "logistic l1", "svc hinge", "lda")
VALUES = (1e-6, 0.01, 1.0, 100.0, 1e6, 0.0, -1.0)


def search_cases(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[Case]:
    """Cases whose model is to be fitted with each value of the grid."""
    return cases(
        model=st.builds(
            ModelSpec,
            kind=st.sampled_from(KINDS),
            step=st.sampled_from((None, None, "scaler", "select", "pca")),
        ),
        grid=st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
        rule=mostly("best", ("simplest", "worst")),
        **more,
    )


def searched(case: Case, built: Built) -> Any:
    """The fitted search."""
    model = replace(case.model, kind="ridge") if endless(case.model, built.X) else case.model
    name, estimator = "alpha" if model.kind == "ridge" else "C", unfitted(model)
    final = "" if case.model.step is None else f"{type(estimator.steps[-1][1]).__name__.lower()}__"
    grid = {f"{final}{name}": list(case.more["grid"])}
    options = {"rule": case.more["rule"], "n_jobs": None, **keywords(case, built, "method", "prior", "multi_class")}
    found = fl.FoldlessSearch(estimator, grid, **options)
    return found.fit(built.X, built.y, **keywords(case, built, "groups"))
