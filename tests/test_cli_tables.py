"""Reading files: every way of writing one table gives the same numbers, and the guess is told."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import foldless as fl
from cli_files import NAMES, N, X, Y, gzipped, lines, run
from foldless.cli.app import app
from foldless.tables import files
from foldless.tables.files import sheet, text
from foldless.tables.files.sheet import Hints

SMALL = pl.DataFrame({**dict(zip(NAMES, X.T, strict=True)), "y": Y})


def loaded(path, hints=None, without=("y",)):
    with files.opened(path, hints or Hints()) as source:
        names = tuple(name for name in source.names if name not in without)
        return source, source.load(names)


def answered(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout, parse_constant=pytest.fail)


COMMAS = lines(separator=";").replace(".", ",")
QUOTED = "\n".join(",".join(f'"{cell}"' for cell in line.split(";")) for line in COMMAS.splitlines())
WRITTEN = {
    "comma": ("x.csv", lines(), "comma, decimal point, UTF-8"),
    "tab": ("x.tsv", lines(separator="\t"), "tab, decimal point, UTF-8"),
    "pipe": ("x.txt", lines(separator="|"), "pipe, decimal point, UTF-8"),
    "decimal comma": ("x.csv", COMMAS, "semicolon, decimal comma, UTF-8"),
    "decimal comma in quotes": ("x.csv", QUOTED, "comma, decimal comma, UTF-8"),
    "packed": ("x.csv.gz", gzipped(lines()), "comma, decimal point, UTF-8"),
    "packed tabs": ("x.tsv.gz", gzipped(lines(separator="\t")), "tab, decimal point, UTF-8"),
    "utf-16": ("x.csv", lines().encode("utf-16"), "comma, decimal point, UTF-16"),
    "mark": ("x.csv", lines().encode("utf-8-sig"), "comma, decimal point, UTF-8"),
    "blank lines": ("x.csv", lines().replace("\n", "\n\n"), "comma, decimal point, UTF-8"),
    "leading blank lines": ("x.csv", "\n\n" + lines(), "comma, decimal point, UTF-8"),
    "windows": ("x.csv", lines().replace("\n", "\r\n") + "\r\n", "comma, decimal point, UTF-8"),
    "old mac": ("x.csv", lines().replace("\n", "\r"), "comma, decimal point, UTF-8"),
    "no last line end": ("x.csv", lines().rstrip("\n"), "comma, decimal point, UTF-8"),
}


@pytest.mark.parametrize(("name", "content", "read_as"), WRITTEN.values(), ids=WRITTEN.keys())
def test_one_table_written_in_many_ways(tmp_path, name, content, read_as):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source, found = loaded(path)
    assert source.names == (*NAMES, "y")
    assert source.read_as == read_as
    np.testing.assert_array_equal(found.X, X)
    assert (found.texts, found.strange) == ({}, {})


def test_parquet_and_archives_hold_the_same(tmp_path):
    SMALL.write_parquet(tmp_path / "x.parquet")
    np.savez(tmp_path / "x.npz", X=X, y=Y, feature_names=np.array(NAMES))
    (tmp_path / "x.csv").write_text(lines())
    answers = [answered("auc", tmp_path / f"x.{kind}", "--target", "y") for kind in ("csv", "parquet", "npz")]
    for answer in answers:
        del answer["file"], answer["read_as"]
    assert answers[0] == answers[1] == answers[2]


def test_single_precision_stays_single(tmp_path):
    """A file of float32 takes half the memory, and the answer is the same in the digits that are printed."""
    np.savez(tmp_path / "x.npz", X=X.astype(np.float32), y=Y)
    narrow = SMALL.with_columns(pl.col(NAMES).cast(pl.Float32))
    narrow.write_parquet(tmp_path / "x.parquet")
    assert loaded(tmp_path / "x.parquet")[1].X.dtype == np.float32
    assert loaded(tmp_path / "x.npz", without=())[1].X.dtype == np.float32
    SMALL.write_parquet(tmp_path / "wide.parquet")
    exact = answered("auc", tmp_path / "wide.parquet", "--target", "y")["auc"]
    for name in ("x.npz", "x.parquet"):
        assert answered("auc", tmp_path / name, "--target", "y")["auc"] == pytest.approx(exact, abs=1e-4)


def test_kinds_of_parquet_columns(tmp_path):
    """Integers, truth values and categories are what they are; dates are neither numbers nor text."""
    days = pl.Series([f"2020-01-{k % 28 + 1:02}" for k in range(N)]).str.to_date()
    words = pl.Series(np.where(Y, "u", "v"), dtype=pl.Categorical)
    frame = SMALL.with_columns(n=pl.Series(np.arange(N)), flag=pl.Series(Y == 1), word=words, day=days)
    frame.write_parquet(tmp_path / "x.parquet")
    _, found = loaded(tmp_path / "x.parquet")
    assert found.X[:, 3].tolist() == list(range(N))
    assert found.X[:, 4].tolist() == Y.tolist()
    assert (list(found.texts), found.strange) == (["word"], {"day": "dates or times"})
    assert np.isnan(found.X[:, 5:]).all()


def test_a_word_beyond_the_sample_does_not_spoil_the_column_silently(tmp_path):
    """Numbers in the first rows, a word further down: the column is text, the others keep every digit."""
    path = tmp_path / "x.csv"
    rows = 3 * text.SAMPLE_ROWS
    cells = [f"{k / 7!r},{k}" for k in range(rows)]
    cells[-1] = "high,0.5"
    path.write_text("\n".join(["u,v", *cells]))
    _, found = loaded(path)
    assert list(found.texts) == ["u"]
    assert found.texts["u"].to_list()[-2:] == [repr((rows - 2) / 7), "high"]
    assert found.X[:, 1].tolist() == [*range(rows - 1), 0.5]


def test_missing_words_become_nan_wherever_they_stand(tmp_path):
    path = tmp_path / "x.csv"
    rows = text.SAMPLE_ROWS + 50
    cells = [str(k) for k in range(rows)]
    for k, word in zip((3, 9, rows - 9, rows - 5, rows - 1), ("NA", "n/a", "NaN", "null", "?"), strict=True):
        cells[k] = word
    path.write_text("\n".join(["u,v", *(f"{c},1" for c in cells)]))
    _, found = loaded(path)
    assert np.flatnonzero(np.isnan(found.X[:, 0])).tolist() == [3, 9, rows - 9, rows - 5, rows - 1]


def test_columns_keep_their_places(tmp_path):
    """Text columns between numbers, and columns that are numbers only after stripping, end where they began."""
    rows = ["p,q,r,s,t", *(f"{k}, {k}.5 ,w{k},{k + 1}, true" for k in range(9))]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    _, found = loaded(tmp_path / "x.csv", without=())
    np.testing.assert_array_equal(found.X[:, [0, 1, 3, 4]], [[k, k + 0.5, k + 1, 1] for k in range(9)])
    assert found.texts["r"].to_list() == [f"w{k}" for k in range(9)]


def test_text_is_read_in_blocks_of_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "TEXT_AT_ONCE", 100)
    rows = ["p,q,r", *(f"a{k},b{k}, {k} " for k in range(30))]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    _, found = loaded(tmp_path / "x.csv", without=())
    assert (list(found.texts), found.X[-1, 2]) == (["p", "q"], 29)


def test_old_encodings_are_recognised_late(tmp_path):
    """The first accent may come after a megabyte of plain numbers."""
    path = tmp_path / "x.csv"
    body = "\n".join(f"{k}.25,{'père' if k % 2 and k > 150_000 else 'mere'}" for k in range(160_000))
    path.write_bytes(f"u,v\n{body}\n".encode("latin-1"))
    source, found = loaded(path, without=())
    assert "UTF-8" not in source.read_as
    assert set(found.texts["v"].to_list()) == {"père", "mere"}


ENCODED = {
    "latin-1": ("Größe;señor;père;smörgås;à", "Latin-1"),
    "cp1252": ("Größe 5\u20137 €;père", "Windows-1252"),
    "cp1251": ("Город;Москва;пациент", "cp1251"),
    "cp1250": ("kůň;příliš žluťoučký", "cp1250"),
    "gbk": ("北京;上海;病人", "gb18030"),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_encodings_of_a_few_words(tmp_path, encoding):
    words, name = ENCODED[encoding]
    rows = ["u,v", *(f"{k}.5,{word}" for k, word in enumerate(20 * words.split(";")))]
    (tmp_path / "x.csv").write_bytes("\n".join(rows).encode(encoding))
    source, found = loaded(tmp_path / "x.csv", without=())
    assert set(found.texts["v"].to_list()) == set(words.split(";"))
    assert source.read_as == f"comma, decimal point, {name}"


THOUSANDS = {
    "point": (".", ",", ".", "thousands point"),
    "comma": (",", ".", ",", "thousands comma"),
    "narrow space": ("\u202f", ",", "space", "thousands space"),
    "apostrophe": ("'", ".", "'", "thousands apostrophe"),
}


@pytest.mark.parametrize(("mark", "decimal", "option", "words"), THOUSANDS.values(), ids=THOUSANDS.keys())
def test_marks_between_thousands_are_read_as_pandas_reads_them(tmp_path, mark, decimal, option, words):
    """White cells of 850 to 1,150 and ages with a decimal: never 1.02 for 1020, with any mark."""
    path = tmp_path / "x.csv"
    count = 850 + 5 * np.arange(N)
    cells = [f"{n:,}".replace(",", mark) for n in count]
    ages = [f"{1000 * (k % 3 == 0) + 40 + k / 8:,.3f}".translate({44: mark, 46: decimal}) for k in range(N)]
    written = "\n".join(["wbc;age", *(f"{c};{a}" for c, a in zip(cells, ages, strict=True))])
    path.write_text(written)
    source, found = loaded(path, Hints(thousands=option))
    plain = io.StringIO(written.replace("\u202f", "_"))  # pandas knows ASCII marks only
    expected = pd.read_csv(plain, sep=";", thousands=mark if mark.isascii() else "_", decimal=decimal)
    np.testing.assert_array_equal(found.X, expected[["wbc", "age"]])
    assert words in source.read_as


@pytest.mark.parametrize("place", [3, text.SAMPLE_ROWS + 100])
def test_a_point_under_a_decimal_comma_is_never_a_decimal_point(tmp_path, place):
    """'1.020' beside '985': no number, wherever it stands in the file, and the decimal commas decide."""
    cells = ["985"] * (text.SAMPLE_ROWS + 200)
    cells[place] = "1.020"
    (tmp_path / "x.csv").write_text("\n".join(["wbc;age", *(f"{c};4{k % 10},5" for k, c in enumerate(cells))]))
    source, found = loaded(tmp_path / "x.csv")
    assert source.read_as == "semicolon, decimal comma, UTF-8"
    assert list(found.texts) == ["wbc"]
    assert np.isnan(found.X[:, 0]).all()
    np.testing.assert_array_equal(found.X[:, 1], [40.5 + k % 10 for k in range(len(cells))])


def test_three_digits_behind_a_point_are_decimals_where_the_user_or_the_file_says_so(tmp_path):
    """--decimal settles it; so do cells such as '0.250' or '1.25', and a column without whole numbers."""
    (tmp_path / "x.csv").write_text("a;b\n1.073;1\n870;2\n")
    with pytest.raises(fl.InputError, match="beside '870'"):
        loaded(tmp_path / "x.csv")
    assert loaded(tmp_path / "x.csv", Hints(decimal="."))[1].X[:, 0].tolist() == [1.073, 870]
    (tmp_path / "y.csv").write_text("a;b\n1.073;0.25\n870;2\n")
    assert loaded(tmp_path / "y.csv")[1].X[:, 0].tolist() == [1.073, 870]
    (tmp_path / "z.csv").write_text("a;b\n1.073;1\n2.100;2\n")
    assert loaded(tmp_path / "z.csv")[1].X[:, 0].tolist() == [1.073, 2.1]


@pytest.mark.parametrize("first", ["sep=;\n", "SEP=;\r\n", '"sep=;"\n', "\n\nsep=;\n"])
def test_excel_names_the_separator_in_the_first_line(tmp_path, first):
    path = tmp_path / "x.csv"
    path.write_text(first + COMMAS)
    source, found = loaded(path)
    assert source.names == (*NAMES, "y")
    assert source.read_as == "semicolon (named in the first line), decimal comma, UTF-8"
    np.testing.assert_array_equal(found.X, X)
    path.write_text("sep=;\nu\n1\n2;3\n")
    with pytest.raises(fl.InputError, match="line 4 has 2 cells"):
        loaded(path)


def test_a_header_may_begin_with_a_hash(tmp_path):
    (tmp_path / "x.csv").write_text("#" + lines())
    assert loaded(tmp_path / "x.csv")[0].names[0] == "#a"


def test_numbers_stored_as_text_in_parquet_are_told(tmp_path):
    SMALL.with_columns(z=pl.Series(["1", "2"] * (N // 2))).write_parquet(tmp_path / "x.parquet")
    result = run("auc", tmp_path / "x.parquet", "--target", "y")
    assert "numbers stored as text in 'z' (60 rows, such as '1'): leave out with --drop z" in result.stderr


def test_hints_win_over_guesses(tmp_path):
    (tmp_path / "x.csv").write_bytes(COMMAS.replace("a;", "ä;").encode("cp437"))
    source, found = loaded(tmp_path / "x.csv", Hints(sep=";", encoding="cp437", decimal=","))
    assert source.names[0] == "ä"
    np.testing.assert_array_equal(found.X, X)
    (tmp_path / "spaces.dat").write_text(lines(separator=" "))
    assert answered("auc", tmp_path / "spaces.dat", "--target", "y", "--sep", "space")["n_features"] == 3


def test_the_guess_is_printed(tmp_path):
    (tmp_path / "x.csv").write_text(COMMAS)
    assert (
        "read as                      semicolon, decimal comma, UTF-8"
        in run("auc", tmp_path / "x.csv", "--target", "y").stdout
    )


def test_a_class_may_be_called_none(tmp_path):
    (tmp_path / "x.csv").write_text(lines(labels=np.where(Y, "severe", "none")))
    assert answered("auc", tmp_path / "x.csv", "--target", "y")["negative"] == "none"


def test_a_wide_table_is_filled_in_few_batches(tmp_path):
    """7000 columns are read by whole batches, not column by column."""
    wide = np.random.default_rng(1).normal(size=(40, 7000)).round(3)
    header = ",".join(f"g{k}" for k in range(7000))
    np.savetxt(tmp_path / "x.csv", wide, delimiter=",", header=header, comments="", fmt="%.3f")
    source, found = loaded(tmp_path / "x.csv")
    np.testing.assert_array_equal(found.X, wide)
    assert source.names[-1] == "g6999"


def test_rows_are_counted_before_the_matrix_is_made(tmp_path, monkeypatch):
    """The matrix is allocated once: the table is never in memory twice."""
    made = []
    original = sheet.new_matrix
    monkeypatch.setattr(sheet, "new_matrix", lambda *a: made.append(a[:2]) or original(*a))
    (tmp_path / "x.csv").write_text(lines())
    loaded(tmp_path / "x.csv")
    assert made == [(N, 3)]


# ---- what the reader is told about labels and columns


def auc_of_text(tmp_path, text, *options):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return CliRunner().invoke(app, ["auc", str(path), "--target", "y", *options])


def table(labels, marks=lambda k: None, ids=False):
    rng = np.random.default_rng(0)
    rows = [("id," if ids else "") + "a,b,y"]
    for k in range(40):
        b = marks(k) or f"{rng.normal():.3f}"
        rows.append((f"P{k:03d}," if ids else "") + f"{rng.normal():.3f},{b},{labels[k % len(labels)]}")
    return "\n".join(rows)


def test_classes_that_differ_in_capitals_only_are_one(tmp_path):
    text = table(["Yes", "no", "yes", "no", "yes", "no"])
    result = auc_of_text(tmp_path, text)
    assert result.exit_code == 0, result.output
    assert "classes 'yes', 'Yes' taken for one, as they differ in capitals or blanks only" in result.stdout
    assert "tells 'yes' from 'no'" in result.stdout
    strict = auc_of_text(tmp_path, text, "--strict")
    assert strict.exit_code == 2
    assert "classes 'yes', 'Yes' of the target column 'y' differ in capitals or blanks only: spell" in strict.stderr
    assert "capitals" not in auc_of_text(tmp_path, table(["yes", "no"])).stdout


def test_a_number_that_may_stand_for_a_missing_value_is_reported(tmp_path):
    result = auc_of_text(tmp_path, table([0, 1], lambda k: "-999" if k % 9 == 0 else None))
    assert "'b' (-999 in 5 rows): if that stands for a missing value" in result.stdout
    assert "stands for" not in auc_of_text(tmp_path, table([0, 1], lambda k: "-9" if k == 3 else None)).stdout


def test_a_column_of_row_names_is_suggested_for_the_id_option(tmp_path):
    result = auc_of_text(tmp_path, table([0, 1], ids=True), "--strict")
    assert result.exit_code == 2
    assert "leave out with --id id" in result.stderr


def test_two_columns_of_row_names(tmp_path):
    """--id takes one; the other is left out."""
    text = table([0, 1], ids=True).replace("id,", "id,name,", 1).replace("\nP", "\nQ", 1)
    text = "\n".join([text.splitlines()[0], *(f"{line.split(',')[0]},N{line}" for line in text.splitlines()[1:])])
    assert "leave out with --id id --drop name" in auc_of_text(tmp_path, text, "--strict").stderr
    assert "leave out with --drop name" in auc_of_text(tmp_path, text, "--strict", "--id", "id").stderr
