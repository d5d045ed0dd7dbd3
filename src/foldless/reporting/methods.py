"""A paragraph of methods that can be pasted into a manuscript, with its references."""

from __future__ import annotations

from typing import Any

from foldless._html import numbers
from foldless.reporting.text import counted, quoted

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
        f"The posterior mean of the AUC was {numbers.rate(auc['auc'])} ({numbers.percent(auc['level'])} credible "
        f"interval {numbers.span(auc['low'], auc['high'])}; probability of an AUC above 0.5: "
        f"{numbers.rate(auc['prob_above_chance'])})."
    )


def _rates(s: dict[str, Any]) -> list[str]:
    rates = s["rates"]
    if "skipped" in rates:
        return []
    written = {k: numbers.estimate(*(rates[k][x] for x in ("mean", "low", "high"))) for k in RATES}
    told = ", ".join(f"the {words} {written[key]}" for key, words in RATES.items())
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
            f"{numbers.estimate(cv['auc'], cv['low'], cv['high'])}, with a t interval from the spread over folds, "
            f"which ignores that folds share training rows {refs.cite(BENGIO)}."
        )
    if "auc" in found.get("paper", {}):
        paper = found["paper"]
        doubt = ", which tends to be optimistic with this many features" if paper["optimistic"] else ""
        told.append(f"The in-sample estimator CBAUC {refs.cite(HASSAN)} gave {numbers.rate(paper['auc'])}{doubt}.")
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
