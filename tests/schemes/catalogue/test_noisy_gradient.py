"""NOGIN: what its paper claims, and what the local order says of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify.errors import DefinitionError
from sgverify.exact.answers import QuadraticAnswers, answers_for
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import find_scheme
from sgverify.schemes.catalogue.plain import noisy_gradient
from tests.self_checks.registry import self_check
from tests.zoo.affine_models import gaussian, model_of

HALF = Fraction(1, 2)


def bias(name: str, covariance: float, phi: str, temperature: float = 1.0) -> list[float]:
    """b_0, ..., b_3 of the stationary bias on a Gaussian target with normal gradient noise."""
    model = model_of(
        name,
        target=gaussian(1.5),
        gradient={"kind": "additive", "covariance": covariance},
        temperature=temperature,
        test_function=phi,
    )
    answers = answers_for(model)
    assert isinstance(answers, QuadraticAnswers)
    return [float(c) for c in answers.expansion.values[:4]]


@pytest.mark.parametrize(("covariance", "temperature"), [(0.5, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("phi", ["theta**2", "theta*p", "theta"])
def test_noise_of_the_known_variance_leaves_theta_exact_on_a_gaussian(
    covariance: float, temperature: float, phi: str
) -> None:
    """arXiv 1805.08863: exact for Gaussian targets and normal gradient noise; in the position, as it comes out."""
    assert bias("sghmc-nogin-0.5", covariance, phi, temperature) == [0, 0, 0, 0]


@pytest.mark.parametrize("phi", ["theta**2", "p**2"])
def test_the_bias_is_second_order_where_the_variance_is_known_and_first_where_it_is_not(phi: str) -> None:
    assert bias("sghmc-nogin-0.5", 0.5, phi)[:2] == [0, 0]
    for name, covariance in (("sghmc-nogin-0.5", 0.25), ("sghmc-nogin", 0.5), ("sghmc-nogin-1", 0.5)):
        zeroth, first, *_ = bias(name, covariance, phi)
        assert zeroth == 0 != first
    # The first-order term is that of the variance which is not accounted for.
    assert bias("sghmc-nogin-0.5", 0.75, phi)[1] == pytest.approx(
        bias("sghmc-nogin", 0.25, phi)[1], rel=1e-12
    )


def test_its_local_order_is_one_either_way() -> None:
    """The damping of the noise is a friction of order h of its own: (h^2/2) ratio (T d_p^2 - p d_p), averaged."""
    found = local_order(noisy_gradient(HALF), 1)
    assert (found.order, found.averaged_order) == (1, 1)
    assert found.given_minibatch.text == "h^2 ( [-(1/4) p] d_p )"
    assert found.averaged.text == "h^2 ( [-(1/4) p] d_p ) + E[(W')^2] * ( h^2 ( [1/2] d_p^2 ) )"
    # With E[(W')^2] = T/2 this is (h^2/4) (T d_p^2 - p d_p), which leaves exp(-p^2/(2T)) alone: for every U.


def test_without_noise_to_account_for_it_is_the_molecular_aboba() -> None:
    plain, word = local_order(find_scheme("sghmc-nogin"), 2), local_order(find_scheme("sghmc-md-aboba"), 2)
    assert (plain.order, plain.averaged_order) == (2, 1)
    assert plain.given_minibatch.text == word.given_minibatch.text
    assert plain.averaged.text == word.averaged.text


@pytest.mark.parametrize("text", ["much", "", "1/0"])
def test_a_variance_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(DefinitionError, match=r"expected E g_i\^2 / T"):
        find_scheme(f"sghmc-nogin-{text}")


def test_a_negative_variance_is_refused() -> None:
    with pytest.raises(DefinitionError, match="not negative"):
        find_scheme("sghmc-nogin--0.5")


def test_names_hold_the_number_that_was_asked_for() -> None:
    for text in ("0.5", "1/3", "0.125"):
        assert (
            find_scheme(find_scheme(f"sghmc-nogin-{text}").name).name
            == find_scheme(f"sghmc-nogin-{text}").name
        )


@pytest.mark.parametrize("kind", ["additive", "iid"])
def test_the_sampler_agrees_with_the_exact_law(kind: str) -> None:
    evidence = self_check(
        "agreement",
        "sghmc-nogin-0.5",
        target={"size": 10},
        gradient={"kind": kind, "covariance": 0.5} if kind == "additive" else {"kind": kind, "batch": 5},
        steps=100,
        chains=256,
    )
    assert evidence.verdict == "conforms", evidence.reason
