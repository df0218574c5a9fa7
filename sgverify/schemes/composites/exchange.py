"""Replica exchange: the rules by which neighbours on a ladder of temperatures swap their states.

Replica k runs the scheme at T_k, T_1 < T_2 < ...; the joint law is prod_k exp(-U(theta_k)/T_k) times each momentum's. A
swap of theta between neighbours is accepted with the chance min(1, S), so that exact energies leave the joint law exactly
invariant. The rules are in `exchange_rules`.

A momentum ~ N(0, T I) goes with theta as p sqrt(T_new/T_old), which takes one normal law to the other (Jacobian 1 for the
pair), or stays with its replica; in both cases S contains no kinetic energy. A momentum that moved unscaled would need
the difference of H in S in place of the difference of U. A thermostat's friction, whose law depends on T alone, stays with
its replica. Memory goes with theta.

Source: Deng, Feng, Karagiannis, Lin, Liang 2021, Algorithms 1 and 2; Swendsen and Wang 1986.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sgverify.schemes.composites.composite import Composite


@dataclass(frozen=True)
class ReplicaExchange(Composite):
    """Replicas of a scheme at several temperatures, whose neighbours swap.

    `reduced`: energies have the control variate of Algorithm 1, refreshed every m steps; `adaptive`: its coefficient is
    learnt (Algorithm 2) in place of -1.
    """

    reduced: bool = False
    adaptive: bool = False

    kind: ClassVar[str] = "replica-exchange"


__all__ = ["ReplicaExchange"]
