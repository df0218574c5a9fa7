"""Composites: rules around the steps of a scheme that no definition of one step can state (swaps, adaptive weights).

`composite` is a scheme with what happens around its steps, `catalogue` those that ship. Swaps: `exchange` with
`exchange_rules`. Weights: `adaptation` (regions, exponents, steps) with the rules of `weighting` and the `presets` that
papers print.
"""

from sgverify.schemes.composites.catalogue import COMPOSITES
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.composites.exchange import ReplicaExchange
from sgverify.schemes.composites.weighting import AdaptivelyWeighted

__all__ = ["COMPOSITES", "AdaptivelyWeighted", "Composite", "ReplicaExchange"]
