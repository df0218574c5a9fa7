"""The coefficient ring of the power-series reading: polynomials in the state, in the derivatives of U,
in the noise draws, in the square roots of the parameters and in the dual variables of operators, over the
rationals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import count
from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.numbers.entrywise import coordinate_keys
from sgverify.exact.rings.evaluation import sign_of, without_rounding
from sgverify.exact.rings.polynomials import (
    Polynomial,
    coefficients_in,
    polynomials_in,
    print_polynomial,
    remainder,
    symbol_label,
    to_fmpq,
    to_fraction,
)
from sgverify.exact.rings.roots import (
    Condition,
    CoprimeBases,
    Opaque,
    SimpleRoot,
    UnknownSignError,
    manifest_sign,
    simple_roots,
    square_root,
    without_quotients,
)
from sgverify.schemes.numbers.algebraic import Algebraic, sqrt_of_rational
from sgverify.schemes.numbers.rounded import Rounded, literal

Index = tuple[int, ...]
SLOTS = 16


class TooShallowError(NotExpandableError):
    """The ring has fewer derivatives of U than are needed; a deeper ring may have enough."""


class Ring:
    """Q[x, U_a, sqrt(D), sqrt(T), ..., z, xi] for one dynamics in one dimension.

    `U_a` stands for the derivative of the potential with multi-index `a`, 1 <= |a| <= `depth`, one family
    per minibatch, so that an identity in this ring holds for *every* smooth potential. Parameters enter by
    their square roots, because noise amplitudes are square roots; numbers without a root in the ring (sqrt(3),
    exp(-D) without a step size) take one of a few opaque slots, roots with the relation of their square. With
    `metric` there are symbols for the entries B_ij of a metric's root and their derivatives, 0 <= |a| <= `depth`; with
    `parts` for the derivatives of the prior's part of U, which all minibatches share.
    The dual variable xi_k stands for d/dx_k in the symbols of operators. Series over the ring are cut at
    s^cap, s = sqrt(h). Every generator widens every monomial: `depth` should be what can occur and no more.

    Every rewriting holds at every real state, for positive parameters; expressions without a rule stay opaque elements. So the
    zero of the ring is zero, while a non-zero element may still vanish by a relation that the ring does not have
    (`series.branches.told_from_zero` evaluates such elements). `counts`: a sum over coordinates occurred that grows with their
    number (`note_sum`). `signs` supposes the signs of polynomials that stand squared under a root, by their keys (`rings.roots`);
    `conditions` collects all other suppositions. `positive`: every theta_i > 0.
    """

    def __init__(
        self,
        dim: int,
        shapes: dict[str, str],
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
        self.dim = dim
        self.signs = dict(signs or {})
        self.conditions: dict[Condition, None] = {}
        self.supposed: dict[str, Polynomial] = {}
        self.under_roots: list[Polynomial] = []
        self.rounded = False
        self.floats: dict[int, float] = {}
        self.cap = cap
        self.depth = depth
        self.minibatches = max(1, minibatches)
        self.coordinates = coordinate_keys(shapes, dim)
        self.shapes = dict(shapes)
        self.parameters = tuple(parameters)
        self.derivatives: list[Index] = [a for size in range(1, depth + 1) for a in multi_indices(dim, size)]
        self.labels = [self._label(name, i) for name, i in self.coordinates]
        names = list(self.labels)
        # A state may be called like a family of symbols; `coordinate` finds it all the same.
        self._at: dict[Any, int] = {coordinate: k for k, coordinate in enumerate(self.coordinates)}
        jets = [
            (("U", m, a), f"U{m}_{'_'.join(map(str, a))}")
            for m in range(self.minibatches)
            for a in self.derivatives
        ]
        if parts:
            jets += [(("prior", 0, a), f"prior_{'_'.join(map(str, a))}") for a in self.derivatives]
        if metric:
            jets += [
                (("B", member, a), f"B{member}_{'_'.join(map(str, a))}")
                for member in range(dim * dim)
                for a in ((0,) * dim, *self.derivatives)
            ]
        for key, name in [
            *jets,
            *((("root", name), f"root_{name}") for name in self.parameters),
            *((("slot", k), f"slot_{k}") for k in range(SLOTS)),
            *((("z", k, i), f"z{k}_{i}") for k in range(draws) for i in range(dim)),
            *((("dual", k), f"dual_{label}") for k, label in enumerate(self.labels)),
        ]:
            self._at[key] = len(names)
            names.append(name)
        self.jets: dict[int, tuple[str, int, Index]] = {self._at[key]: key for key, _ in jets}
        first = len(names) - len(self.labels) - draws * dim
        self.draws: dict[int, int] = {first + n: n // dim for n in range(draws * dim)}
        self.context = polynomials_in(names)
        self._generators = tuple(self.context.gens())
        self.zero: Polynomial = self.context.constant(0)
        self.one: Polynomial = self.context.constant(1)
        self._slots: dict[Any, int] = {}
        self._relations: dict[
            int, list[Polynomial]
        ] = {}  # position: [c_0, ..., c_(n-1)] with g^n = sum c_i g^i
        self._roots: dict[Any, SimpleRoot] = {}
        self._bases = CoprimeBases()
        self.opaque: dict[int, Opaque] = {}
        self.reciprocals: dict[int, Polynomial] = {}  # position: what the element there is 1 over
        self.counts = False
        self._free = count()
        self.parameter_positions = {self._at["root", name] for name in self.parameters}
        self.never_negative = set(self.parameter_positions)
        theta = {k for k, (name, _) in enumerate(self.coordinates) if name == "theta"}
        self.positive_coordinates = theta if positive else set()
        self.never_negative |= self.positive_coordinates

    def _label(self, name: str, i: int) -> str:
        return name if self.dim == 1 or self.shapes[name] != "vector" else f"{name}{i + 1}"

    def generator(self, *key: Any) -> Polynomial:
        """The generator of a key such as ('theta', 0), ('U', 0, (2,)), ('root', 'D') or ('z', 1, 0)."""
        return self._generators[self._at[key]]

    def coordinate(self, name: str, i: int) -> Polynomial:
        """The i-th entry of a state variable."""
        return self._generators[self.coordinates.index((name, i))]

    def position(self, *key: Any) -> int:
        """The position of that generator in an exponent tuple."""
        return self._at[key]

    def derivative_of_potential(self, minibatch: int, index: Index) -> Polynomial:
        """The symbol U_index. Raises `TooShallowError` for a derivative beyond `depth`."""
        return self._jet("U", minibatch, index)

    def derivative_of_prior(self, index: Index) -> Polynomial:
        """The symbol of d^index of the prior's part of U. Raises `TooShallowError` beyond `depth`."""
        return self._jet("prior", 0, index)

    def derivative_of_root(self, i: int, j: int, index: Index) -> Polynomial:
        """The symbol of d^index B_ij, B the root of the metric. Raises `TooShallowError` beyond `depth`."""
        return self._jet("B", i * self.dim + j, index)

    def raised(self, position: int, i: int) -> Polynomial:
        """d/d theta_i of the symbol at `position` of `jets`: U_a becomes U_(a + e_i)."""
        family, member, index = self.jets[position]
        return self._jet(family, member, tuple(n + (j == i) for j, n in enumerate(index)))

    def _jet(self, family: str, member: int, index: Index) -> Polynomial:
        at = self._at.get((family, member, index))
        if at is None:
            raise TooShallowError(f"derivatives beyond the {self.depth} orders that the ring holds")
        return self._generators[at]

    def constant(self, value: Any) -> Polynomial:
        """An exact number as a ring element; roots of primes take slots.

        A float is the number that `literal` reads it as; one that is an interval, such as a value of math.exp, is a symbol.
        """
        number = literal(value)
        if isinstance(number, Fraction):
            return self.context.constant(to_fmpq(number))
        if isinstance(number, Rounded):
            return self._interval(number)
        assert isinstance(number, Algebraic)
        total = self.zero
        for monomial, factor in number.terms.items():
            term = self.context.constant(to_fmpq(factor))
            for generator, exponent in monomial:
                for base, multiple in self._bases.product(generator).items():
                    whole, roots = simple_roots(base, multiple * exponent)
                    term = term * self.constant(whole)
                    for root, power in roots:
                        term = term * self._root(root) ** power
            total = total + term
        return self.reduce(total)

    def _interval(self, number: Rounded) -> Polynomial:
        """The symbol of the absolute value of a float; equal floats have one symbol."""
        if float(number) < 0:
            return -self._interval(-number)
        self.rounded = True
        what = Opaque("number", str(float(number)), number=number)
        return self.slot(("interval", number.middle), what)

    def _root(self, root: SimpleRoot) -> Polynomial:
        known = self._roots.setdefault(root.key, root)
        if known != root:
            raise NotExpandableError(f"{root.text} beside {known.text}, of which one is a power of the other")
        found = self.slot(root.key, Opaque("number", root.text, number=root.number))
        at = self._at["slot", self._slots[root.key]]
        if at not in self._relations:
            self._relations[at] = [self.constant(c) for c in root.relation]
        return found

    def slot(self, key: Any, what: Opaque) -> Polynomial:
        """An opaque element for `key`, the same one each time: a root has its square as a relation."""
        if key not in self._slots:
            number = next(self._free)
            if number >= SLOTS:
                raise NotExpandableError(
                    f"the definition needs more than {SLOTS} different roots; {what.text} is one too many"
                )
            at = self._at["slot", number]
            self._slots[key] = number
            self.opaque[at] = what
            if what.kind == "root":
                self._relations[at] = [what.argument, self.zero]
            if what.kind == "reciprocal":
                self.reciprocals[at] = what.argument
            if (
                what.kind in ("root", "exp")
                or (what.kind == "number" and sign_of(self.generator("slot", number), self) > 0)
                or (what.kind == "reciprocal" and manifest_sign(what.argument, self) > 0)
            ):
                self.never_negative.add(at)
        return self.generator("slot", self._slots[key])

    def generator_at(self, position: int) -> Polynomial:
        """The generator at a position."""
        return self._generators[position]

    def square_of_slot(self, position: int) -> Fraction:
        """The number whose square root an opaque root stands for. Raises where it is none."""
        relation = self._relations.get(position, [])
        if len(relation) != 2 or relation[1] or not relation[0].is_constant():
            raise NotExpandableError(f"the value of {self.label(position)[0]}")
        return to_fraction(relation[0].leading_coefficient())

    def number_of_slot(self, position: int) -> Any:
        """The exact number that an opaque element stands for. Raises where it is none."""
        what = self.opaque.get(position)
        if what is not None and what.number is not None:
            return what.number
        raise NotExpandableError(f"the value of {self.label(position)[0]}")

    def sqrt(self, value: Polynomial) -> Polynomial:
        """The square root that is not negative; see `radicals.square_root`."""
        return square_root(value, self)

    def opaque_root(self, value: Polynomial) -> Polynomial:
        """The root of a polynomial that is not negative, by its square alone."""
        self.refuse_draws(value, "the square root of")
        return self.slot(("sqrt", str(value)), Opaque("root", f"sqrt({self.text(value)})", argument=value))

    def opaque_exponential(self, value: Polynomial) -> Polynomial:
        """exp of a polynomial in the parameters, as an opaque element of which only positivity is known."""
        if not self.depends_only_on_parameters(value):
            raise NotExpandableError(f"exp({self.text(value)}), which depends on the state at h = 0")
        return self.slot(("exp", str(value)), Opaque("exp", f"exp({self.text(value)})", argument=value))

    def note_sum(self, value: Polynomial) -> None:
        """Record a sum over coordinates: a term without state, derivative or draw is a multiple of their number."""
        self.counts = self.counts or any(
            all(k in self.parameter_positions or k in self.opaque for k, e in enumerate(powers) if e)
            for powers in value.monoms()
        )

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
            inside = self.opaque[position].argument
            if degrees[position] and self.opaque[position].kind == "root" and inside != self.merged(inside):
                other = self.opaque_root(self.merged(inside))
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

    def condition(self, kind: str, text: str) -> None:
        """Add a condition to those under which the results of this ring hold."""
        self.conditions[Condition(kind, text)] = None

    def constant_root(self, value: Fraction) -> Polynomial:
        """The root of a positive number."""
        return self.constant(sqrt_of_rational(value))

    def is_number(self, value: Polynomial) -> bool:
        """Whether only numbers occur in `value`, roots of numbers among them."""
        return self._made_of(value, frozenset())

    def sign_of_number(self, value: Polynomial) -> int:
        """The sign of a number, or 0 where it is uncertain."""
        return sign_of(value, self)

    def depends_only_on_parameters(self, value: Polynomial) -> bool:
        """Whether no state, derivative of U or draw occurs in `value`, under a root neither."""
        return self._made_of(value, self.parameter_positions)

    def _made_of(self, value: Polynomial, allowed: Iterable[int]) -> bool:
        used = {k for monomial in value.monoms() for k, e in enumerate(monomial) if e}
        return all(
            k in allowed
            or (
                k in self.opaque
                and (self.opaque[k].kind == "number" or self._made_of(self.opaque[k].argument, allowed))
            )
            for k in used
        )

    def reduce(self, value: Polynomial) -> Polynomial:
        """`value` with the powers of all opaque roots carried out: their squares, the cubes of cube roots, ....

        With reciprocals the result is the exact zero where the value vanishes, and not unique elsewhere. A value that is 0 up
        to the rounding of the definition's floats becomes the exact zero too.
        """
        value = self.carried_out(value)
        if self.rounded:
            value = without_rounding(value, self)
        return without_quotients(value, self) if self.reciprocals else value

    def carried_out(self, value: Polynomial) -> Polynomial:
        """`value` with the powers of all opaque roots carried out, and nothing else."""
        for k, relation in reversed(self._relations.items()):
            # The square of a root may contain roots of earlier slots, never of later ones.
            value = remainder(value, k, relation)
        return value

    def text(self, value: Polynomial, most: int = 24) -> str:
        """A readable form, parameters by name, at most `most` terms."""
        return print_polynomial({m: str(c) for m, c in value.to_dict().items()}, self.label, most)

    def label(self, position: int) -> tuple[str, int]:
        """Printed name of a generator and the power of it that the name stands for (2 for roots)."""
        if position < len(self.coordinates):
            return self.labels[position], 1
        if position in self.opaque:
            return self.opaque[position].text, 1
        key = next(k for k, at in self._at.items() if at == position)
        if key[0] == "root":
            return key[1], 2
        if key[0] == "dual":
            return f"xi_{self.labels[key[1]]}", 1
        return symbol_label(*key, dim=self.dim, minibatches=self.minibatches), 1


def multi_indices(dim: int, size: int) -> list[Index]:
    """All multi-indices of `dim` entries that sum to `size`."""
    if dim == 1:
        return [(size,)]
    return [(first, *rest) for first in range(size, -1, -1) for rest in multi_indices(dim - 1, size - first)]
