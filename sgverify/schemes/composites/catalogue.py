"""The composites that ship with sgverify, found by name."""

from __future__ import annotations

from sgverify.schemes.catalogue import shipped_scheme
from sgverify.schemes.composites.composite import AdaptivelyWeighted, Composite, ReplicaExchange

_SOURCE = "Deng, Feng, Karagiannis, Lin, Liang 2021"


def _exchanges(ending: str, name: str) -> tuple[ReplicaExchange, ...]:
    """Swaps by plain energies, by variance-reduced ones, and by those with a coefficient that is learnt."""
    scheme = shipped_scheme(name)
    return (
        ReplicaExchange(
            f"resg{ending}",
            scheme,
            f"Replicas of {name} at several temperatures that swap states.",
            f"{_SOURCE}, section 2",
        ),
        ReplicaExchange(
            f"vr-resg{ending}",
            scheme,
            f"Replicas of {name} that swap by variance-reduced energies.",
            f"{_SOURCE}, Algorithm 1",
            reduced=True,
        ),
        ReplicaExchange(
            f"avr-resg{ending}",
            scheme,
            f"Replicas of {name} that swap by variance-reduced energies of a learnt coefficient.",
            f"{_SOURCE}, Algorithm 2",
            reduced=True,
            adaptive=True,
        ),
    )


def _weighted(ending: str, name: str) -> tuple[AdaptivelyWeighted, ...]:
    """Weights by cumulated masses of energy regions, and by the masses themselves."""
    scheme = shipped_scheme(name)
    return (
        AdaptivelyWeighted(
            f"awsg{ending}",
            scheme,
            f"{name} on gradients bent by weights that adapt: low energies are deepened.",
            "Deng, Lin, Liang 2022, (18), (19)",
        ),
        AdaptivelyWeighted(
            f"csg{ending}",
            scheme,
            f"{name} on gradients bent by weights that adapt: energies are flattened.",
            "Deng, Lin, Liang 2020, Algorithm 1",
            contour=True,
        ),
    )


COMPOSITES: dict[str, Composite] = {
    composite.name: composite
    for composite in (
        *_exchanges("ld", "sgld-euler"),
        *_exchanges("hmc", "sghmc-euler"),
        *_weighted("ld", "sgld-euler"),
        *_weighted("hmc", "sghmc-euler"),
    )
}
