"""The decision procedure on points of known truth: verdicts, reasons, and what each of its parts is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sgverify.errors import UserError
from sgverify.rates import decision
from sgverify.rates.decision import Decision, decide_order
from sgverify.rates.sample import Sample
from tests.tables import each_row

H = 2.0 ** -np.arange(5)


def bias(truth: Mapping[int, float]) -> np.ndarray:
    return np.asarray(sum(c * H**j for j, c in truth.items()))


def judge(values: np.ndarray, noise: float = 1e-3, order: int = 2, **options: Any) -> Decision:
    """The verdict on these values; standard errors are known."""
    errors, chains = options.pop("errors", np.full(len(values), noise)), options.pop("chains", None)
    given: dict[str, Any] = {"level": 0.01, **options}
    return decide_order(H[: len(values)], Sample.of(values, errors, chains), **given, order=order)


@pytest.mark.parametrize(
    ("truth", "order", "verdict", "named"),
    [
        ({2: 1}, 2, "conforms", "h^1 carries -"),
        ({2: -1}, 2, "conforms", "h^1 carries -"),
        ({1: 1}, 2, "violates", "h^1 carries"),
        ({1: -1}, 2, "violates", "h^1 carries"),
        ({1: 0.5, 2: 0.5}, 2, "violates", "h^1 carries"),
        # Opposite signs: the error grows from h = 1 to h = 1/2 and then falls.
        ({1: 1, 2: -0.6}, 2, "violates", "h^1 carries"),
        ({0: 0.2, 2: 0.8}, 2, "violates", "h^0 carries"),
        ({0: 1}, 2, "violates", "h^0 carries"),
        ({1: 1}, 1, "conforms", "h^0 carries"),
        ({2: 1}, 1, "conforms", "h^0 carries"),
        ({0: 0.3, 1: 0.7}, 1, "violates", "h^0 carries"),
        ({4: 1}, 2, "conforms", "h^1 carries"),
        ({2: 0.6, 4: 0.4}, 2, "conforms", "h^1 carries"),
        # A whole pre-asymptotic series: the guard must keep these from violating.
        ({2: 1.4, 3: -0.7, 4: 0.3}, 2, "conforms", "h^1 carries"),
    ],
)
def test_verdicts_without_noise(truth: Mapping[int, float], order: int, verdict: str, named: str) -> None:
    for scale in (1.0, 1e-7, 1e5):
        found = judge(scale * bias(truth), noise=scale * 1e-3, order=order, what="the bias of theta^2")
        assert found.verdict == verdict
        assert named in found.reason
        assert "the bias of theta^2" in found.reason


def test_order_and_orientation_of_the_points_do_not_matter() -> None:
    values = bias({1: 0.5, 2: 0.5})
    errors = 1e-3 * np.arange(1, 6)
    first = decide_order(H, Sample.of(values, errors, 256), order=2, level=0.01)
    turned = decide_order(H[::-1], Sample.of(-values[::-1], errors[::-1], 256), order=2, level=0.01)
    assert turned.verdict == first.verdict
    assert turned.exponent == pytest.approx(first.exponent)
    assert turned.certificate["terms"]["h^1"]["share"] == pytest.approx(
        first.certificate["terms"]["h^1"]["share"]
    )


def test_signs_are_kept() -> None:
    """h^1 - h^2 of equal size vanishes at h = 1 and has the size of an order in between; its signs tell."""
    values = bias({1: 0.95, 2: -1})
    assert judge(values).verdict == "violates"
    unsigned = judge(np.abs(values))
    assert unsigned.certificate != judge(values).certificate
    assert judge(values).exponent is None  # the signs differ, so no exponent describes them


def test_the_certificate_is_plain() -> None:
    found = judge(bias({1: 0.1, 2: 0.9}))
    assert json.loads(json.dumps(found.certificate, allow_nan=False)) == found.certificate
    share = found.certificate["terms"]["h^1"]
    low, high = share["interval"][0]
    assert low < 0.1 < high
    assert share["share"] == pytest.approx(0.1, abs=0.01)


def test_a_zero_conforms_and_noise_around_zero_decides_nothing() -> None:
    zero = judge(np.zeros(5), noise=0.0)
    assert (zero.verdict, zero.kept) == ("conforms", 5)
    assert "identically zero" in zero.reason
    noisy = judge(1e-3 * np.array([0.3, -1.1, 0.7, 0.2, -0.5]))
    assert noisy.verdict == "inconclusive"
    assert "is within the sampling noise" in noisy.reason
    assert noisy.more is not None and noisy.more > 100
    assert f"at least {noisy.more:.0f} times as many chains" in noisy.reason


@pytest.mark.parametrize("values", [[-1.9, -3.8, 1.2, 2.2, 2.1], [1.4, 4.2, 5.5, 4.0, 5.7]])
def test_a_share_of_nothing_is_no_violation(values: list[float]) -> None:
    """Coupled chains tell the points apart, and the error at the largest step is not told from zero."""
    common = 1.65**2 * (0.8 + 0.2 * np.eye(5))
    found = judge(np.array(values), errors=common)
    assert found.verdict == "inconclusive"
    # Of an error that is seen the same differences are a violation.
    assert judge(np.array(values) - 30, errors=common).verdict == "violates"


def test_the_advised_number_of_chains_is_enough() -> None:
    """At 1 % noise nothing is decided; at the advised size nine of ten samples conform (bound: 5 deviations)."""
    rng = np.random.default_rng(3)
    few = [judge(bias({2: 1}) + 0.01 * rng.standard_normal(5), noise=0.01) for _ in range(50)]
    undecided = [found.more for found in few if found.verdict == "inconclusive"]
    assert len(undecided) >= 40
    more = float(np.median([factor for factor in undecided if factor is not None]))
    noise = 0.01 / more**0.5
    decided = [judge(bias({2: 1}) + noise * rng.standard_normal(5), noise=noise).verdict for _ in range(100)]
    assert 70 <= decided.count("conforms") < 100


def test_points_above_the_asymptotic_regime_are_dropped() -> None:
    """A term of order 8 at the largest step alone: it cannot be fitted, and goes."""
    steps = 2.0 ** -np.arange(7)
    values = steps**2 + 3 * steps**8
    found = decide_order(steps, Sample.of(values, np.full(7, 1e-4)), order=2, level=0.01)
    assert found.verdict == "conforms"
    assert found.kept < 7
    assert found.certificate["terms"]["h^1"]["dropped"] >= 1
    assert f"h={steps[7 - found.kept]:.3g}" in found.reason
    # The exponent describes the points at the largest steps all the same: those that were kept were chosen by their values.
    assert found.regression is not None and found.regression.used[0] == 0
    assert found.exponent is not None and found.exponent > 2.5


def test_nothing_fits() -> None:
    found = judge(np.array([1.0, -1.0, 1.0, -1.0, 1.0]))
    assert found.verdict == "inconclusive"
    assert "do not describe" in found.reason
    assert found.more is None


COARSE = np.array([1, 0.75, 0.5, 0.375, 0.25])


@pytest.mark.parametrize(
    ("values", "noise", "wrong"),
    [
        # h^2 exp(3 h) is of order 2; without more terms its fit puts three tenths into order 1.
        (COARSE**2 * np.exp(3 * COARSE - 3), 0.001, "violates"),
        # A fifth of order 1, which h^2 cos(0.9 h) hides from a fit without more terms.
        (0.2 * COARSE + 0.8 * COARSE**2 * np.cos(0.9 * COARSE) / np.cos(0.9), 0.002, "conforms"),
    ],
)
def test_the_guard_keeps_a_steep_series_from_a_wrong_verdict(
    values: np.ndarray, noise: float, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> str:
        errors = np.full(5, noise)
        return decide_order(COARSE, Sample.of(values, errors), order=2, level=0.01).verdict

    assert run() == "inconclusive"
    real = decision.try_term

    def unguarded(*arguments: Any) -> decision.ForbiddenTermFit:
        found = real(*arguments)
        return replace(found, guard=found.main)

    monkeypatch.setattr(decision, "try_term", unguarded)
    assert run() == wrong


def test_levels_are_shared_by_the_forbidden_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each order gets level / (2 K) on each side, K the number of forbidden orders."""
    tails: list[float] = []
    real = decision.try_term

    def spy(*arguments: Any) -> Any:
        tails.append(arguments[-1])
        return real(*arguments)

    monkeypatch.setattr(decision, "try_term", spy)
    judge(bias({3: 1}), order=3, level=0.06)
    assert tails == [pytest.approx(0.01)] * 3


def test_coupled_points_decide_where_independent_ones_cannot() -> None:
    """Errors that all points share leave order 1 visible; without their correlation it is lost."""
    noise = 0.02
    shared = noise**2 * (np.full((5, 5), 0.999) + 0.001 * np.eye(5))
    values = bias({1: 0.4, 2: 0.6}) + 0.015
    coupled = judge(values, errors=shared, chains=1000)
    assert coupled.verdict == "violates"
    assert "h^1" in coupled.reason
    assert coupled.certificate["coupled"]
    independent = judge(values, errors=np.full(5, noise), chains=1000)
    assert independent.verdict == "inconclusive"


def test_a_shared_error_is_no_bias() -> None:
    """A common offset of three of its standard errors at every point is one surprise, not five."""
    noise = 0.05
    shared = noise**2 * (np.full((5, 5), 0.999) + 0.001 * np.eye(5))
    values = bias({2: 1}) + 2.5 * noise
    assert judge(values, errors=shared, chains=10_000).verdict != "violates"
    assert judge(values, errors=np.full(5, noise), chains=10_000).verdict == "violates"


def test_exponents_describe() -> None:
    for power in (1, 2, 4):
        found = judge(bias({power: 1}), noise=1e-3)
        assert found.exponent == pytest.approx(power)
        assert found.low is not None and found.high is not None
        assert found.low < power < found.high
    wide = judge(bias({2: 1}), noise=0.2)
    assert wide.exponent is None and wide.low is None and wide.high is None
    assert wide.certificate["regression"]["why_none"].startswith(
        "1 of 5 points is more than 3 standard errors"
    )


@each_row(
    ("change", "message"),
    [
        ({"order": 0}, "order=0"),
        ({"level": 0.7}, "level=0.7"),
        ({"values": [1, 0.5, 0.25]}, "3 points: expected at least 4"),
        ({"values": [1, np.nan, 0.25, 0.1]}, "diverged"),
        ({"steps": [1, 1, 0.5, 0.25]}, "different positive numbers"),
        ({"steps": [1, 0, 0.5, 0.25]}, "different positive numbers"),
        ({"steps": [1, 0.5, 0.25]}, "expected 4"),
    ],
)
def test_refusals(change: Mapping[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "steps": None,
        "values": [1, 0.25, 0.06, 0.01],
        "order": 2,
        "level": 0.01,
        **change,
    }
    values = given.pop("values")
    steps = given.pop("steps") or H[: len(values)]
    with pytest.raises(UserError, match=message):
        decide_order(steps, Sample.of(values, np.full(len(values), 0.01)), **given)
