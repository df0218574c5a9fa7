"""Symmetric minibatch splitting: what is claimed of it, and what forward and backward sweeps do to each scheme."""

from __future__ import annotations

from typing import Any

import pytest

from sgverify import rate, verify
from sgverify.claims import find_claim
from sgverify.evidence import Evidence

CLAIM = "paulin2024/sms-bias"
TARGET = {"data": [0.5, -1.5, 2.0, -0.5, 1.0, 3.0]}


def bias(scheme: str, kind: str, **more: Any) -> Evidence:
    given = {"target": TARGET, "gradient": {"kind": kind, "batch": 1}, **more}
    return rate(scheme, quantity="stationary-bias", **given)


@pytest.mark.by_default("sghmc-aboba")
@pytest.mark.parametrize("scheme", ["sghmc-aboba", "sghmc-baoab"])
def test_schemes_of_order_two_keep_it_over_symmetric_sweeps(scheme: str) -> None:
    found = verify(scheme, target=TARGET, gradient={"kind": "symmetric", "batch": 2}, checks=[CLAIM])
    assert {evidence.check for evidence in found} == {"stationary-bias", "covariance", "wasserstein-2"}
    assert all(e.verdict == "conforms" and e.predicted.exponent == 2 for e in found)
    assert all(e.method == "exact" for e in found)


def test_the_claim_does_not_speak_of_other_gradients_or_of_schemes_of_order_one() -> None:
    for scheme, kind in (("sghmc-aboba", "reshuffle"), ("sgld-euler", "symmetric")):
        (evidence, *_) = verify(scheme, target=TARGET, gradient={"kind": kind, "batch": 1}, checks=[CLAIM])
        assert evidence.verdict == "not-applicable"
    assert find_claim(CLAIM).source.paper.endswith("arXiv 2410.19780")


@pytest.mark.power  # 0.6 s
def test_the_way_back_takes_odd_powers_of_h_out_of_the_noises_share() -> None:
    """Of the mean over the sweep for kinetic schemes, and at the end of a sweep for all of them."""
    full = bias("sghmc-aboba", "full").certificate["stationary_bias"]
    share = {
        kind: next(power for power, text in full.items() if found[power] != text)
        for kind in ("reshuffle", "symmetric")
        for found in (bias("sghmc-aboba", kind).certificate["stationary_bias"],)
    }
    assert share == {"reshuffle": "h^3", "symmetric": "h^4"}
    for scheme in ("sgld-euler", "sghmc-aboba"):
        whole = bias(scheme, "full").certificate["stationary_bias"]
        ends = {
            kind: bias(scheme, kind).certificate["stationary_bias_at_epoch_ends"]
            for kind in ("reshuffle", "symmetric")
        }
        assert ends["symmetric"] == whole
        assert ends["reshuffle"] != whole and ends["reshuffle"]["h^2"] == whole["h^2"]


def test_sgld_stays_at_order_one() -> None:
    assert bias("sgld-euler", "symmetric").found.exponent == 1


def test_mean_square_errors_of_many_dimensions_have_no_exact_rung() -> None:
    given = {"target": {"dim": 2, "size": 6}, "gradient": {"kind": "symmetric", "batch": 1}}
    evidence = rate("sgld-euler", quantity="mse", method="exact", **given)
    assert evidence.verdict == "inconclusive" and "backward sweep" in evidence.reason
