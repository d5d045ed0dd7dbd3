"""The command line as a new user meets it: eleven files made from real data sets, and what the commands say.

    FOLDLESS_DATA=folder python -m foldless_studies.tools.transcript docs/cli-transcript.md

The folder holds the data sets as .npz files with X, y and classes. The files are written into a temporary folder, the
commands of transcript.txt run there, and everything that they print goes into the transcript.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

WIDTH = 110
HEART = ["age", "sex", "chest_pain", "resting_bp", "cholesterol", "high_sugar", "ecg", "max_heart_rate", "angina"]
HEART += ["st_depression", "slope", "vessels", "thal"]
PIMA = ["pregnancies", "glucose", "blood_pressure", "skin_fold", "insulin", "bmi", "pedigree", "age"]
NEVER_ZERO = ("glucose", "blood_pressure", "skin_fold", "insulin", "bmi")
THAL = {3.0: "normal", 6.0: "fixed defect", 7.0: "reversible defect"}
FRENCH = {"M": "métal", "R": "rocher"}


def frame(data: Path, name: str, columns: list[str] | None = None, target: str = "class") -> pl.DataFrame:
    """A data set as a table, its labels as words, its rows shuffled."""
    with np.load(data / f"{name}.npz") as archive:
        X, y, classes = archive["X"].astype(np.float64), archive["y"], archive["classes"].astype(str)
    order = np.random.default_rng(0).permutation(len(y))
    names = columns or [f"v{k + 1}" for k in range(X.shape[1])]
    table = pl.DataFrame(np.round(X[order], 6), schema=names)
    return table.with_columns(pl.Series(target, classes[y[order]]))


def heart(data: Path) -> bytes:
    return frame(data, "heart_statlog", HEART, "disease").write_csv().encode()


def patients(data: Path) -> bytes:
    """The same patients with words, as a clinic would write them, and a number for each."""
    table = frame(data, "heart_statlog", HEART, "disease")
    words = table.with_columns(
        pl.when(pl.col("sex") == 1).then(pl.lit("male")).otherwise(pl.lit("female")).alias("sex"),
        pl.col("thal").replace_strict(THAL, return_dtype=pl.String),
        pl.Series("patient", [f"P{k:04}" for k in range(1, len(table) + 1)]),
    )
    return words.select("patient", pl.exclude("patient")).write_csv().encode()


def pima(data: Path) -> bytes:
    """The zeros of this data set are measurements that were not made."""
    table = frame(data, "pima", PIMA, "diabetes")
    gaps = [pl.when(pl.col(c) != 0).then(pl.col(c)).alias(c) for c in NEVER_ZERO]
    return table.with_columns(gaps).write_csv().encode()


def wdbc(data: Path) -> bytes:
    """As a spreadsheet in Germany or France saves it."""
    text = frame(data, "wdbc", target="Diagnose").write_csv(separator=";")
    return text.replace(".", ",").encode()


def sonar(data: Path) -> bytes:
    """In Latin-1, with accents in the header and in the labels."""
    table = frame(data, "sonar", [f"fréquence {k + 1}" for k in range(60)], "matière")
    return table.with_columns(pl.col("matière").replace_strict(FRENCH)).write_csv().encode("latin-1")


def golub(data: Path) -> bytes:
    return frame(data, "leukemia_golub", target="leukemia").write_csv().encode()


def spam(data: Path, path: Path) -> None:
    frame(data, "spambase").with_columns(pl.col("class") == "spam").write_parquet(path)


def vehicle(data: Path) -> bytes:
    return frame(data, "mc_vehicle", target="car").write_csv(separator="\t").encode()


def parkinsons(data: Path, path: Path) -> None:
    """As a Python user saves it: rows, classes, and who spoke."""
    with np.load(data / "parkinsons.npz") as archive:
        words = archive["classes"].astype(str)[archive["y"]]
        np.savez(path, X=archive["X"], y=words, groups=archive["groups"])


def colon(data: Path) -> bytes:
    return gzip.compress(frame(data, "colon_alon", target="tissue").write_csv(separator="\t").encode(), mtime=0)


def ionosphere(data: Path, path: Path) -> None:
    """Single precision, and a column of dates."""
    table = frame(data, "ionosphere").with_columns(pl.col(pl.Float64).cast(pl.Float32))
    days = pl.date_range(pl.date(1989, 1, 1), pl.date(1991, 1, 1), eager=True)[: len(table)]
    table.with_columns(measured=days).write_parquet(path)


TEXT: dict[str, Callable[[Path], bytes]] = {
    "heart.csv": heart,
    "patients.csv": patients,
    "pima.csv": pima,
    "wdbc.csv": wdbc,
    "sonar.csv": sonar,
    "golub.csv": golub,
    "vehicle.tsv": vehicle,
    "colon.tsv.gz": colon,
}
BINARY: dict[str, Callable[[Path, Path], None]] = {
    "spam.parquet": spam,
    "parkinsons.npz": parkinsons,
    "ionosphere.parquet": ionosphere,
}

COMMANDS = Path(__file__).with_suffix(".txt")  # chapters, and the commands of each

HEAD = """# The command line on real files

Written by `FOLDLESS_DATA=folder python -m foldless_studies.tools.transcript docs/cli-transcript.md`: files made from
public data sets, in the forms in which people have them, and everything that the commands print. Lines that begin with
`foldless:` are complaints; they go to stderr and end with exit code 2.
"""


def chapters() -> dict[str, list[str]]:
    """The commands by the title of their chapter."""
    parts = COMMANDS.read_text(encoding="utf-8").split("## ")[1:]
    return {title: commands for title, *commands in (part.strip().splitlines() for part in parts)}


def make_files(data: Path, folder: Path) -> None:
    """All files that the transcript needs."""
    for name, write in TEXT.items():
        (folder / name).write_bytes(write(data))
    for name, save in BINARY.items():
        save(data, folder / name)
    (folder / "model.pkl").write_bytes(b"\x80\x04N.")


def answered(words: str, folder: Path) -> str:
    """What a command prints, with its exit code where that is not 0."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", "from foldless.cli import main; main()", *words.split()]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    said = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).splitlines())
    if done.returncode not in (0, 2) or "Traceback" in said:
        raise SystemExit(f"foldless {words}\n{said}")
    code = f"\n[exit code {done.returncode}]" if done.returncode else ""
    return f"```console\n$ foldless {words}\n{said}{code}\n```\n"


def main() -> None:
    """Make the files, run the commands, write the transcript."""
    data, target = Path(os.environ["FOLDLESS_DATA"]).resolve(), Path(sys.argv[1]).resolve()
    parts = [HEAD]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(data, folder)
        for title, commands in chapters().items():
            print(title, flush=True)
            parts += [f"## {title}\n", *(answered(words, folder) for words in commands)]
    target.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
