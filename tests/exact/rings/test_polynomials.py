"""What the power-series reading asks of a polynomial."""

from __future__ import annotations

from fractions import Fraction

from sgverify.exact.rings.polynomials import coefficients_in, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.schemes import sqrt


def test_what_the_reading_asks_of_a_polynomial() -> None:
    ring = Ring(1, {"theta": "vector"}, ("D",), depth=2, draws=1, minibatches=1, cap=5)
    x, d = ring.generator("theta", 0), ring.generator("root", "D")
    value = 3 * x**2 * d + x * ring.constant(Fraction(2, 7)) - ring.one
    assert len(value) == 3 and value and not value - value
    assert [int(n) for n in value.degrees()][:2] == [2, 0]
    assert value.derivative(0) == 6 * x * d + ring.constant(Fraction(2, 7))
    assert coefficients_in(value, 0) == [-ring.one, ring.constant(Fraction(2, 7)), 3 * d]
    assert divmod(value * x, x) == (value, ring.zero)
    assert divmod(x + d, x * d)[1] == x + d
    assert ring.one.is_constant() and not value.is_constant()
    assert to_fraction(ring.constant(Fraction(-2, 7)).leading_coefficient()) == Fraction(-2, 7)
    assert ring.context.from_dict(value.to_dict()) == value
    assert sorted(value.monoms()) == sorted(value.to_dict())
    # Roots inside roots are carried out from the outermost in.
    inner = ring.sqrt(d**2 + ring.one)
    outer = ring.sqrt(inner + ring.one)
    assert ring.reduce(outer**4) == d**2 + 2 * inner + 2 * ring.one
    assert ring.text(ring.sqrt(ring.constant(12))) == "2 sqrt(3)"
    assert to_fraction(ring.constant(sqrt(4)).leading_coefficient()) == 2
