"""Mean and covariance of one step's increment in powers of s = sqrt(h), and those of the dynamics, for every smooth potential.

With X_1 - X_0 = D, the operator f -> E f(X_1) has the coefficient E D_k of d_k and E D_k D_l of d_k d_l. A step has the
right generator where mean and covariance at h^1 are drift and 2 a; powers below h^1 are those of terms that forgot the
step size, and a covariance at h^2 alone is that of noise which is multiplied by h and not by its root.

The quotient of two coefficients that depend on parameters alone, in lowest terms, and how both are printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt

from sgverify.exact.numbers.matrix_series import unit
from sgverify.exact.rings.context import factor_text
from sgverify.exact.rings.polynomials import Polynomial, to_fraction
from sgverify.exact.rings.ring import Ring
from sgverify.exact.rings.roots import as_quotient
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.carrier import Signs, is_empty, on_every_branch
from sgverify.exact.series.equilibrated_memory import EquilibratedStep
from sgverify.exact.series.local_order import expand_step
from sgverify.exact.series.operators import Operator, exponential, generator_of, operator_of
from sgverify.schemes import Scheme
from sgverify.schemes.torch_step import TorchStep

SIMPLE = 100
"""A number with a smaller denominator is printed as a fraction."""


@dataclass(frozen=True)
class StepMoments:
    """The operators at s^0, ..., s^degree of one step on one branch, all minibatches the same one; s = sqrt(h).

    `where` says on which part of the states and parameters the branch lies, "" where the definition has one branch. `measured`: the
    step was run, and its operators are known to h.
    """

    scheme: Scheme | TorchStep
    ring: Ring
    operators: tuple[Operator, ...]
    where: str = ""
    measured: bool = False

    @property
    def degree(self) -> int:
        """The highest power of sqrt(h) that is known."""
        return len(self.operators) - 1

    def coordinates(self) -> range:
        """The numbers of the state's coordinates."""
        return range(len(self.ring.coordinates))

    @cached_property
    def exact(self) -> tuple[Operator, ...]:
        """L^k/k! at h^k, k = 0, 1, ...."""
        generator = generator_of(self.scheme.dynamics, self.ring)
        return tuple(exponential(generator, self.ring, self.degree // 2))

    def mean(self, k: int, j: int) -> Polynomial:
        """E D_k at s^j."""
        return self.operators[j].get(unit(len(self.ring.coordinates), k), self.ring.zero)

    def covariance(self, k: int, m: int, j: int) -> Polynomial:
        """Cov(D_k, D_m) at s^j."""
        return self._central(self.operators, k, m, j)

    def expected_mean(self, k: int, j: int) -> Polynomial:
        """E D_k of the diffusion, at s^j."""
        return self._exact_at(j).get(unit(len(self.ring.coordinates), k), self.ring.zero)

    def expected_covariance(self, k: int, m: int, j: int) -> Polynomial:
        """Cov(D_k, D_m) of the diffusion, at s^j."""
        return self._central([self._exact_at(i) for i in range(j + 1)], k, m, j)

    def _exact_at(self, j: int) -> Operator:
        return {} if j % 2 else self.exact[j // 2]

    def _central(self, operators: Sequence[Operator], k: int, m: int, j: int) -> Polynomial:
        size, ring = len(self.ring.coordinates), self.ring
        total = operators[j].get(unit(size, k, m), ring.zero) * ring.constant(2 if k == m else 1)
        for i in range(j + 1):
            first = operators[i].get(unit(size, k))
            second = operators[j - i].get(unit(size, m))
            if first and second:
                total = total - first * second
        return ring.reduce(total)


def moments_of(scheme: Scheme, dim: int, degree: int) -> list[StepMoments]:
    """The moments of one step through s^degree in dimension `dim`, branch by branch.

    Of a step with memory they are those of the step once the start of its memory is forgotten. Raises
    `NotExpandableError` where the step has no power series.
    """

    def on(signs: Signs) -> StepMoments | None:
        found = (
            _equilibrated(scheme, dim, degree, signs) if scheme.memory else _plain(scheme, dim, degree, signs)
        )
        return None if is_empty(found.ring) else found

    return [found for _, found in on_every_branch(on) if found is not None]


def _plain(scheme: Scheme, dim: int, degree: int, signs: Signs) -> StepMoments:
    ring, transition, _ = expand_step(scheme, dim, degree, signs=signs)
    operators = []
    for j in range(degree + 1):
        merged = merge_minibatches({(): transition.symbol(j)}, ring).get((), ring.zero)
        operators.append(operator_of(ring.reduce(merged), ring))
    return StepMoments(scheme, ring, tuple(operators), _where(ring, signs))


def _equilibrated(scheme: Scheme, dim: int, degree: int, signs: Signs) -> StepMoments:
    step = EquilibratedStep(scheme, dim, degree, degree + 2, signs)
    operators = [operator_of(step.symbol(j), step.ring) for j in range(degree + 1)]
    return StepMoments(scheme, step.ring, tuple(operators), _where(step.ring, signs))


def _where(ring: Ring, signs: Mapping[str, int]) -> str:
    texts = [f"{ring.text(f)} {'>' if signs[key] > 0 else '<'} 0" for key, f in ring.supposed.items()]
    return " and ".join(texts)


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
        numerator, below = as_quotient(numerator, ring)
        denominator, above = as_quotient(denominator, ring)
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
        above, below = (at_one(part, parameter, self.ring) for part in (self.numerator, self.denominator))
        return Quotient.of(above, below, self.ring)

    @property
    def text(self) -> str:
        """Such as "1/2", "1/T" or "(T + 1)/2"."""
        if self.denominator.is_constant():
            return printed(self.numerator, self.ring)
        top = printed(self.numerator, self.ring)
        bottom = printed(self.denominator, self.ring)
        top = f"({top})" if len(self.numerator) > 1 else top
        return f"{top}/({bottom})" if " " in bottom or "/" in bottom else f"{top}/{bottom}"


def at_one(value: Polynomial, parameter: str, ring: Ring) -> Polynomial:
    """A polynomial where a parameter is 1."""
    name = ring.context.name(ring.position("root", parameter))
    return value.subs({name: 1})


def printed(value: Polynomial, ring: Ring, most: int = 6) -> str:
    """A coefficient as a formula has it: "D T/2", "-grad U", "p.p/2 - T"; at most `most` terms."""
    if not value:
        return "0"
    terms = sorted(value.to_dict().items(), reverse=True)
    shown = [_term(exponents, to_fraction(factor), ring) for exponents, factor in terms[:most]]
    text = " + ".join(shown).replace("+ -", "- ")
    return text + (" + ..." if len(terms) > most else "")


def number_text(value: Fraction) -> str:
    """A number, as a fraction where it is a simple one, else in decimals."""
    return str(value) if value.denominator < SIMPLE else f"{float(value):.6g}"


def root_text(value: Fraction) -> str:
    """The square root of a positive number, such as "2", "sqrt(2)" or "sqrt(2/3)"."""
    n, d = value.numerator, value.denominator
    if d >= SIMPLE:
        return f"{float(value) ** 0.5:.4g}"
    if isqrt(n) ** 2 == n and isqrt(d) ** 2 == d:
        return str(Fraction(isqrt(n), isqrt(d)))
    return f"sqrt({value})"


def _term(exponents: tuple[int, ...], factor: Fraction, ring: Ring) -> str:
    names = []
    # Parameters before the state, as formulas are written: D T, -D p.
    places = sorted(range(len(exponents)), key=lambda k: (k not in ring.parameter_positions, k))
    for position, power in ((k, int(exponents[k])) for k in places):
        if power:
            names.append(factor_text(*ring.label(position), power))
    lead, _, bottom = number_text(abs(factor)).partition("/")
    below = [name[2:] for name in names if name.startswith("1/(")]
    names = [name for name in names if not name.startswith("1/(")]
    divisors = [bottom] * bool(bottom) + [
        text[1:-1] if text[1:-1].isalnum() and text.endswith(")") else text for text in below
    ]
    parts = [lead] * (lead != "1" or not names) + names
    return "-" * (factor < 0) + " ".join(parts) + "".join(f"/{text}" for text in divisors)
