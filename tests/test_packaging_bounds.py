"""The bounds in pyproject.toml are the versions that `make compat` tests, and every extra that is named exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STUDIES = tomllib.loads((ROOT / "studies" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Torch comes in builds of its own for every processor; the other two only look at the code.
NOT_TRIED = {"torch", "mypy", "ruff"}
REQUIREMENT = re.compile(r"([A-Za-z0-9-]+)(?:\[[a-z,]+\])?>=([0-9.]+)")
PINNED = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", (ROOT / "requirements" / "lowest.txt").read_text(), re.MULTILINE))


def bounds():
    """(name, lowest version) of everything that is required anywhere."""
    listed = [*PROJECT["dependencies"], *STUDIES["dependencies"], *(r for extra in EXTRAS.values() for r in extra)]
    for text in sorted({r for r in listed if not r.startswith("foldless[")}):
        found = REQUIREMENT.fullmatch(text)
        assert found, f"{text} has no lower bound of the form name>=version"
        yield found.groups()


def numbers(version):
    """1.26 and 1.26.0 are the same version."""
    return tuple(int(part) for part in f"{version}.0.0".split(".")[:3])


@pytest.mark.parametrize(("name", "lowest"), [b for b in bounds() if b[0] not in NOT_TRIED])
def test_the_lowest_version_is_the_one_that_is_tested(name, lowest):
    """requirements/lowest.txt pins the bound itself, or where that was never released the first release after it."""
    assert name in PINNED, f"{name}>={lowest} is in pyproject.toml and not in requirements/lowest.txt"
    never_released = {("pydata-sphinx-theme", "0.15"): "0.15.1", ("build", "1.2"): "1.2.1"}
    assert numbers(PINNED[name]) == numbers(never_released.get((name, lowest), lowest))


def test_a_name_has_one_bound():
    """The same package in two extras has the same bound in both."""
    names = [name for name, _ in bounds()]
    assert sorted(names) == sorted(set(names))


def test_core_is_small():
    """The library itself needs these three, and nothing else."""
    assert [REQUIREMENT.fullmatch(r)[1] for r in PROJECT["dependencies"]] == ["numpy", "scipy", "scikit-learn"]


def test_all_is_everything_but_the_gpu_and_the_tools():
    """`foldless[all]` leaves out nothing that a user could miss."""
    (text,) = EXTRAS["all"]
    named = set(re.fullmatch(r"foldless\[(.*)\]", text)[1].split(","))
    assert named == EXTRAS.keys() - {"all", "gpu", "docs", "dev"}


def test_extras_in_messages_exist():
    """What a message tells to install can be installed."""
    texts = [p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py")]
    texts += [(ROOT / "README.md").read_text(encoding="utf-8")]
    groups = [group for text in texts for group in re.findall(r"foldless\[([a-z,]+)\]", text)]
    named = {name for group in groups for name in group.split(",")}
    assert {"cli", "plot", "report"} <= named <= EXTRAS.keys()


def test_studies_come_with_everything_that_users_can_install():
    """And they have the version of the package whose figures they measure."""
    assert "foldless[all]" in STUDIES["dependencies"]
    assert STUDIES["version"] == PROJECT["version"]
