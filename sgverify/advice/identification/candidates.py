"""The candidates for a step: the schemes of the catalogue, words over its alphabets, and either begun at another place.

A chain that is begun within a step, or whose state is recorded there, is conjugate to the chain itself: with the flow phi of a
drift or of a kick, x -> phi(x), its step is phi P phi^-1. Words are also cut open elsewhere, which is a word again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

from sgverify.exact.splittings.conjugacy import conjugacy
from sgverify.exact.splittings.splitting import Splitting
from sgverify.schemes import Scheme, find_scheme
from sgverify.schemes.catalogue import ALPHABETS, NAMED, SOURCES
from sgverify.schemes.catalogue.in_metric import DECAY, FLOOR, preconditioned
from sgverify.schemes.catalogue.plain import PRINTED, momentum_form, noisy_gradient
from sgverify.schemes.definition.abstract_value import VECTOR
from sgverify.schemes.memory import Axes

Shapes = tuple[str | Axes, ...]
"""The shapes of the variables of a state, theta first."""

LONGEST = 5
"""The most letters of a word without a name that is compared; palindromes have up to `LONGEST_PALINDROME`."""

LONGEST_PALINDROME = 7

SHARES = (Fraction(1, 2), Fraction(1), Fraction(-1, 2), Fraction(-1))
"""The flow times, in steps, by which a recorded state may be moved along the drift or by a kick."""

DENOMINATOR = 10**15
"""The largest denominator of a recovered number of a family, whose schemes are built from fractions."""


POWERS = {"floor": 1, "R": 1, "B": 2}
"""The power of the gradient's factor g with which a family's number goes: a floor is compared with |g grad U|."""

WITH_NUMBERS: tuple[tuple[str, Callable[..., Scheme], dict[str, Fraction]], ...] = (
    ("psgld", preconditioned, {"decay": DECAY, "floor": FLOOR}),
    ("psgld-0.999-0.1", preconditioned, {"decay": Fraction(999, 1000), "floor": Fraction(1, 10)}),
    ("sghmc-momentum-0.001", momentum_form, {"B": PRINTED}),
)
"""The named schemes with numbers of their own."""


@dataclass(frozen=True)
class Shift:
    """The recorded state is the scheme's, moved by the flow of `letter` ("drift" or "kick") for the time `share` h."""

    letter: str
    share: Fraction

    @property
    def text(self) -> str:
        """The move as text."""
        whole = {Fraction(1): "h", Fraction(-1): "-h", Fraction(1, 2): "h/2", Fraction(-1, 2): "-h/2"}
        time = whole[self.share]
        if self.letter == "drift":
            return f"theta is recorded after a drift of {time}: theta + ({time}) p stands where the scheme has theta"
        return (
            f"p is recorded after a kick of {time}: p - ({time}) grad U(theta) stands where the scheme has p"
        )


@dataclass(frozen=True)
class CandidateScheme:
    """A scheme, or a family of schemes with `numbers` of their own, whose state may be recorded elsewhere (`shift`).

    `make` gives the scheme of the numbers, `start` are the numbers from which they are sought; in a family the temperature
    counts as `heat` times the handed one where `pinned` holds: the law at one setting does not tell it from the numbers. The scheme
    is the named one where the gradient is multiplied by `factor`.
    """

    name: str
    scheme: Scheme
    shift: Shift | None = None
    numbers: tuple[str, ...] = ()
    start: tuple[float, ...] = ()
    make: Callable[..., Scheme] | None = None
    pinned: bool = False
    heat: float = 1.0
    factor: float = 1.0

    @property
    def roles(self) -> tuple[str, ...]:
        """The state variables beside theta."""
        return self.scheme.state[1:]

    @property
    def scalars(self) -> tuple[str, ...]:
        """The scalar variables of the state."""
        return tuple(name for name, shape in self.scheme.shapes.items() if shape != VECTOR)

    def scheme_of(self, numbers: tuple[float, ...]) -> Scheme:
        """The scheme with these numbers of the family. Raises `DefinitionError` for numbers that none has."""
        if self.make is None:
            return self.scheme
        return self.make(*(Fraction(number).limit_denominator(DENOMINATOR) for number in numbers))

    def named_of(self, numbers: Mapping[str, float], gradient: float) -> Scheme:
        """The scheme of these numbers, as decimals with nine digits, where the gradient is multiplied by `gradient`.

        A floor is compared with |gradient|, R T and B with variances of gradients, T being the recovered one times the factor.
        """
        assert self.make is not None
        own = (numbers[name] * gradient ** POWERS.get(name, 0) for name in self.numbers)
        return self.make(*(Fraction(f"{number:.9g}") for number in own))


def named_candidates(shapes: Shapes, riemannian: bool = False) -> Iterator[CandidateScheme]:
    """The schemes of the catalogue whose state has these shapes, theta first, in a metric or without."""
    for name, scheme in NAMED.items():
        if tuple(scheme.shapes.values()) == shapes and scheme.dynamics.riemannian == riemannian:
            yield CandidateScheme(name, scheme)


def shifted_candidates(shapes: Shapes) -> Iterator[CandidateScheme]:
    """The schemes of the catalogue with a state that is recorded after a part of a drift or of a kick."""
    if len(shapes) < 2:
        return
    for candidate in named_candidates(shapes):
        if "p" not in candidate.roles:
            continue
        for letter in ("drift", "kick"):
            for share in SHARES:
                yield replace(candidate, shift=Shift(letter, share))


def families(shapes: Shapes, factors: Iterable[float] = ()) -> Iterator[CandidateScheme]:
    """Families of schemes with numbers of their own, which the catalogue names by these numbers.

    Where the temperature is pinned, it is that beside a gradient times 1 or one of the `factors`.
    """
    nogin, momentum, psgld = (find_scheme(name) for name in ("sghmc-nogin", "sghmc-momentum", "psgld"))
    for name, make, numbers in WITH_NUMBERS:
        if tuple(find_scheme(name).shapes.values()) == shapes:
            for g in factors:
                # The recovered law has the gradient's factor 1, and the numbers are compared with it.
                scaled = (value / Fraction(g) ** POWERS.get(key, 0) for key, value in numbers.items())
                yield CandidateScheme(name, make(*scaled), factor=g)
    for candidate in (
        CandidateScheme("sghmc-nogin-R", nogin, None, ("R",), (0.1,), noisy_gradient, True),
        CandidateScheme("sghmc-momentum-B", momentum, None, ("B",), (0.0,), momentum_form, True),
        CandidateScheme("psgld-DECAY-FLOOR", psgld, None, ("decay", "floor"), (0.9, 0.1), preconditioned),
    ):
        if tuple(candidate.scheme.shapes.values()) == shapes:
            yield candidate
            if candidate.pinned:
                yield from (replace(candidate, heat=1 / factor) for factor in factors)


def word_candidates(shapes: Shapes) -> Iterator[CandidateScheme]:
    """The words without a name over the catalogue's alphabets, the letters of each sharing the step equally."""
    for prefix, alphabet in ALPHABETS.items():
        if tuple(alphabet.dynamics.shapes.values()) != shapes:
            continue
        for text in _words("".join(alphabet.letters)):
            name = f"{prefix}-{text.lower()}"
            if name not in NAMED and not _is_named(text, prefix):
                yield CandidateScheme(name, _word(name))


def cyclic_shifts(scheme: Scheme) -> list[tuple[str, str]]:
    """The named schemes of which a word is a cyclic shift, each with the proof: W = u v and W' = v u, multiplied out."""
    if scheme.word is None:
        return []
    mine = Splitting(scheme.word.text, scheme.word.shares)
    found = []
    for name, other in NAMED.items():
        if other.word is None or other.word.alphabet is not scheme.word.alphabet or name == scheme.name:
            continue
        cut = conjugacy(mine, Splitting(other.word.text, other.word.shares))
        if cut is not None:
            found.append((name, str(cut)))
    return found


_word = cache(find_scheme)


def _is_named(text: str, prefix: str) -> bool:
    """Is the word one of the catalogue's under a shorter name, such as sghmc-baoab for sghmc-md-baoab?"""
    alphabet = ALPHABETS[prefix]
    return any(
        scheme.word is not None and scheme.word.alphabet is alphabet and scheme.word.text == text
        for scheme in NAMED.values()
    )


def _words(letters: str) -> Iterator[str]:
    for length in range(len(letters), LONGEST_PALINDROME + 1):
        for word in product(letters, repeat=length):
            text = "".join(word)
            apart = all(one != two for one, two in pairwise(text))
            if apart and set(text) == set(letters) and (length <= LONGEST or text == text[::-1]):
                yield text


def source_of(name: str, scheme: Scheme) -> str:
    """Where the scheme was published."""
    return scheme.source or next((SOURCES[prefix] for prefix in SOURCES if name.startswith(prefix)), "")
