"""`report`: everything about one fitted classifier, as an HTML page and as a plain dict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from foldless import words
from foldless.analysis import analysed
from foldless.cards.drawing import card
from foldless.computation import Options
from foldless.errors import InputError
from foldless.files import refuse_unwritable, write_atomically
from foldless.show.report import compared, data, manuscript, methods, page, parts, risks
from foldless.show.report.parts import Case, Part
from foldless.tables import refuse_stream
from foldless.words import one_line, plain


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """The result of `report`.

    Attributes
    ----------
    html : str
        The page, self-contained.

    Examples
    --------
    >>> Report({"title": "A", "auc": {"auc": 0.9, "low": 0.8, "high": 0.95}, "verdict": "trust"}, "<!doctype html>")
    Report('A', AUC 0.900 (0.800 to 0.950), verdict 'trust')
    """

    _content: dict[str, Any]
    html: str = field(repr=False)

    def summary(self) -> dict[str, Any]:
        """The content of the page as a plain dict of numbers, texts and lists, ready for JSON."""
        return deepcopy(self._content)

    @property
    def title(self) -> str:
        """Title of the page."""
        return str(self._content["title"])

    @property
    def verdict(self) -> str:
        """Verdict of the diagnosis: "trust", "caution" or "do not use"."""
        return str(self._content["verdict"])

    def save(self, path: Any) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        target = Path(path)
        write_atomically(target, self.html.encode("utf-8"))
        return target

    def __repr__(self) -> str:
        return f"Report({self.title!r}, AUC {self._figure()}, verdict {self.verdict!r})"

    def _repr_html_(self) -> str:
        facts = {
            "verdict": self.verdict,
            "page": f"{len(self.html.encode('utf-8')) / 1000:.0f} kB of HTML: report.save('report.html')",
        }
        return card(self.title, f"AUC {self._figure()}", facts, remark=str(self._content.get("sentence", "")))

    def _figure(self) -> str:
        auc = self._content["auc"]
        return words.estimate(auc["auc"], auc["low"], auc["high"])


Progress = Callable[[str], object]


class Chapter(NamedTuple):
    """A part of the report: its name in the summary, its name for `progress`, and the function that makes it."""

    name: str
    what: str
    make: Callable[[Case], Part]
    two_classes_only: bool = False
    emits: bool = False  # warnings, from fits of clones or from a public function
    of_risks: bool = False  # for classifiers with probabilities


# In the order of the page.
CHAPTERS = (
    Chapter("auc", "AUC and its posterior", parts.auc_part),
    Chapter("roc", "ROC curve", parts.roc_part, two_classes_only=True),
    Chapter("rates", "sensitivity, specificity and predictive values", parts.rates_part, two_classes_only=True),
    Chapter("thresholds", "other thresholds", risks.thresholds_part, two_classes_only=True, of_risks=True),
    Chapter("calibration", "calibration", risks.calibration_part, two_classes_only=True, of_risks=True),
    Chapter("decision", "decision curve", risks.decision_part, two_classes_only=True, of_risks=True),
    Chapter("precision", "precision and recall", risks.precision_recall_part, two_classes_only=True, of_risks=True),
    Chapter("validation", "table of the validation", risks.validation_part, of_risks=True, emits=True),
    Chapter(
        "comparison", "5-fold cross-validation and the paper's estimator", compared.comparison_part,
        two_classes_only=True, emits=True,
    ),
    Chapter("search", "search over the penalty", compared.search_part, emits=True),
    Chapter("diagnosis", "diagnosis", parts.diagnosis_part),
    Chapter("learning_curve", "learning curve", parts.learning_curve_part, emits=True),
    Chapter("odds", "odds ratios", data.odds_part, two_classes_only=True),
    Chapter("features", "most weighted features", data.features_part),
    Chapter("data", "data summary", data.data_part),
)  # fmt: skip


def report(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    path: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    method: str = "auto",
    level: float = 0.95,
    feature_names: Iterable[str] | None = None,
    title: str | None = None,
    data_name: str | None = None,
    command: str | None = None,
    notes: Iterable[str] = (),
    seed: int = 0,
    search: bool = True,
    progress: Progress | None = None,
    figures: Any = None,
    tables: Any = None,
) -> Report:
    """Everything that foldless can say about a fitted classifier, as one self-contained HTML page.

    The answer in a sentence, AUC, ROC curve, posterior, rates at the threshold and at others, calibration, decision and
    precision-recall curves, the table of `validate`, 5-fold cross-validation and the paper's estimator for comparison,
    a search over the penalty, the diagnosis, a learning curve, the features with the largest weights, the data, and
    methods and results as text for a manuscript. The page needs neither network nor JavaScript, and its bytes depend
    only on the arguments and the versions. With more than two classes the AUC is an average, and parts that exist for
    two classes only say so.

    Everything but the cross-validation and the search, which fit clones of `estimator`, is read off one `Analysis`.

    Parameters
    ----------
    estimator : fitted linear classifier, Pipeline ending in one, weights, or an `Analysis` of one of them
        Any classifier or Pipeline for ``method="refit"``. An `Analysis` has its data and options already: leave X, y,
        groups, sample_weight, pos_label and method out.
    X, y, groups, sample_weight, pos_label, method
        As in `auc_posterior`; parts that need a closed form or weights say so where there is none.
    path : str or path, optional
        Where to write the page, whole or not at all; checked before the work begins.
    level : float
        Level of all intervals.
    feature_names : sequence of str, optional
        Names of the columns of X; those of a data frame by default.
    title : str, optional
        Title of the page.
    data_name : str, optional
        Name of the data, such as that of their file.
    command : str, optional
        The command that made the report; by default the page shows the Python call.
    notes : sequence of str
        More notes for the reader, such as how a file was read.
    seed : int
        Seed of the folds.
    search : bool
        Whether to search over the penalty, the slowest part.
    progress : callable, optional
        Called with the name of each part before it is made, and before the pictures are drawn.
    figures : str or path, optional
        A folder for all figures of the page, each as SVG and as PDF, with captions; it is made where there is none.
    tables : str or path, optional
        A folder for its tables: one LaTeX file each, and all of them as one Word document, which needs python-docx.

    Returns
    -------
    Report
        ``html`` is the page, ``summary()`` the same content as a plain dict, ``save(path)`` writes it.

    Examples
    --------
    >>> import foldless as fl
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> report = fl.report(LogisticRegression().fit(X, y == 1), X, y == 1, search=False)
    >>> report
    Report('LogisticRegression: ...', AUC 0.8... (0.7... to 0.8...), verdict ...)
    >>> sorted(report.summary())[:3]
    ['auc', 'calibration', 'classifier']
    """
    refuse_stream(X, y, "report", on_host=True)
    page.require_extras()
    manuscript.make_folders(figures, tables)
    target = None if path is None else writable(path)
    own_notes = _sentences(notes)
    analysis = analysed(estimator, X, y, Options(groups, sample_weight, pos_label, None, method))
    refuse_stream(analysis.X, analysis.y, "report", on_host=True)
    if analysis.options.in_sample:
        raise InputError("a report shows the in-sample estimate beside its own: leave method='in-sample' out.")
    case = Case.of(analysis, level, feature_names, seed, search)
    made, doubts = _made(case, progress)
    contents = {name: part.content for name, part in made.items()}
    pictures = {name: picture for part in made.values() for name, picture in part.pictures.items()}
    if progress is not None:
        progress("pictures and page")
    where_from = methods.origin(case, command, data_name, title)
    summary = plain(methods.around(contents, where_from, [*own_notes, *doubts]))
    summary["methods"] = plain(methods.paragraphs(summary))
    result = Report(summary, page.rendered(summary, {name: each.markup(name) for name, each in pictures.items()}))
    if figures is not None:
        manuscript.write_figures(Path(figures), pictures, result.html)
    if tables is not None:
        manuscript.write_tables(Path(tables), result.html)
    if target is not None:
        result.save(target)
    return result


def writable(path: Any) -> Path:
    """A path that can be written; an `InputError` for any other, before anything is computed."""
    try:
        target = Path(path)
    except TypeError as err:
        raise InputError(f"path must be the name of a file such as 'report.html', got {path!r}.") from err
    refuse_unwritable(target)
    return target


def _sentences(notes: Any) -> list[str]:
    sentences = [] if isinstance(notes, str) or not hasattr(notes, "__iter__") else list(notes)
    if isinstance(notes, str) or not all(isinstance(note, str) for note in sentences):
        raise InputError(f"notes must be a list of sentences, got {notes!r}.")
    return sentences


def _made(case: Case, progress: Progress | None) -> tuple[dict[str, Part], list[str]]:
    """All parts, and the warnings (of the analysis and of clones) that do not appear in their texts."""
    made: dict[str, Part] = {}
    doubts = {text: text for text in map(one_line, map(str, case.analysis.warnings))}
    for chapter in CHAPTERS:
        if progress is not None:
            progress(chapter.what)
        made[chapter.name], texts = _part(chapter, case)
        for text in texts:
            doubts.setdefault(text, f"{chapter.what}: {text}")
    on_page = {text for part in made.values() for text in _texts(part.content)}
    return made, [doubt for text, doubt in doubts.items() if text not in on_page]


def _part(chapter: Chapter, case: Case) -> tuple[Part, list[str]]:
    """The part, and the texts of the warnings emitted while it was made."""
    if chapter.two_classes_only and not case.two_classes:
        return Part.skipped("For two classes only."), []
    if chapter.of_risks and case.why_no_risks is not None:
        return Part.skipped(case.why_no_risks), []
    if not chapter.emits:
        return chapter.make(case), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        part = chapter.make(case)
    doubts = (w for w in caught if not issubclass(w.category, DeprecationWarning | FutureWarning))
    return part, [one_line(str(warning.message)) for warning in doubts]


def _texts(content: Any) -> Iterator[str]:
    """All texts in the content of a part."""
    if isinstance(content, str):
        yield one_line(content)
    elif isinstance(content, dict | list | tuple):
        for item in content.values() if isinstance(content, dict) else content:
            yield from _texts(item)
