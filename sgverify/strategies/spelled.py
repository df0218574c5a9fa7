"""Generated words by reference: `sgverify.strategies.spelled:ALPHABET WORD SHARES` is a scheme for any command.

The catalogue names words with equal shares only. A word with shares of its own, or over an alphabet that
was generated, has no name there, and a failing example could not be replayed from a command line.
"""

from __future__ import annotations

from collections.abc import Sequence

from sgverify.errors import UserError
from sgverify.schemes import ALPHABETS, Alphabet, Scheme
from sgverify.schemes.numbers.rounded import Rounded
from sgverify.schemes.numbers.text import read_number, split_numbers
from sgverify.schemes.splittings import Share
from sgverify.strategies.splittings import splitting

CATALOGUE = {alphabet.name: alphabet for alphabet in ALPHABETS.values()}


def spell(
    alphabet: Alphabet, text: str, shares: Sequence[Share] | None = None, *, order: int | None = None
) -> Scheme:
    """The word with a reference that `sgverify verify` takes.

    >>> from fractions import Fraction
    >>> from sgverify.schemes.catalogue import chen
    >>> spell(chen.ALPHABET, "ABOBA").reference
    'sghmc-chen-aboba'
    >>> spell(chen.ALPHABET, "ABOA", [Fraction(1, 3), Fraction(1), Fraction(1), Fraction(2, 3)]).reference
    'sgverify.strategies.spelled:chen2015 ABOA 1/3,1,1,2/3'
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
