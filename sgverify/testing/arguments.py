"""What a test suite hands over, refused at once where it is not what it should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis.strategies import SearchStrategy

from sgverify.errors import UserError
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.loading import load_step
from sgverify.testing.references import reference_of

Given = Scheme | TorchStep | str
"""What is tested: a definition, torch code of one's own, or a reference to one of the two."""


def listed_schemes(schemes: Iterable[Given]) -> list[Given]:
    """The schemes as a list; raises `UserError` for one that stands alone, for none and for an entry of another kind."""
    if isinstance(schemes, Given):
        raise UserError(f"schemes={_name(schemes)}: expected a list; write [{_name(schemes)}]")
    try:
        found = list(schemes)
    except TypeError:
        raise UserError(
            f"schemes={schemes!r}: expected a list of schemes or references such as ['sghmc-aboba']"
        ) from None
    if not found:
        raise UserError("schemes=[]: expected at least one scheme or reference; give some")
    for scheme in found:
        if not isinstance(scheme, Given):
            raise UserError(
                f"schemes: {scheme!r} is a {type(scheme).__name__}; expected a Scheme or a reference such as 'sghmc-aboba' "
                "or 'mine.py:heun'"
            )
    return found


def listed_checks(checks: Sequence[str] | None) -> list[str]:
    """The ids as a list, empty for all; raises `UserError` for a string and for an empty list."""
    if checks is None:
        return []
    if isinstance(checks, str):
        raise UserError(f"checks={checks!r}: expected a list of ids; write [{checks!r}]")
    found = list(checks)
    if not found:
        raise UserError(
            f"checks={checks!r}: names nothing; give ids from `sgverify list checks`, or leave it out for all"
        )
    return found


def check_strategy(configurations: SearchStrategy[Any] | None) -> None:
    """Raises `UserError` where `configurations` is neither a strategy nor None."""
    if configurations is not None and not isinstance(configurations, SearchStrategy):
        raise UserError(
            f"configurations={configurations!r}: expected a strategy such as sgverify.strategies.configurations(dims=[1, 2]); "
            "leave it out to judge under `config`"
        )


def resolve(schemes: Iterable[Given], namespace: Mapping[str, Any]) -> None:
    """Load every reference, so that one that names nothing fails once; raises `UserError`.

    One to the module that asks is left for later: it is not complete yet.
    """
    module, file = namespace.get("__name__"), namespace.get("__file__")
    for scheme in schemes:
        if not isinstance(scheme, str):
            continue
        place = scheme.rpartition(":")[0]
        if place and (place == module or (file and Path(place).resolve() == Path(file).resolve())):
            continue
        load_step(scheme)


def labels_of(schemes: Sequence[Given], namespace: Mapping[str, Any]) -> list[str]:
    """How tests call each scheme: by its name, by its attribute where a name is shared, and numbered where that is too.

    >>> labels_of(["sgld-euler", "sgld-euler"], {})
    ['sgld-euler', 'sgld-euler-2']
    """
    names = [scheme if isinstance(scheme, str) else scheme.name for scheme in schemes]
    shared = Counter(names)
    labels = [
        reference_of(scheme, namespace).rpartition(":")[2] if shared[name] > 1 else name
        for name, scheme in zip(names, schemes, strict=True)
    ]
    taken: set[str] = set()
    for place, label in enumerate(labels):
        number = 1
        while labels[place] in taken:
            number += 1
            labels[place] = f"{label}-{number}"
        taken.add(labels[place])
    return labels


def _name(scheme: Given) -> str:
    return repr(scheme) if isinstance(scheme, str) else scheme.name


__all__ = ["Given", "check_strategy", "labels_of", "listed_checks", "listed_schemes", "resolve"]
