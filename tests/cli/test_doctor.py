"""The examination of an installation: what it shows, and that it notices a check that no longer refutes."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import metadata

import pytest

from sgverify.cli import installation, main
from sgverify.cli.installation import PlantedBug
from sgverify.schemes import find_scheme
from sgverify.testing import plant

SGLD = find_scheme("sgld-euler")
BUG = PlantedBug("sgld-noise-without-2", "no 2", SGLD, plant(SGLD, "sqrt(2*T*h)", "sqrt(T*h)"))


def planted(monkeypatch: pytest.MonkeyPatch, *bugs: PlantedBug) -> None:
    monkeypatch.setattr(installation, "planted_bugs", lambda: iter(bugs))


@pytest.fixture(autouse=True)
def one_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheapest planted bug instead of three."""
    planted(monkeypatch, BUG)


@pytest.mark.power  # 0.9 s
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
    planted(monkeypatch, replace(BUG, wrong=SGLD))
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "no check refutes the planted bug" in out
    assert out.splitlines()[-1].startswith("Not in order")


def test_an_error_in_the_self_test_is_no_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(installation, "_refuted", lambda bug: 1 / 0)
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
