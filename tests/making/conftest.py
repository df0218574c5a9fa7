"""The command line of the reports, driven in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.__main__ import main
from tests.cli.conftest import Answer, Call


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call("power", "NAME")` in a folder of its own, where mine.py is a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch()

    def run(*words: str) -> Answer:
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run
