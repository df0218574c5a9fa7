"""The coefficient ring of the power-series reading: polynomials in the state, in the derivatives of U,
in the noise draws, in the square roots of the parameters and in the dual variables of operators, over the
rationals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import coordinate_keys
from sgverify.exact.rings.context import Context, Index, multi_indices
from sgverify.exact.rings.evaluation import without_rounding
from sgverify.exact.rings.functions import Opaque
from sgverify.exact.rings.polynomials import Key, Polynomial, coefficients_in
from sgverify.exact.rings.roots import (
    Condition,
    UnknownSignError,
    reciprocal,
    square_root,
    without_quotients,
)
from sgverify.schemes.definition.mathematics import TWO_BY_ROOT_PI


class Ring(Context):
    """Q[x, U_a, sqrt(D), sqrt(T), ..., z, xi] for one dynamics in one dimension.

    `U_a` stands for the derivative of the potential with multi-index `a`, 1 <= |a| <= `depth`, one family
    per minibatch, beside U itself for densities, so that an identity in this ring holds for *every* smooth potential.
    Parameters enter by their square roots, because noise amplitudes are square roots; numbers without a root in the ring (sqrt(3),
    exp(-D) without a step size) and functions of the state take one of a few opaque slots, roots
    with the relation of their square. With
    `metric` there are symbols for the entries B_ij of a metric's root and their derivatives, 0 <= |a| <= `depth`; with
    `parts` for the derivatives of the prior's part of U, which all minibatches share.
    The dual variable xi_k stands for d/dx_k in the symbols of operators. Series over the ring are cut at
    s^cap, s = sqrt(h). Every generator widens every monomial: `depth` should be what can occur and no more.

    Every rewriting holds at every real state, for positive parameters; expressions without a rule stay opaque elements. So the
    zero of the ring is zero, while a non-zero element may still vanish by a relation that the ring does not have
    (`series.branches.told_from_zero` evaluates such elements). `signs` supposes the signs of polynomials that stand squared
    under a root, by their keys (`rings.roots`); `conditions` collects all other suppositions. `positive`: every theta_i > 0.
    """

    def __init__(
        self,
        dim: int,
        shapes: Mapping[str, str],
        parameters: Iterable[str],
        *,
        depth: int,
        draws: int,
        minibatches: int,
        cap: int,
        metric: bool = False,
        parts: bool = False,
        signs: Mapping[str, int] | None = None,
        positive: bool = False,
    ) -> None:
        minibatches = max(1, minibatches)
        self.derivatives: list[Index] = [a for size in range(1, depth + 1) for a in multi_indices(dim, size)]
        jets: list[Key] = [("U", m, a) for m in range(minibatches) for a in self.derivatives]
        jets.append(("U", 0, (0,) * dim))
        if parts:
            jets += [("prior", 0, a) for a in self.derivatives]
        if metric:
            entries = range(dim * dim)
            jets += [("B", member, a) for member in entries for a in ((0,) * dim, *self.derivatives)]
        self.parameters = tuple(parameters)
        symbols: list[Key] = [("z", k, i) for k in range(draws) for i in range(dim)]
        size = len(coordinate_keys(shapes, dim))
        super().__init__(
            dim,
            shapes,
            jets,
            [("root", name) for name in self.parameters],
            [*symbols, *(("dual", k) for k in range(size))],
            depth=depth,
            minibatches=minibatches,
            positive=positive,
        )
        self.signs = dict(signs or {})
        self.conditions: dict[Condition, None] = {}
        self.supposed: dict[str, Polynomial] = {}
        self.under_roots: list[Polynomial] = []
        self.cap = cap
        self.draws: dict[int, int] = {self.position(*key): key[1] for key in symbols}
        self.reciprocals: dict[int, Polynomial] = {}  # position: what the element there is 1 over

    def slot(self, key: Any, what: Opaque) -> Polynomial:
        """See `Context.slot`; what is a reciprocal is noted."""
        known = len(self.opaque)
        found = super().slot(key, what)
        if what.kind == "reciprocal" and len(self.opaque) > known:
            assert what.argument is not None
            self.reciprocals[self._slots[key]] = what.argument
        return found

    def sqrt(self, value: Polynomial) -> Polynomial:
        """The square root that is not negative; see `roots.square_root`."""
        return square_root(value, self)

    def opaque_root(self, value: Polynomial) -> Polynomial:
        """The root of a polynomial that is not negative, by its square alone."""
        self.refuse_draws(value, "the square root of")
        return self.slot(("sqrt", str(value)), Opaque("root", f"sqrt({self.text(value)})", argument=value))

    def function(self, kind: str, value: Polynomial) -> Polynomial:
        """exp, log, sin, cos or erf of a polynomial without draws, as an opaque element."""
        value = self.reduce(value)
        self.refuse_draws(value, f"{kind} of")
        if kind == "log" and self.signs_of.of(value) < 2:
            raise NotExpandableError(
                f"log({self.text(value)}), which is not known to be a number at every state"
            )
        if kind != "exp":
            return self.function_symbol(kind, value)
        total = self.one
        for base, power in self.exponential(value):
            total = total * (base**power if power >= 0 else reciprocal(base, self) ** -power)
        return self.reduce(total)

    def slope(self, position: int) -> Polynomial:
        """The derivative of a slot by what it is a function of. Raises `NotExpandableError` for a root that may be 0."""
        what, symbol = self.opaque[position], self.generator_at(position)
        inside = what.argument
        assert inside is not None
        if what.kind in ("exp", "reciprocal"):
            return symbol if what.kind == "exp" else -(symbol**2)
        if what.kind in ("sin", "cos"):
            other = self.function_symbol("cos" if what.kind == "sin" else "sin", inside)
            return other if what.kind == "sin" else -other
        if what.kind == "erf":
            return self.constant(TWO_BY_ROOT_PI) * self.function("exp", -(inside**2))
        if self.signs_of.of(inside) < 2:
            raise NotExpandableError(f"a derivative of {self.text(symbol)}")
        return reciprocal(inside, self) * (
            symbol * self.constant(Fraction(1, 2)) if what.kind == "root" else self.one
        )

    def crowd(self, value: Polynomial, j: int, groups: Sequence[int]) -> float:
        """The most coordinates that a term at s^j has for each factor of h = s^2, those of one of the `groups` counted once.

        A coordinate of which there are draws comes in pairs with those of other terms: each draw is half a coordinate.
        """
        used = [
            (k, k in self.draws, [groups[entry] for entry in self.entries_of(k)])
            for k, degree in enumerate(value.degrees())
            if degree and self.entries_of(k)
        ]
        most = 0
        for powers in value.monoms():
            shares: dict[int, int] = {}
            for k, of_draws, there in used:
                if powers[k]:
                    drawn = int(powers[k]) if of_draws else 0
                    for group in there:
                        shares[group] = shares.get(group, 0) + drawn
            most = max(most, sum(share or 2 for share in shares.values()))
        return most / j if j else inf if most else 0.0

    def supposed_sign(self, value: Polynomial) -> int:
        """The sign that this ring supposes `value` to have. Raises `UnknownSignError` where it supposes none.

        Given the minibatch all minibatches are one, and so are their signs.
        """
        self.refuse_draws(value, "the absolute value of")
        key = str(self.merged(value))
        if key not in self.signs:
            raise UnknownSignError(key, self.text(value))
        self.supposed[key] = value
        return self.signs[key]

    def refuse_draws(self, value: Polynomial, what: str) -> None:
        """Raise where a draw occurs: its moments determine neither a root of it nor its sign."""
        degrees = value.degrees()
        if any(degrees[position] for position in self.draws):
            raise NotExpandableError(f"{what} {self.text(value)}, which depends on a draw")

    def merged(self, value: Polynomial) -> Polynomial:
        """`value` with every minibatch set to the first one, opaque roots of their derivatives too."""
        if self.minibatches == 1:
            return value
        degrees = value.degrees()
        for position in sorted(self.opaque, reverse=True):
            what = self.opaque[position]
            inside = what.argument
            if inside is not None and degrees[position] and inside != self.merged(inside):
                other = self._again(what.kind, self.merged(inside))
                parts = coefficients_in(value, position)
                value = sum((part * other**n for n, part in enumerate(parts)), self.zero)
        kept: dict[tuple[int, ...], Any] = {}
        for exponents, factor in value.to_dict().items():
            moved = list(exponents)
            for m in range(1, self.minibatches):
                for a in self.derivatives:
                    position = self.position("U", m, a)
                    moved[self.position("U", 0, a)] += moved[position]
                    moved[position] = 0
            key = tuple(moved)
            kept[key] = kept[key] + factor if key in kept else factor
        return self.context.from_dict(kept)

    def _again(self, kind: str, inside: Polynomial) -> Polynomial:
        if kind == "root":
            return self.opaque_root(inside)
        return reciprocal(inside, self) if kind == "reciprocal" else self.function(kind, inside)

    def condition(self, kind: str, text: str) -> None:
        """Add a condition to those under which the results of this ring hold."""
        self.conditions[Condition(kind, text)] = None

    def reduce(self, value: Polynomial) -> Polynomial:
        """`value` with the powers of all opaque roots carried out: their squares, the cubes of cube roots, ....

        With reciprocals the result is the exact zero where the value vanishes, and not unique elsewhere. A value that is 0 up
        to the rounding of the definition's floats becomes the exact zero too.
        """
        value = self.carried_out(value)
        if self.rounded:
            value = without_rounding(value, self)
        return without_quotients(value, self) if self.reciprocals else value
