"""Build the wheel and the sdist, install each into an empty environment, and try what a new user would try.

    python -m foldless_studies.tools.package

Four environments: the wheel alone (NumPy, SciPy, scikit-learn), the wheel with every extra that needs no GPU, the same
with the studies, and the sdist alone. Anything that is missing from an archive, or that only works in a checkout, shows
here.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from foldless_studies.tools import ROOT

LIBRARY = """
import sys
import numpy as np
import foldless as fl
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
y = np.arange(60) % 2
X = rng.normal(size=(60, 4)) + 0.8 * y[:, None]
model = LogisticRegression().fit(X, y)
number, post = fl.cbauc(model.coef_[0], X, y), fl.auc_posterior(model, X, y)
low, high = post.interval()
assert 0.5 < low < post.mean < high < 1 and 0.5 < number < 1, (number, post)
assert "site-packages" in fl.__file__, fl.__file__
print(f"foldless {fl.__version__}: cbauc {number:.3f}, {post}")
"""
# What needs an extra says which, in the words that pip understands.
REFUSED = """
import foldless as fl
for extra, call in {
    "plot": lambda: fl.AUCPosteriorDisplay.from_estimator(model, X, y).plot(),
    "report": lambda: fl.report(model, X, y, "report.html"),
}.items():
    try:
        call()
    except (fl.InputError, ImportError) as err:
        assert f"foldless[{extra}]" in str(err), err
        print(f"without [{extra}]: {err}")
    else:
        raise SystemExit(f"[{extra}] was not missed")
"""


def main() -> None:
    """Build, look inside, install, try."""
    with tempfile.TemporaryDirectory() as place:
        dist = Path(place) / "dist"
        _run(sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT))
        (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        _check_contents(wheel, sdist)
        _run(sys.executable, "-m", "build", "--wheel", "--outdir", str(dist), str(ROOT / "studies"))
        (studies,) = dist.glob("foldless_studies-*.whl")
        _try_library(_environment(Path(place) / "core", wheel), Path(place), extras=False)
        _try_library(_environment(Path(place) / "sdist", sdist), Path(place), extras=False)
        commands = _environment(Path(place) / "all", f"{wheel}[all]")
        _try_library(commands, Path(place), extras=True)
        _try_command(commands / "foldless", Path(place))
        _try_studies(_environment(Path(place) / "studies", f"{wheel}[all]", studies) / "foldless", Path(place))
    print("the package works")


def _run(*words: str, cwd: Path | None = None) -> str:
    """Stdout of a command that must succeed."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)[:300]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _check_contents(wheel: Path, sdist: Path) -> None:
    """Every file of the package is in both; the wheel has nothing else, the sdist also what is needed to test it."""
    source = ROOT / "src"
    files = {p.relative_to(source).as_posix() for p in source.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    _expect(held == files, f"the wheel differs from src: {sorted(held ^ files)}")
    needed = {f"src/{name}" for name in files} | {"LICENSE", "README.md", "tests/conftest.py", "pyproject.toml"}
    _expect(needed <= names, f"the sdist lacks {sorted(needed - names)}")
    print(f"{wheel.name}: {len(held)} files; {sdist.name}: {len(names)} files")


def _expect(true: bool, complaint: str) -> None:
    if not true:
        raise SystemExit(complaint)


def _environment(folder: Path, *what: str | Path) -> Path:
    """An empty environment with these installed; its folder of commands."""
    venv.create(folder, with_pip=True)
    commands = folder / ("Scripts" if sys.platform == "win32" else "bin")
    _run(str(commands / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *map(str, what))
    _run(str(commands / "python"), "-m", "pip", "check")
    return commands


def _try_library(commands: Path, place: Path, *, extras: bool) -> None:
    code = LIBRARY if extras else LIBRARY + REFUSED
    print(f"{commands.parent.name}: {_run(str(commands / 'python'), '-I', '-c', code, cwd=place)}", end="")
    if not extras:
        _try_refused_command(commands / "foldless", place)


def _try_refused_command(command: Path, place: Path) -> None:
    """Without its extra the command says in one line what to install."""
    done = subprocess.run([str(command), "auc", "table.csv"], cwd=place, capture_output=True, text=True)
    _expect(
        done.returncode == 2 and done.stderr.count("\n") == 1 and "pip install 'foldless[cli]'" in done.stderr,
        f"the command without extras ended with {done.returncode}: {done.stderr}",
    )
    print(done.stderr, end="")


def _try_command(command: Path, place: Path) -> None:
    """An AUC and a report from a small table; no command of the studies."""
    rows = [f"{0.1 * k % 3 + (k % 2):.2f},{0.37 * k % 2:.2f},{'yes' if k % 2 else 'no'}" for k in range(60)]
    (place / "table.csv").write_text("\n".join(["a,b,ill", *rows]) + "\n")
    print(_run(str(command), "auc", "table.csv", "--target", "ill", "--positive", "yes", cwd=place).splitlines()[0])
    _run(str(command), "report", "table.csv", "--target", "ill", "--no-search", "-o", "report.html", cwd=place)
    _expect("reproduce" not in _run(str(command), "--help"), "the package carries the studies")
    _report_size(place / "report.html")


def _try_studies(command: Path, place: Path) -> None:
    """A figure of the paper."""
    _run(str(command), "reproduce", "fig3", "--quick", "--iterations", "1", "--out", "paper", cwd=place)
    _report_size(place / "paper" / "fig3.png")


def _report_size(path: Path) -> None:
    _expect(path.stat().st_size > 5000, f"{path.name} is missing or empty")
    print(f"{path.name} {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
