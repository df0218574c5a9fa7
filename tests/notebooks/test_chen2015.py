"""The notebook runs, says what is computed, and is committed as it runs."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import sgverify
from sgverify.evidence import Evidence
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import find_scheme
from tests.notebooks.executing import executed, texts

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
PATH = FOLDER / "chen2015.ipynb"
COMMITTED = json.loads(PATH.read_text(encoding="utf-8"))
SECOND_ORDER = ("sghmc-aboba", "sghmc-obabo", "sghmc-baoab")
SCHEMES = ("sgld-euler", "sghmc-euler", *SECOND_ORDER)


def number(text: str) -> float:
    return float(Fraction(text))


def printed_claim(scheme: str, claim: str, quantity: str, kind: str) -> Evidence:
    """What is found of a claim as it is printed, also where its corrected form judges the scheme."""
    found = sgverify.verify(scheme, gradient={"kind": kind}, checks=[claim])
    return next(item for item in found if item.check == quantity)


@pytest.fixture(scope="module")
def run() -> dict:
    return executed(PATH)


def test_every_cell_runs_and_gives_what_is_committed(run: dict) -> None:
    assert texts(run) == texts(COMMITTED)


def test_the_figures_are_drawn_and_committed(run: dict) -> None:
    assert texts(run).count("figure") == texts(COMMITTED).count("figure") == 2


def test_the_two_answers_at_the_top_are_the_computed_ones() -> None:
    for kind, output in zip(("full", "iid"), texts(COMMITTED), strict=False):
        evidence = sgverify.rate("sghmc-aboba", quantity="stationary-bias", gradient={"kind": kind})
        assert output == f"{evidence.claim} | exact | {evidence.verdict}\n{evidence.reason}\n"


def test_the_local_orders_are_the_proved_ones() -> None:
    printed = next(text for text in texts(COMMITTED) if "given the minibatch" in text)
    flat = " ".join(printed.split())
    for name in SCHEMES:
        order = local_order(find_scheme(name), dim=1)
        assert f"{name}: order {order.order} given the minibatch, {order.averaged_order} averaged" in flat
        assert order.given_minibatch and " ".join(order.given_minibatch.text.split()) in flat
        assert order.averaged and " ".join(order.averaged.text.split()) in flat


def test_the_text_about_the_common_noise_term_holds() -> None:
    defects = [local_order(find_scheme(name), dim=1).averaged for name in SECOND_ORDER]
    (shared,) = {defect.text for defect in defects if defect}
    assert shared.startswith("E[(W')^2]") and "h^2" in shared and "d_p^2" in shared


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_table_of_theorem_4_is_the_computed_one(scheme: str) -> None:
    table = texts(COMMITTED)[-1]
    line = next(line for line in table.splitlines() if line.startswith(f"| {scheme} "))
    _, _, printed, full, full_verdict, iid, iid_verdict, _ = (cell.strip() for cell in line.split("|"))
    for kind, cell, verdict in (("full", full, full_verdict), ("iid", iid, iid_verdict)):
        evidence = printed_claim(scheme, "chen2015/theorem-4", "stationary-bias", kind)
        assert verdict == evidence.verdict
        assert printed == f"$h^{{{evidence.predicted.exponent:g}}}$"
        zero = evidence.found.exponent is None
        assert cell == ("exactly 0" if zero else f"$h^{{{evidence.found.exponent:g}}}$")


@pytest.mark.parametrize("kind", ["full", "iid"])
@pytest.mark.parametrize(("quantity", "claim"), [("bias", "theorem-2"), ("mse", "theorem-3")])
def test_the_table_of_claims_is_the_computed_one(quantity: str, claim: str, kind: str) -> None:
    table = texts(COMMITTED)[-2]
    line = next(line for line in table.splitlines() if line.startswith(f"| chen2015/{claim} | {quantity} "))
    _, _, _, printed, full, _, iid, _, _ = (cell.strip() for cell in line.split("|"))
    evidence = printed_claim("sghmc-aboba", f"chen2015/{claim}", quantity, kind)
    assert number(printed[4:-2]) == pytest.approx(evidence.predicted.exponent, rel=1e-15)
    assert number((full if kind == "full" else iid)[4:-2]) == pytest.approx(
        evidence.found.exponent, rel=1e-15
    )


def test_nothing_of_the_machine_is_committed() -> None:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert COMMITTED["metadata"] == {"kernelspec": kernel, "language_info": {"name": "python"}}
    assert [cell["metadata"] for cell in COMMITTED["cells"] if cell["metadata"]] == []
    assert [text for text in texts(COMMITTED) if "site-packages" in text or "Traceback" in text] == []
