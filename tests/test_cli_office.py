"""Excel, SPSS and Stata files, and titles above the header: the answer is that of the same table as CSV."""

import json

import numpy as np
import pandas as pd
import pytest

from cli_files import lines, run

Y = np.arange(90) % 2


def frame():
    """Numbers with gaps, a category, a date, numbers of three decimals, and 'control' and 'case' as 0 and 1."""
    rng = np.random.default_rng(11)
    a = rng.normal(size=90).round(3) + Y
    a[4] = np.nan
    town = np.where(rng.random(90) < 0.5, "Oslo", "Rome")
    return pd.DataFrame({"a": a, "b": rng.normal(900, 200, 90).round(3), "n": rng.integers(0, 9, 90), "town": town})


def answer(path, *options):
    result = run("auc", path, "--target", "y", "--json", *options)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def table(tmp_path):
    """The table, and the answer to it as CSV."""
    data = frame()
    labels = np.where(Y, "case", "control")
    data.assign(y=labels).to_csv(tmp_path / "table.csv", index=False)
    return data, answer(tmp_path / "table.csv")


def test_sheets_of_a_workbook(tmp_path, table):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")  # of the extra `files`
    data, expected = table
    path = tmp_path / "table.xlsx"
    book = xlsxwriter.Workbook(path, {"nan_inf_to_errors": True})
    book.add_worksheet("Codebook").write(0, 0, "a: mg/l")
    sheet = book.add_worksheet("Data")
    sheet.write(0, 0, "Study of 2021, all sites")
    sheet.write_row(2, 0, [*data.columns, "day", "y"])
    days = pd.date_range("2021-03-04", periods=90).to_pydatetime()
    style = book.add_format({"num_format": "yyyy-mm-dd"})
    for k, row in enumerate(data.itertuples(index=False)):
        sheet.write_row(3 + k, 0, [None if v != v else v for v in row])
        sheet.write_datetime(3 + k, 4, days[k], style)
        sheet.write(3 + k, 5, "case" if Y[k] else "control")
    book.close()
    found = answer(path, "--sheet", "Data")
    assert found["auc"] == pytest.approx(expected["auc"], rel=1e-12)  # a column that is left out moves the last digit
    assert found["read_as"] == "Excel, sheet 'Data', without the title 'Study of 2021, all sites'"
    assert "left out: 'day' (dates or times)" in found["prepared"]
    for options in ((), ("--sheet", "data")):
        result = run("auc", path, "--target", "y", *options)
        assert result.exit_code == 2
        assert "has 2 sheets ('Codebook', 'Data'): choose one with --sheet" in result.stderr


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_statistics_packages_with_their_labels(tmp_path, table, suffix):
    write = getattr(pytest.importorskip("pyreadstat"), f"write_{suffix}")
    data, expected = table
    path = tmp_path / f"table.{suffix}"
    write(data.assign(y=Y), str(path), variable_value_labels={"y": {0: "control", 1: "case"}})
    found = answer(path)
    assert (found["auc"], found["positive"]) == (expected["auc"], "case")
    assert found["read_as"] == {"sav": "SPSS", "dta": "Stata"}[suffix]


def test_values_that_spss_declares_missing_are_gaps(tmp_path, table):
    pyreadstat = pytest.importorskip("pyreadstat")
    data, _ = table
    path = tmp_path / "table.sav"
    data.loc[[7, 8], "n"] = 99
    pyreadstat.write_sav(data.assign(y=Y), str(path), missing_ranges={"n": [99]})
    assert "3 gaps in 2 columns" in answer(path)["prepared"]


TITLES = {
    "one cell": "Study of 2021\n",
    "with commas": "Study of 2021, Oslo\n",
    "as comments": "# Study\n# made by hand, v2\n",
    "with another mark": "Study; 2021\n",
    "two lines and a blank one": "Study\nexported by hand\n\n",
    "as Excel writes it": "Study of 2021,,,\n,,,\n",
}


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
def test_a_title_above_the_header_is_skipped_and_said(tmp_path, title):
    (tmp_path / "plain.csv").write_text(lines())
    (tmp_path / "titled.csv").write_text(title + lines())
    plain, titled = answer(tmp_path / "plain.csv"), answer(tmp_path / "titled.csv")
    assert titled["auc"] == plain["auc"]
    assert "without the title '" in titled["read_as"]
    assert "title" not in plain["read_as"]


@pytest.mark.parametrize("text", ["a,b\n" + "1,2,3,0\n" * 9, "a,,\n1,2,0\n2,1,1\n3,3,0\n4,4,1\n"])
def test_a_header_that_is_too_short_is_no_title(tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_text(text)
    assert run("auc", path, "--target", "a").exit_code == 2
