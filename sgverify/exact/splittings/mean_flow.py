"""The mean flow of several minibatches: the logarithm of a product of flows, one for each minibatch (chen2015 appendix J).

With X_l = L + dV_l and integrators of order two or more, the operator of m steps on test functions is that of the first
step first, E f(X_m) = P_1 ... P_m f(X_0):

    exp(h X_1) ... exp(h X_m) = exp(m h L + h sum_i dV_i + h^2 S_m + ...),
    S_m = 1/2 sum_(i < j) [X_i, X_j] = 1/2 sum_i (2i - m - 1) [L, dV_i] + 1/2 sum_(i < j) [dV_i, dV_j].

The paper writes the last step first; then every commutator of two changes its sign. What is left out is O(h^3) at a fixed m,
and O((m h)^3) uniformly in m: the commutators of three number about m^3, each with a weight of 1/3 at most. It is no less: where
one noise holds for the first half of the steps and the opposite one for the second, each half is one flow of the time T/2,
T = m h, and the third order is that of two flows, a multiple of T^3 that does not depend on m.

Lie polynomials whose letters are named and may be replaced: X_i = L + dV_i in a product of flows.

A Lie polynomial is a mapping {commutator: coefficient} over the Lyndon basis with standard bracketing, such as
{"[L,dV1]": 1/2}. Which elements make up the basis depends on the order of the letters: each function takes them
in the order in which they are given.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.exact.numbers.entrywise import coordinates_of
from sgverify.exact.rings.ring import Ring
from sgverify.exact.series.carrier import SeriesInterpreter
from sgverify.exact.series.operators import Operator, compose, difference, generator_of, ring_of
from sgverify.exact.splittings.bch import bch_series
from sgverify.exact.splittings.lyndon import expand, lyndon_coefficients
from sgverify.exact.splittings.splitting import MOST_LETTERS
from sgverify.schemes import Dynamics

LiePolynomial = dict[str, Fraction]
Combination = Mapping[str, Fraction | int]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAME = re.compile(r"[^\[\],\s]+")


def substitute(
    polynomial: Combination, images: Mapping[str, Combination], letters: Sequence[str] | None = None
) -> LiePolynomial:
    """Replace every letter X of a Lie polynomial by a linear combination of letters, exactly.

    The map X -> images[X] of the letters extends to one homomorphism of free Lie algebras; it is taken on the
    associative words and the result, a Lie element again, is brought to the Lyndon basis of the new letters.

    polynomial: coefficient of each standard bracketing, over the letters that `images` replaces, in its order.
    images: for each letter the combination of new ones, e.g. {"X": {"L": 1, "dV1": 1}}.
    letters: the new letters in the order that makes the basis; default, the order in which `images` names them.

    Raises DefinitionError for a letter without an image, and for more than 26 letters.

    >>> images = {"X": {"L": 1, "dV1": 1}, "Y": {"L": 1, "dV2": 1}}
    >>> substitute({"[X,Y]": Fraction(1, 2)}, images)
    {'[L,dV1]': Fraction(-1, 2), '[L,dV2]': Fraction(1, 2), '[dV1,dV2]': Fraction(1, 2)}
    """
    new = (
        tuple(letters) if letters is not None else tuple(dict.fromkeys(n for i in images.values() for n in i))
    )
    old = tuple(images)
    for given in (old, new):
        _check_letters(given)
    unknown = sorted({name for image in images.values() for name in image} - set(new))
    if unknown:
        raise DefinitionError(f"letters={new!r} lacks {unknown[0]!r}, which an image uses; add it")
    coded = {_recoded(text, old): Fraction(value) for text, value in polynomial.items()}
    replaced: defaultdict[str, Fraction] = defaultdict(Fraction)
    for word, coefficient in expand(coded).items():
        partial = {"": coefficient}
        for code in word:
            image = images[old[_LETTERS.index(code)]]
            partial = {
                done + _LETTERS[new.index(name)]: value * factor
                for done, value in partial.items()
                for name, factor in image.items()
            }
        for text, value in partial.items():
            replaced[text] += value
    return {_named(text, new): value for text, value in lyndon_coefficients(replaced).items()}


def logarithm_of_flows(
    generators: Sequence[Combination], degree: int, letters: Sequence[str] | None = None
) -> dict[int, LiePolynomial]:
    """Return log(exp(h G_1) exp(h G_2) ... exp(h G_m)) through h^degree: power of h -> Lie polynomial.

    generators: each G_i as a combination of letters, e.g. {"L": 1, "dV1": 1}; at most 8. Operators act in the
        order of the product: exp(h G_1) is the first factor, and the first to move the state.
    letters: see `substitute`. Powers of h from 1 through `degree` are all there, empty where nothing is left.

    The series is that of m free letters (`bch_series`), with G_i put in afterwards: it holds for every L and dV_i.
    Source: Hairer, Lubich, Wanner 2006, Geometric Numerical Integration, section III.4.

    >>> found = logarithm_of_flows([{"L": 1, "dV1": 1}, {"L": 1, "dV2": 1}], degree=2)
    >>> {text: str(value) for text, value in found[2].items()}
    {'[L,dV1]': '-1/2', '[L,dV2]': '1/2', '[dV1,dV2]': '1/2'}
    """
    if not 0 < len(generators) <= MOST_LETTERS:
        raise DefinitionError(
            f"generators has {len(generators)} entries: expected 1 to {MOST_LETTERS}; give one for each flow"
        )
    images = dict(zip(_LETTERS, generators, strict=False))
    series = bch_series("".join(images), (1,) * len(images), degree)
    return {power: substitute(_fractions(part), images, letters) for power, part in series.items()}


def _fractions(part: Mapping[str, Any]) -> LiePolynomial:
    return {text: Fraction(value) for text, value in part.items()}


def _check_letters(names: Sequence[str]) -> None:
    if len(names) > len(_LETTERS) or len(set(names)) < len(names):
        raise DefinitionError(f"letters={names!r}: expected at most {len(_LETTERS)}, each of them once")
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise DefinitionError(f"letter {name!r}: expected a name without blanks, brackets or commas")


def _recoded(text: str, letters: Sequence[str]) -> str:
    def code(found: re.Match[str]) -> str:
        if found[0] not in letters:
            raise DefinitionError(f"the letter {found[0]!r} of {text!r} has no image; give one in `images`")
        return _LETTERS[letters.index(found[0])]

    return _NAME.sub(code, text)


def _named(text: str, letters: Sequence[str]) -> str:
    return re.sub("[A-Z]", lambda found: letters[_LETTERS.index(found[0])], text)


MOST_BATCHES = 6
"""As many minibatches as the Lyndon basis is asked for; further ones are reached by induction."""

Commutators = dict[str, Fraction]


def weight(batches: int, number: int) -> int:
    """The weight 2i - m - 1 of [L, dV_i] in 2 S_m."""
    return 2 * number - batches - 1


def second_order(batches: int, *, commuting: bool, last_first: bool = False) -> Commutators:
    """S_m by Baker-Campbell-Hausdorff; without the [dV_i, dV_j] where the noises commute.

    last_first: for the product with the last step first, as the paper writes it.
    """
    numbers = range(1, batches + 1)
    flows = [{"L": 1, f"dV{i}": 1} for i in (reversed(numbers) if last_first else numbers)]
    found = logarithm_of_flows(flows, 2, ["L", *(f"dV{i}" for i in numbers)])[2]
    return {name: value for name, value in found.items() if not commuting or "L" in name}


def corrected(batches: int) -> Commutators:
    """1/2 sum_i (2i - m - 1) [L, dV_i], with the first step first."""
    return {f"[L,dV{i}]": Fraction(w, 2) for i in range(1, batches + 1) if (w := weight(batches, i))}


def printed(batches: int) -> Commutators:
    """m ([L, dV_1] + [L, dV_m]): the term of order h in equation (50) over the time m h, with the last step first."""
    return {"[L,dV1]": Fraction(batches), f"[L,dV{batches}]": Fraction(batches)}


def subtract(left: Commutators, right: Commutators) -> Commutators:
    """left - right, zeros left out."""
    names = dict.fromkeys((*left, *right))
    found = {name: left.get(name, Fraction(0)) - right.get(name, Fraction(0)) for name in names}
    return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class FormulaComparison:
    """A formula for S_m against the logarithm, for 2 to 6 minibatches: `apart` is formula minus logarithm."""

    truth: dict[int, Commutators]
    apart: dict[int, Commutators]
    commuting: bool


def compare(formula: Callable[[int], Commutators], dynamics: Dynamics, dim: int) -> FormulaComparison:
    """S_m of the formula minus that of the logarithm in the formula's order of steps, with the noises of the dynamics."""
    commuting = noises_commute(dynamics, dim)
    truth = {
        m: second_order(m, commuting=commuting, last_first=formula is printed)
        for m in range(2, MOST_BATCHES + 1)
    }
    apart = {m: subtract(formula(m), found) for m, found in truth.items()}
    return FormulaComparison(truth, {m: left for m, left in apart.items() if left}, commuting)


def text_of(commutators: Commutators) -> str:
    """1/2 [L,dV1] - 1/2 [L,dV2]; empty for nothing."""
    return " + ".join(f"{value} {name}" for name, value in commutators.items()).replace("+ -", "- ")


def induction_defect() -> dict[str, str]:
    """The defect of the induction from m to m + 1 minibatches, as polynomials in m and i; empty where the induction holds.

    A further factor on the right adds 1/2 [m L + sum_i dV_i, L + dV_(m+1)] = m/2 [L, dV_(m+1)] - 1/2 sum_i [L, dV_i], so
    that the weights must obey w(m + 1, i) = w(m, i) - 1, w(m + 1, m + 1) = m and w(1, 1) = 0.
    """
    from sympy import expand, symbols

    m, i = symbols("m i")
    left = {
        "w(m+1, i) - w(m, i) + 1": expand(weight(m + 1, i) - weight(m, i) + 1),
        "w(m+1, m+1) - m": expand(weight(m + 1, m + 1) - m),
        "w(1, 1)": weight(1, 1),
    }
    return {name: str(value) for name, value in left.items() if value != 0}


def third_order_of_halves() -> Commutators:
    """The third order over T^3, for any even number of steps, of the noise V in the first half and -V in the second."""
    half = Fraction(1, 2)
    return logarithm_of_flows([{"L": half, "V": half}, {"L": half, "V": -half}], 3, ["L", "V"])[3]


def noise_moves_at_third_order(dynamics: Dynamics, dim: int) -> bool:
    """Whether [[L, dV], dV] is other than 0 for some smooth U and some minibatch."""
    ring = ring_of(dynamics, dim, depth=5, minibatches=2, cap=4)
    full, noise = generator_of(dynamics, ring), _noises(dynamics, ring, 1)[0]

    def bracket(left: Operator, right: Operator) -> Operator:
        return difference(compose(left, right, ring), compose(right, left, ring), ring)

    return bool(bracket(bracket(full, noise), noise))


def noises_commute(dynamics: Dynamics, dim: int) -> bool:
    """Whether [dV_1, dV_2] = 0, dV_l = L_l - L, for every smooth U and any two minibatches."""
    ring = ring_of(dynamics, dim, depth=4, minibatches=3, cap=3)
    first, second = _noises(dynamics, ring, 2)
    return not difference(compose(first, second, ring), compose(second, first, ring), ring)


def _noises(dynamics: Dynamics, ring: Ring, count: int) -> list[Operator]:
    """L_l - L of as many minibatches."""
    reading = SeriesInterpreter(ring)
    bound, state = reading.bind(dynamics), reading.state()
    full, *drifts = (bound.coefficients(state, grad=reading.gradient())[0] for _ in range(1 + count))
    return [_first_order([f - g for f, g in zip(drift, full, strict=True)], ring) for drift in drifts]


def _first_order(drift: list[Any], ring: Ring) -> Operator:
    """F . grad."""
    flat = coordinates_of(drift, ring.shapes, ring.dim)
    units = [tuple(int(j == k) for j in range(len(flat))) for k in range(len(flat))]
    return {unit: entry.coefficient(0) for unit, entry in zip(units, flat, strict=True)}
