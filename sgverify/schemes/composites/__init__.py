"""Composites: what a definition of one step cannot say (swaps, adaptive weights), as pure rules around schemes."""

from sgverify.schemes.composites.catalogue import COMPOSITES
from sgverify.schemes.composites.composite import Composite
from sgverify.schemes.composites.exchange import ReplicaExchange

__all__ = ["COMPOSITES", "Composite", "ReplicaExchange"]
