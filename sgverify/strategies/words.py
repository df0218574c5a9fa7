"""Generated words by reference: `sgverify.strategies.words:ALPHABET WORD SHARES` is a scheme for any command.

The catalogue names words with equal shares only. A word with shares of its own, or over an alphabet that
was generated, has no name there, and a failing example could not be replayed from a command line.

Splitting words and their alphabets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sgverify.errors import ConfigurationError, UserError
from sgverify.schemes import ALPHABETS, Alphabet, Scheme
from sgverify.schemes.compositions import lengths_of, shares_of
from sgverify.schemes.numbers.rounded import Rounded
from sgverify.schemes.numbers.text import read_number, split_numbers
from sgverify.schemes.splittings import Share
from sgverify.strategies.splittings import PARTS, splitting, splitting_names

CATALOGUE = {alphabet.name: alphabet for alphabet in ALPHABETS.values()}


def spell(
    alphabet: Alphabet, text: str, shares: Sequence[Share] | None = None, *, order: int | None = None
) -> Scheme:
    """The word with a reference that `sgverify verify` takes.

    >>> from fractions import Fraction
    >>> from sgverify.schemes.catalogue.kinetic import CHEN
    >>> spell(CHEN, "ABOBA").reference
    'sghmc-chen-aboba'
    >>> spell(CHEN, "ABOA", [Fraction(1, 3), Fraction(1), Fraction(1), Fraction(2, 3)]).reference
    'sgverify.strategies.words:chen2015 ABOA 1/3,1,1,2/3'
    """
    scheme = alphabet.word(text, coefficients=shares, order=order)
    prefix = next((key for key, known in ALPHABETS.items() if known is alphabet), None)
    if prefix is not None and shares is None:
        return scheme.named(scheme.name, reference=f"{prefix}-{text.lower()}")
    # Partitions hold a colon, at which a reference is split from its end.
    place = alphabet.name.replace(":", "/")
    numbers = "" if shares is None else " " + ",".join(str(share).replace(" ", "") for share in shares)
    return scheme.named(scheme.name, reference=f"{__name__}:{place} {text}{numbers}")


def read(attribute: str) -> Scheme:
    """The scheme that `spell` gave this reference, without the module in front."""
    name, _, rest = attribute.partition(" ")
    text, _, numbers = rest.partition(" ")
    alphabet = CATALOGUE.get(name) or splitting(name.replace("/", ":"))
    return spell(alphabet, text, [_share(share) for share in split_numbers(numbers)] if numbers else None)


def _share(text: str) -> Share:
    number = read_number(text)
    if isinstance(number, Rounded):
        raise ValueError(f"{text!r} is an interval")
    return number


def __getattr__(attribute: str) -> Scheme:
    """A word by its spelling, so that `module:attribute` finds it."""
    if attribute.startswith("_") or " " not in attribute:
        raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")
    try:
        return read(attribute)
    except (UserError, ValueError, ZeroDivisionError) as error:
        raise AttributeError(f"{attribute!r} spells no word: {error}") from error


Shares = Literal["equal", "rational", "composed"]

LARGEST_WEIGHT = 3
"""Shares are weights 1 to 3 over their sum: few primes, so that their square roots stay few."""


def alphabets(*, dynamics: str = "kinetic", catalogue: bool = True) -> SearchStrategy[Alphabet]:
    """Alphabets of exact flows: the catalogue's, then all splittings of `dynamics`, "kinetic" or "thermostat".

    A splitting is a partition of the generator's parts (drift, friction, noise, kick, and heat of a thermostat) into
    blocks whose flows are known, one letter each. `catalogue=False` leaves the catalogue's out. Shrinks to the first of
    the catalogue.

    >>> from hypothesis import find
    >>> find(alphabets(), lambda alphabet: len(alphabet.letters) == 4).name
    'kinetic:drift|friction|noise|kick'

    Raises `ConfigurationError` for dynamics without splittings.
    """
    if dynamics not in PARTS:
        raise ConfigurationError(
            f"dynamics={dynamics!r}: expected one of {', '.join(PARTS)}, which have splittings"
        )
    known = [item for item in ALPHABETS.values() if catalogue and item.dynamics.name == dynamics]
    return st.one_of(
        *([st.sampled_from(known)] if known else []),
        st.sampled_from(splitting_names(dynamics)).map(splitting),
    )


def words(
    *,
    alphabet: Alphabet | None = None,
    dynamics: str = "kinetic",
    palindromic: bool | None = None,
    most: int = 7,
    shares: Shares | None = None,
) -> SearchStrategy[Scheme]:
    """Consistent words over `alphabet` (any of `dynamics`, where it is left out) of at most `most` letters, each with a reference.

    `palindromic=True` makes letters and shares read the same both ways, `False` excludes that. `shares` are "equal" for
    each letter or "rational", positive and summing to 1, either of them where it is left out. "composed" are those of
    Yoshida's or Suzuki's composition, irrational and partly negative, of a palindrome in the letters that draw no
    noise; the letters that do stand around it, and `most` does not count. It is never drawn unless it is asked for.
    Shrinks to short words with equal shares.

    >>> from hypothesis import find
    >>> from sgverify.schemes.catalogue.kinetic import CHEN, MOLECULAR
    >>> find(words(alphabet=CHEN, palindromic=True), lambda scheme: True).word.text
    'ABOBA'
    >>> find(words(alphabet=MOLECULAR, shares="composed"), lambda scheme: True).word.text
    'OABABABAO'

    Raises `ConfigurationError` for an empty domain.
    """
    if shares == "composed":
        return _composed_words(alphabet, dynamics, palindromic)
    if alphabet is None:
        return alphabets(dynamics=dynamics).flatmap(
            lambda one: _words(one, palindromic, max(most, _shortest(one, palindromic)), shares)
        )
    if most < _shortest(alphabet, palindromic):
        raise ConfigurationError(
            f"most={most!r}: a word over {len(alphabet.letters)} letters has at least {_shortest(alphabet, palindromic)}"
        )
    return _words(alphabet, palindromic, most, shares)


def _composed_words(
    alphabet: Alphabet | None, dynamics: str, palindromic: bool | None
) -> SearchStrategy[Scheme]:
    if palindromic is False:
        raise ConfigurationError(
            "palindromic=False, shares='composed': compositions of palindromes are palindromes; expected True or None"
        )
    if alphabet is None:
        return alphabets(dynamics=dynamics).filter(lambda one: len(_noiseless(one)) > 1).flatmap(_composed)
    if len(_noiseless(alphabet)) < 2:
        raise ConfigurationError(
            f"shares='composed' over {alphabet.name}: {len(_noiseless(alphabet))} of its letters draw no noise; expected two, "
            "which can flow backward; choose another alphabet"
        )
    return _composed(alphabet)


def _noiseless(alphabet: Alphabet) -> list[str]:
    return [name for name, item in alphabet.letters.items() if "noise" not in item.declaration.ingredients]


@st.composite
def _composed(draw: Any, alphabet: Alphabet) -> Scheme:
    inner = draw(st.permutations(_noiseless(alphabet)))
    outer = draw(st.permutations([name for name in alphabet.letters if name not in inner]))
    name = draw(st.sampled_from(["yoshida4", "suzuki4"]))
    palindrome = "".join((*inner, *inner[-2::-1]))
    core = palindrome + palindrome[1:] * (len(lengths_of(name)) - 1)
    half = [Fraction(1, 2)] * len(outer)
    text = "".join((*outer, core, *outer[::-1]))
    return spell(alphabet, text, [*half, *shares_of(name, core), *half])


def _shortest(alphabet: Alphabet, palindromic: bool | None) -> int:
    count = len(alphabet.letters)
    return 2 * count - 1 if palindromic else count


@st.composite
def _words(draw: Any, alphabet: Alphabet, palindromic: bool | None, most: int, shares: str | None) -> Scheme:
    symmetric = draw(st.booleans()) if palindromic is None else palindromic
    if symmetric and most < _shortest(alphabet, True):
        symmetric = False
    letters = list(alphabet.letters)
    order = draw(st.permutations(letters))
    room = (most - _shortest(alphabet, symmetric)) // (2 if symmetric else 1)
    extra = draw(st.lists(st.tuples(st.integers(0, len(letters)), st.sampled_from(letters)), max_size=room))
    half = list(order)
    for place, letter in extra:
        half.insert(place, letter)
    text = "".join((*half, *half[-2::-1])) if symmetric else "".join(half)
    kind = shares or draw(st.sampled_from(["equal", "rational"]))
    if kind == "equal":
        if palindromic is False and text == text[::-1]:
            # Only a word of one letter repeated could be left, and alphabets have two or more.
            text = text[0] + text if text[0] != text[-1] else text + next(c for c in letters if c != text[0])
        return spell(alphabet, text)
    weights = draw(st.lists(st.integers(1, LARGEST_WEIGHT), min_size=len(half), max_size=len(half)))
    if symmetric:
        weights = [*weights, *weights[-2::-1]]
    if palindromic is False and text == text[::-1]:
        text, weights = text + next(c for c in letters if c != text[0]), [*weights, 1]
    total: Counter[str] = Counter()
    for letter, weight in zip(text, weights, strict=True):
        total[letter] += weight
    return spell(
        alphabet, text, [Fraction(w, total[letter]) for letter, w in zip(text, weights, strict=True)]
    )
