"""What the draws of a step say of its scheme: draws that are not normal, and torch code whose draws are not new at each step."""

from __future__ import annotations

from dataclasses import replace

from sgverify.advice.identification.model import OPEN, Identification
from sgverify.checks.code.pure_step import noise_faults
from sgverify.errors import SgverifyError
from sgverify.schemes import TorchStep
from sgverify.schemes.catalogue import NAMED
from sgverify.subject.subject import Subject


def none_draws() -> str:
    """A clause about the catalogue, where all draws of all its schemes are normal."""
    others = [name for name, scheme in NAMED.items() if not all(law.normal for law in scheme.laws)]
    return (
        "" if others else f", and each of the {len(NAMED)} schemes of the catalogue draws normal ones alone"
    )


def of_other_draws(found: Identification, other: str) -> Identification:
    """The answer about a definition that was run with normal draws in the place of others of the same mean and variance."""
    same = f"{found.scheme}: " if found.scheme else ""
    reason = (
        f"it draws {other} numbers{none_draws()}; with normal ones of the same mean and variance in their place: {same}"
        f"{found.reason.removeprefix(f'{found.scheme}; ')}"
    )
    return replace(found, outcome=OPEN, reason=reason, scheme=None, source=None, relation=None)


def repeated_noise(subject: Subject) -> tuple[str, tuple[str, ...]]:
    """Why the draws of torch code are not new at each step, "" if they are, and what of this was not asked."""
    if not isinstance(subject.scheme, TorchStep):
        return "", ()
    try:
        return "; ".join(noise_faults(subject)), (
            "whether it keeps anything else between steps: `sgverify verify` tries it (pure-step, white-noise)",
        )
    except SgverifyError:
        return "", ("whether later steps draw anew: `sgverify verify` tries it (pure-step, white-noise)",)


__all__ = ["none_draws", "of_other_draws", "repeated_noise"]
