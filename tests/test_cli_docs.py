"""The documents cannot drift: their examples are run, their links exist, their commands have the options shown."""

import contextlib
import io
import re
from pathlib import Path

import click
import pytest

from foldless.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "VISION.md", "CONTRIBUTING.md", "CHANGELOG.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.filterwarnings("ignore::foldless.FoldlessWarning")
def test_readme_example_prints_what_it_says():
    code, shown = EXAMPLE.search(README).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown, f"README.md should now show:\n{printed.getvalue()}"


def test_readme_is_short():
    assert len(README.splitlines()) <= 120


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert link.startswith("https://") or (ROOT / link).exists(), link


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_documented_commands_parse(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for line in re.findall(r"foldless ((?:auc|compare|demo|plan|report|search) [^\n`#|]*)", text):
        command, *words = line.split()
        known = {option for p in app.commands[command].params for option in p.opts} | {"--help"}
        assert {w for w in words if w.startswith("--")} <= known, line


def test_every_command_has_examples():
    for command in (app, *app.commands.values()):
        assert isinstance(command, click.Command)
        assert "Examples:" in (command.epilog or "")
