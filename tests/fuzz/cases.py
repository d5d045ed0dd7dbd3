"""One call as a case: data, models and options together, drawn and built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzz.labels import LabelSpec, build_codes, build_labels, labels
from fuzz.models import ModelSpec, build_model, models
from fuzz.options import OptionSpec, build_groups, build_prior, build_weight, options
from fuzz.tables import TableSpec, build_table, tables


@dataclass(frozen=True)
class Case:
    """Data, models and options of one call."""

    table: TableSpec = field(default_factory=TableSpec)
    label: LabelSpec = field(default_factory=LabelSpec)
    model: ModelSpec = field(default_factory=ModelSpec)
    other: ModelSpec | None = None
    option: OptionSpec = field(default_factory=OptionSpec)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Built:
    """A case made real."""

    X: Any
    y: Any
    codes: np.ndarray
    model: Any
    other: Any
    groups: Any
    weight: Any
    prior: Any
    pos_label: Any


def build(case: Case) -> Built:
    """Arrays, fitted models and parameters of a case."""
    codes = build_codes(case.label, case.table.rows)
    X, y = build_table(case.table, codes), build_labels(case.label, codes)
    n, option = case.table.rows, case.option
    weight = build_weight(option.weight, n, option.seed)
    usable = weight if option.weight in ("ones", "random", "some zero", "tiny") else None
    return Built(
        X,
        y,
        codes,
        build_model(case.model, X, y, codes, usable),
        None if case.other is None else build_model(case.other, X, y, codes, usable),
        build_groups(option.groups, n, option.seed),
        weight,
        build_prior(option, case.table.columns),
        None if option.positive is None else _label(y, option.positive),
    )


def _label(y: Any, which: int) -> Any:
    values = list(np.ravel(np.asarray(y, dtype=object))) if y is not None else []
    return values[which % len(values)] if values and which < 5 else "nobody"


def keywords(case: Case, built: Built, *names: str) -> dict[str, Any]:
    """Those parameters of the call that a function takes, without the defaults."""
    given = {
        "method": case.option.method,
        "prior": built.prior,
        "groups": built.groups,
        "sample_weight": built.weight,
        "pos_label": built.pos_label,
        "multi_class": case.option.multi_class,
        **case.more,
    }
    return {name: given[name] for name in names if given.get(name) is not None}


def cases(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Case]:
    """Cases with the models and extra parameters of a property: calm ones, and ones of which one or two parts are odd.

    Were all parts odd at a time, hardly any call would get past its first check.
    """
    calm = _cases((), **parts)
    odd = (("table",), ("label",), ("model",), ("option",), ("table", "model"))
    return st.one_of(calm, calm, calm, calm, *(_cases(which, **parts) for which in odd))


def _cases(odd: tuple[str, ...], **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Case]:
    more = {name: part for name, part in parts.items() if name not in ("model", "other")}
    drawn = {
        "table": tables("table" in odd),
        "label": labels("label" in odd),
        "option": options("option" in odd),
        "model": models("model" in odd),
        "other": st.none(),
        **{name: part for name, part in parts.items() if name in ("model", "other")},
    }
    return st.builds(Case, more=st.fixed_dictionaries(more), **drawn)
