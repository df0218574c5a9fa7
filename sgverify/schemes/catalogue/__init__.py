"""The schemes that ship with sgverify, one file per family, found by name.

Langevin steps that are one function: `plain`. Splittings: `kinetic`, `thermostat`. Schemes of dynamics
in a metric: `in_metric`.
"""

from __future__ import annotations

from sgverify.errors import DefinitionError, UnknownNameError
from sgverify.schemes.catalogue import in_metric, kinetic, plain, thermostat
from sgverify.schemes.scheme import Scheme
from sgverify.schemes.splittings import Alphabet

ALPHABETS: dict[str, Alphabet] = {
    "sghmc-chen": kinetic.CHEN,
    "sghmc-md": kinetic.MOLECULAR,
    "sghmc-ubu": kinetic.UBU,
    "sgnht-chen": thermostat.ALPHABET,
}

IN_METRIC: dict[str, Alphabet] = {
    "sgrhmc-chen": in_metric.ALPHABET,
    "sgrhmc-simplex": in_metric.SIMPLEX,
}
"""The alphabets of dynamics in a metric."""

NAMED: dict[str, Scheme] = {
    item.name: item
    for item in (
        *plain.EULER_SCHEMES,
        *plain.MOMENTUM_SCHEMES,
        *kinetic.CHEN_SCHEMES,
        *kinetic.MOLECULAR_SCHEMES,
        *kinetic.UBU_SCHEMES,
        *plain.NOISY_GRADIENT_SCHEMES,
        *thermostat.SCHEMES,
        *in_metric.RIEMANNIAN_SCHEMES,
        *in_metric.RIEMANNIAN_SPLITTING_SCHEMES,
        *in_metric.PRECONDITIONED_SCHEMES,
    )
}

APART: dict[str, Scheme] = {
    item.name: item
    for item in (
        *in_metric.EXPANDED_MEAN_SCHEMES,
        *in_metric.SIMPLEX_SCHEMES,
        *kinetic.GEOMETRIC_SCHEMES,
    )
}
"""Schemes by name alone, which nothing compares or identifies a step with: those of dynamics on theta > 0, whose default target is
`expanded-mean`, and those of high order, whose several gradients pay where they are full."""

PATTERNS: dict[str, tuple[str, str]] = {
    f"{plain.PREFIX}-R": ("NOGIN for gradient noise of variance R T.", plain.NOISY_GRADIENT_SOURCE),
    f"{in_metric.PREFIX}-DECAY-FLOOR": (
        "Preconditioned SGLD without Gamma, of any decay and floor.",
        in_metric.PRECONDITIONED_SOURCE,
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

PREFIXES = tuple(f"{prefix}-" for prefix in (plain.PREFIX, in_metric.PREFIX, *ALPHABETS, *IN_METRIC))
"""What these names begin with."""


def shipped_scheme(name: str) -> Scheme:
    """The catalogue scheme of this name; `PREFIX-WORD` for any word of an alphabet (`ALPHABETS`), `sghmc-nogin-R`.

    Raises `UnknownNameError` (with the nearest name) or `DefinitionError` (malformed word).
    """
    found = NAMED.get(name) or APART.get(name)
    if found is not None:
        return found
    if name.startswith(plain.PREFIX + "-"):
        return plain.read_noisy_gradient(name[len(plain.PREFIX) + 1 :])
    if name.startswith(in_metric.PREFIX + "-"):
        return in_metric.read_preconditioned(name[len(in_metric.PREFIX) + 1 :])
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
        [*NAMED, *APART, *PATTERNS],
        "A scheme of your own is path/to/file.py:attribute.",
    )


SOURCES = {
    "sghmc-chen": kinetic.CHEN_SOURCE,
    "sghmc-md": kinetic.MOLECULAR_SOURCE,
    "sghmc-ubu": kinetic.UBU_SOURCE,
    "sgnht-chen": thermostat.SOURCE,
    "sgrhmc-chen": in_metric.RIEMANNIAN_SPLITTING_SOURCE,
    "sgrhmc-simplex": in_metric.RIEMANNIAN_SPLITTING_SOURCE,
}
