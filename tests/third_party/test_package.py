"""A package of somebody else: built, installed, judged through its entry points, and red where a bug is planted in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sgverify
from docs.making.blocks import blocks
from docs.making.installing import install_editable, installations
from docs.making.places import ROOT
from sgverify.cli import main
from tests.inner_run import run_inside

PACKAGE = Path(__file__).with_name("package")
RIGHT = "kick = sqrt(2 * T * h) * noise()"
WRONG = "kick = sqrt(T * h) * noise()"
"""Noise of half the variance."""


def copied(folder: Path, *, wrong: bool = False) -> Path:
    """The package in a folder, with the bug if it is wanted."""
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", "site"))
    steps = folder / "sampler_shop" / "steps.py"
    text = steps.read_text(encoding="utf-8")
    assert text.count(RIGHT) == 1
    if wrong:
        steps.write_text(text.replace(RIGHT, WRONG), encoding="utf-8")
    return folder


@pytest.mark.parametrize("wrong", [pytest.param(False, marks=pytest.mark.power), True])
def test_its_tests_are_green_and_turn_red_with_a_bug(
    wrong: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installations() as metadata:
        folder = copied(tmp_path / "package", wrong=wrong)
        install_editable(folder, metadata)
        code = main(["verify", "shop-heun", "--checks", "local-order,shop-centre", "--quiet"])
        assert (code, capsys.readouterr().out.split()[0]) == ((1, "FAIL") if wrong else (0, "PASS"))
        result = run_inside(folder, capsys, "tests/test_steps.py", "-q", "-k", "shop-heun")
        assert result.ret == int(wrong), result.stdout.str()
        found = sgverify.verify("sgld-euler", target={"name": "shop-bowl", "dim": 2}, checks=["shop-centre"])
        assert found.outcome == "pass"


def test_the_page_about_it_shows_its_files() -> None:
    page = (ROOT / "docs" / "continuous-integration.md").read_text(encoding="utf-8")
    shown = {block.title: block.text for block in blocks(page)}
    assert {*shown} == {"check.sh", "suite.py", ".github/workflows/verify.yml"}
    assert all((PACKAGE / name).read_text(encoding="utf-8") == text for name, text in shown.items())
    assert "run: sh check.sh" in shown[".github/workflows/verify.yml"]


@pytest.mark.power
@pytest.mark.parametrize("wrong", [False, True])
def test_it_is_built_installed_and_judged_by_the_documented_commands(wrong: bool, tmp_path: Path) -> None:
    """The wheel, made and installed without a network, and then the commands that a service runs."""
    folder, site = copied(tmp_path / "package", wrong=wrong), tmp_path / "installed"

    def pip(*words: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "pip", *words], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", str(tmp_path), ".")
    (wheel,) = tmp_path.glob("sampler_shop-2.1-*.whl")
    pip("install", "--no-deps", "--no-index", "--target", str(site), str(wheel))
    # The wheel is judged, and not the folder that it was made of.
    shutil.rmtree(folder / "sampler_shop")
    scripts = tmp_path / "bin"
    scripts.mkdir()
    for name in ("python", "sgverify"):
        module = "-m sgverify " if name == "sgverify" else ""
        (scripts / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module}"$@"\n')
        (scripts / name).chmod(0o755)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")},
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]),
    }
    done = subprocess.run(["sh", "check.sh"], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == int(wrong), done.stdout + done.stderr
    written = {path.name for path in (folder / "site").iterdir()}
    assert written == {"shop-heun.html", "shop-heun.svg", "shop-momentum.html", "shop-momentum.svg", "report"}
    assert ("fail" in (folder / "site" / "shop-heun.svg").read_text(encoding="utf-8").lower()) == wrong
    assert (folder / "site" / "report" / "index.html").is_file()
    assert ("failed" in done.stdout) == wrong
    listed = subprocess.run(
        [sys.executable, "-m", "sgverify", "list", "checks"], env=environment, capture_output=True, text=True
    )
    assert "[sampler-shop 2.1]" in listed.stdout
