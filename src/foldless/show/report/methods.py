"""The text of a report: the answer in a sentence, and a methods paragraph for a manuscript."""

from __future__ import annotations

from typing import Any

from foldless import words
from foldless.words import counted, quoted, times_in_100

# ---- The answer in plain words, at the head of the content.

GUESSING = {
    "may": " That may be no better than guessing, which is right 50 times in 100.",
    "is": " Guessing, which is right 50 times in 100, does better.",
}


def around(parts: dict[str, Any], origin: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The whole content of a report: where it comes from, the answer, and the parts."""
    verdict = parts["diagnosis"].get("verdict")
    kept = [*parts["auc"]["notes"], *parts["rates"].get("notes", []), *notes]
    return {
        **origin,
        "sentence": sentence(parts["auc"], parts["data"]),
        "verdict": verdict,
        "verdict_sentence": verdict_sentence(parts["diagnosis"]),
        "notes": list(dict.fromkeys(kept)),
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
    """May that be trusted?"""
    if "skipped" in diagnosis:
        return "The checks that lead to a verdict exist for two classes only."
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
    OTHER: "The score of every row was corrected for its own part in the training",
}
POSTERIOR = (
    "The AUC was estimated from smoothed ranks of these scores, moved towards the plain ranks as far as the two "
    "differ by more than noise. Its posterior distribution joins the sampling error of this estimate, a t distribution "
    "on the scale of the standardised separation of the classes, with a weakly informative prior on that separation."
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
        *_checked(summary),
        _software(summary),
    ]
    return {"text": " ".join(sentences), "references": refs.works}


def _fitted(s: dict[str, Any], refs: References) -> str:
    data = s["data"]
    classes = ", ".join(f"{entry['rows']:,} of class {quoted(entry['label'])}" for entry in data["classes"])
    width = "" if data["features"] is None else f" with {counted(data['features'], 'feature')}"
    grouped = "" if data["groups"] is None else f", in {counted(data['groups']['count'], 'group')} of dependent rows"
    what = "A linear classifier with given weights was judged on" if s["classifier"] == "given weights" else (
        f"A linear classifier (scikit-learn {refs.cite(SKLEARN)}: {s['model']}) was trained on"
    )  # fmt: skip
    return f"{what} {counted(data['rows'], 'row')}{width}{grouped} ({classes})."


def _judged(s: dict[str, Any], refs: References) -> str:
    quantity = "area under the ROC curve (AUC)"
    if "multi_class" in s["auc"]:
        quantity = f"average {quantity} over all pairs of classes {refs.cite(HAND)}"
    means = (
        "from this one fit in closed form" if s["classifier"] in CLOSED_FORM else "by one Newton step from this one fit"
    )
    how = HOW.get(s["auc"]["method"], HOW[OTHER]).format(means=means)
    if s["data"]["groups"]:
        how += "; with each row its whole group was removed, and the sampling error was clustered over groups"
    home = f" {s['home']}." if s["home"] else ""
    work = refs.cite(FOLDLESS.format(version=s["versions"]["foldless"], home=home))
    curve = (
        "" if "skipped" in s["roc"] else " The ROC curve was modelled as binormal with the same posterior of its area."
    )
    return (
        f"The {quantity} that it will have on new data was estimated with foldless {work} from the training data, "
        f"without setting rows aside. {how}. {POSTERIOR}{curve}"
    )


def _result(s: dict[str, Any]) -> str:
    auc = s["auc"]
    return (
        f"The posterior mean of the AUC was {words.rate(auc['auc'])} ({words.percent(auc['level'])} credible "
        f"interval {words.span(auc['low'], auc['high'])}; probability of an AUC above 0.5: "
        f"{words.rate(auc['prob_above_chance'])})."
    )


def _rates(s: dict[str, Any]) -> list[str]:
    rates = s["rates"]
    if "skipped" in rates:
        return []
    written = {k: words.estimate(*(rates[k][x] for x in ("mean", "low", "high"))) for k in RATES}
    told = ", ".join(f"the {name} {written[key]}" for key, name in RATES.items())
    return [f"At the classifier's own threshold and a prevalence of {rates['prevalence']:.3g}, {told}."]


RATES = {
    "sensitivity": "sensitivity was",
    "specificity": "specificity",
    "ppv": "positive predictive value",
    "npv": "negative predictive value",
}


def _compared(s: dict[str, Any], refs: References) -> list[str]:
    found = s["comparison"]
    told = []
    if "auc" in found.get("cross_validation", {}):
        cv = found["cross_validation"]
        kept = ", rows of a group kept together" if s["data"]["groups"] else ""
        told.append(
            f"For comparison, stratified 5-fold cross-validation (seed {cv['seed']}{kept}) gave a mean over folds of "
            f"{words.estimate(cv['auc'], cv['low'], cv['high'])}, with a t interval from the spread over folds, "
            f"which ignores that folds share training rows {refs.cite(BENGIO)}."
        )
    if "auc" in found.get("paper", {}):
        paper = found["paper"]
        doubt = ", which tends to be optimistic with this many features" if paper["optimistic"] else ""
        told.append(f"The in-sample estimator CBAUC {refs.cite(HASSAN)} gave {words.rate(paper['auc'])}{doubt}.")
    return told


def _checked(s: dict[str, Any]) -> list[str]:
    diagnosis = s["diagnosis"]
    if "skipped" in diagnosis:
        return []
    flagged = ", ".join(dict.fromkeys(diagnosis["flagged"]))
    because = f" ({flagged})" if flagged else ""
    return [f"The checks of foldless gave the verdict “{diagnosis['verdict']}”{because}."]


def _software(s: dict[str, Any]) -> str:
    return "Software: " + ", ".join(f"{name} {number}" for name, number in s["versions"].items()) + "."
