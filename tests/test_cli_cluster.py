"""``foldless auc`` on Parquet files that are read in blocks, here or by a cluster: the answer of one file in memory."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from cli_files import run
from foldless.tables import clusters

pytest.importorskip("pyarrow")

N, P = 900, 5
NAMES = [f"x{j}" for j in range(P)]
CUTS = ((0, 300), (300, 420), (420, N))


def table(labels=("control", "case"), seed=3):
    """Columns of unequal scale, mixed classes, and a name for each row."""
    rng = np.random.default_rng(seed)
    positive = rng.random(N) < 0.4
    X = rng.normal(size=(N, P)) * np.arange(1, P + 1) + 0.5 * positive[:, None] + 2
    y = [labels[1] if p else labels[0] for p in positive]
    return pl.DataFrame(X, schema=NAMES).with_columns(pl.Series("y", y), pl.Series("id", [f"p{k}" for k in range(N)]))


def written(folder, frame, group=100):
    """The table as three files in a folder, and as one file beside it."""
    (folder / "big").mkdir()
    for k, (start, end) in enumerate(CUTS):
        frame[start:end].write_parquet(folder / "big" / f"{k}.parquet", row_group_size=group)
    frame.write_parquet(folder / "all.parquet")
    return [folder / "big" / f"{k}.parquet" for k in range(len(CUTS))], folder / "all.parquet"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return written(tmp_path_factory.mktemp("streamed"), table())


def answered(*args):
    result = run("auc", *args, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout, parse_constant=pytest.fail)


def without_origin(answer):
    """What does not depend on the way of reading; the rows of a stream are not checked, and the verdict says so."""
    origin = ("file", "files", "read_as", "scheduler", "verdict", "findings")
    unchecked = ("X is read in blocks", "the predicted probabilities are")
    notes = [note for note in answer["notes"] if not note.startswith(unchecked)]
    return {key: value for key, value in answer.items() if key not in origin} | {"notes": notes}


def assert_same(streamed, whole, tolerance=5e-5):
    """Numbers to a tolerance, everything else exactly.

    Sums in another order may turn a pair of nearly equal scores round: a few of some ten thousand pairs.
    """
    if isinstance(whole, dict):
        assert streamed.keys() == whole.keys()
        for key, value in whole.items():
            assert_same(streamed[key], value, tolerance)
    elif isinstance(whole, float):
        assert streamed == pytest.approx(whole, abs=tolerance)
    else:
        assert streamed == whole


OPTIONS = {
    "plain": ("--id", "id"),
    "turned": ("--drop", "id", "--positive", "control", "--threshold", "0.3", "--prevalence", "0.1"),
    "other fit": ("--id", "id", "--drop", "x1", "--C", "0.01", "--no-standardize", "--level", "0.8"),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_several_files_give_the_answer_of_one_in_memory(files, options):
    parts, whole = files
    got = answered(*parts, "--target", "y", *options)
    assert got["files"] == [str(path) for path in parts]
    assert got["read_as"] == "3 Parquet files, streamed"
    assert got["scheduler"] is None
    assert "not checked" in [finding["name"] for finding in got["findings"]]
    assert_same(without_origin(got), without_origin(answered(whole, "--target", "y", *options)))


LABELS = {
    "texts of numbers": ("9", "10"),  # as text 10 comes before 9
    "padded texts": ("a", " b "),
    "numbers": (0, 1),
    "numbers with a point": (-1.0, 1.0),
    "truth values": (False, True),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_labels_mean_what_they_mean_in_memory(tmp_path, labels):
    """Which class is positive, and how the classes are printed, does not depend on the way of reading."""
    _, whole = written(tmp_path, table(labels))
    got = answered(whole, "--target", "y", "--id", "id", "--stream")
    assert got["read_as"] == "1 Parquet file, streamed"
    assert_same(without_origin(got), without_origin(answered(whole, "--target", "y", "--id", "id")))


def test_categories_and_narrow_columns(tmp_path):
    """Categories as target, and truth values and integers among the columns."""
    frame = table().with_columns(
        pl.col("y").cast(pl.Categorical), pl.col("x0") > 2, pl.col("x1").cast(pl.Int8), pl.col("x2").round(0)
    )
    parts, whole = written(tmp_path, frame)
    got = answered(*parts, "--target", "y", "--id", "id")
    assert_same(without_origin(got), without_origin(answered(whole, "--target", "y", "--id", "id")))


def test_a_pattern_in_quotes_is_expanded(files):
    parts, _ = files
    got = answered(parts[0].parent / "*.parquet", "--target", "y", "--id", "id")
    assert got["files"] == [str(path) for path in parts]


def test_a_name_with_brackets_is_a_name_first(tmp_path):
    table()[:450].write_parquet(tmp_path / "a[1].parquet")
    table()[450:].write_parquet(tmp_path / "a[2].parquet")
    got = answered(tmp_path / "a[1].parquet", tmp_path / "a[2].parquet", "--target", "y", "--id", "id")
    assert got["n_positive"] + got["n_negative"] == N


def test_the_order_of_columns_may_differ_and_a_file_may_be_empty(files, tmp_path):
    parts, _ = files
    turned = tmp_path / "turned.parquet"
    frame = pl.read_parquet(parts[1])
    frame.select(frame.columns[::-1]).write_parquet(turned)
    frame[:0].write_parquet(tmp_path / "empty.parquet")
    got = answered(parts[0], turned, tmp_path / "empty.parquet", parts[2], "--target", "y", "--id", "id")
    assert_same(without_origin(got), without_origin(answered(*parts, "--target", "y", "--id", "id")), 1e-12)


def test_the_printed_answer_has_the_usual_form(files, tmp_path):
    """Sentence, figures and picture: line by line what one file prints, but for how it was read.

    Rows of a stream are not checked, which its verdict and the last line say.
    """
    parts, whole = files
    streamed, usual = (
        run("auc", *paths, "--target", "y", "--id", "id", "--out", tmp_path / "x.png").stdout.splitlines()
        for paths in (parts, [whole])
    )
    assert (tmp_path / "x.png").stat().st_size > 10_000
    differing = [line.split() for line in streamed if line not in usual and line]
    assert ["read", "as", "3", "Parquet", "files,", "streamed"] in differing
    others = [line for line in differing if line[:2] != ["read", "as"]]
    assert [line[0] for line in others] == ["Verdict:", "note:"]


def test_notes_on_the_columns(tmp_path):
    """Shared ids, a column that numbers the rows over the borders of files, and one without a name are told."""
    frame = table().with_columns(
        pl.Series("n", np.arange(N)), pl.Series("", np.zeros(N)), pl.Series("id", [f"p{k % 890}" for k in range(N)])
    )
    parts, _ = written(tmp_path, frame)
    notes = answered(*parts, "--target", "y", "--id", "id")["notes"]
    notes = [note for note in notes if "read in blocks" not in note]
    assert notes[0].startswith("the column without a name was left out")
    assert notes[1].startswith("20 rows share 10 values of 'id' (such as 'p0')")
    assert notes[2].startswith("column 'n' numbers the rows")
    backwards = answered(*parts[::-1], "--target", "y", "--id", "id")["notes"]
    assert not any("numbers the rows" in note for note in backwards)


def refused(*args):
    result = run("auc", *args)
    assert (result.exit_code, result.stdout) == (2, ""), result.stdout
    assert result.stderr.startswith("foldless: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


IN_MEMORY = {
    ("--groups", "id"): "one file that fits into memory",
    ("--impute", "median"): "fill the gaps in the files first",
    ("--one-hot",): "turn words into numbers in the files first",
    ("--log",): "store log(1 + x) in the files instead",
    ("--model", "ridge"): "logistic regression is the one classifier",
    ("--model", "lda", "--shrinkage", "0.2"): "logistic regression is the one classifier",
    ("--model-file", "model.skops"): "a logistic regression is fitted",
}


@pytest.mark.parametrize(("options", "advice"), IN_MEMORY.items(), ids=lambda value: str(value)[:20])
def test_what_needs_memory_is_refused_with_a_way_out(files, options, advice):
    parts, whole = files
    line = refused(*parts, "--target", "y", *options)
    assert f"{options[0]} needs the whole table in memory, and several files are read in blocks: " in line
    assert advice in line
    assert "and --stream reads in blocks" in refused(whole, "--target", "y", "--stream", *options)


def test_the_default_model_may_be_named(files):
    parts, _ = files
    assert answered(*parts, "--target", "y", "--id", "id", "--model", "logistic")["method"] == "loo"


def changed(folder, **columns):
    """The three files, the second with other columns."""
    parts, _ = written(folder, table())
    frame = pl.read_parquet(parts[1])
    frame.with_columns(**columns).write_parquet(parts[1])
    return parts


WRONG = {
    "text": ({"x1": pl.lit("red")}, "has text in 'x1': leave out with --drop x1, or change the files first."),
    "dates": ({"x1": pl.lit("2020-01-01").str.to_date()}, "has dates or times in 'x1'"),
    "gaps": ({"x1": pl.when(pl.col("x0") > 2).then("x1")}, "has missing values in 'x1' ("),
    "truth with gaps": ({"x1": pl.when(pl.col("x0") > 2).then(pl.lit(True))}, "has missing values in 'x1' ("),
    "infinite": ({"x2": pl.lit(np.inf)}, "has infinite values in 'x2' (120 rows)"),
    "another column": ({"z": pl.lit(1.0)}, "1.parquet has 'z' but "),
    "three classes": ({"y": pl.lit("third")}, "has 3 different values ('"),
    "no label": ({"y": pl.when(pl.col("x0") > 2).then("y")}, "the target column 'y' is empty in "),
    "other labels": ({"y": pl.lit(1)}, "the target column 'y' holds text in "),
    "lists": ({"y": pl.concat_list("x0", "x1")}, "the target column 'y' holds text in "),
}


@pytest.mark.parametrize(("columns", "message"), WRONG.values(), ids=WRONG.keys())
def test_tables_that_cannot_be_used(tmp_path, columns, message):
    assert message in refused(*changed(tmp_path, **columns), "--target", "y", "--id", "id")


def test_a_lack_of_classes_or_rows_is_told(tmp_path):
    parts, _ = written(tmp_path, table(("same", "same")))
    assert "has 1 different value ('same')" in refused(*parts, "--target", "y", "--id", "id")
    pl.read_parquet(parts[0])[:0].write_parquet(parts[0])
    assert "has columns but no rows." in refused(parts[0], "--target", "y", "--stream")
    rare = table().with_columns(y=pl.when(pl.col("id") == "p7").then(1).otherwise(0))
    rare.write_parquet(tmp_path / "rare.parquet")
    assert "class '1' of the target column 'y' has 1 row:" in refused(
        tmp_path / "rare.parquet", "--target", "y", "--id", "id", "--stream"
    )
    assert "has 900 different values" in refused(tmp_path / "rare.parquet", "--target", "x0", "--id", "id", "--stream")
    dates = table().with_columns(y=pl.lit("2020-01-01").str.to_date())
    dates.write_parquet(tmp_path / "dates.parquet")
    assert "holds dates or times: expected classes" in refused(
        tmp_path / "dates.parquet", "--target", "y", "--id", "id", "--stream"
    )


def test_more_columns_than_rows_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    wide = pl.DataFrame(rng.normal(size=(20, 30))).with_columns(y=pl.Series(np.arange(20) % 2))
    wide.write_parquet(tmp_path / "wide.parquet")
    assert "rows" in refused(tmp_path / "wide.parquet", "--target", "y", "--stream")


def test_files_that_are_none_of_ours(files, tmp_path):
    parts, whole = files
    (tmp_path / "x.csv").write_text("a,y\n1,0\n2,1\n")
    csv = tmp_path / "x.csv"
    assert f"{csv} is not a Parquet file, and several files are read in blocks" in refused(csv, csv, "--target", "y")
    assert "and --stream reads in blocks" in refused(csv, "--target", "y", "--stream")
    assert "and --scheduler reads in blocks" in refused(csv, "--target", "y", "--scheduler", "tcp://127.0.0.1:9")
    assert "is named twice: its rows would count twice" in refused(*parts, parts[0], "--target", "y")
    assert "no file matches" in refused(tmp_path / "none*.parquet", "--target", "y")
    assert "no such file" in refused(parts[0], tmp_path / "none.parquet", "--target", "y")
    assert "is a directory" in refused(parts[0], tmp_path, "--target", "y")
    (tmp_path / "broken.parquet").write_bytes(whole.read_bytes()[:2000])
    assert "is damaged or not a Parquet file" in refused(parts[0], tmp_path / "broken.parquet", "--target", "y")
    assert "has no column 'z'" in refused(*parts, "--target", "z")
    assert "Missing option '--target'" in refused(*parts)
    assert "--sep is for text files" in refused(*parts, "--target", "y", "--sep", ";")
    assert "--positive 'x' is not in the target column" in refused(
        *parts, "--target", "y", "--id", "id", "--positive", "x"
    )
    assert "Missing argument 'FILE...'" in refused()


@pytest.fixture
def impatient(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(clusters, "PATIENCE", 0.5)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "tcp://127.0.0.1:many", ""])
def test_no_scheduler_at_the_address(files, impatient, address):
    line = refused(*files[0], "--target", "y", "--id", "id", "--scheduler", address)
    assert f"no Dask scheduler answers at '{address}' (" in line


def test_a_scheduler_without_workers(files, impatient, monkeypatch):
    async def nobody(address):
        await asyncio.sleep(0)
        return {"workers": {}}

    monkeypatch.setattr(clusters, "_identity", nobody)
    line = refused(*files[0], "--target", "y", "--id", "id", "--scheduler", "tcp://host:1")
    assert "the Dask scheduler at 'tcp://host:1' has no workers: start some with 'dask worker tcp://host:1'." in line


def test_without_dask_the_extra_is_named(files, monkeypatch):
    monkeypatch.setattr(clusters, "find_spec", lambda name: None)
    line = refused(*files[0], "--target", "y", "--id", "id", "--scheduler", "tcp://host:1")
    assert "--scheduler needs dask, distributed: pip install 'foldless[dask]'." in line


@pytest.fixture(scope="module")
def two_workers():
    """Address of a cluster of two processes, none of whose clients is in use here."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as two:
        yield two.scheduler_address


@pytest.mark.slow
def test_a_cluster_gives_the_same_answer(files, two_workers):
    """Row groups are read by two worker processes; numbers to 5e-5 of one file in memory, 1e-12 of the same blocks."""
    parts, whole = files
    got = answered(*parts, "--target", "y", "--id", "id", "--scheduler", two_workers)
    assert got["read_as"] == f"3 Parquet files, streamed by 2 workers of {two_workers}"
    assert got["scheduler"] == two_workers
    assert_same(without_origin(got), without_origin(answered(whole, "--target", "y", "--id", "id")))
    assert_same(without_origin(got), without_origin(answered(*parts, "--target", "y", "--id", "id")), 1e-12)


@pytest.mark.slow
def test_one_file_and_a_relative_name_on_a_cluster(files, two_workers):
    """As typed in a shell, in a folder where the workers do not run; nothing but the answer is printed."""
    folder, whole = files[1].parent, files[1]
    command = [sys.executable, "-c", "from foldless.cli import main; main()", "auc", "all.parquet", "--target", "y"]
    done = subprocess.run(
        [*command, "--id", "id", "--json", "--scheduler", two_workers],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert_same(without_origin(json.loads(done.stdout)), without_origin(answered(whole, "--target", "y", "--id", "id")))


@pytest.mark.slow
def test_workers_that_do_not_see_the_files(files, two_workers, monkeypatch):
    """Found out before the work, with the worker and the file."""
    from foldless.cli import streamed

    monkeypatch.setattr(streamed, "_absolute", lambda paths: [f"/elsewhere/{path.name}" for path in paths])
    line = refused(*files[0], "--target", "y", "--id", "id", "--scheduler", two_workers)
    assert "cannot read the files (/elsewhere/0.parquet does not exist): it must see them under the same paths." in line


@pytest.mark.slow
def test_gaps_that_workers_find_are_told_as_here(tmp_path, two_workers):
    parts = changed(tmp_path, x1=pl.when(pl.col("id") != "p310").then("x1"))
    lines = {refused(*parts, "--target", "y", "--id", "id", *at) for at in ((), ("--scheduler", two_workers))}
    assert len(lines) == 1
    assert "missing values in 'x1' (1 row)" in lines.pop()
