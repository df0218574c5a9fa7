"""`sgverify errata`: in the terminal, as JSON, and wrong calls."""

from __future__ import annotations

import json

import pytest

from sgverify.cli import main
from sgverify.evidence import decode_errata


def test_an_erratum_is_told_with_its_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", "chen2015/equation-8", "chen2015/appendix-j-two-batches"]) == 0
    out = capsys.readouterr().out
    assert "misprint: chen2015/equation-8" in out and "printed   `L_{O_l}" in out and "holds     L_O" in out
    assert "root      chen2015/second-derivatives" in out and "elsewhere the definition" in out
    assert "- difference: [D] d_p1^2 + [D] d_p2^2" in out
    assert out.index("stands: chen2015/appendix-j-two-batches") < out.index("misprint:")
    assert out.rstrip().endswith("chen2015: 2 printed statements checked, 1 stands; 1 misprint")


def test_json_is_alone_on_stdout_and_follows_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", "chen2015/equation-8", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    (item,) = document["errata"]
    assert {
        "id",
        "where",
        "printed",
        "read_as",
        "holds",
        "severity",
        "root",
        "affects",
        "certificate",
    } <= set(item)
    assert decode_errata(document)[0].fails


def test_an_unknown_formula_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["errata", "chen2015/equation-9"]) == 2
    assert "did you mean 'chen2015/equation-" in capsys.readouterr().err
