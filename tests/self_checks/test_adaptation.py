"""The check of adaptively weighted runs: correct ones conform, others do not apply."""

from __future__ import annotations

from typing import Any

import pytest

from tests.self_checks.registry import self_check


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        ("awsgld", {}),
        (
            "csgld",
            {"gradient": {"kind": "iid"}, "target": {"name": "logistic-regression"}, "dtype": "float32"},
        ),
        (
            "awsghmc",
            {"temperature": 0.5, "partition": {"temperature": 2.0, "weights": "smooth"}, "start": 6.0},
        ),
        ("csgld", {"gradient": {"kind": "control-variate"}}),
        ("awsgld", {"gradient": {"kind": "saga"}, "target": {"name": "gaussian-mean", "size": 20}}),
        ("csghmc", {"gradient": {"kind": "svrg"}, "target": {"name": "linear-regression"}}),
        (
            "awsgld",
            {"target": {"name": "mixture"}, "temperature": 20.0, "partition": {"preset": "exploration"}},
        ),
    ],
)
def test_correct_runs_conform(scheme: str, settings: dict[str, Any]) -> None:
    found = self_check("adaptation", scheme, settings)
    assert found.verdict == "conforms", found.reason


def test_weights_that_hardly_move_are_not_blamed_for_their_rounding() -> None:
    # theta(J)^zeta is about 1e-6 and below: a move is near the last bits of the weight that it moves.
    for zeta in (3.2973734431543202, 12.0):
        found = self_check("adaptation", "csghmc", partition={"bins": 18, "zeta": zeta, "offset": 47.0})
        assert found.verdict == "conforms", found.reason


def test_replicas_have_no_weights_to_look_at() -> None:
    assert self_check("adaptation", "resgld").verdict == "not-applicable"


def test_chains_that_escape_at_once_settle_nothing() -> None:
    found = self_check(
        "adaptation", "awsgld", target={"name": "double-well"}, schedule={"step": 50.0}, start=9000.0
    )
    assert found.verdict == "inconclusive"
    assert "diverged" in found.reason
