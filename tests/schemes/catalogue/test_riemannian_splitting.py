"""Words of SGHMC in a metric: letters that are exact flows and one that is not, orders, invariant laws, planted bugs, chains."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sgverify import Alphabet, scheme, verify
from sgverify.configuration import load_configuration
from sgverify.exact.posterior.reference import reference_average
from sgverify.exact.series.letters import AlphabetProof, prove_alphabet
from sgverify.exact.series.local_order import local_order
from sgverify.exact.stationarity.fokker_planck import stationarity_residual
from sgverify.samplers import Settings, fixed
from sgverify.schemes import Scheme, dynamics, find_scheme
from sgverify.schemes.catalogue.in_metric import (
    ALPHABET,
    SIMPLEX,
    drift,
    friction,
    noisy_kick,
    simplex_friction,
    simplex_geodesic,
    simplex_kick,
)
from sgverify.schemes.definition.mathematics import exp, sqrt
from sgverify.schemes.dynamics import Density, kinetic_in_metric, kinetic_on_simplex
from sgverify.targets import build_target, parse_observable
from tests.sampled_states import sample_states

SYMMETRIC = [f"{a}{b}{c}{b}{a}" for a, b, c in permutations("ABO")]


@pytest.mark.parametrize("dim", [1, 2])
def test_the_letters_of_the_simplex_are_exact_flows_that_sum_to_the_generator(dim: int) -> None:
    proof = prove_alphabet(SIMPLEX, dim)
    assert proof.proved and proof.degree == 4


@pytest.mark.parametrize("dim", [1, 2])
def test_in_any_metric_all_but_the_drift_are_exact_and_the_drift_is_one_to_t_cubed(dim: int) -> None:
    (fault,) = prove_alphabet(ALPHABET, dim).faults
    assert fault.startswith("letter A is not the flow of its generator: it differs at t^3 by")


def half_noise(theta, p, *, t, grad, noise, D, T):
    return theta, p + t * (T / (2 * theta) - grad(theta)) + sqrt(D * T * t) * noise()


def without_determinant(theta, p, *, t, grad, noise, D, T):
    return theta, p - t * grad(theta) + sqrt(2 * D * T * t) * noise()


def without_nu(theta, p, *, t):
    return exp(t * p) * theta, p


def friction_without_metric(theta, p, *, t, D):
    return theta, exp(-D * t) * p


def straight(theta, p, *, t):
    return theta + t * theta * p, p - t / 2 * p * p


def of_simplex(**letters: Callable[..., Any]) -> Alphabet:
    right = {"A": simplex_friction, "B": simplex_kick, "O": simplex_geodesic}
    return Alphabet("planted", kinetic_on_simplex, **{**right, **letters})


PLANTED = {
    "noise of half the variance": (of_simplex(B=half_noise), "sum to L plus"),
    "log det G left out": (of_simplex(B=without_determinant), "sum to L plus"),
    "nu left out": (of_simplex(O=without_nu), "sum to L plus"),
    "friction D p for D G^-1 p": (of_simplex(A=friction_without_metric), "sum to L plus"),
    "an Euler step for the geodesic": (of_simplex(O=straight), "letter O is not the flow"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_letter_is_found_and_the_word_over_it_is_refuted(name: str) -> None:
    alphabet, why = PLANTED[name]
    proof: AlphabetProof = prove_alphabet(alphabet, 1)
    assert any(why in fault for fault in proof.faults)
    word = alphabet.word("BAOAB", order=2)
    (found,) = verify(word, checks=["sgverify/stated-order"])
    assert (found.verdict, found.method) == ("violates", "proof")


@pytest.mark.parametrize("text", SYMMETRIC)
def test_symmetric_words_have_order_two_and_others_order_one(text: str) -> None:
    """The simplex by theorem, as its letters are exact; any metric by the expansion of the step itself."""
    for alphabet in (SIMPLEX, ALPHABET):
        assert local_order(alphabet.word(text), 1).order == 2
        assert local_order(alphabet.word(text[:3]), 1).order == 1


def euler_drift(theta, p, *, t, metric):
    return theta + t * metric.root(theta, p), p


def kick_without_divergence(theta, p, *, t, grad, noise, metric, D, T):
    return theta, p - t * metric.transposed(theta, grad(theta)) + sqrt(2 * D * T * t) * noise()


def kick_by_the_root(theta, p, *, t, grad, noise, metric, D, T):
    force = T * metric.root_divergence(theta) - metric.root(theta, grad(theta))
    return theta, p + t * force + sqrt(2 * D * T * t) * noise()


@pytest.mark.by_default("letters0-1")
@pytest.mark.parametrize(
    ("letters", "order"),
    [({"A": euler_drift}, 1), ({"O": kick_without_divergence}, 0), ({"O": kick_by_the_root}, 0)],
)
def test_a_planted_letter_in_any_metric_lowers_the_order(letters: dict[str, Any], order: int) -> None:
    """B for B^T shows in two dimensions alone, where a metric is not its own transpose."""
    right = {"A": drift, "B": friction, "O": noisy_kick}
    word = Alphabet("planted", kinetic_in_metric, **{**right, **letters}).word("ABOBA", order=2)
    (found,) = verify(word, checks=["sgverify/stated-order"])
    assert (found.verdict, found.method) == ("violates", "proof")
    assert found.certificate["given_minibatch"] == order and found.certificate["proved_in_dimension"] == 2


def verdict_of(of: Any, step: Scheme) -> str:
    found = scheme(of, order=1)(step.function)
    (evidence,) = verify(found, checks=["stationarity"])
    return evidence.verdict


def test_equation_49_leaves_its_density_invariant_with_nu_and_with_no_part_left_out() -> None:
    density: Density | None = kinetic_on_simplex.density
    assert density is not None

    def planted(force: Callable[..., Any]) -> Any:
        def of(theta, p, *, grad, D, T):
            return (theta * p, force(theta, p, grad, D, T)), (0, D * T)

        return dynamics(theta="vector", p="vector", positive=True, density=density)(of)

    @scheme(kinetic_on_simplex, order=1)
    def euler(theta, p, *, h, grad, noise, D, T):
        force = T / (2 * theta) - grad(theta) - D * theta * p - p * p / 2
        p = p + h * force + sqrt(2 * D * T * h) * noise()
        return theta + h * theta * p, p

    assert all(stationarity_residual(kinetic_on_simplex, density, dim).zero for dim in (1, 2, 5))
    wrong = {
        "without nu": lambda theta, p, grad, D, T: T / (2 * theta) - grad(theta) - D * theta * p,
        "without log det G": lambda theta, p, grad, D, T: -grad(theta) - D * theta * p - p * p / 2,
        "friction D p": lambda theta, p, grad, D, T: T / (2 * theta) - grad(theta) - D * p - p * p / 2,
    }
    found = {name: verdict_of(planted(force), euler) for name, force in wrong.items()}
    assert found == dict.fromkeys(wrong, "violates")


def test_the_geodesic_is_the_solution_of_its_equations_and_is_mirrored_at_zero() -> None:
    theta, p, t = 0.7, 1.3, 0.9
    run = solve_ivp(lambda _, y: [y[0] * y[1], -(y[1] ** 2) / 2], (0, t), [theta, p], rtol=1e-11, atol=1e-12)
    assert simplex_geodesic(theta, p, t=t) == pytest.approx(run.y[:, -1], rel=1e-8)
    # Beyond 0 the square root has changed its sign: theta is above 0, the energy theta p^2 is kept, and p points outward.
    after, momentum = simplex_geodesic(theta, -4.0, t=t)
    assert after > 0 and momentum > 0 and after * momentum**2 == pytest.approx(theta * 16)


COUNTS = {"name": "expanded-mean", "data": [[3, 0, 1], [1, 2, 4]], "concentration": [1.5, 2.0, 1.5]}


@pytest.mark.power  # 3.1 s
def test_chains_on_the_simplex_have_the_averages_of_the_posterior_and_without_log_det_g_others() -> None:
    """At h = 0.1 the bias, of order h^2, is 0.015 in every coordinate, found with ten times as many chains."""
    c = load_configuration({"target": COUNTS, "chains": 150, "friction": 1.0})
    target = build_target(c.target)
    truth = [
        float(reference_average(target, parse_observable(f"theta[{k}]", 3, ("theta",)), 1)) for k in range(3)
    ]

    def off(step: Scheme) -> np.ndarray:
        run = sample_states(
            step,
            target,
            fixed([0.1], [2500]),
            at=range(500, 2501, 25),
            settings=Settings.of(c, compiled=False),
        )
        theta = run.values["theta"][0]
        assert (theta > 0).all()
        means = theta.mean(0)
        # Errors beyond the bias, in standard errors over chains.
        return (np.abs(means.mean(0) - truth) - 0.02) / (means.std(0, ddof=1) / len(means) ** 0.5)

    assert off(find_scheme("sgrhmc-simplex-baoab")).max() < 4.5
    assert off(of_simplex(B=without_determinant).word("BAOAB")).max() > 10


def test_the_kernel_takes_the_steps_of_the_definition() -> None:
    c = load_configuration({"target": COUNTS, "chains": 3, "steps": 40})
    target, where = build_target(c.target), range(10, 41, 10)
    runs = [
        sample_states(
            find_scheme("sgrhmc-simplex-baoab"),
            target,
            fixed([0.05], [40]),
            at=where,
            settings=Settings.of(c, compiled=how),
        ).values
        for how in (False, "kernel")
    ]
    for variable in ("theta", "p"):
        np.testing.assert_array_equal(runs[0][variable], runs[1][variable])
