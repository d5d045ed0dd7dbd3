"""The pages cannot drift: their code is run, the reference is that of the package, their figures stand in results/."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

import foldless as fl
from foldless_studies.tools.paper import figure

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RIVALS = ("5-fold CV", "10 x 5-fold CV", ".632+ bootstrap")
OTHERS = {"mlxtend", "baycomp", "confidenceinterval", "skore", "mne", "nilearn"}


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "_tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


run_pages, cli_reference, offline = _tool("run_pages"), _tool("cli_reference"), _tool("offline")
PAGES = run_pages.pages()
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
WITH_CODE = [page for page in PAGES if "```python" in TEXTS[page]]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.filterwarnings("ignore::foldless.FoldlessWarning")
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    """Every Python block is executed, top to bottom, and its output compared with the text under it."""
    monkeypatch.chdir(tmp_path)
    wrong = run_pages.differences(page)
    assert not wrong, "\n".join([*wrong, "python docs/_tools/run_pages.py --write puts it right"])


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_no_python_block_escapes(page):
    """Every fence that opens Python code is one of the blocks that are run."""
    assert len(run_pages.blocks(TEXTS[page])) == len(
        re.findall(r"^\s*(?:```|~~~) *\{?(?:python|py)", TEXTS[page], re.M)
    )


def test_only_code_of_other_packages_may_be_left_out():
    """A block that is not run everywhere imports the foreign package that it names."""
    for text in TEXTS.values():
        for block in run_pages.blocks(text):
            assert set(block.needs) <= OTHERS
            assert all(re.search(rf"^(?:import|from) {name}\b", block.code, re.M) for name in block.needs)


@pytest.mark.parametrize("package", sorted(OTHERS))
def test_code_of_other_packages_was_run(package):
    """A page shows the package, and its code is run where it is installed; else the report of the tests says so."""
    shown = [block for text in TEXTS.values() for block in run_pages.blocks(text) if package in block.needs]
    assert shown
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: its block in the guides was not run")
    assert not any(package in block.missing for block in shown)


PAGE = """Text
```python
x = 2
```

```python
print(x + 1)
```
```text
3
```

<!-- needs: no_such_package -->
```python
import no_such_package
```
"""


def test_the_runner_sees_a_changed_word(tmp_path, monkeypatch):
    """The check itself: names are shared down the page, a wrong output is reported, and rewriting mends it."""
    monkeypatch.setattr(run_pages, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert run_pages.differences(page) == []
    page.write_text(PAGE.replace("3\n", "4\n"))
    assert run_pages.differences(page) == ["page.md:7 should show:\n3\n"]
    assert run_pages.rewritten(page.read_text(), "page.md") == PAGE


def test_the_command_line_page_is_the_real_help():
    """docs/reference/cli.md is what --help says, for every command."""
    shown = cli_reference.PAGE.read_text(encoding="utf-8")
    assert shown == cli_reference.page(), "the help has changed: run python docs/_tools/cli_reference.py"


def listed() -> dict[str, list[str]]:
    """Names in the autosummary tables of the API page, by the module that they are looked up in."""
    text = (DOCS / "reference" / "api.rst").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for module, part in re.findall(r"\.\. currentmodule:: (\S+)\n(.*?)(?=\.\. currentmodule|\Z)", text, re.DOTALL):
        tables = re.findall(r":toctree: generated\n\n((?:   \w+\n)+)", part)
        found.setdefault(module, []).extend(name for table in tables for name in table.split())
    return found


def public(module: ModuleType) -> list[str]:
    """What a package offers: __all__, or else its own functions and classes."""
    own = [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]
    return list(getattr(module, "__all__", own))


def test_the_api_page_lists_every_public_name_once():
    """Nothing public is missing from the reference, and nothing is there that is not public."""
    packages = {f"foldless.{name}": getattr(fl, name) for name in fl._SUBPACKAGES}
    expected = {"foldless": sorted(set(fl.__all__) - {"__version__", *fl._SUBPACKAGES})}
    expected |= {name: sorted(public(module)) for name, module in packages.items()}
    assert {module: sorted(names) for module, names in listed().items()} == expected


# What a page says, and the line of results/ that it rests on: when a table is measured anew, the sentence must follow.
QUOTED = [
    (
        "docs/guides/limits.md",
        "is 0.054, that of 5-fold cross-validation 0.063",
        "accuracy/development.md",
        "| real | loo | 2376 | 0.0543 |",
    ),
    (
        "docs/guides/limits.md",
        "hold the measured AUC in 89 %",
        "accuracy/development.md",
        "| 0.886 | 0.511 | 0.813 | 0.906 |",
    ),
    (
        "docs/guides/limits.md",
        "| ridge, alpha = 1 | 0.068, 0.050 | 0.84, 0.90 | 0.90, 0.92 |",
        "accuracy/classifiers.md",
        "| real | 40 | 1 | loo | 272 | 0.0675 | 0.842 |",
    ),
    (
        "docs/explanation/paper.md",
        "its 90 % intervals hold the truth in 0.89",
        "accuracy/development.md",
        "| real | loo | 2376 | 0.0543 | 0.865 | - | 1.169 | 0.857 | -0.0100 | 0.886 |",
    ),
    ("docs/guides/validation.md", "80 rows 0.80 (slope) to 0.87", "validation.md", "| 0.797 | 0.000 |"),
    ("docs/guides/choosing_c.md", "+0.0009 AUC", "search.md", "Mean difference (best) over the 11 sets: +0.0009."),
    ("docs/guides/comparing.md", "63.5 % against 64.5 %", "compare.md", "| 0.635 | 0.645 |"),
    (
        "docs/guides/comparing.md",
        "in 78 %, and statements\nof 90 to 97 % in 86 %",
        "compare.md",
        "| two C of one model | 0.912 | 0.57 (116) | 0.64 (99) | 0.78 (63) | 0.86 (49) |",
    ),
    ("docs/guides/limits.md", "is about 0.62, with 15 about 0.57", "few_rows.md", "| 30 | 100 | 5 | 0.065 | 0.624 |"),
    ("docs/guides/comparing.md", "held the truth in 89 %", "compare.md", "| all | 0.887 |"),
    ("docs/planning.md", "| x 2 | 0.767 | 0.786 | 0.789 |", "plan.md", "| **all** | - | 2 | 0.767 | 0.786 | 0.789 |"),
    ("docs/planning.md", "0.046 | 0.055 | 0.93 of 60 |", "plan.md", "| 0.046 | 0.055 | 0.93 (60) |"),
    (
        "docs/planning.md",
        "foretold 0.893, measured 0.839",
        "plan.md",
        "| phoneme_aa_ao | 1 | 5 | 0.852 | 0.893 | 0.839 |",
    ),
    (
        "docs/compare.md",
        "covered 0.85 on one such",
        "compare.md",
        "| wdbc | 489 | 0.10 | 0.750 | 0.775 | 0.73 (11) | 0.85 |",
    ),
    ("docs/scale.md", "within 306 MB", "memory.md", "leave-one-out, 200 columns | 306 |"),
    ("docs/guides/coming_from.md", "slope 0.137 and 0.133", "rms.md", "| all | 0.1372 | 0.1327 |"),
    ("docs/guides/coming_from.md", "Brier score 0.0149 and 0.0153", "rms.md", "| all | 0.0149 | 0.0153 |"),
    ("docs/guides/coming_from.md", "AUC 0.032 and 0.032", "rms.md", "| all | 0.0319 | 0.0324 |"),
    ("docs/compare.md", "77 to 91 % within each kind", "compare.md", "| 0.76 (75) | 0.89 (61) | 0.91 (91) |"),
    ("docs/compare.md", "| nested feature sets | 0.46 | 0.53 |", "compare.md", "| 0.46 / 0.53 |"),
    ("docs/compare.md", "| two C of one model | 0.82 | 0.84 |", "compare.md", "| 0.82 / 0.84 |"),
    (
        "docs/guides/comparing.md",
        "came true in 81 %",
        "compare.md",
        "| all | 0.887 | 0.67 (406) | 0.69 (334) | 0.81 (313) |",
    ),
    (
        "docs/explanation/paper.md",
        "In 15 of our 23 panels",
        "paper/index.md",
        "CBAUC has a smaller error than 5-fold cross-validation in 15 of 23",
    ),
    (
        "docs/explanation/paper.md",
        "0.80 (P = 4) and 0.67 (P = 10)",
        "paper/index.md",
        "| fig1: P = 4 | 0.0294 | 0.89 | 0.80 |",
    ),
    (
        "docs/explanation/paper.md",
        "| normal, 100 columns | 0.968 | 0.507 | 0.544 |",
        "paper/shuffled.md",
        "CBAUC says 0.968 on average, EBAUC as published 0.911, CV as published 0.568, 5-fold CV 0.507, foldless 0.544",
    ),
    (
        "docs/explanation/paper.md",
        "in 0.18 of the cases",
        "accuracy/development.md",
        "| real | in-sample | 2376 | 0.133 | 2.113 | - | 2.853 | 0.171 | 0.130 | 0.178 |",
    ),
    (
        "docs/explanation/paper.md",
        "it is 0.608; textbook cross-validation of the same fits gives 0.958",
        "paper/index.md",
        "0.608 as published, 0.615 with the corners",
    ),
    (
        "docs/explanation/derivation.md",
        "covers 0.74 instead of\n0.90 on real data",
        "accuracy/development.md",
        "| real | cv5 | 2376 | 0.0627 | 1 | - | 1.350 | - | -0.0075 | 0.740 |",
    ),
    (
        "docs/explanation/derivation.md",
        "above 0.5 in 4.6 % of the trials",
        "accuracy/development.md",
        "| 0.319 | 0.0459 |",
    ),
]


@pytest.mark.parametrize(("page", "said", "table", "line"), QUOTED)
def test_quoted_figures_stand_in_the_results(page, said, table, line):
    """A figure in the text and the measured table that it comes from change together."""
    assert said in (ROOT / page).read_text(encoding="utf-8"), "the page says something else: keep this list true"
    assert line in (ROOT / "results" / table).read_text(encoding="utf-8"), f"measured anew: correct {page}"


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ('<script src="https://cdn.example/x.js"></script>', 1),
        ("<img alt='a' src='//example/x.png'>", 1),
        ('<link rel="stylesheet" href="http://example/x.css">', 1),
        ("@import url(https://example/font.css); a { background: url('https://example/x.png') }", 2),
        ('<a href="https://example">read</a> <img src="_images/x.png"> <link href="_static/x.css">', 0),
    ],
)
def test_what_a_page_would_fetch_is_seen(text, n):
    """The check that `make docs` runs on the built pages: scripts, pictures and styles from elsewhere, not links."""
    assert len(offline.fetched(text)) == n


def test_there_are_ten_pictures_to_look_at():
    """The gallery has at least ten examples, each with a title and a sentence."""
    examples = sorted((ROOT / "examples").glob("plot_*.py"))
    assert len(examples) >= 10
    for example in examples:
        assert re.match(r'"""\n(.+)\n=+\n\n\w', example.read_text(encoding="utf-8")), example.name


def test_the_figures_of_the_readme_are_those_of_results():
    """Rows and sentences as they follow from results/ today."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    accuracy = partial(figure, ROOT / "results", "accuracy/development")
    for title, method in {"foldless": "loo", "5-fold CV": "cv5", "the paper's, in-sample": "in-sample"}.items():
        real, shuffled = (
            f"{accuracy(f'{labels}, {method}', 'MAE'):.3f}, {accuracy(f'{labels}, {method}', 'cover 90'):.2f}"
            for labels in ("real", "shuffled")
        )
        second = accuracy(f"real, {method}", "/ second sample")
        assert f"| {title} | {real} | {second:.2f} | {shuffled} |" in text
    gains = {(n, C): accuracy(f"real, {n}, {C}, loo", "/ CV5") for n in (40, 80) for C in ("0.01", "1", "100")}
    most, least = min(gains, key=gains.get), max(gains, key=gains.get)
    assert f"gains most at {most[0]} rows and C = {most[1]}, {gains[most]:.2f} of 5-fold CV's error, and least" in text
    assert f"least at {least[0]} rows and C = {least[1]}, {gains[least]:.2f}." in text
    shapes = ("100 x 20", "200 x 2,000", "1,000 x 50")
    folds, repeated, bootstrap = (
        [figure(ROOT / "results", "speed/speed#calibrated", shape, rival) for shape in shapes] for rival in RIVALS
    )
    assert f"| 5-fold CV | {' | '.join(f'{x:.1f}' for x in folds)} |" in text
    both = " | ".join(f"{a:.0f}, {b:.0f}" for a, b in zip(repeated, bootstrap, strict=True))
    assert f"| 10 x 5-fold CV, .632+ bootstrap | {both} |" in text
