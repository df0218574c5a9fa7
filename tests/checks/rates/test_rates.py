"""The checks of rates: stationary bias, bias and mean square error, consistency."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify.checks import judge, rate, verify
from sgverify.claims import find_claim
from sgverify.configuration import load_configuration
from sgverify.errors import InstabilityError
from sgverify.exact.answers import answers_for
from sgverify.exact.readings.formula import plant
from sgverify.schemes import find_scheme
from sgverify.subject.binding import make_subject
from tests.zoo.schemes import WEAK, forgot, frictionless, multiplicative, nose, uphill

# A small stiffness and few points keep the runs short; the exponents come from the expansion anyway.
SMALL = {"target": {"data": [0.1, 0.5, 1.0, 0.2]}}
FEW = {"sweep": {"lengths": [100, 1000]}}


def noisy(kind: str = "iid") -> dict:
    return {**SMALL, "gradient": {"kind": kind, "batch": 2}}


@pytest.mark.by_default("sgld-euler-sqrt(2*T*h)-sqrt(3*T*h)", "sghmc-aboba-sqrt(2*D*T*h)-sqrt(D*T*h)")
@pytest.mark.parametrize(
    ("name", "was", "now"),
    [
        ("sgld-euler", "sqrt(2*T*h)", "sqrt(3*T*h)"),
        ("sghmc-aboba", "sqrt(2*D*T*h)", "sqrt(D*T*h)"),
        ("sghmc-euler", "h*D*p", "h*p"),
    ],
)
def test_planted_bugs_are_refuted_by_every_rate(name: str, was: str, now: str) -> None:
    broken = plant(find_scheme(name), was, now)
    for quantity in ("stationary-bias", "bias", "mse"):
        good, bad = (rate(item, quantity=quantity, **SMALL, **FEW) for item in (find_scheme(name), broken))
        assert (good.verdict, bad.verdict) == ("conforms", "violates"), quantity
        assert bad.found.exponent == 0 and not bad.refuted
    found = {e.verdict for e in verify(broken, checks=["consistency"], **SMALL, **FEW)}
    assert found == {"violates"}


def test_a_bug_of_first_order_is_refuted_by_the_stationary_bias() -> None:
    """BAOAB with the Euler noise: consistent, but its invariant law is of order one."""
    broken = plant(find_scheme("sghmc-baoab"), "sqrt(-T*expm1(-2*D*h))", "sqrt(2*D*T*h)").named("b", order=2)
    evidence = rate(broken, quantity="stationary-bias", **SMALL)
    assert evidence.found.exponent == 1
    # K = 1 is proved for it, and that rate it has; the order that it states is what it violates.
    assert (evidence.predicted.exponent, evidence.verdict) == (1, "conforms")
    assert rate(broken, quantity="local-order").verdict == "violates"


def test_a_step_that_forgets_h_does_not_converge() -> None:
    evidence = rate(forgot, quantity="stationary-bias", target={"size": 100})
    assert (evidence.verdict, evidence.found.exponent) == ("violates", 0)
    assert "does not vanish with h" in evidence.reason
    assert set(evidence.certificate) >= {"bias_at", "no_expansion"}


@pytest.mark.by_default("0.1-sghmc-aboba-2", "0.2-sgld-euler-1")
@pytest.mark.parametrize(("name", "order"), [("sgld-euler", 1), ("sghmc-aboba", 2)])
@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.3333333333333333, 0.5, 0.7])
def test_found_follows_the_prediction_away_from_the_best_alpha(name: str, order: int, alpha: float) -> None:
    exact = Fraction(1, 3) if alpha == 0.3333333333333333 else Fraction(repr(alpha))
    for quantity, factor in (("bias", 1), ("mse", 2)):
        for kind in ("horizon", "power"):
            evidence = rate(
                find_scheme(name), quantity=quantity, schedule={"kind": kind, "alpha": alpha}, **SMALL, **FEW
            )
            expected = -min(1 - exact, factor * order * exact)
            assert evidence.found.exponent == pytest.approx(float(expected), abs=1e-15)
            assert evidence.predicted.exponent == evidence.found.exponent
            # At the best alpha a power schedule's bias has the log that theorem 5's sums have.
            assert evidence.verdict == "conforms"


def test_k_is_the_proved_order_given_the_minibatch() -> None:
    assert rate(find_scheme("sghmc-aboba"), quantity="stationary-bias", **SMALL).predicted.exponent == 2
    printed = verify(find_scheme("sghmc-aboba"), checks=["chen2015/theorem-4"], **noisy())
    assert {found.predicted.exponent for found in printed} == {2}
    # The printed theorem is refuted there: one rate is judged by the corrected one.
    assert rate(find_scheme("sghmc-aboba"), quantity="stationary-bias", **noisy()).predicted.exponent == 1
    assert rate(find_scheme("sghmc-chen-abo"), quantity="stationary-bias", **SMALL).predicted.exponent == 1
    # What a scheme states of itself does not enter.
    boast = find_scheme("sgld-euler").named("boast", order=2)
    assert rate(boast, quantity="stationary-bias", **SMALL).predicted.exponent == 1
    # An integrator that is not even consistent is held to K = 1.
    assert rate(WEAK, quantity="stationary-bias", **SMALL).predicted.exponent == 1


@pytest.mark.by_default("without-replacement")
@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
def test_fresh_noise_refutes_the_printed_claims_and_their_corrected_cards_judge(kind: str) -> None:
    for check in ("stationary-bias", "bias", "mse"):
        found = verify(find_scheme("sghmc-aboba"), checks=[check], **noisy(kind), **FEW)
        printed = [e for e in found if e.claim.startswith("chen2015/")]
        corrected = [e for e in found if e.claim.startswith("corrected/")]
        assert printed and all((e.verdict, e.refuted) == ("violates", True) for e in printed)
        assert [e.claim.split("/")[1] for e in corrected] == [e.claim.split("/")[1] for e in printed]
        assert all((e.verdict, e.refuted) == ("conforms", False) for e in corrected)


def test_consistency_survives_the_noise() -> None:
    (evidence,) = verify(find_scheme("sghmc-aboba"), checks=["chen2015/corollary-6"], **noisy(), **FEW)
    assert (evidence.verdict, evidence.refuted) == ("conforms", False)


def test_a_wrong_scheme_does_not_refute_a_theorem() -> None:
    """Its violation is its own, with noise or without, whatever the corrected card would say."""
    for settings in (SMALL, noisy()):
        found = verify(WEAK, checks=["stationary-bias", "bias", "mse"], **settings, **FEW)
        assert found and all((e.verdict, e.refuted) == ("violates", False) for e in found)


def test_first_order_schemes_conform_with_noise() -> None:
    found = verify(
        find_scheme("sgld-euler"), checks=["stationary-bias", "chen2015/theorem-2"], **noisy(), **FEW
    )
    assert {(e.verdict, e.refuted) for e in found} == {("conforms", False)}


def test_the_logarithm_refutes_the_printed_remark_only() -> None:
    found = verify(
        find_scheme("sghmc-aboba"), checks=["chen2015/remark-7", "chen2015/theorem-5"], **SMALL, **FEW
    )
    by_claim = {(e.claim, e.check): e for e in found}
    remark = by_claim["chen2015/remark-7", "bias"]
    assert (remark.verdict, remark.refuted, remark.found.exponent) == ("violates", True, -2 / 3)
    assert remark.certificate["logarithm"] == {"found": 1, "predicted": 0}
    assert by_claim["chen2015/theorem-5", "bias"].verdict == "conforms"
    assert by_claim["chen2015/remark-7", "mse"].verdict == "conforms"


def test_a_claim_asked_by_name_is_not_followed_by_its_correction() -> None:
    found = verify(find_scheme("sghmc-aboba"), checks=["chen2015/theorem-4"], **noisy())
    assert {(e.claim, e.refuted) for e in found} == {("chen2015/theorem-4", True)}
    found = verify(find_scheme("sghmc-aboba"), checks=["corrected/theorem-4"], **noisy())
    assert {(e.claim, e.verdict) for e in found} == {("corrected/theorem-4", "conforms")}
    assert [e.check for e in found] == ["stationary-bias", "covariance", "wasserstein-2"]


def test_reshuffling_keeps_the_second_order() -> None:
    for name, order in (("sghmc-aboba", 2), ("sgld-euler", 1)):
        evidence = rate(find_scheme(name), quantity="stationary-bias", **noisy("reshuffle"))
        assert (evidence.verdict, evidence.found.exponent) == ("conforms", order)
        assert evidence.certificate["steps_per_epoch"] == 2


def test_a_zero_bias_conforms_and_a_test_function_decides() -> None:
    evidence = rate(find_scheme("sghmc-baoab"), quantity="stationary-bias", **SMALL)
    assert (evidence.verdict, evidence.found.exponent, evidence.sharp) == ("conforms", None, False)
    assert {p.value for p in evidence.points} == {0.0}
    evidence = rate(find_scheme("sghmc-baoab"), quantity="stationary-bias", test_function="p**2", **SMALL)
    assert (evidence.found.exponent, evidence.sharp) == (2, True)
    # Algorithm 2: second order in theta, first in p.
    found = [
        rate(find_scheme("sghmc-euler"), quantity="stationary-bias", test_function=f, **SMALL).found.exponent
        for f in ("theta**2", "p**2")
    ]
    assert found == [2, 1]


def test_a_mean_square_error_that_telescopes_is_not_called_zero() -> None:
    """The time average of p is (theta_L - theta_0)/(L h), up to the step: no asymptotic variance."""
    evidence = rate(find_scheme("sghmc-aboba"), quantity="mse", test_function="p", **SMALL)
    assert evidence.verdict == "conforms" and not evidence.sharp
    assert all(point.value > 0 for point in evidence.points)
    assert "zero" not in evidence.reason and "or faster" in evidence.reason
    assert (evidence.found.low, evidence.found.high) == (None, -1)
    # The points fall faster than the bound, as they must.
    last, before = evidence.points[-1].value, evidence.points[-2].value
    assert last / before < 10**-0.99


def test_a_constant_is_identically_zero() -> None:
    for quantity in ("stationary-bias", "bias", "mse"):
        evidence = rate(
            find_scheme("sghmc-aboba"), quantity=quantity, test_function="theta - theta + 1", **SMALL, **FEW
        )
        assert (evidence.verdict, evidence.found.exponent) == ("conforms", None)


def test_points_cancel_at_one_special_scale_and_the_verdict_says_so() -> None:
    subject = make_subject(find_scheme("sghmc-aboba"), load_configuration({**SMALL, "start": 3.0}))
    answers = answers_for(subject.model)
    b, tau = answers.expansion.values[2], answers.transient.values[0]
    assert b * tau < 0, "start=3 makes the transient's sign the other one"
    special = (-tau / b) ** (1 / 3)
    settings = {
        **SMALL,
        "start": 3.0,
        "schedule": {"kind": "horizon", "alpha": 0.3333333333333333, "scale": special},
    }
    evidence = rate(find_scheme("sghmc-aboba"), quantity="bias", **settings)
    assert evidence.found.exponent == -1 and evidence.verdict == "conforms" and not evidence.sharp
    settings["schedule"]["scale"] = special / 2
    assert rate(find_scheme("sghmc-aboba"), quantity="bias", **settings).found.exponent == -2 / 3


def test_a_sweep_before_the_crossover_never_violates() -> None:
    """Steps at which b_1 h is far above b_2 h^2 or far below: the verdict is the expansion's, not the points'."""
    for steps in ([0.3, 0.15], [1e-6, 5e-7]):
        evidence = rate(
            find_scheme("sghmc-aboba"), quantity="stationary-bias", sweep={"steps": steps}, **SMALL
        )
        assert (evidence.verdict, evidence.found.exponent) == ("conforms", 2)


def test_rates_of_a_chain_that_escapes_are_no_rates() -> None:
    for quantity in ("bias", "mse"):
        found = rate(multiplicative, quantity=quantity, method="exact")
        assert found.verdict == "not-applicable" and "transient" in found.reason


def test_schemes_without_an_exact_law_have_no_exact_number() -> None:
    """A verdict rests on a proof there, which gives a bound."""
    scheme = nose
    found = [rate(scheme, quantity=q, method="exact") for q in ("stationary-bias", "bias", "mse")]
    proved = verify(scheme, checks=["consistency"])
    assert {(e.outcome, e.method) for e in proved} == {("pass", "proof")}
    assert {e.verdict for e in found} == {"inconclusive"}
    assert all(e.found.exponent is None for e in found)
    assert all("no exact law" in e.reason for e in found)


@pytest.mark.power  # 0.9 s
def test_degrees_beyond_the_affine_engines_are_reached_where_moments_close() -> None:
    found = {
        quantity: rate(
            find_scheme("sghmc-aboba"), quantity=quantity, method="exact", test_function="theta**5", **SMALL
        )
        for quantity in ("stationary-bias", "bias")
    }
    assert {evidence.verdict for evidence in found.values()} == {"conforms"}
    assert found["stationary-bias"].found.exponent == 2
    assert found["bias"].certificate["closed_moments"][-1] == "1"
    steps = {"steps": [9.0]}
    with pytest.raises(InstabilityError, match="spectral radius"):
        rate(find_scheme("sgld-euler"), quantity="bias", test_function="theta**7", sweep=steps, **SMALL)


def test_test_functions_that_no_engine_reaches_are_inconclusive() -> None:
    exact = {"method": "exact", **SMALL, "gradient": {"kind": "iid", "batch": 2}}
    evidence = rate(find_scheme("sghmc-aboba"), quantity="mse", test_function="theta**5", **exact)
    assert evidence.verdict == "inconclusive" and "degree 5" in evidence.reason
    pairs = {"target": {"data": [[0.1, 1.0], [0.5, 0.0]]}, "gradient": {"kind": "reshuffle", "batch": 1}}
    evidence = rate(find_scheme("sghmc-aboba"), quantity="mse", method="exact", **pairs)
    assert (
        evidence.verdict == "inconclusive"
        and "under reshuffling it is reached in one dimension" in evidence.reason
    )


@pytest.mark.by_default("sgld-euler-rates0")
@pytest.mark.parametrize(
    ("name", "rates"), [("sgld-euler", (-0.5, -2 / 3)), ("sghmc-aboba", (-2 / 3, -4 / 5))]
)
def test_reshuffled_minibatches_keep_the_printed_rates(name: str, rates: tuple[float, float]) -> None:
    """Bias and mean square error to L = 10^12, orders up to 2: the noise of an epoch cancels within it."""
    lengths = {"sweep": {"lengths": [100, 10**6, 10**12]}}
    found = [rate(find_scheme(name), quantity=q, **noisy("reshuffle"), **lengths) for q in ("bias", "mse")]
    assert [e.verdict for e in found] == ["conforms", "conforms"]
    assert tuple(float(e.found.exponent) for e in found) == pytest.approx(rates)
    for points in zip(*(e.points for e in found), strict=True):
        assert points[1].error_bound <= 1e-6 * points[1].value
    # The bias and the mean square error of one step of the schedule come from different engines.
    fixed = [
        rate(find_scheme(name), quantity=q, **noisy("reshuffle"), **lengths, schedule={"step": 0.01}).points
        for q in ("bias", "mse")
    ]
    assert all(square.value > bias.value**2 for bias, square in zip(*fixed, strict=True))


def test_claims_on_another_schedule_are_not_applicable() -> None:
    (evidence, other) = verify(find_scheme("sghmc-aboba"), checks=["chen2015/theorem-2", "chen2015/theorem-3"],
                               schedule={"kind": "power"}, **SMALL)  # fmt: skip
    assert evidence.verdict == other.verdict == "not-applicable"
    assert "schedule.kind='power'" in evidence.reason
    found = judge(
        make_subject("sghmc-aboba", load_configuration({**SMALL, **FEW, "schedule": {"kind": "power"}})),
        ["bias"],
    )
    assert found and {e.configuration["schedule"]["kind"] for e in found} == {"power"}


def test_a_check_that_no_claim_speaks_to_is_not_passed_over_in_silence() -> None:
    """With a fixed step no claim speaks of the bias in L: an empty answer would look like a pass."""
    found = verify("sghmc-aboba", checks=["bias"], schedule={"kind": "fixed"})
    assert {e.verdict for e in found} == {"not-applicable"}
    assert {e.check for e in found} == {"bias"} and any(e.claim.startswith("chen2015/") for e in found)


def test_the_default_step_is_half_the_stability_limit() -> None:
    subject = make_subject(
        "sgld-euler", load_configuration({"target": {"name": "gaussian", "precision": 4.0}})
    )
    assert subject.step_sizes.default == pytest.approx(0.25, rel=1e-12)
    evidence = rate("sgld-euler", quantity="stationary-bias", target={"name": "gaussian", "precision": 4.0})
    assert [p.step for p in evidence.points] == [subject.step_sizes.default / 2**k for k in range(5)]


def test_unstable_steps() -> None:
    for settings in ({"schedule": {"step": 100.0}}, {"sweep": {"steps": [0.01, 100.0]}}):
        with pytest.raises(InstabilityError, match="spectral radius"):
            rate("sghmc-aboba", quantity="stationary-bias", **SMALL, **settings)
    with pytest.raises(InstabilityError, match="spectral radius"):
        rate("sghmc-aboba", quantity="bias", schedule={"kind": "horizon", "scale": 1000.0}, **SMALL)


def test_a_step_that_float64_cannot_judge_is_not_refused() -> None:
    """1 - 1e-18 rounds to 1, but the chain contracts."""
    gaussian = {"name": "gaussian", "dim": 2, "precision": [1e-8, 1e8]}
    for step in (1e-8, 1e-10):
        make_subject(
            "sgld-euler", load_configuration({"target": gaussian, "schedule": {"step": step}})
        ).validate()
    subject = make_subject("sgld-euler", load_configuration({"target": gaussian}))
    assert subject.step_sizes.default == pytest.approx(1e-8, rel=1e-9)


def test_a_default_step_contracts_visibly() -> None:
    """ABOBA on a flat target contracts by exp(-700) at half its limit, which no engine could follow."""
    target = {"name": "gaussian", "precision": 1e-12}
    assert rate("sghmc-aboba", quantity="stationary-bias", target=target).verdict == "conforms"


def test_a_map_without_friction_is_told_that_it_never_contracts() -> None:
    for schedule in ({}, {"step": 0.01}, {"step": 1.0}):
        with pytest.raises(InstabilityError, match="never contracts on this target") as caught:
            rate(frictionless, quantity="stationary-bias", schedule=schedule, **SMALL)
        assert "signs" not in str(caught.value) and "too small" not in str(caught.value)
        assert ("schedule.step" in str(caught.value)) == bool(schedule)
    with pytest.raises(InstabilityError, match="check the signs"):
        rate(uphill, quantity="stationary-bias", **SMALL)


def test_a_step_that_the_balls_refute_is_never_too_small() -> None:
    settings = {"friction": 1e-10, "target": {"name": "gaussian", "precision": 1.0}}
    with pytest.raises(InstabilityError, match="schedule.step=2e-10: unstable.*just above 1.*below 1e-10"):
        rate("sghmc-euler-explicit", quantity="stationary-bias", schedule={"step": 2e-10}, **settings)
    # The smallest step that a configuration takes.
    with pytest.raises(InstabilityError, match="not told from 1.*a larger one if it is tiny"):
        rate("sghmc-euler", quantity="stationary-bias", schedule={"step": 1e-100}, **SMALL)


def test_a_default_step_is_called_the_default() -> None:
    subject = make_subject("sgld-euler", load_configuration(SMALL))
    with pytest.raises(InstabilityError, match="^default step=100: unstable"):
        subject.check_stable([100.0], "schedule.step")


def test_predictions_are_those_of_the_card() -> None:
    for quantity, id in (("stationary-bias", "chen2015/theorem-4"), ("bias", "chen2015/theorem-2")):
        evidence = rate("sghmc-aboba", quantity=quantity, **SMALL, **FEW)
        assert evidence.claim == id
        facts = {"K": 2, "gradient.noisy": False, "gradient.kind": "full", "gradient.unbiased": True}
        card = find_claim(id).predict(quantity, {**facts, "scheme.order": 2, "scheme.dynamics": "kinetic"})
        assert evidence.predicted.exponent == float(card.exponent)
