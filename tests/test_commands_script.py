"""Sixty commands and more on files as people have them, made from real data sets: each answers, or says what to do.

A command is a line as it would be typed. Behind it: the exit code, and words that the answer (0) or the complaint (2)
must contain. Skipped where the data sets are not at hand.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pyreadstat
import pytest

from cli_files import run

DATA = Path(os.environ.get("FOLDLESS_DATA", "/nonexistent"))
pytestmark = pytest.mark.skipif(not (DATA / "csv").is_dir(), reason="the data sets are not here")
HEART = ["age", "sex", "pain", "pressure", "chol", "sugar", "ecg", "rate", "angina", "st", "slope", "vessels", "thal"]


def frame(name, columns=None, limit=None):
    """A data set as a polars frame with its classes as words in the column 'outcome'."""
    with np.load(DATA / f"{name}.npz") as stored:
        X, y, classes = stored["X"][:limit], stored["y"][:limit], stored["classes"]
    names = columns or [f"m{k}" for k in range(X.shape[1])]
    table = {key: X[:, k].astype(float).round(4) for k, key in enumerate(names)}
    return pl.DataFrame({**table, "outcome": [str(classes[k]) for k in y]})


def changed(table, **columns):
    return table.with_columns(**{name: pl.Series(name, values) for name, values in columns.items()})


def replaced(table, name, cells):
    """A column as text, with other cells in some rows."""
    return changed(table, **{name: [cells.get(k, str(v)) for k, v in enumerate(table[name].to_list())]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All files."""
    place = tmp_path_factory.mktemp("files")
    heart = frame("heart_statlog", HEART)
    y = heart["outcome"].to_list()
    sick = sorted(set(y))
    rows = len(y)
    case = ["case" if label == min(sick, key=y.count) else "control" for label in y]
    tables = {
        "heart": heart,
        "case": changed(heart, outcome=case),
        "spelled": changed(heart, outcome=[c.upper() if k % 7 == 0 else c for k, c in enumerate(case)]),
        "empty": changed(heart, outcome=[None if k % 20 == 0 else c for k, c in enumerate(case)]),
        "gaps": changed(heart, chol=[None if k % 9 == 0 else v for k, v in enumerate(heart["chol"])]),
        "limits": replaced(heart, "chol", {3: "<150", 50: "<150", 90: ">500"}),
        "unknown": replaced(heart, "chol", {3: "unknown", 50: "n/a", 90: "unknown"}),
        "codes": changed(heart, chol=[999.0 if k % 30 == 0 else v for k, v in enumerate(heart["chol"])]),
        "dates": changed(heart, visit=[f"2021-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(rows)]),
        "texts": changed(heart, town=[["Kiel", "Ulm", "Jena", "Bonn"][k % 4] for k in range(rows)]),
        "names": changed(heart, who=[f"Person {k}" for k in range(rows)]),
        "leak": changed(heart, discharge=[float(c == "case") for c in case]),
        "nothing": changed(heart, blank=[None] * rows),
        "three": frame("mc_wine"),
        "genes": frame("colon_alon").select([*(f"m{k}" for k in range(300)), "outcome"]),
    }
    # Three visits of each patient, whose outcome and sex stay the same.
    first = changed(heart, outcome=case).head(90)
    visits = pl.concat([first, first, first])
    noise = np.random.default_rng(1).normal(0, 0.1, visits.height)
    visits = changed(visits, chol=(visits["chol"].to_numpy() + noise).round(3))
    tables["visits"] = changed(visits, patient=[int(v) for v in np.tile(np.arange(90) + 700, 3)])
    tables["silent"] = tables["visits"].rename({"patient": "nr_of_record_x"})
    tables["sites"] = changed(heart, site=[f"S{k % 3}" for k in range(rows)])
    tables["stages"] = changed(tables["visits"], outcome=[["none", "mild", "severe"][k % 3] for k in range(90)] * 3)
    for name, table in tables.items():
        table.write_csv(place / f"{name}.csv")
    pyreadstat.write_sav(heart.to_pandas(), place / "heart.sav")
    pyreadstat.write_dta(heart.to_pandas(), place / "heart.dta")
    heart.write_csv(place / "heart.tsv", separator="\t")
    heart.write_parquet(place / "heart.parquet")
    text = heart.write_csv(separator=";").replace(".", ",")
    (place / "german.csv").write_text(text)
    (place / "latin.csv").write_bytes(text.replace("age", "größe").encode("latin-1"))
    (place / "titled.csv").write_text("Heart study, export of 2021\n\n" + heart.write_csv())
    (place / "heart.csv.gz").write_bytes(gzip.compress(heart.write_csv().encode()))
    heart.write_excel(place / "heart.xlsx", worksheet="patients")
    (place / "clinical.txt").write_text("age\nsex\npressure\n")
    (place / "tests.txt").write_text("st\nvessels\nthal\nangina\n")
    (place / "wrong.txt").write_text("age\npresure\n")
    return place


T = "--target outcome"
COMMANDS = f"""
auc heart.csv {T}                                                 | 0 | AUC of about 0\\.[89].* The positive class is
auc heart.tsv {T}                                                 | 0 | read as +tab
auc heart.parquet {T}                                             | 0 | rows +
auc heart.csv.gz {T}                                              | 0 | rows +
auc heart.xlsx {T}                                                | 0 | rows +
auc heart.sav {T}                                                 | 0 | rows +
auc heart.dta {T}                                                 | 0 | rows +
auc heart.xlsx {T} --sheet patients                               | 0 | rows +
auc heart.xlsx {T} --sheet absent                                 | 2 | patients
auc german.csv {T}                                                | 0 | semicolon, decimal comma
auc latin.csv {T} --encoding latin-1                              | 0 | rows +
auc titled.csv {T}                                                | 0 | rows +
auc heart.csv                                                     | 2 | Missing option '--target'
auc heart.csv --target outcom                                     | 2 | did you mean 'outcome'
auc absent.csv {T}                                                | 2 | absent.csv
auc case.csv {T}                                                  | 0 | positive class is 'case' \\(by its name\\)
auc case.csv {T} --positive control                               | 0 | positive class is 'control' \\(by --positive\\)
auc case.csv {T} --positive ill                                   | 2 | choose one of 'case', 'control'
auc spelled.csv {T}                                               | 0 | differ in capitals or blanks only
auc spelled.csv {T} --strict                                      | 2 | spell them the same way
auc empty.csv {T}                                                 | 0 | 14 rows without a class left out
auc empty.csv {T} --strict                                        | 2 | empty in 14 of 270 rows
auc gaps.csv {T}                                                  | 0 | 30 gaps in 1 column filled with the median
auc gaps.csv {T} --strict                                         | 2 | --impute median
auc gaps.csv {T} --strict --impute median                         | 0 | rows +
auc limits.csv {T}                                                | 2 | --censored half
auc limits.csv {T} --censored half                                | 0 | each limit replaced by half of it
auc limits.csv {T} --censored limit                               | 0 | each limit replaced by its number
auc limits.csv {T} --drop chol                                    | 0 | rows +
auc unknown.csv {T}                                               | 0 | words among numbers taken for gaps
auc unknown.csv {T} --na unknown --na n/a                         | 0 | taken for missing, as --na says
auc unknown.csv {T} --na never                                    | 2 | no cell holds 'never'
auc codes.csv {T}                                                 | 0 | use --na 999
auc codes.csv {T} --na 999                                        | 0 | 'chol' \\(9 rows\\)
auc dates.csv {T}                                                 | 0 | left out: 'visit' \\(dates or times\\)
auc dates.csv {T} --strict --one-hot                              | 2 | turn dates into numbers
auc texts.csv {T}                                                 | 0 | 1 column of text became categories: 'town'
auc texts.csv {T} --strict                                        | 2 | --one-hot
auc names.csv {T}                                                 | 0 | left out: 'who' \\(270 different texts\\)
auc names.csv {T} --id who                                        | 0 | rows +
auc nothing.csv {T}                                               | 0 | left out: 'blank' \\(no value at all\\)
auc leak.csv {T}                                                  | 0 | Verdict: do not use
auc visits.csv {T}                                                | 0 | same 'patient' taken for one subject
auc visits.csv {T} --groups patient                               | 0 | 90 values of 'patient'
auc visits.csv {T} --id patient                                   | 0 | 90 values of 'patient'
auc silent.csv {T}                                                | 2 | looks like the number of a subject
auc silent.csv {T} --groups nr_of_record_x                        | 0 | 90 values of 'nr_of_record_x'
auc silent.csv {T} --drop nr_of_record_x                          | 0 | Verdict: (caution|do not use)
auc sites.csv {T} --groups site                                   | 0 | 3 groups: so few decide nothing
auc three.csv {T}                                                 | 0 | two of its 3 classes apart
auc three.csv {T} --positive 1                                    | 0 | tells '1' from 'not 1' with an AUC of
permute three.csv {T} --positive 2 --permutations 99              | 0 | class '2' against all others
auc genes.csv {T} --model ridge --C 0.01                          | 0 | ridge classifier, alpha = 100
auc heart.csv {T} --model lda --shrinkage auto                    | 0 | linear discriminant analysis, shrinkage = auto
auc heart.csv {T} --model svm --C 0.1                             | 0 | linear support vector machine
auc heart.csv {T} --model lda --C 2                               | 2 | use --shrinkage
auc heart.csv {T} --threshold 0.2 --prevalence 0.1                | 0 | probability of 0.2, where 10 % are positive
auc heart.csv {T} --model l1                                      | 0 | logistic regression with an L1 penalty
auc heart.csv {T} --model elasticnet                              | 0 | half L1, half L2
auc heart.csv {T} --model pls                                     | 0 | PLS-DA, n_components = 2
auc three.csv {T} --model pls                                     | 2 | --model pls is for two classes
auc heart.csv {T} --save-model model.skops                        | 0 | model.skops
auc heart.csv {T} --model-file model.skops                        | 0 | LogisticRegression from model.skops
auc stages.csv {T}                                                | 0 | same 'patient' taken for one subject
compare stages.csv {T} --models logistic,ridge                    | 0 | 90 values of 'patient'
report stages.csv {T} -o stages.html                              | 0 | out of 3, this classifier ranks them
plan stages.csv {T} --factors 2                                   | 2 | plan of 3 classes is for independent rows
search stages.csv {T} --Cs 0.1,1                                  | 2 | search of 3 classes is for independent rows
validate stages.csv {T}                                           | 0 | of 3 classes
auc heart.csv {T} --level 90                                      | 2 | write 0.9 for 90 %
auc heart.csv {T} --scores scores.csv                             | 0 | scores.csv
auc heart.csv {T} --scores scores.txt                             | 2 | ends in .csv
auc heart.csv {T} --out roc.svg                                   | 0 | roc.svg
auc heart.csv {T} --json                                          | 0 | "verdict": "
compare heart.csv {T} --models logistic,lda                       | 0 | has the largest AUC with probability
compare heart.csv {T} --models logistic=0.01,logistic=1           | 0 | logistic, C = 0.01
compare heart.csv {T} --columns clinical.txt --and-columns tests.txt --rope 0.01 | 0 | makes this classifier better
compare heart.csv {T} --columns clinical.txt --and-columns 's*'   | 0 | added +'sugar', 'st', 'slope'
compare heart.csv {T} --columns wrong.txt --and-columns tests.txt | 2 | no column 'presure': did you mean 'pressure'
compare heart.csv {T} --columns clinical.txt --and-columns age    | 2 | adds nothing
compare texts.csv {T} --columns clinical.txt --and-columns town   | 0 | (does not|may) make this classifier better
compare gaps.csv {T} --columns age,sex --and-columns chol --model lda | 0 | filled with the median
compare visits.csv {T} --columns age,sex --and-columns st         | 0 | rows with the same 'patient'
compare three.csv {T} --models logistic,lda                       | 0 | largest average AUC over pairs of classes
compare three.csv {T} --columns m0,m1 --and-columns m2,m3         | 0 | on new rows the average AUC changes by
plan three.csv {T} --factors 2                                    | 0 | comes from the training set
validate three.csv {T}                                            | 0 | Internal validation on 178 rows of 3 classes
report three.csv {T} -o three.html --no-search                    | 0 | out of 3, this classifier ranks them
search heart.csv {T} --Cs 0.01,0.1,1                              | 0 | Of 3 values of C
search heart.csv {T} --Cs 0,1                                     | 2 | must be numbers above 0
validate heart.csv {T}                                            | 0 | calibration slope
validate heart.csv {T} --table latex                              | 0 | \\\\toprule
validate heart.csv {T} --model ridge                              | 2 | probabilit
permute heart.csv {T} --permutations 50                           | 0 | p
plan heart.csv {T} --factors 2                                    | 0 | comes from the training set
plan --auc 0.8 --half-width 0.05                                  | 0 | rows
report heart.csv.gz {T} --no-search                               | 0 | in a browser: heart-report.html
report heart.csv {T} -o page.txt                                  | 2 | ends in .html
report case.csv {T} -o page.html --no-search --figures figures --tables tables | 0 | page.html
"""
LINES = [[part.strip() for part in line.split(" | ")] for line in COMMANDS.strip().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "code", "words"), LINES, ids=[line[0] for line in LINES])
def test_a_command_answers_or_says_what_to_do(folder, monkeypatch, command, code, words):
    monkeypatch.chdir(folder)
    result = run(*shlex.split(command))
    assert result.exit_code == int(code), result.output
    said = result.stdout if code == "0" else result.stderr
    assert re.search(words, said), said
    if code == "2":
        assert (result.stdout, len(result.stderr.splitlines())) == ("", 1)


def test_there_are_sixty_commands_and_more():
    assert len({line[0] for line in LINES}) >= 60
