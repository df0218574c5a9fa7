"""The README: its blocks are run, and print what it shows; its two commands are those of continuous integration."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from docs.making.blocks import blocks, executed
from reports.making.picture import found_in

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = blocks(README)
SHELL = [block.text.strip() for block in BLOCKS if block.language == "sh"]


def test_every_block_is_run_and_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`python -m docs.making README.md` writes the outputs anew."""
    monkeypatch.chdir(tmp_path)
    assert executed(README) == README


def test_the_picture_has_the_words_of_its_numbers_and_speaks_of_no_other_scheme():
    numbers = json.loads((ROOT / "reports" / "picture.json").read_text(encoding="utf-8"))
    said = found_in(numbers)
    assert f"![{said}](reports/picture.svg)" in README
    assert all(one["scheme"] in said for one in numbers["curves"]) and "every" not in said
    faster = [{**one, "found": 2.0} if one["scheme"] == "sghmc-aboba" else one for one in numbers["curves"]]
    assert "sghmc-aboba as h²" in found_in({**numbers, "curves": faster}).rpartition("; ")[2]


def test_it_is_a_page_with_a_failing_example_and_a_mended_one():
    assert len(README.splitlines()) <= 110
    assert {block.language for block in BLOCKS} == {"sh", "console", "python"}
    assert len(SHELL) == 2
    words = [
        line.split()[0] for block in BLOCKS if block.language == "console" for line in block.text.splitlines()
    ]
    assert words.count("FAIL") == words.count("PASS") == 1


@pytest.mark.power  # continuous integration runs the whole line before the tests
def test_the_first_command_ends_in_the_report(tmp_path: Path):
    # What stands before the last && is installation; continuous integration runs the whole line.
    last = SHELL[0].rpartition("&&")[2].strip()
    assert last == ".venv/bin/sgverify report"
    command = [sys.executable, "-m", "sgverify", "report"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / "sgverify-report").iterdir()} == {
        "errata.json",
        "evidence.html",
        "figures",
        "index.html",
        "junit.xml",
        "report.json",
        "report.md",
        "studies.json",
    }


def test_the_commands_are_those_of_continuous_integration():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in SHELL:
        assert command in script
