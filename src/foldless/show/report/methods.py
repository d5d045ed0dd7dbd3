"""The words of a report: where it comes from, the answer in a sentence, and methods for a manuscript."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import numpy as np

from foldless import words
from foldless.model.steps import CONTAINERS, sklearn_names, thawed
from foldless.model.view import dismantled
from foldless.show.report import page
from foldless.show.report.parts import Case
from foldless.words import counted, quoted, times_in_100

# ---- Where a report comes from: the classifier as one would write it down, and the call.

WEIGHTS = "given weights"
MOST_VALUES = 6  # of a list among the settings of a step


def origin(case: Case, command: Any, data_name: Any, title: Any) -> dict[str, Any]:
    """Title, data, classifier, versions and command."""
    classifier, model = _named(case)
    text = _call(case) if command is None else str(command)
    prior = case.analysis.options.prior
    return {
        "title": str(title) if title is not None and str(title).strip() else _title(case, classifier, data_name),
        "data_name": None if data_name is None else str(data_name),
        "model": model,
        "classifier": classifier,
        "seed": case.seed,
        "versions": page.versions(),
        "home": page.home(),
        "command": {"made_by": "python" if command is None else "command", "text": text},
        **({} if prior is None else {"prior": repr(prior)}),
    }


def _named(case: Case) -> tuple[str, str]:
    """Name of the classifier, and the classifier with the steps before it."""
    if case.is_weights:
        return WEIGHTS, WEIGHTS
    steps, final, _ = dismantled(case.analysis.estimator)
    return type(final).__name__, " → ".join([*(written(step) for _, step in steps), written(final)])


def _title(case: Case, classifier: str, data_name: Any) -> str:
    if data_name is not None:
        return f"{classifier} on {data_name}"
    labels = [quoted(label) for label in case.counts]
    return f"{classifier}: {' against '.join(labels) if case.two_classes else f'{len(labels)} classes'}"


def _call(case: Case) -> str:
    """The call as one would type it; arrays by their names."""
    options = case.analysis.options
    about = [f"{name}={name}" for name in ("groups", "sample_weight") if getattr(options, name) is not None]
    if options.pos_label is not None:
        about.append(f"pos_label={options.pos_label!r}")
    if options.method != "auto":
        about.append(f"method={options.method!r}")
    shown = [f"level={case.level:g}", f"seed={case.seed}", *([] if case.search else ["search=False"])]
    if options.prior is None and options.multi_class == "ovo":
        return f"foldless.report({', '.join(['estimator', 'X', 'y', *about, *shown])})"
    about += [f"{name}={getattr(options, name)!r}" for name in ("prior", "multi_class") if name in options.given]
    analysis = f"foldless.analyse({', '.join(['estimator', 'X', 'y', *about])})"
    return f"foldless.report({', '.join([analysis, *shown])})"


def written(step: Any) -> str:
    """A step with the settings that are not the default, as Python would make it; of containers what they hold.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> written(LogisticRegression(C=0.1, max_iter=500))
    'LogisticRegression(C=0.1, max_iter=500)'
    """
    step, kinds = thawed(step), sklearn_names(step)
    if "Pipeline" in kinds:
        return " → ".join(written(inner) for _, inner in step.steps)
    if kinds & set(CONTAINERS):
        held = getattr(step, "transformers", ()) or getattr(step, "transformer_list", ())
        return f"{type(step).__name__}({'; '.join(f'{item[0]}: {written(item[1])}' for item in held)})"
    if not hasattr(step, "get_params") or isinstance(step, type):
        return str(step) if isinstance(step, str) else type(step).__name__
    usual = {name: p.default for name, p in signature(type(step)).parameters.items()}
    given = {name: _setting(value) for name, value in step.get_params(deep=False).items()}
    changed = [f"{name}={text}" for name, text in given.items() if text != _setting(usual.get(name, Parameter.empty))]
    return f"{type(step).__name__}({', '.join(changed)})"


def _setting(value: Any) -> str:
    """A setting; of objects only the class, since their text may differ from run to run."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list | tuple | np.ndarray):
        few = len(value) <= MOST_VALUES and all(isinstance(v, int | float | str | np.number) for v in value)
        return f"[{', '.join(_setting(v) for v in value)}]" if few else f"{type(value).__name__} of {len(value)}"
    return written(value) if sklearn_names(value) else type(value).__name__


# ---- The answer in plain words, at the head of the content.

GUESSING = {
    "may": " That may be no better than guessing, which is right 50 times in 100.",
    "is": " Guessing, which is right 50 times in 100, does better.",
}


def around(parts: dict[str, Any], where_from: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The whole content of a report: where it comes from, the answer, and the parts."""
    all_notes = [*parts["auc"]["notes"], *parts["rates"].get("notes", []), *notes]
    return {
        **where_from,
        "sentence": sentence(parts["auc"], parts["data"]),
        "verdict": parts["diagnosis"]["verdict"],
        "verdict_sentence": verdict_sentence(parts["diagnosis"]),
        "notes": list(dict.fromkeys(all_notes)),
        **parts,
    }


def sentence(auc: dict[str, Any], data: dict[str, Any]) -> str:
    """How often the classifier is right about two new rows, one of each class."""
    mean, low, high = _told_apart(auc["auc"], auc["low"], auc["high"])
    often = f"about {mean} times in 100" if mean[0].isdigit() else f"{mean} times in 100"
    span = f"{low} to {high}" if low != high else low
    answer = f"{_task(data)} {often} ({words.percent(auc['level'])} interval: {span} times)."
    if auc["low"] > 0.5:
        return answer
    return answer + GUESSING["may" if auc["high"] > 0.5 else "is"]


def _told_apart(mean: float, low: float, high: float) -> list[str]:
    """As times in 100; with one more digit where the mean would read like a bound of the interval."""
    coarse, fine = ([times_in_100(rate, digits) for rate in (mean, low, high)] for digits in (0, 1))
    return fine if coarse[0] in coarse[1:] else coarse


def _task(data: dict[str, Any]) -> str:
    labels = [quoted(entry["label"]) for entry in data["classes"]]
    if data["positive"] is None:
        return (
            f"Given two new rows of two different classes out of {len(labels)}, this classifier ranks them in the "
            f"right order"
        )
    return (
        f"Given two new rows, one of class {labels[0]} and one of class {labels[1]}, this classifier gives the higher "
        f"score to the {labels[0]} row"
    )


def verdict_sentence(diagnosis: dict[str, Any]) -> str:
    """Whether the answer may be trusted."""
    if diagnosis["verdict"] == "trust":
        return "Nothing was found in the data or the fit that speaks against this answer."
    worst = diagnosis["findings"][0]
    lead = "Read this with caution" if diagnosis["verdict"] == "caution" else "Do not use this number"
    return f"{lead}: {worst['text'].rstrip('.')}. {worst['advice']}".strip()


# ---- A paragraph of methods that can be pasted into a manuscript, with its references.

OTHER = "other"
CLOSED_FORM = ("RidgeClassifier", "RidgeClassifierCV", "LinearDiscriminantAnalysis")
HOW = {
    "loo": "For every row, and for every pair of rows of different classes, the score that it would have had without "
    "being used in the training was computed {means}",
    "loo-surrogate": "For every row, and for every pair of rows of different classes, the change of its score on "
    "leaving it out of the training was taken from the ridge regression closest to the classifier, as its own training "
    "has no closed form",
    "refit": "The classifier, with all steps before it, was refitted {fits} times to four fifths of the rows "
    "(repeated stratified folds), and rows held out by the same model were compared; the noise of the training was "
    "bounded by the correlation of a row's scores between repeats",
    OTHER: "The score of every row was corrected for its own part in the training",
}
POSTERIOR = (
    "The AUC was estimated from smoothed ranks of these scores, moved towards the plain ranks as far as the two "
    "differ by more than noise. Its posterior distribution joins the sampling error of this estimate, a t distribution "
    "on the scale of the standardised separation of the classes, with {prior} on that separation."
)
FOLDLESS = "The foldless developers. foldless: how good a linear classifier is, from one fit. Version {version}.{home}"
HASSAN = (
    "Hassan SS, Huttunen H, Niemi J, Tohka J. Bayesian receiver operating characteristic metric for linear "
    "classifiers. Pattern Recognition Letters, 2019. arXiv:1908.08771."
)
SKLEARN = (
    "Pedregosa F, Varoquaux G, Gramfort A, et al. Scikit-learn: machine learning in Python. Journal of Machine "
    "Learning Research 12:2825-2830, 2011."
)
BENGIO = (
    "Bengio Y, Grandvalet Y. No unbiased estimator of the variance of K-fold cross-validation. Journal of Machine "
    "Learning Research 5:1089-1105, 2004."
)
HAND = (
    "Hand DJ, Till RJ. A simple generalisation of the area under the ROC curve for multiple class classification "
    "problems. Machine Learning 45:171-186, 2001."
)


class References:
    """Numbers for works, in the order in which they are cited."""

    def __init__(self) -> None:
        self.works: list[str] = []

    def cite(self, work: str) -> str:
        """The mark of a work, as in '[2]'."""
        if work not in self.works:
            self.works.append(work)
        return f"[{self.works.index(work) + 1}]"


def paragraph(summary: dict[str, Any]) -> dict[str, Any]:
    """Text and references, from the content of the report alone."""
    refs = References()
    sentences = [
        _fitted(summary, refs),
        _judged(summary, refs),
        _result(summary),
        *_rates(summary),
        *_compared(summary, refs),
        _checked(summary),
        _software(summary),
    ]
    return {"text": " ".join(sentences), "references": refs.works}


def _fitted(s: dict[str, Any], refs: References) -> str:
    data = s["data"]
    classes = ", ".join(f"{entry['rows']:,} of class {quoted(entry['label'])}" for entry in data["classes"])
    width = "" if data["features"] is None else f" with {counted(data['features'], 'feature')}"
    grouped = "" if data["groups"] is None else f", in {counted(data['groups']['count'], 'group')} of dependent rows"
    if s["classifier"] == WEIGHTS:
        what = "A linear classifier with given weights was judged on"
    else:
        kind = "classifier" if "skipped" in s["features"] else "linear classifier"
        what = f"A {kind} (scikit-learn {refs.cite(SKLEARN)}: {s['model']}) was trained on"
    return f"{what} {counted(data['rows'], 'row')}{width}{grouped} ({classes})."


def _judged(s: dict[str, Any], refs: References) -> str:
    quantity = "area under the ROC curve (AUC)"
    if "multi_class" in s["auc"]:
        pairs = s["auc"]["multi_class"] == "ovo"
        over = f"over all pairs of classes {refs.cite(HAND)}" if pairs else "of each class against the rest"
        quantity = f"average {quantity} {over}"
    exact = s["classifier"] in CLOSED_FORM
    means = "from this one fit in closed form" if exact else "by one Newton step from this one fit"
    how = HOW.get(s["auc"]["method"], HOW[OTHER]).format(means=means, fits=s["auc"].get("fits"))
    aside = "" if s["auc"]["method"] == "refit" else ", without setting rows aside"
    if s["data"]["groups"]:
        how += "; with each row its whole group was removed, and the sampling error was clustered over groups"
    home = f" {s['home']}." if s["home"] else ""
    work = refs.cite(FOLDLESS.format(version=s["versions"]["foldless"], home=home))
    posterior = POSTERIOR.format(prior=f"the prior {s['prior']}" if "prior" in s else "a weakly informative prior")
    if "skipped" not in s["roc"]:
        posterior += " The ROC curve was modelled as binormal with the same posterior of its area."
    return (
        f"The {quantity} that it will have on new data was estimated with foldless {work} from the training "
        f"data{aside}. {how}. {posterior}"
    )


def _result(s: dict[str, Any]) -> str:
    auc = s["auc"]
    return (
        f"The posterior mean of the AUC was {words.rate(auc['auc'])} ({words.percent(auc['level'])} credible "
        f"interval {words.span(auc['low'], auc['high'])}; probability of an AUC above 0.5: "
        f"{words.rate(auc['prob_above_chance'])})."
    )


RATES = {
    "sensitivity": "sensitivity was",
    "specificity": "specificity",
    "ppv": "positive predictive value",
    "npv": "negative predictive value",
}


def _rates(s: dict[str, Any]) -> list[str]:
    rates = s["rates"]
    if "skipped" in rates:
        return []
    values = {key: words.estimate(*(rates[key][x] for x in ("mean", "low", "high"))) for key in RATES}
    listed = ", ".join(f"the {name} {values[key]}" for key, name in RATES.items())
    return [f"At the classifier's own threshold and a prevalence of {rates['prevalence']:.3g}, {listed}."]


def _compared(s: dict[str, Any], refs: References) -> list[str]:
    cv, paper = (s["comparison"].get(key, {}) for key in ("cross_validation", "paper"))
    sentences = []
    if "auc" in cv:
        kept = ", rows of a group kept together" if s["data"]["groups"] else ""
        sentences.append(
            f"For comparison, stratified 5-fold cross-validation (seed {cv['seed']}{kept}) gave a mean over folds of "
            f"{words.estimate(cv['auc'], cv['low'], cv['high'])}, with a t interval from the spread over folds, "
            f"which ignores that folds share training rows {refs.cite(BENGIO)}."
        )
    if "auc" in paper:
        doubt = ", which tends to be optimistic with this many features" if paper["optimistic"] else ""
        sentences.append(f"The in-sample estimator CBAUC {refs.cite(HASSAN)} gave {words.rate(paper['auc'])}{doubt}.")
    return sentences


def _checked(s: dict[str, Any]) -> str:
    flagged = ", ".join(dict.fromkeys(s["diagnosis"]["flagged"]))
    because = f" ({flagged})" if flagged else ""
    return f"The checks of foldless gave the verdict “{s['diagnosis']['verdict']}”{because}."


def _software(s: dict[str, Any]) -> str:
    return "Software: " + ", ".join(f"{name} {number}" for name, number in s["versions"].items()) + "."
