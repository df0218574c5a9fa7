"""The mean flow of several minibatches, against logarithms of matrix exponentials and against steps that run."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.linalg
import sympy

from sgverify.checks import verify
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.operators import compose, difference, transition_of
from sgverify.exact.splittings import mean_flow
from sgverify.exact.splittings.mean_flow import (
    corrected,
    induction_defect,
    noise_moves_at_third_order,
    noises_commute,
    printed,
    second_order,
    subtract,
    third_order_of_halves,
    weight,
)
from sgverify.schemes import find_scheme, kinetic, langevin
from sgverify.schemes.dynamics import thermostat
from tests.tables import each_row

H = sympy.Symbol("h")


def nilpotent(seed: int) -> sympy.Matrix:
    entries = np.triu(np.random.default_rng(seed).integers(-3, 4, (4, 4)), 1)
    return sympy.Matrix(entries.tolist())


def exponential(matrix: sympy.Matrix) -> sympy.Matrix:
    return sum((matrix**k / sympy.factorial(k) for k in range(1, 4)), sympy.eye(4))


def logarithm(matrix: sympy.Matrix) -> sympy.Matrix:
    rest = matrix - sympy.eye(4)
    return sum(((-1) ** (k + 1) * rest**k / k for k in range(1, 4)), sympy.zeros(4))


def commutator(name: str, matrices: dict[str, sympy.Matrix]) -> sympy.Matrix:
    left, right = (matrices[part] for part in name.strip("[]").split(","))
    return left * right - right * left


@pytest.mark.parametrize("batches", [2, 3, 5])
def test_it_is_the_logarithm_of_a_product_of_matrix_exponentials(batches: int) -> None:
    matrices = {"L": nilpotent(0), **{f"dV{i}": nilpotent(i) for i in range(1, batches + 1)}}
    product = sympy.eye(4)
    for i in range(1, batches + 1):
        product = product * exponential(H * (matrices["L"] + matrices[f"dV{i}"]))
    found = logarithm(product.applyfunc(sympy.expand)).applyfunc(lambda x: sympy.expand(x).coeff(H, 2))
    ours = sum(
        (
            sympy.Rational(str(c)) * commutator(name, matrices)
            for name, c in second_order(batches, commuting=False).items()
        ),
        sympy.zeros(4),
    )
    assert found == ours
    wrong = ours + commutator("[L,dV1]", matrices)
    assert found != wrong


@each_row("batches", range(2, 7))
def test_the_corrected_formula_is_the_logarithm_and_the_printed_one_is_not(batches: int) -> None:
    truth, as_written = (second_order(batches, commuting=True, last_first=last) for last in (False, True))
    assert subtract(corrected(batches), truth) == {}
    assert as_written == {name: -value for name, value in truth.items()}
    assert subtract(printed(batches), truth) and subtract(printed(batches), as_written)


def test_the_induction_is_complete_and_sees_a_wrong_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    assert induction_defect() == {}
    monkeypatch.setattr(mean_flow, "weight", lambda m, i: 2 * i - m - 2)
    assert set(mean_flow.induction_defect()) == {"w(m+1, m+1) - m", "w(1, 1)"}
    assert weight(5, 3) == 0


@pytest.mark.parametrize("batches", [2, 8, 64])
def test_the_remainder_of_opposite_halves_does_not_fall_with_the_number_of_steps(batches: int) -> None:
    """Floating-point flows of one time T: what the logarithm has beyond h^2 is T^3/24 [[L, V], V] up to O(T^4)."""
    flow, noise = np.array([[0.3, 1.0], [-1.0, 0.2]]), np.array([[0.0, 1.0], [0.5, 0.0]])
    time = 0.01
    h = time / batches
    product = np.eye(2)
    for i in range(1, batches + 1):
        product = product @ scipy.linalg.expm(h * (flow + (noise if 2 * i <= batches else -noise)))
    bracket = flow @ noise - noise @ flow
    weights = sum((c if 2 * int(name[5:-1]) <= batches else -c) for name, c in corrected(batches).items())
    left = scipy.linalg.logm(product) - time * flow - h**2 * float(weights) * bracket
    third = {name: float(c) for name, c in third_order_of_halves().items()}
    assert set(third) == {"[[L,V],V]"} and third["[[L,V],V]"] == pytest.approx(1 / 24)
    expected = time**3 * third["[[L,V],V]"] * (bracket @ noise - noise @ bracket)
    assert np.abs(left - expected).max() < 0.02 * np.abs(expected).max()
    assert noise_moves_at_third_order(kinetic, 1)


def test_noises_commute_where_they_move_the_momentum() -> None:
    found = {d.name: [noises_commute(d, dim) for dim in (1, 2)] for d in (kinetic, thermostat, langevin)}
    assert found == {"kinetic": [True, True], "thermostat": [True, True], "langevin": [False, False]}


def test_two_steps_that_run_have_the_corrected_sign() -> None:
    """ABOBA with two minibatches: P_1 P_2 - P_2 P_1 = h^2 [L_1, L_2] + O(h^3), for every smooth U and noise."""
    scheme = find_scheme("sghmc-aboba")
    dynamics = scheme.dynamics
    ring = Ring(1, dynamics.shapes, dynamics.parameters, depth=6, draws=2, minibatches=2, cap=5)
    together = transition_of(scheme, ring, 4, steps=2).at(4)
    one = transition_of(scheme, ring, 4)
    halves = {j: one.at(j) for j in (2, 4)}

    def of(minibatch, operator):
        if minibatch == 0:
            return operator
        swapped = {}
        for index, value in operator.items():
            moved = {}
            for exponents, factor in value.to_dict().items():
                key = list(exponents)
                for a in ring.derivatives:
                    key[ring.position("U", 1, a)] = key[ring.position("U", 0, a)]
                    key[ring.position("U", 0, a)] = 0
                moved[tuple(key)] = factor
            swapped[index] = ring.context.from_dict(moved)
        return swapped

    def product(first, second):
        total = dict(halves_of[first][4])
        for part in (halves_of[second][4], compose(halves_of[first][2], halves_of[second][2], ring)):
            for index, value in part.items():
                total[index] = total[index] + value if index in total else value
        return total

    halves_of = [{j: of(m, operator) for j, operator in halves.items()} for m in (0, 1)]
    assert difference(together, product(0, 1), ring) == {}
    assert difference(together, product(1, 0), ring) != {}


def test_the_check_refutes_the_printed_theorem_and_judges_by_the_corrected_one() -> None:
    evidence = verify("sghmc-aboba", checks=["mean-flow"], gradient={"kind": "iid"})
    assert [(e.claim, e.verdict, e.refuted) for e in evidence] == [
        ("chen2015/theorem-14", "violates", True),
        ("corrected/theorem-14", "conforms", False),
    ]
    assert evidence[0].found.exponent == 1 and evidence[0].method == "proof"
    (other,) = verify("sghmc-euler", checks=["mean-flow"], gradient={"kind": "iid"})
    assert other.verdict == "not-applicable"


def test_weights_sum_to_zero() -> None:
    """If every dV_i is the same the flows commute, and nothing is left."""
    for m in range(2, 7):
        total = sum((c for _, c in itertools.chain(corrected(m).items())), Fraction(0))
        assert total == 0
