"""One context of named generators, which every ring reads: polynomials over the rationals by flint, each generator under a key.

A key is a coordinate of the state, such as ("theta", 0), the derivative of an unknown function, a parameter, a draw or a slot.
Slots are free generators that stand for what is no polynomial: roots with the relations of their powers, exponentials,
logarithms, reciprocals, and floats that are intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sgverify.errors import NotExpandableError, TooLargeError
from sgverify.exact.numbers.entrywise import coordinate_keys
from sgverify.exact.rings.functions import Exponentials, FunctionSymbols, ManifestSigns, Opaque
from sgverify.exact.rings.number_roots import CoprimeBases, SimpleRoot, simple_roots
from sgverify.exact.rings.polynomials import (
    Key,
    Polynomial,
    name_of,
    remainder,
    to_fmpq,
)
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.rounded import Rounded, literal

Index = tuple[int, ...]

SLOTS = 16
"""The largest number of different roots, functions of the state and interval floats in a definition, in few dimensions."""

MOST_SLOTS = 64
"""The same in many: functions of the state take some in each coordinate, and every slot widens every monomial."""


class TooShallowError(NotExpandableError):
    """The ring has fewer derivatives of U than are needed; a deeper ring may have enough."""


class Context(FunctionSymbols):
    """Q[state, derivatives, parameters, slots, others] in dimension `dim`.

    `jets` are the keys (family, member, index) of derivatives, `depth` is the highest order of one; `parameters` and `others`
    are further keys. With `positive` every theta_i > 0. `sums`: a sum over coordinates occurred, and `counts`: one that grows with
    their number (`note_sum`).
    """

    def __init__(
        self,
        dim: int,
        shapes: Mapping[str, str],
        jets: Sequence[Key],
        parameters: Iterable[Key],
        others: Iterable[Key] = (),
        *,
        depth: int,
        minibatches: int = 1,
        positive: bool = False,
    ) -> None:
        self.dim, self.shapes = dim, dict(shapes)
        self.depth, self.minibatches = depth, minibatches
        self.coordinates = coordinate_keys(shapes, dim)
        self.labels = [
            name if dim == 1 or shapes[name] != "vector" else f"{name}{i + 1}" for name, i in self.coordinates
        ]
        parameters = tuple(parameters)
        self.slots = max(SLOTS, min(8 * dim, MOST_SLOTS))
        slots = (("slot", k) for k in range(self.slots))
        # A state may be called like a family of symbols; `coordinate` finds it all the same.
        others = (*jets, *parameters, *slots, *others)
        super().__init__((*self.coordinates, *others), (*self.labels, *map(name_of, others)))
        self.jets: dict[int, Key] = {self._at[key]: key for key in jets}
        self.parameter_positions = {self._at[key] for key in parameters}
        theta = {k for k, (name, _) in enumerate(self.coordinates) if name == "theta"}
        self.positive_coordinates = theta if positive else set()
        self.opaque: dict[int, Opaque] = {}
        self.signs_of = ManifestSigns(self, self.parameter_positions | self.positive_coordinates)
        self.exponentials: dict[str, Exponentials] = {}
        self.rounded = self.counts = self.sums = False
        self._coordinates_at: dict[int, frozenset[int]] = {}
        self.floats: dict[int, float] = {}
        self._slots: dict[Any, int] = {}
        # position: [c_0, ..., c_(n-1)] with g^n = sum c_i g^i
        self._relations: dict[int, list[Polynomial]] = {}
        self._roots: dict[Any, SimpleRoot] = {}
        self._bases = CoprimeBases()

    def coordinate(self, name: str, i: int) -> Polynomial:
        """The i-th entry of a state variable."""
        return self._generators[self.coordinates.index((name, i))]

    def jet(self, family: str, member: int, index: Index) -> Polynomial:
        """The symbol of a derivative. Raises `TooShallowError` for one beyond `depth`."""
        at = self._at.get((family, member, index))
        if at is None:
            raise TooShallowError(f"derivatives beyond the {self.depth} orders that the ring holds")
        return self._generators[at]

    def differentiated(self, value: Polynomial, k: int) -> Polynomial:
        """d/dx_k of a polynomial, slots held constant; along theta_i the symbol U_a is differentiated to U_(a + e_i)."""
        name, i = self.coordinates[k]
        total = value.derivative(k)
        used = value.degrees()
        for position, (family, member, index) in self.jets.items() if name == "theta" else ():
            if used[position]:
                total = total + value.derivative(position) * self.jet(family, member, raised(index, i))
        return total

    def constant(self, value: Any) -> Polynomial:
        """An exact number; roots of primes take slots.

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
        return self.carried_out(total)

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
        at = self._slots[root.key]
        if at not in self._relations:
            self._relations[at] = [self.constant(c) for c in root.relation]
        return found

    def slot(self, key: Any, what: Opaque) -> Polynomial:
        """An opaque element for `key`, the same one each time: a root has its square as a relation."""
        if key not in self._slots:
            if len(self._slots) == self.slots:
                raise TooLargeError(
                    f"the definition needs more than {self.slots} different roots; {what.text} is one too many"
                )
            at = self._slots[key] = self._at["slot", len(self._slots)]
            self.opaque[at] = what
            if what.kind == "root" and what.argument is not None:
                self._relations[at] = [what.argument, self.zero]
            self.signs_of.note(at, what)
        return self._generators[self._slots[key]]

    def function_slot(
        self, kind: str, argument: Polynomial, relation: list[Polynomial] | None = None
    ) -> Polynomial:
        """See `FunctionSymbols.function_slot`."""
        key = kind, str(argument)
        found = self.slot(key, Opaque(kind, f"{kind}({self.text(argument)})", argument))
        if relation is not None:
            self._relations.setdefault(self._slots[key], relation)
        return found

    def carried_out(self, value: Polynomial) -> Polynomial:
        """`value` with the powers of all opaque roots carried out, and nothing else."""
        for k, relation in reversed(self._relations.items()):
            # The square of a root may contain roots of earlier slots, never of later ones.
            value = remainder(value, k, relation)
        return value

    def is_number(self, value: Polynomial) -> bool:
        """Whether only numbers occur in `value`, roots of numbers among them."""
        return self.occurring(value) <= self.opaque.keys()

    def depends_only_on_parameters(self, value: Polynomial) -> bool:
        """Whether no state, derivative of U or draw occurs in `value`, under a root neither."""
        return self.occurring(value) <= self.parameter_positions | self.opaque.keys()

    def note_sum(self, value: Polynomial) -> None:
        """Record a sum over coordinates: a term without state, derivative or draw is a multiple of their number."""
        self.sums = True
        nothing: dict[str | int, int] = {
            self.context.name(k): 0
            for k, degree in enumerate(value.degrees())
            if degree > 0 and k not in self.parameter_positions
            if k not in self.opaque or not self.depends_only_on_parameters(self.generator_at(k))
        }
        self.counts = self.counts or bool(value.subs(nothing))

    def entries_of(self, position: int) -> frozenset[int]:
        """The coordinates of vectors that a generator belongs to."""
        if position not in self._coordinates_at:
            key, found = self.keys[position], set[int]()
            if position in self.opaque:
                inner = self.occurring(self.generator_at(position)) - {position}
                found.update(*map(self.entries_of, inner))
            elif position < len(self.coordinates):
                found = {key[1]} if self.shapes[key[0]] == "vector" else set()
            elif key[0] in ("U", "prior", "B"):
                found = {i for i, n in enumerate(key[2]) if n}
                found |= {*divmod(key[1], self.dim)} if key[0] == "B" else set()
            elif key[0] == "z":
                found = {key[2]}
            elif key[0] == "dual":
                return self.entries_of(key[1])
            self._coordinates_at[position] = frozenset(found)
        return self._coordinates_at[position]

    def occurring(self, *values: Polynomial) -> set[int]:
        """The positions of the generators that occur in polynomials, and in what the slots among them stand for."""
        found = {k for value in values for k, degree in enumerate(value.degrees()) if degree > 0}
        inside = [self.opaque[k].argument for k in found & self.opaque.keys()]
        held = [argument for argument in inside if argument is not None]
        return found | self.occurring(*held) if held else found

    def text(self, value: Polynomial, most: int = 24) -> str:
        """A readable form, parameters by name, at most `most` terms."""
        return print_polynomial(value.to_dict(), self.label, most)

    def label(self, position: int) -> tuple[str, int]:
        """Printed name of a generator and the power of it that the name stands for (2 for roots)."""
        if position < len(self.coordinates):
            return self.labels[position], 1
        if position in self.opaque:
            return self.opaque[position].text, 1
        key = self.keys[position]
        if key[0] in ("root", "parameter"):
            return key[1], 2 if key[0] == "root" else 1
        if key[0] == "dual":
            return f"xi_{self.labels[key[1]]}", 1
        return symbol_label(*key, dim=self.dim, minibatches=self.minibatches), 1


def raised(index: Index, i: int) -> Index:
    """The multi-index with one more derivative by the i-th coordinate."""
    return tuple(n + (j == i) for j, n in enumerate(index))


def multi_indices(dim: int, size: int) -> list[Index]:
    """All multi-indices of `dim` entries that sum to `size`."""
    if dim == 1:
        return [(size,)]
    return [(first, *rest) for first in range(size, -1, -1) for rest in multi_indices(dim - 1, size - first)]


def print_polynomial(
    terms: Mapping[tuple[int, ...], Any], label: Callable[[int], tuple[str, int]], most: int
) -> str:
    """Terms {exponents: coefficient} as text, the largest monomials first, at most `most` of them.

    `label(k)` is the printed name of the k-th generator and the power of it that the name stands for, so
    that the square of sqrt(D) prints as D.
    """
    if not terms:
        return "0"
    shown = []
    for exponents in sorted(terms, reverse=True)[:most]:
        factors = [factor_text(*label(k), e) for k, e in enumerate(exponents) if e]
        coefficient = str(terms[exponents])
        if coefficient in ("1", "-1") and factors:
            shown.append(coefficient[:-1] + " ".join(factors))
        else:
            number = f"({coefficient})" if "/" in coefficient and factors else coefficient
            if number.startswith("(-"):
                number = "-(" + number[2:]
            shown.append(" ".join([number, *factors]))
    text = " + ".join(shown).replace("+ -", "- ")
    return text + (f" + ... ({len(terms) - most} more terms)" if len(terms) > most else "")


def potential_label(index: Index, dim: int) -> str:
    """Printed name of a derivative of U: U'' in one dimension, U_12 for a mixed one."""
    if not any(index):
        return "U"
    if dim == 1:
        return f"U^({index[0]})" if index[0] > 3 else "U" + "'" * index[0]
    return "U_" + "".join(str(i + 1) * n for i, n in enumerate(index))


def root_label(i: int, j: int, index: Index, dim: int) -> str:
    """Printed name of a derivative of an entry of the metric's root: B' in one dimension, B_12,1 for a mixed one."""
    if dim == 1:
        return f"B^({index[0]})" if index[0] > 3 else "B" + "'" * index[0]
    marks = "".join(str(k + 1) * n for k, n in enumerate(index))
    return f"B_{i + 1}{j + 1}" + (f",{marks}" if marks else "")


def symbol_label(family: str, member: int, *index: Any, dim: int, minibatches: int) -> str:
    """Printed name of a derivative of U, of its prior's part or of the metric's root, of a draw z or of a slot."""
    if family == "U":
        return potential_label(index[0], dim) + ("" if minibatches == 1 else f"[{member}]")
    if family == "prior":
        return potential_label(index[0], dim).replace("U", "U_prior")
    if family == "B":
        return root_label(*divmod(member, dim), index[0], dim)
    return "_".join([f"{family}{member}", *map(str, index)])


def factor_text(name: str, unit: int, exponent: int) -> str:
    """A power of a generator: of sqrt(D), whose unit is 2, such as D^2 or D sqrt(D)."""
    whole, half = divmod(exponent, unit)
    parts = [f"{name}^{whole}" if whole > 1 else name] if whole else []
    if half:
        parts.append(f"sqrt({name})")
    return " ".join(parts)
