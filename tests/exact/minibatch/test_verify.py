"""The printed theorem falls under minibatches that move the Hessian, its corrected card stands, and the code agrees."""

from __future__ import annotations

from typing import Any

import pytest

from sgverify import verify
from tests.self_checks.registry import self_check
from tests.zoo.regressions import draw, find, table


@pytest.mark.power  # the running code on long chains, beside exact laws that other tests hold
def test_theorem_4_is_refuted_and_the_running_code_follows_the_exact_law() -> None:
    settings: Any = {
        "target": table(draw(12, 2, seed=11)),
        "gradient": {"kind": "iid", "batch": 4},
        "steps": 400,
        "chains": 512,
    }
    evidence = verify(find("sghmc-aboba"), checks=["stationary-bias", "covariance", "mse"], **settings)
    by = {(item.claim, item.check): item for item in evidence}
    for check in ("stationary-bias", "covariance"):
        printed, corrected = by["chen2015/theorem-4", check], by["corrected/theorem-4", check]
        assert printed.refuted and printed.verdict == "violates" and printed.found.exponent == 1
        assert corrected.verdict == "conforms" and printed.method == "exact"
    certificate = by["chen2015/theorem-4", "stationary-bias"].certificate
    assert certificate["stationary_bias"]["h^0"] == "0"
    assert certificate["zeros_are"] == "proved in rational arithmetic"
    assert certificate["local_order_given_minibatch"] == 2 and certificate["local_order_averaged"] == 1
    assert by["chen2015/theorem-3", "mse"].refuted
    assert by["corrected/theorem-3", "mse"].verdict == "conforms"
    assert self_check("agreement", find("sghmc-aboba"), **settings).verdict == "conforms"


def test_full_gradients_keep_order_two() -> None:
    (evidence,) = verify(
        find("sghmc-aboba"),
        checks=["stationary-bias"],
        target=table(draw(12, 2, seed=11)),
        gradient={"kind": "full"},
    )
    assert evidence.verdict == "conforms" and evidence.found.exponent == 2
