"""SVRG gradients where every datum has a Hessian of its own: the crossover, stability, and what evidence says."""

from __future__ import annotations

from typing import Any

import pytest

import sgverify
from sgverify.errors import UserError, unreached
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.answers import answers_for
from sgverify.exact.recursion import snapshots
from tests.zoo.regressions import draw, subject

STEP = 0.0625


def asked(name: str, data: Any, batch: int, refresh: int | None, phi: str = "theta**2", **more: Any) -> Any:
    gradient = {"kind": "svrg", "batch": batch, "refresh": refresh}
    return subject(name, data, "svrg", batch, phi, **{"gradient": gradient, **more})


def test_a_snapshot_that_is_taken_wrong_is_another_law(monkeypatch: pytest.MonkeyPatch) -> None:
    model = asked("sgld-euler", draw(3, 1, seed=11), 1, 3).model
    honest, value = snapshots.take_snapshot, answers_for(model).stationary_bias(fixed_step(STEP)).value
    monkeypatch.setattr(snapshots, "take_snapshot", lambda *given: spoilt(honest(*given)))
    assert answers_for(model).stationary_bias(fixed_step(STEP)).value != pytest.approx(value, rel=1e-4)


def spoilt(matrix: Any) -> Any:
    """The square of the gradient at the snapshot, the last moment of all, a tenth too large."""
    rows = matrix.tolist()
    return type(matrix)([*rows[:-1], [entry * 11 / 10 for entry in rows[-1]]])


def evidence(scheme: str, **gradient: Any) -> Any:
    config = asked(scheme, draw(6, 1, seed=7), 2, gradient.get("refresh")).configuration
    return sgverify.rate(scheme, quantity="stationary-bias", config=config)


@pytest.mark.parametrize(("scheme", "order"), [("sgld-euler", 1), ("sghmc-aboba", 2)])
def test_order_two_returns_however_rare_the_snapshots(scheme: str, order: int) -> None:
    found = evidence(scheme, refresh=10_000)
    assert found.found.exponent == order and found.verdict == "conforms"


def test_where_all_data_have_one_hessian_there_is_no_noise_and_evidence_says_so() -> None:
    found, full = (
        sgverify.rate("sghmc-aboba", quantity="stationary-bias", gradient={"kind": kind})
        for kind in ("svrg", "full")
    )
    assert [p.value for p in found.points] == [p.value for p in full.points]
    assert "same Hessian" in found.certificate["gradient_noise"]
    assert "gradient_noise" not in full.certificate


def test_a_period_that_expands_is_refused_though_one_step_contracts() -> None:
    data = draw(6, 1, seed=7)
    limit = asked("sghmc-aboba", data, 1, 50).step_sizes.limit
    assert limit < asked("sghmc-aboba", data, 1, 1).step_sizes.limit
    inside = asked("sghmc-aboba", data, 1, 50, schedule={"step": 0.99 * limit})
    inside.validate()
    answers_for(inside.model).stationary_bias(fixed_step(0.99 * limit))
    with pytest.raises(UserError, match=r"a period of gradient.refresh=50 steps"):
        asked("sghmc-aboba", data, 1, 50, schedule={"step": 1.01 * limit}).validate()
    with pytest.raises(UserError, match="does not contract"):
        answers_for(inside.model).stationary_bias(fixed_step(1.01 * limit))


def test_what_is_out_of_reach_says_why() -> None:
    why = unreached(lambda: answers_for(asked("sghmc-aboba", draw(6, 2, seed=1), 2, 3, "theta[0]**3").model))
    assert why is not None and "degree 3" in why
    found = sgverify.rate(
        "sgld-euler",
        quantity="mse",
        method="exact",
        config=asked("sgld-euler", draw(6, 1, seed=1), 2, 3).configuration,
    )
    assert found.verdict == "inconclusive" and "snapshot" in found.reason


@pytest.mark.power  # 0.9 s
def test_the_claim_on_svrg_holds_for_schemes_of_order_two() -> None:
    config = asked("sghmc-baoab", draw(6, 1, seed=7), 2, 5).configuration
    found = sgverify.verify("sghmc-baoab", config, checks=["lu2025/svrg-bias"])
    assert [e.check for e in found] == ["stationary-bias", "covariance", "wasserstein-2"]
    assert all((e.verdict, e.method) == ("conforms", "exact") for e in found)
