"""Names and texts of others in every command: none steers a terminal, turns text around or is a command of a build server."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from sgverify.cli.main import cli
from sgverify.report.markdown import as_code
from tests.cli.conftest import Call

NAME = "e\x1b]0;t\x07\x1b[31m\r\n::error::x\n##[group]y\u202e\x9b$\\frac{$<img src=x>"
"""Escape sequences of a terminal, line breaks, commands of GitHub and others, an override of direction, a formula, HTML."""

CODE = f"""
from sgverify import log_density, scheme, sqrt, torch_step
from sgverify.schemes import langevin

class Raised(ValueError): pass
Raised.__name__ = {NAME!r}

@scheme(langevin)
def euler(theta, *, h, grad, noise, T):
    {NAME!r}
    return theta - h*grad(theta) + sqrt(2*T*h)*noise()

@scheme(langevin)
def wrong(theta, *, h, grad, noise, T):
    return theta - h*grad(theta) + sqrt(T*h)*noise()

@torch_step(langevin)
def raises(theta, *, h, grad, T):
    raise Raised({NAME!r})

@log_density(dim=1)
def density(theta):
    return -(theta**2).sum(-1)/2

suite = [{{"scheme": {f"{NAME}.py:euler"!r}, "checks": ["local-order"]}}]
"""

FILE = f"{NAME}.py"
EULER, FIRST, SMALL = f"{FILE}:euler", ("--checks", "local-order"), ("--set", "steps=64", "--set", "chains=4")
LINES = (
    ("verify", EULER, *FIRST, "--all"),
    ("verify", EULER, *FIRST, "--json", "-"),
    ("verify", f"{FILE}:wrong", *FIRST, "--format", "github"),
    ("verify", EULER, "--set", f"{NAME}=1"),
    ("verify", EULER, "--config", "c.toml"),
    ("verify", EULER, "--json", f"{NAME}/x"),
    ("rate", EULER, "--quantity", NAME),
    ("bch", NAME),
    ("design", "--dynamics", NAME),
    ("bound", NAME),
    ("compare", NAME),
    ("report", "--suite", NAME),
    ("errata", NAME),
    ("campaign", "campaign.toml", "--dry-run", "--run-code"),
    ("diff", "old.json", "new.json", "--all"),
    ("replay", f"old.json#{NAME}"),
    ("list", NAME),
    ("new", "scheme", NAME),
    ("doctor", NAME),
    ("schema", NAME),
    (NAME,),
)
SLOW = (
    ("sample", "sgld-euler", "--set", "target.file=d.csv", "--set", f"target.columns={json.dumps([NAME])}"),
    ("verify", EULER, *FIRST, "--explain", "--set", f"test_function={NAME}"),
    ("verify", EULER, "--checks", "stationary-bias", "--plot", f"{NAME}.svg"),
    ("verify", f"{FILE}:raises", *FIRST),
    ("verify", EULER, *FIRST, "--html", f"{NAME}.html", "--badge", f"{NAME}.badge.svg"),
    ("rate", EULER, "--quantity", "stationary-bias"),
    ("identify", EULER),
    ("compare", EULER, "sgld-euler"),
    ("advise", f"{FILE}:density", EULER),
    ("width", f"{FILE}:density", EULER, "--step", "0.1"),
    ("sample", EULER, *SMALL),
    (
        "sample",
        "sgld-euler",
        *SMALL,
        "--set",
        "target.name=logistic-regression",
        "--set",
        "target.file=d.csv",
    ),
    ("report", "--suite", f"{FILE}:suite", "--out", f"{NAME} report", "--workers", "1"),
    ("replay", "new.json"),
)
STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]|^\s*::(?!error file=)|##\w*\[", re.MULTILINE
)


@pytest.fixture
def named(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    # As on a terminal, where click leaves escape sequences in.
    monkeypatch.setattr("sgverify.cli.shared.output._colour_wanted", lambda: True)
    monkeypatch.setattr("sgverify.cli.shared.output.COLOURS", {})
    monkeypatch.setattr("click.style", lambda text, **_: text)
    (tmp_path / FILE).write_text(CODE)
    (tmp_path / "c.toml").write_text(f"test_function = {json.dumps(NAME)}")
    (tmp_path / "campaign.toml").write_text(
        f"title = {json.dumps(NAME)}\nschemes = [{json.dumps(EULER)}]\nchecks = ['local-order']"
    )
    (tmp_path / "d.csv").write_text(f'"{NAME}",y\n' + "".join(f"{k / 7},{k % 2}\n" for k in range(24)))
    return call


def _stored(folder: Path, call: Call) -> None:
    """An answer, and the same one with foreign texts wherever a text may stand."""
    assert call("verify", "mine.py:wrong", *FIRST, "--json", "old.json").code == 1
    document = json.loads((folder / "old.json").read_text())
    for item in document["evidence"]:
        item |= {key: f"{NAME}{item[key]}" for key in ("scheme", "reason", "replay")}
        item["certificate"][NAME] = NAME
    (folder / "new.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    "words",
    [*LINES, *(pytest.param(words, marks=pytest.mark.power) for words in SLOW)],
    ids=lambda words: " ".join(map(ascii, words)).replace(ascii(NAME)[1:-1], "NAME"),
)
def test_no_name_steers_a_terminal_or_a_server(named: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    if words[0] in ("diff", "replay"):
        _stored(tmp_path, named)
    answer = named(*words)
    assert answer.code in (0, 1, 2, 3)
    assert STEERING.findall(answer.out) == STEERING.findall(answer.err) == []
    if "-" in words:
        assert NAME in answer.document["evidence"][0]["scheme"]
    for file in [path for path in tmp_path.rglob("*") if path.suffix in (".html", ".md", ".xml", ".svg")]:
        text = file.read_text()
        assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text) == []
        assert not re.search(r"(?<!\\)<img src=x", re.sub(r"(`+).*?\1", "", text))


def test_every_command_is_driven() -> None:
    assert {words[0] for words in (*LINES, *SLOW)} == {*cli.commands, NAME}


def test_one_module_writes_on_the_streams() -> None:
    """Nothing else in the package prints, but for a user's file that takes long, and a document for a program."""
    package = Path(__file__).parents[2] / "sgverify"
    written = re.compile(r"\b(print|click\.s?echo|sys\.std(out|err)\.write)\(")
    writers = set()
    for file in [file for file in package.rglob("*.py") if written.search(file.read_text())]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and written.fullmatch(f"{ast.unparse(node.func)}("):
                writers.add(file.relative_to(package).as_posix())
    assert writers == {"cli/shared/output.py", "schemes/user_files.py", "watching.py", "cli/shared/bars.py"}


def test_code_in_markdown_ends_where_it_ends() -> None:
    assert as_code("a``b` <x>") == "```a``b` <x>```"
    assert as_code("`a") == "`` `a ``"
