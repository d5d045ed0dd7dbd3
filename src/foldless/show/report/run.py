"""`report`: everything about one fitted classifier, as a page and as a plain dict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldless import words
from foldless.cards.drawing import card
from foldless.errors import InputError
from foldless.files import refuse_unwritable, write_atomically
from foldless.show.report import compared, data, methods, page, parts
from foldless.show.report.case import Case, Part
from foldless.tables import refuse_stream
from foldless.words import plain

# ---- `Report`: a finished report, as a page and as a plain dict.


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """What `report` made.

    Attributes
    ----------
    html : str
        The page: one file that needs nothing else.

    Examples
    --------
    >>> Report({"title": "A", "auc": {"auc": 0.9, "low": 0.8, "high": 0.95}, "verdict": "trust"}, "<!doctype html>")
    Report('A', AUC 0.900 (0.800 to 0.950), verdict 'trust')
    """

    _content: dict[str, Any]
    html: str = field(repr=False)

    def summary(self) -> dict[str, Any]:
        """The content of the page as a plain dict of numbers, texts and lists: fit for JSON."""
        return deepcopy(self._content)

    @property
    def title(self) -> str:
        """Title of the page."""
        return str(self._content["title"])

    @property
    def verdict(self) -> str | None:
        """That of `diagnose`; None with more than two classes, for which there is none."""
        found = self._content["verdict"]
        return None if found is None else str(found)

    def save(self, path: Any) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        target = Path(path)
        write_atomically(target, self.html.encode("utf-8"))
        return target

    def __repr__(self) -> str:
        verdict = "no verdict" if self.verdict is None else f"verdict {self.verdict!r}"
        return f"Report({self.title!r}, AUC {self._figure()}, {verdict})"

    def _repr_html_(self) -> str:
        facts = {
            "verdict": self.verdict or "none: for two classes only",
            "page": f"{len(self.html.encode('utf-8')) / 1000:.0f} kB of HTML: report.save('report.html')",
        }
        return card(self.title, f"AUC {self._figure()}", facts, remark=str(self._content.get("sentence", "")))

    def _figure(self) -> str:
        auc = self._content["auc"]
        return words.estimate(auc["auc"], auc["low"], auc["high"])


# ---- `report`: all that can be said about one fitted classifier, as a page and as a plain dict.

Progress = Callable[[str], object]

# Name in the summary, what is told while it is made, and who makes it; in the order of the page.
PARTS: tuple[tuple[str, str, Callable[[Case], Part]], ...] = (
    ("auc", "AUC and its posterior", parts.auc_part),
    ("roc", "ROC curve", parts.roc_part),
    ("rates", "sensitivity, specificity and predictive values", parts.rates_part),
    ("comparison", "5-fold cross-validation and the paper's estimator", compared.comparison_part),
    ("search", "search over the penalty", compared.search_part),
    ("diagnosis", "diagnosis", parts.diagnosis_part),
    ("learning_curve", "learning curve", parts.learning_curve_part),
    ("features", "most weighted features", data.features_part),
    ("data", "data summary", data.data_part),
)


def report(
    estimator: Any,
    X: Any,
    y: Any,
    path: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float = 0.95,
    feature_names: Iterable[str] | None = None,
    title: str | None = None,
    data_name: str | None = None,
    command: str | None = None,
    notes: Iterable[str] = (),
    seed: int = 0,
    search: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Everything that foldless can say about a fitted linear classifier, as one self-contained HTML page.

    The answer in a sentence, AUC, ROC curve, posterior, rates at the threshold, 5-fold cross-validation and the paper's
    estimator beside it, a search over the penalty, the diagnosis, what more rows would bring, the most weighted
    features, the data, and a paragraph of methods for a manuscript. The page needs neither network nor JavaScript, and
    its bytes depend on nothing but the arguments and the versions. With more than two classes the AUC is the
    average over pairs, and parts that exist for two classes only say so.

    Unlike the other functions it fits: clones of `estimator`, for the cross-validation and for the search.

    Parameters
    ----------
    estimator : fitted scikit-learn linear classifier, Pipeline ending in one, or weights of shape (P,)
    X, y : the data that it was fitted on
    path : str or path, optional
        Where to write the page, whole or not at all; looked at before the work begins.
    groups : array of shape (N,), optional
        Labels of dependent rows: patients, sessions, runs.
    sample_weight : array of shape (N,), optional
        The weights given to ``fit``, if any.
    pos_label : optional
        The positive class; by default the second of ``classes_``.
    level : float
        Level of all intervals.
    feature_names : sequence of str, optional
        Names of the columns of X; those of a data frame by default.
    title : str, optional
        Title of the page.
    data_name : str, optional
        What the data are called, such as the name of their file.
    command : str, optional
        The command that made the report; without it the page says that it was made from Python, with the call.
    notes : sequence of str
        What else a reader must know, such as how a file was read.
    seed : int
        Of the folds.
    search : bool
        Whether to search over the penalty, the slowest part.
    progress : callable, optional
        Told the name of each part before it is made.

    Returns
    -------
    Report
        ``html`` is the page, ``summary()`` the same content as a plain dict, ``save(path)`` writes it.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y = X[:60, :10], y[:60]
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> found = fl.report(model, X, y, search=False)
    >>> found
    Report('LogisticRegression: ...', AUC 0.983 (0.950 to 0.998), verdict ...)
    >>> sorted(found.summary())[:3]
    ['auc', 'classifier', 'command']
    """
    refuse_stream(X, y, "report")
    page.require_extras()
    target = None if path is None else writable(path)
    told = _told(notes)
    case = Case.of(estimator, X, y, groups, sample_weight, pos_label, level, feature_names, seed, search)
    parts, heard = _made(case, progress)
    contents = {name: part.content for name, part in parts.items()}
    pictures = {name: markup for part in parts.values() for name, markup in part.pictures.items()}
    origin = page.origin(command, data_name, title, case)
    summary = plain(methods.around(contents, origin, [*told, *heard]))
    summary["methods"] = plain(methods.paragraph(summary))
    made = Report(summary, page.rendered(summary, pictures))
    if target is not None:
        made.save(target)
    return made


def writable(path: Any) -> Path:
    """A path that can be written, or an `InputError` before anything is computed."""
    try:
        target = Path(path)
    except TypeError as err:
        raise InputError(f"path must be the name of a file such as 'report.html', got {path!r}.") from err
    refuse_unwritable(target)
    return target


def _told(notes: Any) -> list[str]:
    told = [] if isinstance(notes, str) or not hasattr(notes, "__iter__") else list(notes)
    if isinstance(notes, str) or not all(isinstance(note, str) for note in told):
        raise InputError(f"notes must be a list of sentences, got {notes!r}.")
    return told


def _made(case: Case, progress: Progress | None) -> tuple[dict[str, Part], list[str]]:
    """All parts, and the warnings of their making, each once: five analyses of one fit say the same five times."""
    parts: dict[str, Part] = {}
    heard: dict[str, str] = {}
    for name, what, make in PARTS:
        if progress is not None:
            progress(what)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parts[name] = make(case)
        for warning in caught:
            text = " ".join(str(warning.message).split())
            heard.setdefault(text, text if name == "auc" else f"{what}: {text}")
    said = {note for part in parts.values() for note in _texts(part.content)}
    return parts, [words for text, words in heard.items() if text not in said]


def _texts(content: Any) -> Iterator[str]:
    """All texts in the content of a part."""
    if isinstance(content, str):
        yield " ".join(content.split())
    elif isinstance(content, dict | list | tuple):
        for item in content.values() if isinstance(content, dict) else content:
            yield from _texts(item)
