"""Composites: what a definition of one step cannot say (swaps, adaptive weights), as pure rules around schemes."""

from sgverify.schemes.composites.catalogue import COMPOSITES
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.composites.exchange import ReplicaExchange
from sgverify.schemes.composites.weighted import AdaptivelyWeighted

__all__ = ["COMPOSITES", "AdaptivelyWeighted", "Composite", "ReplicaExchange"]
