"""The settings of adaptively weighted runs: regions of energy, exponents, step sizes omega_k of weights, and printed presets."""

from __future__ import annotations

import math
import tomllib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.schemes.composites.composite import (
    adapted,
    importance,
    log_importance,
    log_psi,
    multiplier,
    omega_of,
    random_field,
    reached,
    visited,
)
from sgverify.schemes.definition.mathematics import log

# Settings of adaptively weighted runs by name: what papers print, read from `papers/<paper>/presets.toml`.


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """The presets by name, each a table with keys of [partition]; papers by name, and within a paper as its file has them.

    Raises `DefinitionError` where two papers have a preset of one name.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for paper in sorted(resources.files("sgverify").joinpath("papers").iterdir(), key=lambda room: room.name):
        file = paper.joinpath("presets.toml")
        if not file.is_file():
            continue
        read = tomllib.loads(file.read_text(encoding="utf-8"))
        if twice := sorted(read.keys() & found.keys()):
            raise DefinitionError(
                f"papers/{paper.name}/presets.toml: another paper has a preset {twice[0]!r}."
            )
        found.update(read)
    return found


# The settings of adaptively weighted runs: regions of energy, exponents, and step sizes omega_k of the weights.


@dataclass(frozen=True)
class Partition:
    """Regions 1, ..., m of the energies, u_(i-1) < U <= u_i for i in between; the first and the last are open.

    `edges` are u_0 < ... < u_m. An energy up to u_1, also one below u_0, is in region 1, and one above u_(m-1), also one
    above u_m, in region m: u_0 and u_m set widths alone, and above u_m gradients are left as they are.
    Raises `ConfigurationError` for fewer than two regions and for edges that are not finite and increasing.
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        finite = all(math.isfinite(edge) for edge in self.edges)
        if len(self.edges) < 3 or not finite or any(a >= b for a, b in pairwise(self.edges)):
            raise ConfigurationError(
                f"partition.edges={list(self.edges)}: expected at least 3 finite energies, each above the last, so that there are "
                "at least two regions"
            )

    @staticmethod
    def equal(low: float, high: float, bins: int) -> Partition:
        """`bins` regions of one width du = (high - low)/bins, u_0 = low. Raises `ConfigurationError`."""
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigurationError(
                f"partition.low={low!r}, partition.high={high!r}: expected finite energies with low < high"
            )
        if bins < 2:
            raise ConfigurationError(f"partition.bins={bins!r}: expected at least 2 regions")
        width = (high - low) / bins
        return Partition((*(low + i * width for i in range(bins)), high))

    @staticmethod
    def of(edges: Sequence[float]) -> Partition:
        """The regions between given energies u_0 < ... < u_m."""
        return Partition(tuple(float(edge) for edge in edges))

    @property
    def bins(self) -> int:
        """m, the number of regions."""
        return len(self.edges) - 1

    @property
    def inner(self) -> tuple[float, ...]:
        """u_1, ..., u_(m-1): what decides the region of an energy."""
        return self.edges[1:-1]

    @property
    def widths(self) -> tuple[float, ...]:
        """u_i - u_(i-1) of the regions 1, ..., m."""
        return tuple(b - a for a, b in pairwise(self.edges))

    def region(self, energy: float) -> int:
        """The region of one energy, by bisection: `weighting.region_of`, quicker."""
        return 1 + bisect_left(self.inner, energy)


DEFAULTS: Mapping[str, Any] = {
    "bins": 10,
    "zeta": 1.0,
    "scale": 1.0,
    "alpha": 0.75,
    "offset": 100.0,
    "weights": "region",
}
"""What is taken where neither the configuration nor a preset says anything; ours, the papers print none for all."""

RULES = ("region", "smooth")


@dataclass(frozen=True)
class PartitionChoice:
    """The table [partition] of a configuration; what is left open comes from the preset, then from `DEFAULTS`.

    `edges` are u_0, ..., u_m, or `low`, `high` and `bins` cut regions of one width; left open, low is the least energy that is
    found and high lies T (d/2 + 4 sqrt(d/2) + 4) above it, beyond all but about 1e-4 of a Gaussian law. A minibatch's noise is
    not counted in: give both where energies are noisy. `temperature` is what averages are reweighted to.
    """

    preset: str | None = None
    low: float | None = None
    high: float | None = None
    bins: int | None = None
    edges: Any = None
    zeta: float | None = None
    scale: float | None = None
    alpha: float | None = None
    offset: float | None = None
    weights: str | None = None
    temperature: float | None = None


@dataclass(frozen=True)
class Adaptation:
    """One adaptively weighted run: a state at temperature tau, weights theta(1), ..., theta(m) that follow its energies.

    `cumulative` tells AWSGLD, whose theta become powers of cumulated masses, from CSGLD, whose theta become the masses.
    omega_k = scale/(k^alpha + offset). `smooth` weighs draws with Psi_theta(U)^zeta in place of theta(J)^zeta, without the
    O(1/m) between the two; `temperature` is that of the law which draws are weighed for.
    """

    partition: Partition
    zeta: float
    tau: float
    scale: float
    alpha: float
    offset: float
    temperature: float
    cumulative: bool = True
    smooth: bool = False

    def __post_init__(self) -> None:
        """Raise `ConfigurationError` for settings under which a weight theta(i) could leave (0, 1]."""
        if not (math.isfinite(self.zeta) and self.zeta > 0):
            raise ConfigurationError(
                f"partition.zeta={self.zeta!r}: expected a positive, finite exponent, e.g. 1"
            )
        if not 0.5 < self.alpha <= 1:
            raise ConfigurationError(
                f"partition.alpha={self.alpha!r}: expected 1/2 < alpha <= 1, so that theta converges (awsgld, below (31))"
            )
        if not (self.scale > 0 and self.offset >= 0 and self.omega(1) < 1):
            raise ConfigurationError(
                f"partition.scale={self.scale!r}, partition.offset={self.offset!r}: expected scale > 0, offset >= 0 and the first "
                "step scale/(1 + offset) below 1, so that no weight falls to 0; raise the offset or lower the scale"
            )
        if not (self.temperature > 0 and math.isfinite(self.temperature)):
            raise ConfigurationError(
                f"partition.temperature={self.temperature!r}: expected a positive, finite number"
            )

    @property
    def start(self) -> float:
        """theta_0(i), the same for every region, so that a run starts as the plain scheme; the papers print none."""
        return 1.0 if self.cumulative else 1.0 / self.partition.bins

    def omega(self, k: Any) -> Any:
        """omega_k, k = 1, 2, ..."""
        return omega_of(k, scale=self.scale, alpha=self.alpha, offset=self.offset)

    def indicator(self, i: Any, region: Any) -> Any:
        """1{i >= J} for AWSGLD, 1{i = J} for CSGLD."""
        return reached(i, region) if self.cumulative else visited(i, region)

    def pull(self, here: Any) -> Any:
        """theta(J) for AWSGLD, theta(J)^zeta for CSGLD."""
        return here if self.cumulative else importance(here, zeta=self.zeta)

    def next_weight(self, weight: Any, *, k: Any, here: Any, indicator: Any) -> Any:
        """theta_k(i) from theta_(k-1)(i), at a state in the region of weight `here`."""
        return adapted(weight, self.omega(k), random_field(self.pull(here), indicator, weight))

    def multiplier(self, here: Any, below: Any, width: Any) -> Any:
        """What the gradient of U is multiplied by in a region of this width."""
        return multiplier(here, below, zeta=self.zeta, tau=self.tau, width=width)

    def log_importance(self, energy: Any, *, here: Any, below: Any, lower: Any, width: Any, top: Any) -> Any:
        """log of how much a draw of this energy counts; `lower` and `width` of its region, `top` = min(energy, u_m)."""
        value = log(here)
        if self.smooth:
            value = log_psi(here, below, energy=top, lower=lower, width=width)
        return log_importance(value, energy, zeta=self.zeta, tau=self.tau, temperature=self.temperature)


def make_adaptation(choice: Any, target: Any, tau: float, *, cumulative: bool) -> Adaptation:
    """The adaptively weighted run on a target at temperature tau that `choice` describes, a `PartitionChoice` or its like.

    Raises `ConfigurationError` where the choice contradicts itself or names no preset.
    """
    held = {item.name: getattr(choice, item.name, None) for item in fields(PartitionChoice)}
    preset = held.pop("preset")
    if preset is not None and preset not in presets():
        raise ConfigurationError(f"partition.preset={preset!r}: expected one of {', '.join(presets())}")
    given = {name: value for name, value in held.items() if value is not None}
    if "edges" in given and (extra := sorted({"low", "high", "bins"} & given.keys())):
        raise ConfigurationError(
            f"partition.edges was given with partition.{extra[0]}: expected the edges alone, or low, high and bins"
        )
    chosen = {**DEFAULTS, **(presets()[preset] if preset else {}), **given}
    if chosen["weights"] not in RULES:
        raise ConfigurationError(
            f"partition.weights={chosen['weights']!r}: expected one of {', '.join(RULES)}"
        )
    return Adaptation(
        partition=_partition(chosen, target, tau),
        zeta=chosen["zeta"],
        tau=tau,
        scale=chosen["scale"],
        alpha=chosen["alpha"],
        offset=chosen["offset"],
        temperature=chosen.get("temperature", tau),
        cumulative=cumulative,
        smooth=chosen["weights"] == "smooth",
    )


def _partition(chosen: Mapping[str, Any], target: Any, tau: float) -> Partition:
    if "edges" in chosen:
        return Partition.of(chosen["edges"])
    low, high = chosen.get("low"), chosen.get("high")
    if low is None:
        low = target.lowest_energy_float64(tau)
    if high is None:
        half = target.dim / 2
        high = low + tau * (half + 4 * math.sqrt(half) + 4)
    return Partition.equal(low, high, chosen["bins"])
