"""Has each scheme that moves the chains passed the checks? They are asked in the run, by exact methods."""

from __future__ import annotations

from collections.abc import Sequence

from reports.applications.result import SamplerChecked
from sgverify.checks import verify
from sgverify.evidence import whole_outcome
from sgverify.schemes import Scheme
from sgverify.schemes.composites import Composite

CHECKS = ("local-order", "stationarity")
"""The checks that are asked: two proofs about the definition."""


EXCHANGE = ("swap-balance", *CHECKS)
"""The checks that are asked of replica exchange, besides: detailed balance of the swaps."""


def checked(
    schemes: Sequence[Scheme | Composite], checks: Sequence[str] = CHECKS
) -> tuple[SamplerChecked, ...]:
    """The outcomes of the checks for each scheme, one entry for each claim, at the default configuration."""
    found = []
    for scheme in schemes:
        evidence = verify(scheme, checks=checks)
        found.append(
            SamplerChecked(
                scheme=scheme.name,
                source=scheme.source,
                outcome=whole_outcome(evidence),
                claims={f"{item.claim} ({item.check})": item.outcome for item in evidence},
                order=(scheme.scheme if isinstance(scheme, Composite) else scheme).order,
            )
        )
    return tuple(found)
