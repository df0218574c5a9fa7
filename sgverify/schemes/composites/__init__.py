"""Composites: rules around the steps of a scheme that no definition of one step can state (swaps, adaptive weights).

`composite` is a scheme with what happens around its steps, with the rules of exchange and of weighting, and those that
ship; `adaptation` regions, exponents and steps of weights, and what papers print.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.schemes.composites.composite import (
        COMPOSITES,
        AdaptivelyWeighted,
        Composite,
        ReplicaExchange,
    )

__all__ = ["COMPOSITES", "AdaptivelyWeighted", "Composite", "ReplicaExchange"]

__getattr__, __dir__ = lazily(__name__)
