"""`sgverify new`: each kind passes its own tests once it is installed, nothing is overwritten, and names are checked."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from docs.making.installing import install_editable, installations
from sgverify.cli import main
from sgverify.cli.commands import ITEMS
from sgverify.plugins import GROUPS
from sgverify.skeletons.writing import SKELETONS, write_skeleton
from tests.inner_run import run_inside
from tests.zoo.distributions import install


def test_there_is_one_for_each_kind_of_entry_point() -> None:
    assert {*SKELETONS} == {*ITEMS} == {kind.removesuffix("s") for kind in GROUPS}


SLOW = ("scheme", "adapter")
"""The kinds whose tests take seconds: torch steps, and every claim on a stationary bias."""


@pytest.mark.by_default("check")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.power] * (kind in SLOW)) for kind in SKELETONS]
)
def test_it_passes_its_own_tests(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with installations() as metadata:
        write_skeleton(kind, f"their-{kind}", tmp_path)
        install_editable(tmp_path / f"their-{kind}", metadata)
        result = run_inside(tmp_path, capsys, f"their-{kind}", "-q")
        assert result.ret == 0, result.stdout.str()
        assert main(["list", f"{kind}s"]) == 0
        (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"their-{kind} ")]
        assert row.endswith(f"[their-{kind} 0.1.0]")


def test_all_files_are_told_and_python_is_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "check", "at-ease", "--in", str(tmp_path)]) == 0
    told = capsys.readouterr()
    written = [path for path in (tmp_path / "at-ease").rglob("*") if path.is_file()]
    assert sorted(told.out.splitlines()) == sorted(str(path.relative_to(tmp_path)) for path in written)
    assert told.err == f"install it: pip install -e {tmp_path / 'at-ease'}\n"
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "{{" not in text and "PACKAGE" not in text
        if path.suffix == ".py":
            assert ast.get_docstring(ast.parse(text))


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my-scheme").mkdir()
    mine = tmp_path / "my-scheme" / "pyproject.toml"
    mine.write_text("mine")
    assert main(["new", "scheme", "my-scheme", "--in", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert mine.read_text() == "mine" and [path.name for path in mine.parent.iterdir()] == ["pyproject.toml"]


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("shceme", "mine", "unknown kind 'shceme'; did you mean 'scheme'?"),
        ("scheme", "Mine", "expected small letters"),
        ("scheme", "../mine", "expected small letters"),
        ("scheme", "1st", "expected small letters"),
        ("scheme", "mine--too", "expected small letters"),
        ("scheme", "json", "a module 'json' is there already"),
        ("scheme", "numpy", "a module 'numpy' is there already"),
        ("scheme", "class", "'class' is a word of Python"),
        ("adapter", "tests", "'tests' is the folder of its tests"),
        ("scheme", "sgverify-mine", "a module 'sgverify_mine' is there already"),
        ("scheme", "sgld-euler", "see `sgverify list schemes`"),
        ("scheme", "resgld", "see `sgverify list schemes`"),
        ("target", "gaussian", "see `sgverify list targets`"),
        ("check", "local-order", "see `sgverify list checks`"),
        ("check", "chen2015", "see `sgverify list checks`"),
        ("paper", "chen2015", "see `sgverify list papers`"),
    ],
)
def test_a_name_that_is_none_or_taken_is_refused(
    kind: str, name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", kind, name, "--in", str(tmp_path)]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("error: ") and why in told and "\n" not in told
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_another_distribution_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", "their-package", {"targets": {"their-target": "nothing:loaded"}})
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert main(["new", "target", "their-target", "--in", str(tmp_path)]) == 2
    assert not (tmp_path / "their-target").exists()
