"""The schemes that ship with sgverify, one file per family, found by name.

Langevin and underdamped: `euler`, `chen`, `molecular`, `ubu`, `momentum`, `noisy_gradient`. Others: `thermostat`,
`riemannian`, `riemannian_splitting`, `preconditioned`, `expanded_mean`.
"""

from __future__ import annotations

from sgverify.errors import DefinitionError, UnknownNameError
from sgverify.schemes.catalogue import (
    chen,
    euler,
    expanded_mean,
    molecular,
    momentum,
    noisy_gradient,
    preconditioned,
    riemannian,
    riemannian_splitting,
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

IN_METRIC: dict[str, Alphabet] = {
    "sgrhmc-chen": riemannian_splitting.ALPHABET,
    "sgrhmc-simplex": riemannian_splitting.SIMPLEX,
}
"""The alphabets of dynamics in a metric."""

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
        *riemannian_splitting.SCHEMES,
        *preconditioned.SCHEMES,
    )
}

ON_POSITIVE: dict[str, Scheme] = {
    item.name: item for item in (*expanded_mean.SCHEMES, *riemannian_splitting.SIMPLEX_SCHEMES)
}
"""The schemes of dynamics on theta > 0, apart from those that run on every target; their default target is `expanded-mean`."""

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
        for prefix, alphabet in (ALPHABETS | IN_METRIC).items()
    },
}
"""Names with a part that is filled in, each with its summary and source."""

PREFIXES = tuple(
    f"{prefix}-" for prefix in (noisy_gradient.PREFIX, preconditioned.PREFIX, *ALPHABETS, *IN_METRIC)
)
"""What these names begin with."""


def shipped_scheme(name: str) -> Scheme:
    """The catalogue scheme of this name; `PREFIX-WORD` for any word of an alphabet (`ALPHABETS`), `sghmc-nogin-R`.

    Raises `UnknownNameError` (with the nearest name) or `DefinitionError` (malformed word).
    """
    found = NAMED.get(name) or ON_POSITIVE.get(name)
    if found is not None:
        return found
    if name.startswith(noisy_gradient.PREFIX + "-"):
        return noisy_gradient.read_noisy_gradient(name[len(noisy_gradient.PREFIX) + 1 :])
    if name.startswith(preconditioned.PREFIX + "-"):
        return preconditioned.read_preconditioned(name[len(preconditioned.PREFIX) + 1 :])
    for prefix, alphabet in (ALPHABETS | IN_METRIC).items():
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
        "scheme",
        name,
        [*NAMED, *ON_POSITIVE, *PATTERNS],
        "A scheme of your own is path/to/file.py:attribute.",
    )


SOURCES = {
    "sghmc-chen": chen.SOURCE,
    "sghmc-md": molecular.SOURCE,
    "sghmc-ubu": ubu.SOURCE,
    "sgnht-chen": thermostat.SOURCE,
    "sgrhmc-chen": riemannian_splitting.SOURCE,
    "sgrhmc-simplex": riemannian_splitting.SOURCE,
}
