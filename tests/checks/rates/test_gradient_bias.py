"""Biased gradients: what is left of the bias, what the facts say, and what becomes of each claim."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify.checks import rate, verify
from sgverify.checks.facts import facts_of
from sgverify.checks.readings import mean_error
from sgverify.configuration import load_configuration
from sgverify.errors import ConfigurationError, InstabilityError
from sgverify.evidence import Evidence
from sgverify.exact.readings.formula import plant
from sgverify.report.wording import found_text, predicted_text
from sgverify.schemes import find_scheme
from sgverify.schemes.catalogue.kinetic import CHEN as ALPHABET
from sgverify.subject.binding import make_subject
from tests.tables import each_row
from tests.zoo.schemes import WEAK, frictionless, nose, uphill

DATA = [0.1, 0.5, 1.0, 0.25]
SMALL = {"target": {"data": DATA, "prior_precision": 2.0}, "sweep": {"lengths": [100, 10**6]}}


def biased(kind: str = "iid", **keys: object) -> dict:
    return {**SMALL, "gradient": {"kind": kind, "batch": 2, **keys}}


def limit(scale: Fraction, *, temperature: Fraction = Fraction(1)) -> Fraction:
    """E theta^2 under the law that the scaled gradient has, less the posterior's: prior precision 2, N = 4."""
    total = sum(map(Fraction, DATA))

    def second(s: Fraction) -> Fraction:
        precision = 2 + 4 * s
        return temperature / precision + (s * total / precision) ** 2

    return second(scale) - second(Fraction(1))


def evidence_of(scheme: object, **settings: object) -> Evidence:
    (evidence,) = verify(scheme, checks=["gradient-bias"], **settings)
    return evidence


@pytest.mark.parametrize("kind", ["full", "iid", "without-replacement", "reshuffle", "additive"])
@pytest.mark.parametrize("name", ["sgld-euler", "sghmc-aboba", "sghmc-euler"])
def test_the_limit_is_that_of_the_law_which_the_gradient_has(name: str, kind: str) -> None:
    evidence = evidence_of(name, temperature=0.5, **biased(kind, scale=0.75))
    assert (evidence.verdict, evidence.sharp, evidence.predicted.exponent, evidence.found.exponent) == (
        *("conforms", True),
        *(1, 1),
    )
    exact = limit(Fraction(3, 4), temperature=Fraction(1, 2))
    assert f"tends to {float(exact):.6g} at delta = -0.25" in evidence.reason
    # The slope at delta = 0, by the derivative of the rational function: a difference quotient in fractions.
    tiny = Fraction(1, 10**12)
    slope = limit(1 + tiny, temperature=Fraction(1, 2)) / tiny
    assert f"it is {float(slope):.6g} delta + O(delta^2)" in evidence.reason
    assert evidence.certificate["zeros_are"] == "proved in rational arithmetic"


def test_reports_speak_of_delta() -> None:
    evidence = evidence_of("sghmc-aboba", **biased(scale=0.9))
    assert (predicted_text(evidence), found_text(evidence)) == ("delta^1 or faster", "delta^1")
    blind = evidence_of("sghmc-aboba", test_function="p**2", **biased(scale=0.9))
    assert found_text(blind) == "zero"


def test_a_wrong_scheme_is_not_excused_by_its_gradient() -> None:
    """Half the noise leaves a bias that does not vanish with E dV: -T/(2P) at delta = 0."""
    evidence = evidence_of(WEAK, **biased(scale=0.9))
    assert (evidence.verdict, evidence.found.exponent) == ("violates", 0)
    assert f"{-1 / 12:.6g} as delta -> 0" in evidence.reason
    hot = plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(3*T*h)")
    assert evidence_of(hot, **biased(scale=0.9)).verdict == "violates"


def test_a_test_function_that_does_not_feel_the_gradient() -> None:
    evidence = evidence_of("sghmc-aboba", test_function="p**2", **biased(scale=0.9))
    assert (evidence.verdict, evidence.found.exponent, evidence.sharp) == ("conforms", None, False)


def test_a_posterior_that_the_factor_leaves_alone_is_unbiased_in_its_mean() -> None:
    """Data at the prior's mean: theta's mean stays, so b_0 of theta is zero for every factor."""
    centred = {"target": {"data": [1.0, -1.0]}, "gradient": {"kind": "full", "scale": 0.5}}
    evidence = evidence_of("sgld-euler", test_function="theta", **centred)
    assert (evidence.verdict, evidence.found.exponent) == ("conforms", None)
    assert evidence_of("sgld-euler", **centred).found.exponent == 1


@pytest.mark.parametrize("test_function", ["theta**3", "theta**4 + p*theta"])
def test_any_polynomial_has_a_limit(test_function: str) -> None:
    evidence = evidence_of("sghmc-aboba", test_function=test_function, **biased(scale=1.25))
    assert (evidence.verdict, evidence.found.exponent) == ("conforms", 1)


def test_the_mean_error_is_that_of_the_data() -> None:
    """E g - grad U = (s - 1) sum_i (theta - x_i), at the posterior mean and a standard deviation to either side."""
    subject = make_subject("sghmc-aboba", load_configuration(biased(scale=0.9)))
    found = mean_error(subject)
    mean, width = sum(DATA) / 6, (1 / 6) ** 0.5
    for name, theta in (("mean", mean), ("mean + standard deviation", mean + width)):
        (value,) = found["at"][name]
        assert value == pytest.approx(-0.1 * sum(theta - x for x in DATA), rel=1e-12)
    assert found["E g - grad U"] == "-0.1 (4 theta - 1.85)"
    assert found["E dV_l"].endswith("grad_p")
    assert mean_error(make_subject("sgld-euler", load_configuration(biased(scale=0.9))))["E dV_l"].endswith(
        "theta"
    )


@pytest.mark.parametrize("kind", ["full", "iid", "additive"])
def test_clipped_gradients_have_their_mean_error_and_no_exact_law(kind: str) -> None:
    evidence = evidence_of("sgld-euler", **biased(kind, clip=0.25, scale=2.0))
    assert evidence.verdict == "inconclusive" and "clipped gradient is not affine" in evidence.reason
    mean, width = sum(DATA) / 6, (1 / 6) ** 0.5
    for name, theta in (("mean", mean), ("mean - standard deviation", mean - width)):
        each = theta - np.array(DATA)
        due = (2 * each * np.minimum(1, 0.25 / np.abs(each)) - each).sum()
        assert evidence.certificate["at"][name] == pytest.approx([due], rel=1e-12, abs=1e-14)


def test_two_dimensions() -> None:
    wide = {
        "target": {"dim": 2, "data": [[0.5, -1.0], [2.0, 0.25]]},
        "gradient": {"kind": "full", "scale": 0.5},
    }
    evidence = evidence_of("sghmc-baoab", test_function="theta[0]*theta[1]", **wide)
    # Means (s sum x)/(1 + 2 s), no correlation.
    exact = [(0.5 * a / 2, a / 3) for a in (2.5, -0.75)]
    due = exact[0][0] * exact[1][0] - exact[0][1] * exact[1][1]
    assert f"tends to {due:.6g} at" in evidence.reason and evidence.verdict == "conforms"


def test_facts_are_computed() -> None:
    def facts(scheme: object = "sghmc-aboba", **keys: object) -> dict:
        return facts_of(make_subject(scheme, load_configuration({**SMALL, **keys})))

    assert facts()["gradient.unbiased"] is True
    assert facts(gradient={"kind": "additive"})["gradient.unbiased"] is True
    assert facts(gradient={"kind": "iid", "batch": 2, "scale": 1.0})["gradient.unbiased"] is True
    assert facts(gradient={"kind": "iid", "batch": 2, "scale": 1.01})["gradient.unbiased"] is False
    assert facts(gradient={"clip": 100.0})["gradient.unbiased"] is False
    assert facts()["scheme.ergodic"] is facts(WEAK)["scheme.ergodic"] is True
    assert facts(frictionless)["scheme.ergodic"] is facts(uphill)["scheme.ergodic"] is False
    # No computation reaches the thermostat: that refutes nothing.
    assert facts(nose)["scheme.ergodic"] is True
    assert facts(ALPHABET.word("AOBA", coefficients=["1/4", 1, 1, "3/4"]))["scheme.consistent"] is True
    assert facts()["scheme.order"] == facts()["K"] == 2 and facts(WEAK)["scheme.order"] == 1


def test_theorem_2_lets_the_bias_stay_and_names_the_term() -> None:
    for kind in ("full", "iid", "reshuffle"):
        evidence = rate("sghmc-aboba", quantity="bias", **biased(kind, scale=0.9))
        assert (evidence.claim, evidence.verdict) == ("chen2015/theorem-2", "conforms")
        assert evidence.predicted.exponent == evidence.found.exponent == 0 and evidence.sharp
        assert "tends to a constant" in evidence.reason and "sum_l |E dV_l|/L" in evidence.reason
        assert evidence.points[-1].value == pytest.approx(float(limit(Fraction(9, 10))), rel=0.2)
        assert set(evidence.certificate["gradient_bias"]) == {"E dV_l", "E g - grad U", "at"}
        unbiased_one = rate("sghmc-aboba", quantity="bias", **biased(kind))
        assert "gradient_bias" not in unbiased_one.certificate and "dV" not in unbiased_one.reason


def test_no_chain_is_drawn_for_a_rate_that_is_not_predicted() -> None:
    """A clipped gradient: the bias of theta stays, Theorem 2 says that it may, and no sample can speak against that."""
    clipped = {"target": {"data": [0.1, 0.5, 1.0, 9.25]}, "gradient": {"clip": 0.02}}
    evidence = rate("sgld-euler", quantity="bias", test_function="theta", **clipped)
    assert (evidence.method, evidence.verdict, evidence.predicted.exponent) == (
        "monte-carlo",
        "inconclusive",
        None,
    )
    assert "no sample can contradict it" in evidence.reason and "gradient.clip=0.02" in evidence.reason


@pytest.mark.parametrize("quantity", ["mse", "stationary-bias"])
def test_a_rate_that_asks_for_unbiased_gradients_says_so_and_what_it_found(quantity: str) -> None:
    evidence = rate("sghmc-aboba", quantity=quantity, **biased(scale=0.9))
    assert (evidence.verdict, evidence.found.exponent) == ("not-applicable", 0)
    assert "needs that gradient.unbiased is true" in evidence.reason
    assert evidence.points


def test_verify_lists_the_claim_for_biased_gradients_alone() -> None:
    asked = [
        "gradient-bias",
        "stationary-bias",
        "chen2015/theorem-2",
        "chen2015/theorem-3",
        "chen2015/corollary-6",
    ]
    found = {(e.claim, e.check): e for e in verify("sgld-euler", checks=asked, **biased(scale=0.9))}
    for (claim, check), evidence in found.items():
        judged = claim in ("chen2015/theorem-2", "chen2015/theorem-2-biased")
        assert evidence.verdict == ("conforms" if judged else "not-applicable"), (claim, check)
        # Claims of other papers speak of one kind of gradient, and say that first.
        if not judged and claim.startswith("chen2015/"):
            assert "gradient.unbiased is false" in evidence.reason
    (other,) = verify("sgld-euler", checks=["gradient-bias"], **biased())
    assert other.verdict == "not-applicable" and "gradient.unbiased is true" in other.reason


def test_a_chain_that_never_contracts_is_refused_not_passed_over() -> None:
    for scheme in (frictionless, uphill):
        with pytest.raises(InstabilityError):
            verify(scheme, checks=["chen2015/theorem-4"], **SMALL)
        # What needs no invariant law is judged.
        assert verify(scheme, checks=["local-order"], **SMALL)


@each_row(
    ("settings", "text"),
    [
        ({"gradient": {"scale": 0.0}}, "gradient.scale=0.0: expected"),
        ({"gradient": {"scale": -1.0}}, "gradient.scale=-1.0: expected"),
        ({"gradient": {"clip": 0.0}}, "gradient.clip=0.0: expected"),
        ({"gradient": {"clip": "tight"}}, "gradient.clip='tight': expected"),
        (
            {"gradient": {"scale": 0.9}, "target": {"name": "gaussian"}},
            r"gradient.scale=0.9: the target 'gaussian' has no data",
        ),
        (
            {"gradient": {"clip": 2.0}, "target": {"name": "gaussian"}},
            r"gradient.clip=2.0: the target 'gaussian' has no data",
        ),
    ],
)
def test_nonsense_is_refused(settings: dict, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        rate("sgld-euler", quantity="stationary-bias", **settings)


def test_steps_must_contract_under_the_drift_that_is_felt() -> None:
    """h = 0.3 is stable at precision 6 (h < 1/3) and not at 2 + 1.5 * 4 = 8."""
    step = {"schedule": {"kind": "fixed", "step": 0.3}}
    rate("sgld-euler", quantity="stationary-bias", **biased(), **step)
    with pytest.raises(InstabilityError, match="below 0.25"):
        rate("sgld-euler", quantity="stationary-bias", **biased(scale=1.5), **step)
