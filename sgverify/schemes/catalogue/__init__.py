"""The schemes that ship with sgverify, one file per family, found by name.

Langevin and underdamped: `euler`, `chen`, `molecular`, `ubu`, `momentum`, `noisy_gradient`. Others: `thermostat`,
`riemannian`, `preconditioned`, `expanded_mean`.
"""

from __future__ import annotations

from sgverify.errors import DefinitionError, UnknownNameError
from sgverify.schemes.catalogue import (
    chen,
    euler,
    molecular,
    momentum,
    noisy_gradient,
    preconditioned,
    riemannian,
    thermostat,
    ubu,
)
from sgverify.schemes.scheme import Scheme
from sgverify.schemes.splittings import Alphabet

ALPHABETS: dict[str, Alphabet] = {
    "sghmc-chen": chen.ALPHABET,
    "sghmc-md": molecular.ALPHABET,
    "sghmc-ubu": ubu.ALPHABET,
    "sgnht-chen": thermostat.ALPHABET,
}

NAMED: dict[str, Scheme] = {
    item.name: item
    for item in (
        *euler.SCHEMES,
        *momentum.SCHEMES,
        *chen.SCHEMES,
        *molecular.SCHEMES,
        *ubu.SCHEMES,
        *noisy_gradient.SCHEMES,
        *thermostat.SCHEMES,
        *riemannian.SCHEMES,
        *preconditioned.SCHEMES,
    )
}


PATTERNS: dict[str, tuple[str, str]] = {
    f"{noisy_gradient.PREFIX}-R": ("NOGIN for gradient noise of variance R T.", noisy_gradient.SOURCE),
    f"{preconditioned.PREFIX}-DECAY-FLOOR": (
        "Preconditioned SGLD without Gamma, of any decay and floor.",
        preconditioned.SOURCE,
    ),
    **{
        f"{prefix}-WORD": (
            f"Any word over the letters {', '.join(alphabet.letters)} of {alphabet.name}.",
            f"alphabet {alphabet.name}",
        )
        for prefix, alphabet in ALPHABETS.items()
    },
}
"""Names with a part that is filled in, each with its summary and source."""

PREFIXES = tuple(f"{prefix}-" for prefix in (noisy_gradient.PREFIX, preconditioned.PREFIX, *ALPHABETS))
"""What these names begin with."""


def shipped_scheme(name: str) -> Scheme:
    """The catalogue scheme of this name; `PREFIX-WORD` for any word of an alphabet (`ALPHABETS`), `sghmc-nogin-R`.

    Raises `UnknownNameError` (with the nearest name) or `DefinitionError` (malformed word).
    """
    if name in NAMED:
        return NAMED[name]
    if name.startswith(noisy_gradient.PREFIX + "-"):
        return noisy_gradient.read_noisy_gradient(name[len(noisy_gradient.PREFIX) + 1 :])
    if name.startswith(preconditioned.PREFIX + "-"):
        return preconditioned.read_preconditioned(name[len(preconditioned.PREFIX) + 1 :])
    for prefix, alphabet in ALPHABETS.items():
        if name.startswith(prefix + "-"):
            text = name[len(prefix) + 1 :].upper()
            if not text:
                raise DefinitionError(f"scheme={name!r}: the word is empty; write e.g. {prefix}-ABOBA")
            return alphabet.word(text, name=f"{prefix}-{text.lower()}").named(
                f"{prefix}-{text.lower()}",
                summary=f"Splitting {text} in the letters of {alphabet.name}.",
                source=SOURCES[prefix],
            )
    raise UnknownNameError(
        "scheme", name, [*NAMED, *PATTERNS], "A scheme of your own is path/to/file.py:attribute."
    )


SOURCES = {
    "sghmc-chen": chen.SOURCE,
    "sghmc-md": molecular.SOURCE,
    "sghmc-ubu": ubu.SOURCE,
    "sgnht-chen": thermostat.SOURCE,
}
