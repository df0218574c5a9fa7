"""Exact computations end: by their size always, by their time where that is limited."""

from __future__ import annotations

import pytest

from sgverify import scheme, sqrt
from sgverify.errors import NotExpandableError, TooLargeError
from sgverify.exact.rings import polynomials as time_limit
from sgverify.exact.rings.polynomials import MOST_PRODUCTS, OutOfTimeError, check_time, limited
from sgverify.exact.series.local_order import local_order
from sgverify.schemes import langevin


def test_the_size_of_a_product_is_always_limited() -> None:
    check_time(MOST_PRODUCTS)
    with pytest.raises(TooLargeError, match="too many draws, stages or letters"):
        check_time(MOST_PRODUCTS + 1)


def test_the_time_is_limited_within_its_context() -> None:
    check_time(0)
    with limited(0.0), pytest.raises(OutOfTimeError):
        check_time()


def test_many_draws_are_too_large_and_not_without_a_power_series(monkeypatch: pytest.MonkeyPatch) -> None:
    @scheme(langevin, order=1)
    def scattered(theta, *, h, grad, noise, T):
        return theta - h * grad(theta) + sqrt(2 * T * h / 8) * sum((noise() for _ in range(7)), noise())

    assert local_order(scattered).order == 1
    monkeypatch.setattr(time_limit, "MOST_PRODUCTS", 1000)
    with pytest.raises(TooLargeError) as met:
        local_order(scattered)
    assert met.value.told().startswith("the power series of the step is too large; a product of ")
    assert (
        NotExpandableError("abs").told("a letter", ", ")
        == "a letter has no power series in sqrt(h), it uses abs"
    )
