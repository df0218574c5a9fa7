"""Convention maps: what a paper or a library calls its numbers, as the h, D and momentum of this package.

Each map is data: the same step in other letters. From one to the other nothing but names and scales changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sgverify.schemes.mathematics import sqrt

Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Convention:
    """`scheme` in the letters of `source`: `read` gives h and D from its numbers, and its momentum is `scale` times p.

    `numbers` are the names that `read` and `scale` ask for.
    """

    name: str
    source: str
    scheme: str
    numbers: tuple[str, ...]
    read: Callable[[Numbers], dict[str, Any]]
    scale: Callable[[Numbers], Any] | None = None

    def momentum(self, numbers: Numbers, value: Any) -> Any:
        """p of this package from the momentum `value` of the source."""
        return value if self.scale is None else value / self.scale(numbers)


CONVENTIONS: dict[str, Convention] = {
    item.name: item
    for item in (
        Convention(
            "awsgld-46",
            "Deng, Lin, Liang 2022, appendix, equation (46) with beta = 0: learning rate eps, momentum 1 - alpha",
            "sghmc-momentum",
            ("eps", "alpha"),
            lambda n: {"h": sqrt(n["eps"]), "D": n["alpha"] / sqrt(n["eps"])},
            lambda n: sqrt(n["eps"]),
        ),
        Convention(
            "posteriors-sgld",
            "posteriors 0.1.3, sgmcmc.sgld at beta = 0",
            "sgld-euler",
            ("lr",),
            lambda n: {"h": n["lr"]},
        ),
        Convention(
            "posteriors-sghmc",
            "posteriors 0.1.3, sgmcmc.sghmc at beta = 0",
            "sghmc-euler-explicit",
            ("lr", "alpha", "sigma"),
            lambda n: {"h": n["lr"] / n["sigma"], "D": n["alpha"] / n["sigma"]},
            lambda n: n["sigma"],
        ),
    )
}
"""The maps by name; the momentum of the first is gamma = h p, that of posteriors m = sigma p."""
