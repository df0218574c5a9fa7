"""The average over minibatches: binomial expansion of (U_a + W_a), the W of different minibatches independent."""

from __future__ import annotations

import pytest

from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.averaging import average, merge_minibatches, print_moments

INDEX = (1,)


@pytest.fixture
def ring() -> Ring:
    return Ring(1, {"theta": "vector"}, ("T",), depth=3, draws=0, minibatches=2, cap=5)


def potential(ring: Ring, minibatch: int, derivative: int = 1):
    return ring.generator("U", minibatch, (derivative,))


def test_powers_of_one_minibatch(ring: Ring) -> None:
    """E (U + W)^3 = U^3 + 3 U E W^2 + E W^3, and E W = 0."""
    u = potential(ring, 0)
    parts = average({INDEX: u**3}, ring)
    assert parts == {
        (): {INDEX: u**3},
        (((1,), (1,)),): {INDEX: 3 * u},
        (((1,), (1,), (1,)),): {INDEX: ring.one},
    }
    assert average({INDEX: potential(ring, 1)}, ring) == {(): {INDEX: u}}


def test_different_derivatives_of_one_minibatch_are_dependent(ring: Ring) -> None:
    u, v = potential(ring, 0), potential(ring, 0, 2)
    parts = average({INDEX: u**2 * v}, ring)
    assert parts[((1,), (1,)),] == {INDEX: v}
    assert parts[((1,), (2,)),] == {INDEX: 2 * u}
    assert parts[((1,), (1,), (2,)),] == {INDEX: ring.one}
    assert len(parts) == 4


def test_two_minibatches_are_independent(ring: Ring) -> None:
    u = potential(ring, 0)
    assert average({INDEX: u * potential(ring, 1)}, ring) == {(): {INDEX: u**2}}
    parts = average({INDEX: u**2 * potential(ring, 1) ** 2}, ring)
    family = ((1,), (1,))
    assert parts == {
        (): {INDEX: u**4},
        (family,): {INDEX: 2 * u**2},
        (family, family): {INDEX: ring.one},
    }


def test_merging_is_what_the_paper_proves_about(ring: Ring) -> None:
    u = potential(ring, 0)
    assert merge_minibatches({INDEX: u - potential(ring, 1), (2,): u * potential(ring, 1)}, ring) == {
        (2,): u**2
    }


def test_moments_as_text() -> None:
    assert print_moments((((1,), (1,)),), 1) == "E[(W')^2]"
    assert print_moments((((1,), (2,)), ((1,), (1,))), 1) == "E[W' W''] E[(W')^2]"
    assert print_moments((((1, 0), (0, 1)),), 2) == "E[W_1 W_2]"
