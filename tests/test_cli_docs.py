"""The documents cannot drift: their examples are run, their links exist, their commands have the options shown."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from foldless.cli.app import COMMANDS as OWN
from foldless.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "VISION.md", "CONTRIBUTING.md", "CHANGELOG.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTEXT = click.Context(app)
COMMANDS = {name: app.get_command(CONTEXT, name) for name in app.list_commands(CONTEXT)}
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
    for line in re.findall(r"foldless ((?:auc|compare|demo|permute|plan|report|search) [^\n`#|]*)", text):
        command, *words = line.split()
        known = {option for p in COMMANDS[command].params for option in p.opts} | {"--help"}
        assert {w for w in words if w.startswith("--")} <= known, line


def test_every_command_has_examples():
    for command in (app, *COMMANDS.values()):
        assert isinstance(command, click.Command)
        assert "Examples:" in (command.epilog or "")


@pytest.mark.parametrize("name", OWN)
def test_the_list_of_commands_says_what_the_commands_say(name):
    """`foldless --help` knows each command's short help without loading the command."""
    assert OWN[name][1] == COMMANDS[name].get_short_help_str(100)


def test_help_loads_no_heavy_library():
    """The list of commands needs neither NumPy nor anything that is built on it, and lists plugins all the same."""
    code = (
        "import sys; sys.argv = ['foldless', '--help']\n"
        "from foldless.cli import main\n"
        "try:\n    main()\nfinally:\n    print('LOADED', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown, loaded = done.stdout.split("LOADED ")
    assert all(name in shown for name in app.list_commands(CONTEXT))
    heavy = {"numpy", "scipy", "sklearn", "polars", "pyarrow", "rich", "matplotlib", "dask", "pandas", "joblib"}
    assert not heavy & {module.partition(".")[0] for module in loaded.split()}
