"""The quotient of two coefficients that depend on parameters alone, in lowest terms, and how both are printed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from sgverify.exact.rings.polynomials import Polynomial, coefficients_in, to_fraction
from sgverify.exact.rings.ring import Ring


@dataclass(frozen=True)
class Quotient:
    """numerator / denominator, polynomials in the roots of the parameters without a common factor."""

    numerator: Polynomial
    denominator: Polynomial
    ring: Ring

    @staticmethod
    def of(numerator: Polynomial, denominator: Polynomial, ring: Ring) -> Quotient:
        """The quotient in lowest terms, the leading coefficient of the denominator 1."""
        if not numerator:
            return Quotient(numerator, ring.one, ring)
        numerator, below = _without_reciprocals(numerator, ring)
        denominator, above = _without_reciprocals(denominator, ring)
        numerator, denominator = numerator * above, denominator * below
        common = numerator.gcd(denominator)
        top, bottom = numerator // common, denominator // common
        lead = ring.constant(1 / to_fraction(bottom.leading_coefficient()))
        return Quotient(top * lead, bottom * lead, ring)

    @property
    def number(self) -> Fraction | None:
        """The ratio where it is a rational number, else None."""
        if not self.numerator:
            return Fraction(0)
        if not (self.numerator.is_constant() and self.denominator.is_constant()):
            return None
        return to_fraction(self.numerator.leading_coefficient()) / to_fraction(
            self.denominator.leading_coefficient()
        )

    @property
    def is_one(self) -> bool:
        """Whether both are the same."""
        return bool(self.numerator == self.denominator)

    def depends_on(self, parameter: str) -> bool:
        """Whether a parameter, such as T, occurs."""
        if parameter not in self.ring.parameters:
            return False
        at = self.ring.position("root", parameter)
        return self.numerator.degrees()[at] > 0 or self.denominator.degrees()[at] > 0

    def at_one(self, parameter: str) -> Quotient:
        """The ratio where a parameter is 1."""
        name = self.ring.context.name(self.ring.position("root", parameter))
        values: dict[str | int, int] = {name: 1}
        return Quotient.of(self.numerator.subs(values), self.denominator.subs(values), self.ring)

    @property
    def text(self) -> str:
        """Such as "1/2", "1/T" or "(T + 1)/2"."""
        if self.denominator.is_constant():
            return printed(self.numerator, self.ring)
        top = printed(self.numerator, self.ring)
        bottom = printed(self.denominator, self.ring)
        top = f"({top})" if len(self.numerator) > 1 else top
        return f"{top}/({bottom})" if " " in bottom or "/" in bottom else f"{top}/{bottom}"


def _without_reciprocals(value: Polynomial, ring: Ring) -> tuple[Polynomial, Polynomial]:
    """(n, d) with value = n/d, n and d without the elements 1/q of the ring."""
    bottom = ring.one
    for position in sorted(ring.reciprocals, reverse=True):
        parts = coefficients_in(value, position)
        below = ring.reciprocals[position]
        most = len(parts) - 1
        if most > 0:
            value = sum((part * below ** (most - n) for n, part in enumerate(parts)), ring.zero)
            bottom = bottom * below**most
    return value, bottom


def printed(value: Polynomial, ring: Ring, most: int = 6) -> str:
    """A coefficient as a formula has it: "D T/2", "-grad U", "p.p/2 - T"; at most `most` terms."""
    if not value:
        return "0"
    terms = sorted(value.to_dict().items(), reverse=True)
    shown = [_term(exponents, to_fraction(factor), ring) for exponents, factor in terms[:most]]
    text = " + ".join(shown).replace("+ -", "- ")
    return text + (" + ..." if len(terms) > most else "")


def root_text(value: Fraction) -> str:
    """The square root of a positive number, such as "2", "sqrt(2)" or "sqrt(2/3)"."""
    n, d = value.numerator, value.denominator
    if isqrt(n) ** 2 == n and isqrt(d) ** 2 == d:
        return str(Fraction(isqrt(n), isqrt(d)))
    return f"sqrt({value})"


def _term(exponents: tuple[int, ...], factor: Fraction, ring: Ring) -> str:
    names = []
    # Parameters before the state, as formulas are written: D T, -D p.
    places = sorted(range(len(exponents)), key=lambda k: (k not in ring.parameter_positions, k))
    for position, power in ((k, int(exponents[k])) for k in places):
        if power:
            label, unit = ring.label(position)
            whole, half = divmod(power, unit)
            names += [f"{label}^{whole}" if whole > 1 else label] * bool(whole) + [f"sqrt({label})"] * bool(
                half
            )
    top, bottom = abs(factor.numerator), factor.denominator
    below = [name[2:] for name in names if name.startswith("1/(")]
    names = [name for name in names if not name.startswith("1/(")]
    divisors = [str(bottom)] * (bottom != 1) + [
        text[1:-1] if text[1:-1].isalnum() and text.endswith(")") else text for text in below
    ]
    parts = [str(top)] * (top != 1 or not names) + names
    return "-" * (factor < 0) + " ".join(parts) + "".join(f"/{text}" for text in divisors)


__all__ = ["Quotient", "printed", "root_text"]
