"""The rows of the architecture: a module imports only from rows below its own."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "foldless"
STUDIES = ROOT / "studies" / "src"
ROWS = [
    ["app"],
    ["__main__", "cli"],
    ["show"],
    ["search", "comparison", "plan", "permutation"],
    ["estimate", "validation", "given_scores"],
    ["analysis", "baselines"],
    ["answers"],
    ["computation", "given_weights", "streaming", "measures"],
    ["findings"],
    ["results"],
    ["honest"],
    ["model"],
    ["laws"],
    ["tables"],
    ["cards"],
    ["checks", "files", "progress"],
    ["errors", "words"],
]
ROW = {module: number for number, row in enumerate(ROWS) for module in row}
SAME_ROW_ALLOWED = {("__main__", "cli")}
USED_BY_BASELINES = {"baselines", "checks", "cards", "errors", "model"}  # of model: steps alone (test_baselines)
PUBLIC = "foldless"


def module_of(path: Path) -> str:
    """Top-level module or package that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")
MODULES = sorted({module_of(p) for p in FILES})


def imported(path: Path) -> list[tuple[int, str]]:
    """(line, module) for every import of foldless anywhere in a file; the package itself reads 'foldless'."""
    # Files outside of the package name it in full, so what their relative imports start from does not matter.
    package = ("foldless", *path.relative_to(SOURCE).parts[:-1]) if path.is_relative_to(SOURCE) else ("elsewhere",) * 9
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join((*base, *([node.module] if node.module else [])))
            found += [(node.lineno, name, alias.name) for alias in node.names]
    return [(line, _target(name, attribute)) for line, name, attribute in found if name.split(".")[0] == "foldless"]


def _target(name: str, attribute: str | None) -> str:
    parts = name.split(".")
    if len(parts) > 1:
        return parts[1]
    is_module = attribute is not None and ((SOURCE / f"{attribute}.py").exists() or (SOURCE / attribute).is_dir())
    return attribute if is_module and attribute else PUBLIC


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_row(module):
    """A new module must be given its place before anything may import it."""
    assert module in ROW, f"{module} is in no row: add it to its row here (ROWS) and in ARCHITECTURE.md"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_downwards(path):
    """Every import, also inside functions and under TYPE_CHECKING, is of a lower row or of the own package."""
    own = module_of(path)
    if own not in ROW:
        pytest.fail(f"{own} is in no row: add it to its row here (ROWS) and in ARCHITECTURE.md")
    for line, target in imported(path):
        if target == own or (own, target) in SAME_ROW_ALLOWED or _public_use(own, target):
            continue
        assert target != PUBLIC, f"{path.name}:{line} imports the package itself, which is above every row"
        assert target in ROW, f"{path.name}:{line} imports {target}, which is in no row"
        assert ROW[target] > ROW[own], (
            f"{path.name}:{line}: {own} (row {ROW[own]}) imports {target} (row {ROW[target]})"
        )


def _public_use(own: str, target: str) -> bool:
    """The command line and the page stand outside and use the public API."""
    return target == PUBLIC and own in ("cli", "app")


@pytest.mark.parametrize("path", [p for p in FILES if module_of(p) == "baselines"], ids=lambda p: p.name)
def test_baselines_stay_an_independent_check(path):
    """The rivals share no code with the Bayesian results that they are to check."""
    shared = {target for _, target in imported(path)} - USED_BY_BASELINES
    assert not shared, f"{path.name} imports {sorted(shared)}"


def test_studies_use_the_public_api_only():
    """Every study can be run by a reader with `import foldless` alone."""
    for path in sorted(STUDIES.rglob("*.py")):
        # How files are written, names spelled and clusters opened says nothing about classifiers.
        allowed = {PUBLIC, "files", "words", "tables"} | ({"cli"} if path.parent.name == "cli" else set())
        private = {t for _, t in imported(path)} - allowed
        assert not private, f"{path.name} imports {sorted(private)}: use the public names of foldless"


def test_the_reader_of_imports_sees_everything(tmp_path, monkeypatch):
    """The check itself: relative, aliased, nested and TYPE_CHECKING imports are all found."""
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "auc.py").touch()
    (tmp_path / "honest").mkdir()
    file = tmp_path / "honest" / "x.py"
    file.write_text(
        "import foldless.laws.prior as p\nfrom foldless import auc, cbauc\nfrom .. import auc as b\n"
        "from ..roc import c\n"
        "from .y import d\ndef f():\n    from foldless.laws.effect import e\nimport numpy\n"
        "if TYPE_CHECKING:\n    from foldless.estimate import g\n"
    )
    assert [t for _, t in sorted(imported(file))] == [
        "laws", "auc", "foldless", "auc", "roc", "honest", "laws", "estimate",
    ]  # fmt: skip


def rows_of_the_page() -> list[list[str]]:
    """The modules of every row of the table in ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| \d+ \| (.*?) \|", text, re.MULTILINE)
    return [re.findall(r"`(\w+)/?`", cell) for cell in cells]


def modules_of_the_tree() -> set[str]:
    """Modules and packages directly below src/foldless."""
    names = {p.stem for p in SOURCE.glob("*.py")} | {p.parent.name for p in SOURCE.glob("*/__init__.py")}
    return names - {"__init__"}


def test_architecture_lists_the_modules_of_the_tree():
    """Every module stands in exactly one row of ARCHITECTURE.md, and nothing else does."""
    names = [name for row in rows_of_the_page() for name in row]
    assert len(names) == len(set(names)), "a module stands in two rows"
    assert set(names) == modules_of_the_tree()


def test_architecture_has_the_rows_that_the_import_test_enforces():
    """The table that people read and the rows that are checked here are the same."""
    assert [set(row) for row in rows_of_the_page()] == [set(row) for row in ROWS]


PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_things_where_they_are(page):
    """Of every "`NAME` (`file.py`)" in these pages, the file exists and defines the name."""
    text = (ROOT / page).read_text(encoding="utf-8")
    pairs = [
        (name, file)
        for names, file in re.findall(r"((?:`\w+`(?:,| and)? ?)+)\(`([\w/]+\.py)`\)", text)
        for name in re.findall(r"`(\w+)`", names)
    ]
    assert pairs
    for name, file in pairs:
        homes = [folder / file for folder in (SOURCE, ROOT, STUDIES / "foldless_studies") if (folder / file).exists()]
        assert homes, f"{page}: there is no {file}"
        defined = any(re.search(rf"^\s*(class |def )?{name}\b", h.read_text("utf-8"), re.MULTILINE) for h in homes)
        assert defined, f"{page}: {file} does not define {name}"
