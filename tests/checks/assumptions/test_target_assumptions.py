"""Assumptions of vr-resgld and awsgld: decided where gradients are polynomials, and planted ones fall."""

from __future__ import annotations

from typing import Any

import pytest
from flint import fmpq

from sgverify.checks import verify
from sgverify.checks.assumptions.target import judge_dissipative, judge_lipschitz
from sgverify.exact.rings.polynomials import Polynomial
from sgverify.exact.stationarity.generator import form_context
from sgverify.rates.verdict import Judgement


def asked(scheme: str, id: str, **settings: Any) -> str:
    (found,) = verify(scheme, settings, checks=[id])
    return found.verdict


@pytest.mark.parametrize(
    ("id", "settings", "verdict"),
    [
        ("vr-resgld/assumption-1", {}, "conforms"),
        ("vr-resgld/assumption-1", {"target": {"name": "double-well"}}, "violates"),
        ("vr-resgld/assumption-1", {"target": {"name": "griewank"}}, "not-applicable"),
        ("vr-resgld/assumption-2", {"target": {"name": "double-well"}}, "conforms"),
        ("vr-resgld/assumption-2", {"target": {"name": "gaussian", "dim": 3}}, "conforms"),
        ("vr-resgld/assumption-3", {"gradient": {"kind": "iid"}}, "conforms"),
        ("vr-resgld/assumption-3", {"gradient": {"kind": "svrg"}}, "not-applicable"),
    ],
)
def test_what_is_decided_of_a_target(id: str, settings: dict[str, Any], verdict: str) -> None:
    assert asked("vr-resgld", id, **settings) == verdict


def test_what_is_decided_for_awsgld() -> None:
    assert asked("awsgld", "awsgld/assumption-2", target={"name": "gaussian"}) == "conforms"
    assert asked("awsgld", "awsgld/assumption-2", target={"name": "double-well"}) == "violates"


def polynomials(*slopes: dict[tuple[int, ...], fmpq]) -> list[Polynomial]:
    return [form_context(len(slopes)).from_dict(slope) for slope in slopes]


def test_planted_energies_that_are_not_dissipative_fall() -> None:
    one, two = fmpq(1), fmpq(2)
    planted = {
        "upside down": [{(1,): -one}],
        "indefinite": [{(1, 0): one, (0, 1): two}, {(1, 0): two, (0, 1): one}],
        "one side alone": [{(2,): one}],
        "quartic the wrong way up": [{(3,): -one, (1,): two}],
        "flat in one direction": [{(1, 0): one}, {}],
    }
    for name, slopes in planted.items():
        found = judge_dissipative(polynomials(*slopes))
        assert isinstance(found, Judgement) and found.verdict == "violates", name
    assert isinstance(judge_dissipative(polynomials({(3, 0): one, (1, 2): one}, {(2, 1): one})), str)


def test_a_planted_cubic_force_is_not_lipschitz() -> None:
    found = judge_lipschitz(polynomials({(3,): fmpq(1, 10**9), (1,): fmpq(1)}))
    assert isinstance(found, Judgement) and found.verdict == "violates"
