"""Splittings: words over an alphabet of sub-flows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import isfinite
from types import MappingProxyType
from typing import Any

from sgverify.errors import DefinitionError, UnknownNameError, shown
from sgverify.schemes.compositions import MOST_FLOWS, read_coefficients
from sgverify.schemes.definition.abstract import Census, check_returned, run_abstractly
from sgverify.schemes.definition.binding import FullGradientIngredient
from sgverify.schemes.definition.declaration import (
    Declaration,
    check_ingredients,
    check_state,
    read_signature,
)
from sgverify.schemes.definition.foreign import in_own_terms
from sgverify.schemes.definition.mathematics import Noise
from sgverify.schemes.dynamics import Dynamics, signed
from sgverify.schemes.numbers.algebraic import Algebraic
from sgverify.schemes.numbers.rounded import FEW, Rounded, literal
from sgverify.schemes.scheme import ClaimedOrders, Order, Scheme, make_scheme

Share = Fraction | Algebraic


@dataclass(frozen=True)
class Letter:
    """A letter of an alphabet: the flow of one part of the dynamics, which gives the state after a time t."""

    name: str
    function: Callable[..., Any] = field(repr=False)
    declaration: Declaration = field(repr=False)
    census: Census = field(repr=False)

    def flow(self, state: tuple[Any, ...], **ingredients: Any) -> tuple[Any, ...]:
        """The state after time `t`; `t` and the other ingredients by keyword."""
        value = self.function(*state, **self.declaration.select(ingredients))
        return value if isinstance(value, tuple) else (value,)


@dataclass(frozen=True)
class Word:
    """Letters applied from left to right, the i-th for the share c_i of the step.

    As operators on test functions the product is read in the same order,
    P_h = exp(c_1 h L_1) exp(c_2 h L_2) ...: the first letter acts on the state first. `floats` holds, letter by letter, the
    shares that flows take as the given floats, else None; with such shares the word has its order up to rounding alone.
    """

    text: str
    shares: tuple[Share, ...]
    alphabet: Alphabet = field(repr=False)
    floats: tuple[float | None, ...] = ()

    @property
    def merged(self) -> str:
        """The word with one letter in the place of all that share a generator, a refined kick G in that of K."""
        return merged_text(self.text, self.alphabet)

    @property
    def used(self) -> Alphabet:
        """The alphabet of the letters that occur."""
        used = copy(self.alphabet)
        used.letters = MappingProxyType({s: self.alphabet.letters[s] for s in dict.fromkeys(self.text)})
        return used

    @property
    def palindromic(self) -> bool:
        """Whether letters and shares read the same in both directions."""
        return self.text == self.text[::-1] and self.shares == self.shares[::-1]

    def flows(self, h: Any) -> Iterator[tuple[Letter, Any]]:
        """Each letter in the order in which it acts, with the time that it flows in a step of size h."""
        floats = self.floats or (None,) * len(self.shares)
        for symbol, share, given in zip(self.text, self.shares, floats, strict=True):
            if share == 1:
                yield self.alphabet.letters[symbol], h
            elif given is not None:
                yield self.alphabet.letters[symbol], given * h
            else:
                # On plain floats an irrational share is one as well: exact times float would stay exact, and grow.
                rounded = isinstance(share, Algebraic) and isinstance(h, float)
                yield self.alphabet.letters[symbol], (float(share) if rounded else share) * h


class Alphabet:
    """A splitting of a dynamics into letters: `Alphabet("chen2015", kinetic, A=drift, B=friction, O=kick)`.

    Each letter takes the state of the dynamics by position and `t` with other ingredients by keyword. An alphabet assumes
    nothing: where a verdict needs it, `sgverify.exact` proves that every letter is the exact flow of its generator, and
    that the generators sum to that of the dynamics. Letters may share one generator, as a force-gradient kick G beside the kick K
    that it refines: their shares sum to 1 together. Letters that a word leaves out are no error where the others are the dynamics.
    """

    def __init__(self, name: str, dynamics: Dynamics, /, **letters: Callable[..., Any]) -> None:
        if not isinstance(dynamics, Dynamics):
            raise DefinitionError(
                f"Alphabet({name!r}, {dynamics!r}): expected a dynamics such as kinetic, second"
            )
        if not letters:
            raise DefinitionError(
                f"Alphabet({name!r}, {dynamics.name}): no letters; pass e.g. A=drift, B=friction"
            )
        self.name = name
        self.dynamics = dynamics
        self.letters: Mapping[str, Letter] = MappingProxyType(
            {symbol: _make_letter(symbol, function, dynamics) for symbol, function in letters.items()}
        )

    def __repr__(self) -> str:
        return f"Alphabet({self.name!r}, {self.dynamics.name}, {', '.join(self.letters)})"

    def word(
        self,
        text: str,
        *,
        order: Order = None,
        coefficients: Sequence[Share | int | float | str] | str | None = None,
        name: str | None = None,
    ) -> Scheme:
        """The scheme that applies the letters of `text` from left to right.

        `coefficients` are the shares of the step, one per letter: numbers, texts such as "1/(2-2^(1/3))", one text
        with commas, or a composition by name ("yoshida4"); by default the letters of a generator share it equally.
        Raises `DefinitionError` for unknown or missing letters, for shares of a generator that do not sum to 1, and for a
        negative share of a letter that draws noise.
        """
        claimed = ClaimedOrders.of(order)
        shares = self._shares(text, coefficients)
        word = Word(text, shares, self, _floats_of_order_two(text, shares, coefficients))
        step = compose(word)
        name = name or f"{self.name}-{text.lower()}"
        step.__name__ = step.__qualname__ = name
        made = make_scheme(step, self.dynamics, order=claimed.finite_time, name=name, word=word)
        return replace(made, invariant_order=claimed.invariant)

    def _shares(self, text: str, coefficients: Sequence[Any] | str | None) -> tuple[Share, ...]:
        if not isinstance(text, str) or not text:
            raise DefinitionError(
                f"word={text!r}: expected letters of the alphabet {self.name}, e.g. 'ABOBA'"
            )
        if len(text) > MOST_FLOWS:
            raise DefinitionError(
                f"word={shown(text)}: {len(text)} letters; expected at most {MOST_FLOWS}; shorten it"
            )
        for symbol in text:
            if symbol not in self.letters:
                raise UnknownNameError(
                    f"letter (in word={text!r})",
                    symbol,
                    self.letters,
                    f"The alphabet {self.name} has {', '.join(self.letters)}.",
                )
        merged = merged_text(text, self)
        every = merged_text(text + "".join(set(self.letters) - set(text)), self)
        missing = [symbol for symbol in self.letters if symbol in every and symbol not in merged]
        if missing and not _whole([self.letters[symbol] for symbol in dict.fromkeys(merged)], self.dynamics):
            raise DefinitionError(
                f"word={text!r}: the letter {missing[0]} does not occur; every letter of {self.name} "
                f"({', '.join(self.letters)}) must, or part of the dynamics is missing, as {', '.join(dict.fromkeys(text))} do not "
                f"sum to {self.dynamics.name}; add it, as in {text + missing[0] + text[::-1]!r}"
            )
        counts = Counter(merged)
        if coefficients is None:
            return tuple(Fraction(1, counts[symbol]) for symbol in merged)
        shares = _read_shares(text, coefficients)
        if not isinstance(coefficients, str):
            shares = _without_rounding(merged, shares, coefficients)
        for symbol in counts:
            places = [k for k, s in enumerate(merged) if s == symbol]
            total: Any = sum((shares[k] for k in places), Fraction(0))
            if total != 1:
                letters = " and ".join(dict.fromkeys(text[k] for k in places))
                scaled = [str(shares[k] / total if total else Fraction(1, len(places))) for k in places]
                raise DefinitionError(
                    f"word={text!r}: the shares of {letters} sum to {total}; expected 1, a flow of the whole step; mend the "
                    f"coefficients, as {', '.join(scaled)} for {', '.join(text[k] for k in places)}"
                )
        for symbol, share in zip(text, shares, strict=True):
            if share < 0 and not flows_backwards(self.letters[symbol], self.dynamics):
                raise DefinitionError(
                    f"word={text!r}: the letter {symbol} draws noise and has the negative share {share}: noise of a "
                    f"negative variance there is none; expected shares of {symbol} that are 0 or more; compose the "
                    "other letters alone and keep this one outside"
                )
        return shares


PLACES = (0.7, -1.3, 2.1)
"""Generic numbers, at which letters show their generators."""

SHORT, ALIKE = 2.0**-20, 1e-4
"""The time after which a letter shows its generator, to SHORT times numbers of size 1, and the share that counts as none."""


def merged_text(text: str, alphabet: Alphabet) -> str:
    """The text with the first of the letters that share a generator in the place of each.

    Letters of one generator that are parts of it, so that all of the text together sum to the dynamics, stay apart.
    """
    letters = [alphabet.letters[symbol] for symbol in dict.fromkeys(text)]
    if len(letters) < 2 or _whole(letters, alphabet.dynamics):
        return text
    generators = {letter.name: _generator(letter.flow, alphabet.dynamics) for letter in letters}
    first = {
        name: next(other for other, g in generators.items() if other == name or _alike(g, own))
        for name, own in generators.items()
    }
    return "".join(first[symbol] for symbol in text)


def _whole(letters: Sequence[Letter], dynamics: Dynamics) -> bool:
    """Do the generators of the letters sum to that of the dynamics, at some states? The proof is that of `sgverify.exact`."""
    parts = [_generator(letter.flow, dynamics) for letter in letters]
    given = dict.fromkeys(dynamics.parameters, 1.0)
    try:
        whole: list[float] = []
        for x in PLACES:
            drift, diffusion = dynamics.coefficients(_state(x, dynamics), grad=_gradient(), dim=1, **given)
            whole += [float(y) for y in (*drift, *diffusion)]
    except Exception:  # dynamics that plain numbers cannot run, such as in a metric
        return False
    return all(parts) and _alike([sum(column) for column in zip(*parts, strict=True)], whole)


def _generator(flow: Callable[..., Any], dynamics: Dynamics) -> list[float]:
    """Drift and half the squared noise of a letter at generic states, with U' = x + x^3/3; empty where it cannot be read there."""
    given, found = {**dict.fromkeys(dynamics.parameters, 1.0), "dim": 1, "t": SHORT}, []
    try:
        for x in PLACES:
            state = _state(x, dynamics)
            still, moved = (
                flow(state, grad=_gradient(), noise=Noise(partial(_fixed, z)), **given) for z in (0.0, 1.0)
            )
            found += [(float(a) - b) / SHORT for a, b in zip(still, state, strict=True)]
            found += [float(a - b) ** 2 / (2 * SHORT) for a, b in zip(moved, still, strict=True)]
    except Exception:  # a letter that plain numbers cannot run
        return []
    return found


def _fixed(z: float, _: Any) -> float:
    return z


def _state(x: float, dynamics: Dynamics) -> tuple[float, ...]:
    return tuple(x / (1 + k) for k in range(len(dynamics.state)))


def _gradient() -> FullGradientIngredient:
    return FullGradientIngredient(
        lambda x: x + x * x * x / 3,
        prior=lambda x: x / 2,
        likelihood=lambda x: x / 2 + x * x * x / 3,
        hessian=lambda x, v: (1 + x * x) * v,
    )


def _alike(one: Sequence[float], other: Sequence[float]) -> bool:
    size = max(map(abs, (1.0, *one, *other)))
    return len(one) == len(other) > 0 and all(
        abs(a - b) <= ALIKE * size for a, b in zip(one, other, strict=True)
    )


def flows_backwards(letter: Letter, dynamics: Dynamics) -> bool:
    """Whether a letter can flow for a negative time, with U = theta^2/2; noise cannot, its variance would be negative."""
    if "noise" not in letter.declaration.ingredients:
        return True
    given = dict.fromkeys(dynamics.parameters, 1.0)
    try:
        letter.flow(
            (1.0,) * len(dynamics.state),
            t=-0.5,
            grad=FullGradientIngredient(
                lambda theta: theta, prior=lambda theta: theta, hessian=lambda theta, v: v
            ),
            noise=Noise(lambda law: 1.0),
            dim=1,
            **given,
        )
    except ValueError:
        return False
    except Exception:  # a letter that plain numbers cannot run: its readings will say what they meet
        return True
    return True


def _read_shares(text: str, given: Sequence[Any] | str) -> tuple[Share, ...]:
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) != len(text):
        raise DefinitionError(
            f"word={text!r}: {len(given)} coefficients for {len(text)} letters; give one share per letter"
        )
    try:
        numbers = read_coefficients(
            text, given if isinstance(given, str) else [_simple(value) for value in given]
        )
    except DefinitionError as error:
        raise DefinitionError(f"word={text!r}: {error}") from None
    shares = tuple(number for number in numbers if not isinstance(number, Rounded))
    if len(shares) != len(numbers):
        raise DefinitionError(
            f"word={text!r}: a coefficient is a printed decimal, marked ~: expected one exact number per letter to run "
            "with; leave the ~ out, the decimal is then what it says"
        )
    return shares


def _simple(value: Any) -> Any:
    """The simple number, such as a root, of which `value` is the rounded float; any other value unchanged."""
    found = literal(value) if isinstance(value, float) and isfinite(value) else value
    return value if isinstance(found, Rounded) else found


def _without_rounding(text: str, shares: tuple[Share, ...], given: Sequence[Any]) -> tuple[Share, ...]:
    """`shares` divided by the sum of their letter, where they contain floats and that sum is 1 up to rounding."""
    found = list(shares)
    for symbol in set(text):
        places = [k for k, letter in enumerate(text) if letter == symbol]
        total: Any = sum((shares[k] for k in places), Fraction(0))
        rounding = FEW * sum(abs(float(shares[k])) for k in places)
        if any(isinstance(given[k], float) for k in places) and 0 < abs(float(total - 1)) <= rounding:
            for k in places:
                found[k] = shares[k] / total
    return tuple(found)


def _floats_of_order_two(
    text: str, shares: tuple[Share, ...], given: Sequence[Any] | str | None
) -> tuple[float | None, ...]:
    """The shares that are floats of no simple number, where the word has order 2 up to their rounding alone; None for others.

    Order 2 needs one condition for each pair X, Y of letters: the products of shares with X before Y sum to 1/2. Palindromic
    words meet it exactly.
    """
    if given is None or isinstance(given, str) or (text, shares) == (text[::-1], shares[::-1]):
        return ()
    floats = tuple(x if isinstance(x, float) and isinstance(literal(x), Rounded) else None for x in given)
    met = True
    for one, other in combinations(sorted(set(text)), 2):
        pairs = [
            shares[i] * shares[j]
            for i, j in combinations(range(len(text)), 2)
            if (text[i], text[j]) == (one, other)
        ]
        off = abs(float(sum(pairs, Fraction(-1, 2))))
        if off > 2 * FEW * sum((abs(float(x)) for x in pairs), 0.5):
            return ()
        met = met and not off
    return () if met else floats


def _make_letter(symbol: str, function: Callable[..., Any], dynamics: Dynamics) -> Letter:
    if not (len(symbol) == 1 and symbol.isalpha() and symbol.isupper()):
        raise DefinitionError(f"letter {symbol!r}: expected one capital, such as A")
    function = in_own_terms(function)
    declaration = read_signature(function, f"letter {symbol}")
    check_state(function, declaration.state, dynamics.state, dynamics.name)
    check_ingredients(function, declaration.ingredients, ("t", *dynamics.offered), "t")
    value, census = run_abstractly(function, dynamics.shapes, declaration.ingredients)
    check_returned(function, value, dynamics.shapes)
    return Letter(symbol, function, declaration, census)


def compose(word: Word) -> Callable[..., Any]:
    """The step function of a word, with the signature that its letters declare together."""
    dynamics = word.alphabet.dynamics
    asked = {"h", *(name for letter, _ in word.flows(1) for name in letter.declaration.ingredients)}
    ingredients = [name for name in ("h", *dynamics.offered) if name in asked]

    def step(*values: Any, **given: Any) -> tuple[Any, ...]:
        h = given.pop("h")
        for letter, t in word.flows(h):
            values = letter.flow(values, t=t, **given)
        return values

    return signed(step, dynamics.state, ingredients)
