"""Composites: rules around the steps of a scheme that no definition of one step can state (swaps, adaptive weights).

`composite` is a scheme with what happens around its steps, and the exchange of replicas by the `exchange_rules`; `catalogue` has
those that ship. Weights: `adaptation` (regions, exponents, steps, and what papers print) with the rules of `weighting`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.schemes.composites.catalogue import COMPOSITES
    from sgverify.schemes.composites.composite import Composite, ReplicaExchange
    from sgverify.schemes.composites.weighting import AdaptivelyWeighted

__all__ = ["COMPOSITES", "AdaptivelyWeighted", "Composite", "ReplicaExchange"]

__getattr__, __dir__ = lazily(__name__)
