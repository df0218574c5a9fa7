"""Truncated series: every O(s^n) is carried, so that nothing is claimed that was lost."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify.errors import NotExpandableError
from sgverify.exact.rings.context import SLOTS, multi_indices
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.rings.ring import Ring
from sgverify.schemes import exp, expm1, sqrt

CAP = 12


@pytest.fixture
def ring() -> Ring:
    return Ring(1, {"theta": "vector"}, ("D", "T"), depth=2, draws=1, minibatches=1, cap=CAP)


def series(ring: Ring, order: int = EXACT, **terms: object) -> TruncatedSeries:
    """series(ring, 9, s4=1, s5=2) is s^4 + 2 s^5 + O(s^9)."""
    return TruncatedSeries(ring, {int(k[1:]): ring.constant(c) for k, c in terms.items()}, order)


def numbers(value: TruncatedSeries) -> dict[int, Fraction]:
    found = {}
    for k, c in value.terms.items():
        assert c.is_constant()
        leading = c.leading_coefficient()
        found[k] = Fraction(int(leading.p), int(leading.q))
    return found


def test_orders_of_sums_and_products(ring: Ring) -> None:
    a, b = series(ring, 7, s2=1), series(ring, 5, s1=1)
    assert (a + b).order == 5 and numbers(a + b) == {1: 1, 2: 1}
    # (s^2 + O(s^7)) (s + O(s^5)) = s^3 + O(s^7): min(2 + 5, 1 + 7).
    assert (a * b).order == 7 and numbers(a * b) == {3: 1}
    assert (a * series(ring, s1=1)).order == 8
    assert (a * 3).order == 7 and (a - a).terms == {}
    assert (series(ring, s2=1) * series(ring, s3=1)).order == EXACT
    # An unknown series of valuation n multiplies up too: O(s^4) times s^2 is O(s^6).
    assert (series(ring, 4) * series(ring, s2=1)).order == 6


def test_nothing_is_kept_beyond_the_cap(ring: Ring) -> None:
    product = series(ring, s7=1, s1=1) * series(ring, s6=1)
    assert (numbers(product), product.order) == ({7: 1}, CAP)
    with pytest.raises(NotExpandableError, match="known to s"):
        product.coefficient(13)
    assert series(ring, s1=1).coefficient(100) == 0


def test_a_coefficient_beyond_the_order_is_not_zero(ring: Ring) -> None:
    value = series(ring, 4, s1=1)
    assert value.coefficient(3) == 0
    with pytest.raises(NotExpandableError, match=r"s\^4 was lost"):
        value.coefficient(4)


def test_a_square_root_loses_orders_and_says_so(ring: Ring) -> None:
    """sqrt(s^4 (1 + s) + O(s^9)) = s^2 (1 + s/2 - s^2/8 + ...) + O(s^7), 9 - 4/2."""
    root = sqrt(series(ring, 9, s4=1, s5=1))
    assert root.order == 7
    assert numbers(root) == {
        2: 1,
        3: Fraction(1, 2),
        4: Fraction(-1, 8),
        5: Fraction(1, 16),
        6: Fraction(-5, 128),
    }
    with pytest.raises(NotExpandableError):
        root.coefficient(7)
    square = root * root
    assert (numbers(square), square.order) == ({4: 1, 5: 1}, 9)


def test_a_root_of_an_exact_series(ring: Ring) -> None:
    assert (numbers(sqrt(series(ring, s4=9))), sqrt(series(ring, s4=9)).order) == ({2: 3}, EXACT)
    root = sqrt(series(ring, s2=4, s4=4))
    assert numbers(root * root) == {2: 4, 4: 4}
    assert sqrt(series(ring)).terms == {} and sqrt(series(ring)).order == EXACT
    # Of sqrt(0 + O(s^9)) only O(s^(9/2)) is known, that is O(s^5) in whole powers.
    assert sqrt(series(ring, 9)).order == 5
    with pytest.raises(NotExpandableError, match="odd power"):
        sqrt(series(ring, s3=1))


def test_quotients(ring: Ring) -> None:
    quotient = 1 / series(ring, s0=1, s1=1)
    assert numbers(quotient) == {k: (-1) ** k for k in range(CAP)} and quotient.order == CAP
    # (s^3 + O(s^8)) / (s (1 + s) + O(s^6)) = s^2 - s^3 + ... + O(s^7).
    quotient = series(ring, 8, s3=1) / series(ring, 6, s1=1, s2=1)
    assert (numbers(quotient), quotient.order) == ({2: 1, 3: -1, 4: 1, 5: -1, 6: 1}, 7)
    assert numbers(expm1(series(ring, s2=1)) / series(ring, s2=1))[4] == Fraction(1, 6)
    assert numbers(series(ring, s0=1, s1=1) ** -2)[1] == -2
    for bad in (series(ring), series(ring, 5)):
        with pytest.raises(NotExpandableError, match="division by zero"):
            1 / bad
    # A pole may cancel; what still has one tends to nothing.
    assert numbers(series(ring, s3=1) * (1 / series(ring, s1=1))) == {2: 1}
    with pytest.raises(NotExpandableError, match="vanishes with h"):
        (1 / series(ring, s1=1)).coefficient(0)


def test_exponentials(ring: Ring) -> None:
    assert numbers(exp(series(ring, s1=1)))[5] == Fraction(1, 120)
    assert numbers(expm1(series(ring, s1=1)))[1] == 1 and 0 not in expm1(series(ring, s1=1)).terms
    assert exp(series(ring, 4, s1=1)).order == 4
    assert numbers(exp(series(ring))) == {0: 1}
    product = exp(series(ring, s2=3)) * exp(series(ring, s2=-3))
    assert numbers(product) == {0: 1}
    theta = TruncatedSeries(ring, {0: ring.generator("theta", 0)}, EXACT)
    # Of the state it is a symbol, and that of -theta its reciprocal.
    assert ring.reduce((exp(theta) * exp(-theta) - 1).coefficient(0)) == 0
    # With s in front it is a series in theta.
    assert exp(theta * series(ring, s1=1)).coefficient(2) == ring.generator("theta", 0) ** 2 * ring.constant(
        Fraction(1, 2)
    )


def test_roots_of_parameters_and_opaque_roots(ring: Ring) -> None:
    d, t = (TruncatedSeries(ring, {0: ring.generator("root", name) ** 2}, EXACT) for name in ("D", "T"))
    assert sqrt(4 * d * t).coefficient(0) == 2 * ring.generator("root", "D") * ring.generator("root", "T")
    opaque = sqrt(d + t)
    assert opaque.coefficient(0) != 0
    assert ring.reduce((opaque * opaque).coefficient(0)) == (d + t).coefficient(0)
    # The same root is the same element, another one is not.
    assert sqrt(d + t).coefficient(0) == opaque.coefficient(0)
    assert sqrt(d + 2 * t).coefficient(0) != opaque.coefficient(0)
    assert ring.reduce(((opaque * opaque) ** 2).coefficient(0)) == ((d + t) ** 2).coefficient(0)
    with pytest.raises(NotExpandableError, match="depends on the state"):
        sqrt(TruncatedSeries(ring, {0: ring.generator("theta", 0)}, EXACT))


def test_surds_split_into_roots_of_primes(ring: Ring) -> None:
    six, two, three = (ring.constant(sqrt(n)) for n in (6, 2, 3))
    assert ring.reduce(six - two * three) == 0
    assert ring.reduce(six * six) == 6
    assert ring.text(two) == "sqrt(2)"
    # Roots are numbered as they are met: sqrt(6) brings sqrt(2) first.
    assert [ring.opaque[ring.position("slot", k)].number for k in (0, 1)] == [sqrt(2), sqrt(3)]


def test_too_many_roots_are_refused(ring: Ring) -> None:
    for n in range(SLOTS):
        sqrt(
            series(ring, s0=1) + TruncatedSeries(ring, {0: ring.generator("root", "D") ** (2 * n + 2)}, EXACT)
        )
    with pytest.raises(NotExpandableError, match=f"more than {SLOTS} different roots"):
        sqrt(series(ring, s0=7) + TruncatedSeries(ring, {0: ring.generator("root", "D") ** 2}, EXACT))


def test_floats_are_the_decimals_that_they_print_as(ring: Ring) -> None:
    assert numbers(series(ring, s0=1) * 0.1) == {0: Fraction(1, 10)}
    with pytest.raises(TypeError):
        series(ring, s0=1) * True
    with pytest.raises(TypeError):
        series(ring, s0=1) + "1"


def test_small_helpers() -> None:
    assert multi_indices(2, 2) == [(2, 0), (1, 1), (0, 2)]
    assert [len(multi_indices(3, n)) for n in range(5)] == [1, 3, 6, 10, 15]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_roots_of_long_decimals_have_their_relations_in_a_ring(order: tuple[int, ...]) -> None:
    D, T = Fraction("2.3949436547772383"), Fraction("1.8027847239676371")
    ring = Ring(1, {}, (), depth=0, draws=0, minibatches=1, cap=CAP)
    numbers = (2 * D * T, D, T)
    roots = {k: ring.constant(sqrt(numbers[k])) for k in order}
    assert all(ring.reduce(roots[k] ** 2) == ring.constant(numbers[k]) for k in order)
    assert ring.reduce(roots[0] - ring.constant(sqrt(2)) * roots[1] * roots[2]) == ring.zero
