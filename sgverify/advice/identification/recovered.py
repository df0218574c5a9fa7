"""The numbers of the scheme that were recovered, with what each means and its law in h, D and T."""

from __future__ import annotations

from sgverify.advice.identification.comparing import AGREES
from sgverify.advice.identification.matching import Match
from sgverify.advice.identification.model import RecoveredNumber


def recovered_numbers(match: Match, state: tuple[str, ...]) -> tuple[RecoveredNumber, ...]:
    """The numbers of a match, h, D and T first; `state` are the variables of the step."""
    meanings = {"h": "step size", "D": "friction", "T": "temperature of the noise"}
    for role, place in zip(match.base.scheme.state[1:], match.base.order[1:], strict=True):
        meanings[role] = f"{state[place]} is this many times the scheme's {role}"
        meanings[f"{role} offset"] = f"{state[place]} is the scheme's {role} plus this"
    laws = {
        "h": match.convention.h,
        "D": match.convention.D,
        "T": match.convention.T,
        **match.convention.scales,
        **match.convention.own,
    }
    return tuple(
        RecoveredNumber(
            name,
            meanings.get(name, "number of the family"),
            float(value),
            "0" if abs(value) < AGREES else None if laws.get(name) is None else str(laws[name]),
        )
        for name, value in sorted(match.base.numbers.items(), key=lambda item: _place(item[0]))
    )


def _place(name: str) -> int:
    """h, D and T come first; what follows keeps its order."""
    return ("h", "D", "T").index(name) if name in ("h", "D", "T") else 3


__all__ = ["recovered_numbers"]
