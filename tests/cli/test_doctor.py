"""The examination of an installation: what it shows, and that it notices a check that no longer refutes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import pytest

from sgverify.cli import main
from sgverify.selftest import installation
from sgverify.selftest.mutants import matrix
from sgverify.selftest.mutants.planting import right


@pytest.fixture(autouse=True)
def one_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheapest planted bug instead of three."""
    monkeypatch.setattr(installation, "PLANTED", ("sgld-noise-without-2",))


def test_an_installation_in_order_is_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    installation.INSTALLATION.check(document, "stdout")
    assert document["healthy"]
    said = {one["name"]: one["said"] for one in document["self_tests"]}
    assert "refuted by local-order" in said["sgld-euler, and sgld-noise-without-2"]
    assert {"sgverify", "python", "numpy", "torch's build", "C compiler"} <= {
        part["name"] for part in document["parts"]
    }


def test_a_check_that_refutes_nothing_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextlib.contextmanager
    def nothing(mutant: Any) -> Iterator[Any]:
        yield right(mutant)

    monkeypatch.setattr(matrix, "planted", nothing)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "no check refutes the planted bug" in out
    assert out.splitlines()[-1].startswith("Not in order")


def test_an_error_in_the_self_test_is_no_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(matrix, "judge_group", lambda *given, **rest: 1 / 0)
    assert main(["doctor"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_library_that_is_too_old_is_named_with_its_mend(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1.0" if name == "numpy" else version(name))
    assert main(["doctor"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "numpy" in line]
    assert line.startswith("✗") and "pip install 'numpy" in line
