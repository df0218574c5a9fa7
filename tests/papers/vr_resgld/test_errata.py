"""Errata of vr-resgld: each verdict against an oracle of its own, and each examination told a bug."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from sgverify.evidence import Erratum
from sgverify.exact.exchange.acceptance import covariance_of, estimates, swap_chance, unbalanced_terms
from sgverify.exact.exchange.first_swap import distance_from_gibbs, joint_law
from sgverify.papers.formula import UnconfirmedError, check_errata
from sgverify.testing.planting import edited_source

FAILING = {
    "lemma-1-minimum",
    "equation-20",
    "algorithm-1-variance",
    "algorithm-1-controls",
    "algorithm-1-minibatch",
    "equation-6",
    "equation-6-mean",
    "equation-14-footnote",
    "lemma-2",
    "lemma-d4",
    "lemma-d2",
    "lemma-d3",
    "lemma-d5",
    "lemma-d6",
    "theorem-1-constant",
    "theorem-2-time",
    "theorem-2-fixed-k",
}
STANDING = {"equation-3-optimum", "equation-13"}


@pytest.fixture(scope="module")
def found() -> dict[str, Erratum]:
    return {formula.id.partition("/")[2]: formula for formula in check_errata(["vr-resgld"])}


def test_what_falls_and_what_stands(found):
    assert {id for id, formula in found.items() if formula.fails} == FAILING
    assert {id for id, formula in found.items() if not formula.fails} == STANDING
    assert all(found[id].holds and found[id].certificate["difference"] for id in FAILING)


@pytest.mark.parametrize("u", [-6.0, -0.5, 0.0, 2.0])
@pytest.mark.parametrize("F", [1, 2, 100])
def test_the_chance_of_a_swap_is_the_integral_that_mpmath_finds(u, F):
    s = 1.5

    def integrand(z):
        return mpmath.npdf(z) * min(1, mpmath.exp(u - s**2 / F + s * z))

    kink = (s**2 / F - u) / s
    oracle = mpmath.quad(integrand, sorted([-12, 0, 12, max(-12, min(12, kink))]))
    assert float(swap_chance(Fraction(u), Fraction(9, 4), F=F)) == pytest.approx(float(oracle), rel=1e-12)


def test_balance_holds_at_factor_two_for_every_noise_and_nowhere_else():
    assert unbalanced_terms(Fraction(2)) == {}
    assert all(unbalanced_terms(F) for F in (Fraction(1), Fraction(19, 10), Fraction(3)))


def test_the_joint_law_is_the_power_iterate_of_a_plain_transition_matrix():
    """Numpy, with the chance by quadrature, from the words of the rule alone."""
    energies, taus, variance = (0.0, 1.0, 2.5), (1 / 3, 1.0), 1.0
    pairs = list(itertools.product(range(3), repeat=2))

    def chance(u, F):
        def integrand(x):
            return min(1.0, math.exp(x)) * scipy.stats.norm.pdf(x, u - variance / F, 1.0)

        return scipy.integrate.quad(integrand, -12, 12, points=[0.0], epsabs=1e-12, limit=200)[0]

    def local(tau):
        moves = np.array([[min(1, math.exp((a - b) / tau)) / 2 for b in energies] for a in energies])
        np.fill_diagonal(moves, 0)
        return moves + np.diag(1 - moves.sum(1))

    for F in (1, 2):
        swaps = np.zeros((9, 9))
        for row, (i, j) in enumerate(pairs):
            swaps[row, pairs.index((j, i))] += chance(2 * (energies[i] - energies[j]), F)
            swaps[row, row] += 1 - chance(2 * (energies[i] - energies[j]), F)
        step = np.kron(local(taus[0]), local(taus[1])) @ swaps
        law = np.linalg.matrix_power(step, 4000)[0]
        mine, _ = joint_law(1, F=F)
        assert np.allclose([float(x) for x in mine], law, atol=1e-9)
    assert float(distance_from_gibbs(1, F=1)) > 1e-3 > 1e-12 > float(distance_from_gibbs(1, F=2))


def test_the_corrected_bound_of_d4_is_above_the_chance_inside_its_domain_and_not_outside():
    def bound(u, v):
        return math.exp(u / 2 - v / 8 - u * u / 2 / v)

    for v in (0.25, 1.0, 9.0):
        for share in np.linspace(-0.5, 0.5, 21):
            assert float(swap_chance(Fraction(share * v), Fraction(v), F=2)) < bound(share * v, v)
    assert float(swap_chance(-16, 16, F=2)) > bound(-16.0, 16.0)


def test_the_closed_form_of_the_variance_is_that_of_all_minibatches():
    values = [Fraction(k * k, 3) for k in (1, 2, -3, 5)]
    for replacement, batch in itertools.product((True, False), (1, 2, 3)):
        every = estimates(values, batch, replacement=replacement)
        spread = Fraction(16, batch) * covariance_of(values, values)
        assert covariance_of(every, every) == spread * (1 if replacement else Fraction(4 - batch, 3))


def test_the_bias_of_the_same_minibatch_is_seen_by_plain_numpy(found):
    x, a = np.array([-1.0, 1.0, 4.0]), np.array([1.0, 2.0, 0.5])
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    total = 0.0
    for i, j in itertools.product(range(3), repeat=2):
        b = np.array([i, j])
        for z, w in zip(nodes, weights / weights.sum(), strict=True):
            moved = 1.0 - 0.1 * 1.5 * (a[b] * (1.0 - x[b])).sum() + math.sqrt(2 * 0.1 * 0.5) * z
            energy = a * (moved - x) ** 2 / 2
            control = a * x**2 / 2
            total += w / 9 * (1.5 * (energy[b] - control[b]).sum() + control.sum() - energy.sum())
    assert float(
        Fraction(found["algorithm-1-minibatch"].certificate["with the minibatch that moved theta"])
    ) == (pytest.approx(total, rel=1e-12))


def test_second_and_exponential_moments_of_two_replicas_against_the_moment_equations(found):
    """d/dt of E x^2 for dX = -C (X - mu) dt + sqrt(2 tau) dW, run to its end by scipy."""
    C, mu = 1.0, 3.0

    def flow(_, y):
        mean, first, second = y
        return [-C * (mean - mu), -2 * C * (first - mu * mean) + 0.5, -2 * C * (second - mu * mean) + 1.0]

    end = scipy.integrate.solve_ivp(flow, (0, 40), [0, 0, 0], rtol=1e-10, atol=1e-12).y[:, -1]
    assert end[1] + end[2] == pytest.approx(75 / 4, rel=1e-8)
    assert "75/4, above 17" in found["lemma-d5"].certificate["difference"]


@pytest.mark.parametrize(
    ("function", "was", "now", "ids"),
    [
        ("reduced_energy", "(there - total)", "(there + total)", ["algorithm-1-minibatch"]),
        (
            "reduced_energy",
            "here + coefficient",
            "here - coefficient",
            ["algorithm-1-controls", "equation-3-optimum"],
        ),
        ("best_coefficient", "-covariance", "covariance", ["equation-3-optimum"]),
        (
            "log_swap_rate",
            " - gap * variance / F",
            "",
            ["equation-6", "equation-6-mean", "equation-14-footnote"],
        ),
        ("log_swap_rate", "gap * variance / F", "variance / F", ["equation-6", "equation-14-footnote"]),
        ("inverse_gap", "1 / tau_1 - 1 / tau_2", "1 / tau_2 - 1 / tau_1", ["equation-13"]),
    ],
)
def test_a_bug_in_a_rule_is_never_confirmed(function, was, now, ids):
    """What is put in the place of a printed formula is computed from the rules: with a wrong rule it does not hold."""
    with edited_source(f"sgverify.schemes.composites.composite:{function}", ((was, now),)):
        for id in ids:
            with pytest.raises(UnconfirmedError):
                check_errata([f"vr-resgld/{id}"])
