"""Leading errors of words on a class of targets: linear in the coefficients of words, which hold all that shares have to say.

In E f = exp(c_1 h X_1) exp(c_2 h X_2) ... f = sum_w e_w(c) h^|w| w f each product w of letters has a coefficient of the shares
alone, and an integral int (w psi) rho of the target alone. With q_w = w^* rho / rho:
- the law is invariant to order r where sum_(|w| = j) e_w q_w = 0 for j = 2..r: linear conditions on the coefficients;
- then averages of f are off by -h^r sum_(|w| = r+1) e_w int psi q_w rho + ..., L psi = f - int f rho (Talay and Tubaro 1990).

The class: U = theta^2/2 + a theta^3/6 + b theta^4/24 with a and b to first order, T = 1, and several frictions. By the scales of
time, theta and p it stands for every Gaussian in any dimension (each of its modes, of precision k, with the friction D/sqrt(k)),
for every T, and for the third and fourth derivatives of what is near it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import factorial, prod

from flint import fmpq, fmpq_mat

from sgverify.errors import ConfigurationError, NotExpandableError
from sgverify.exact.rings.context import Index
from sgverify.exact.rings.evaluation import FRACTIONS, Values, by_key
from sgverify.exact.rings.polynomials import Key, Polynomial, parts_in, polynomials_in, to_fmpq, to_fraction
from sgverify.exact.series.letters import AlphabetProof
from sgverify.exact.stationarity.fokker_planck import read_density
from sgverify.schemes import Dynamics

FRICTIONS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""D/sqrt(k), from weak damping over critical damping, 2, to strong damping."""

STILL, SKEWED, QUARTIC = (0, 0), (1, 0), (0, 1)
"""The powers of a and b that are kept."""

Rows = list[list[Fraction]]


def members_of(proof: AlphabetProof, dynamics: Dynamics) -> list[Member]:
    """The class at each friction; one alone where the dynamics has none. Raises `ConfigurationError` for other letters."""
    frictions = FRICTIONS if "D" in dynamics.parameters else FRICTIONS[:1]
    try:
        return [Member(proof, dynamics, D) for D in frictions]
    except NotExpandableError as error:
        raise ConfigurationError(
            f"dynamics={dynamics.name!r}: {error}; expected letters and a density that are polynomials in the state"
        ) from None


def conditions(members: list[Member], degree: int) -> Rows:
    """Rows, independent of one another, whose products with the coefficients of the words of a degree must vanish."""
    rows = []
    for member in members:
        found = [q.to_dict() for q in member.adjoints(degree)]
        rows += [[fmpq(q.get(m, 0)) for q in found] for m in sorted({m for q in found for m in q})]
    reduced, rank = fmpq_mat(rows).rref() if rows else (fmpq_mat(0, 0), 0)
    return [[to_fraction(value) for value in row] for row in reduced.tolist()[:rank]]


class Member:
    """The letters on one target of the class, as operators on polynomials in the state, a and b."""

    def __init__(self, proof: AlphabetProof, dynamics: Dynamics, friction: Fraction) -> None:
        ring, self.friction = proof.ring, friction
        if dynamics.density is None:
            raise NotExpandableError("it states no density")
        log_density = ring.reduce(read_density(dynamics.density, ring))
        arguments = [what.argument for what in ring.opaque.values() if what.argument is not None]
        if not all(map(ring.depends_only_on_parameters, arguments)):
            raise NotExpandableError("it takes functions of the state")
        self.names = list(dynamics.state)
        self.context = polynomials_in([*self.names, "a", "b"])
        *state, a, b = self.context.gens()
        self.theta = state[self.names.index("theta")]
        U = self.theta**2 * fmpq(1, 2) + a * self.theta**3 * fmpq(1, 6) + b * self.theta**4 * fmpq(1, 24)
        numbers: dict[Key, Polynomial] = {
            ("U", 0, (0,)): U,
            ("U", 0, (1,)): U.derivative(self.names.index("theta")),
        }
        numbers |= {(name, 0): x for name, x in zip(self.names, state, strict=True)}
        kind = replace(FRACTIONS, coefficient=self.context.constant)
        values = Values(ring, by_key(ring, numbers.__getitem__), kind, {"T": fmpq(1), "D": to_fmpq(friction)})
        self.letters = {s: {i: values(c) for i, c in o.items()} for s, o in proof.operators.items()}
        self.energy = -values(log_density)
        self.slopes = [self.energy.derivative(k) for k in range(len(self.names))]
        self.adjoints = cache(self._adjoints)

    def _adjoints(self, degree: int) -> list[Polynomial]:
        """q_w of the words of a degree, in the order of their letters: q_(wX) = X^*(q_w rho)/rho."""
        if not degree:
            return [self.context.constant(1)]
        return [
            self.act(o, q, adjoint=True) for q in self.adjoints(degree - 1) for o in self.letters.values()
        ]

    def act(
        self, operator: Mapping[Index, Polynomial], f: Polynomial, *, adjoint: bool = False
    ) -> Polynomial:
        """A f, or A^*(f rho)/rho, to first order in a and b; d_k^* = slope_k - d_k."""
        total, n = self.context.constant(0), len(self.names)
        for index, c in operator.items():
            term = c * f if adjoint else f
            for k, times in enumerate(index):
                for _ in range(times):
                    term = self.slopes[k] * term - term.derivative(k) if adjoint else term.derivative(k)
            total = total + (term if adjoint else c * term)
        return self.context.from_dict({m: c for m, c in total.to_dict().items() if m[n] + m[n + 1] < 2})

    def errors(self, degree: int) -> tuple[Rows, Rows]:
        """The relative error of the variance of theta on the Gaussian; by a that of its mean, by b that of its variance.

        One row each, for the coefficients of the words of a degree. Raises `ConfigurationError` without a polynomial psi.
        """
        found: dict[Index, list[Fraction]] = {}
        for f, wanted in ((self.theta**2, (STILL, QUARTIC)), (self.theta, (SKEWED,))):
            psi = self._poisson(f)
            moved = [
                self._average(self.act({(0,) * len(self.names): -psi}, q)) for q in self.adjoints(degree)
            ]
            found |= {part: [to_fraction(one[part]) for one in moved] for part in wanted}
        return [found[STILL]], [found[SKEWED], found[QUARTIC]]

    def _poisson(self, f: Polynomial) -> Polynomial:
        """psi with L psi = f - int f rho to first order in a and b, without a constant: a linear system."""
        generator: dict[Index, Polynomial] = {}
        for operator in self.letters.values():
            for index, c in operator.items():
                generator[index] = generator.get(index, self.context.constant(0)) + c
        size, n = int(f.total_degree()), len(self.names)
        monomials = [
            (*m, *part)
            for part, most in ((STILL, size), (SKEWED, size + 2), (QUARTIC, size + 2))
            for m in product(range(most + 1), repeat=n)
            if 0 < sum(m) <= most
        ]
        columns = [self.act(generator, self.context.from_dict({m: 1})).to_dict() for m in monomials]
        if not {m for column in columns for m in column if any(m[:n])} <= set(monomials):
            raise ConfigurationError(
                "the generator raises the degree of polynomials, so that no polynomial solves Poisson's equation; expected a "
                "dynamics that is linear where U is quadratic, such as kinetic"
            )
        matrix = fmpq_mat([[fmpq(column.get(m, 0)) for column in columns] for m in monomials])
        right = f.to_dict()
        solution = matrix.solve(fmpq_mat([[fmpq(right.get(m, 0))] for m in monomials]))
        return self.context.from_dict({m: solution[k, 0] for k, m in enumerate(monomials) if solution[k, 0]})

    def _average(self, f: Polynomial) -> dict[Index, fmpq]:
        """int f rho by powers of a and b: exp(-a V) = 1 - a V, and the mass of rho is 1 less the average of a V."""
        n = len(self.names)
        parts, weights = (parts_in(value, (n, n + 1)) for value in (f, self.energy))
        zero = self.context.constant(0)
        still = parts.get(STILL, zero)
        found: dict[Index, fmpq] = {STILL: _gaussian(still)}
        for part in (SKEWED, QUARTIC):
            moved = _gaussian(parts.get(part, zero)) - _gaussian(still * weights[part])
            found[part] = moved + found[STILL] * _gaussian(weights[part])
        return found


def _gaussian(f: Polynomial) -> fmpq:
    """The average under N(0, 1) in each variable."""
    total = fmpq(0)
    for m, c in f.to_dict().items():
        if not any(k % 2 for k in m):
            total += c * prod(factorial(k) // (2 ** (k // 2) * factorial(k // 2)) for k in m)
    return total
