"""Orders that a root, a quotient or a cut Taylor series loses: found again or refused, never claimed silently."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sgverify import exp, expm1, scheme, sqrt
from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import EntrywiseVector
from sgverify.exact.rings.power_series import EXACT, TruncatedSeries
from sgverify.exact.series.carrier import SeriesGradient
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import NAMED, Scheme, kinetic


def baoab(power: int) -> Scheme:
    """BAOAB, its amplitude written as sqrt(h^(2 power) X) / h^power: the same step, but a root that starts late."""

    @scheme(kinetic)
    def step(theta, p, *, h, grad, noise, D, T):
        p = p - h / 2 * grad(theta)
        theta = theta + h / 2 * p
        spread = sqrt(-T * expm1(-2 * D * h) * h ** (2 * power)) / h**power
        p = exp(-D * h) * p + spread * noise()
        theta = theta + h / 2 * p
        return theta, p - h / 2 * grad(theta)

    return step


@scheme(kinetic)
def finite_difference(theta, p, *, h, grad, noise, D, T):
    """A slope h U'' p from the difference of two gradients h^3 p apart, which cancels below s^6."""
    slope = (grad(theta + h**3 * p) - grad(theta)) / h**2
    return theta + h * p, exp(-D * h) * p - h * (grad(theta) + slope) + sqrt(2 * D * T * h) * noise()


@scheme(kinetic)
def expanded(theta, p, *, h, grad, noise, D, T):
    """The same slope through h, without a quotient: both steps differ from exp(hL) at h^2, and alike."""
    slope = grad(theta + h * p) - grad(theta)
    return theta + h * p, exp(-D * h) * p - h * (grad(theta) + slope) + sqrt(2 * D * T * h) * noise()


def same_as_written_plainly() -> bool:
    """Whether the roots that start late give what BAOAB gives."""
    plain = local_order(NAMED["sghmc-baoab"], 2)
    return all(local_order(baoab(power), 2) == plain for power in (0, 1))


def same_as_without_quotient() -> bool:
    return local_order(finite_difference, 2) == local_order(expanded, 2)


def test_roots_that_start_late_are_followed() -> None:
    assert same_as_written_plainly()


def test_a_root_that_starts_too_late_is_refused() -> None:
    with pytest.raises(NotExpandableError, match="too few orders"):
        local_order(baoab(4), 1)


def test_a_gradient_is_known_to_the_cap_and_no_further() -> None:
    assert same_as_without_quotient()


@pytest.fixture
def forgetful_root() -> Iterator[None]:
    """Planted: the root of s^(2m)(...) + O(s^n) claims O(s^n) instead of O(s^(n-m))."""
    right = sqrt.dispatch(TruncatedSeries)

    def planted(value: TruncatedSeries) -> TruncatedSeries:
        root = right(value)
        return TruncatedSeries(root.ring, root.terms, max(root.order, value.order))

    sqrt.register(TruncatedSeries, planted)
    yield
    sqrt.register(TruncatedSeries, right)


def test_a_root_that_forgets_to_lower_its_order_is_caught(forgetful_root: None) -> None:
    assert not same_as_written_plainly()


def test_a_gradient_that_forgets_its_cut_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = SeriesGradient.__call__

    def planted(self: SeriesGradient, position: EntrywiseVector) -> EntrywiseVector:
        return EntrywiseVector(
            [TruncatedSeries(e.ring, e.terms, EXACT) for e in right(self, position).entries]
        )

    monkeypatch.setattr(SeriesGradient, "__call__", planted)
    assert not same_as_without_quotient()
