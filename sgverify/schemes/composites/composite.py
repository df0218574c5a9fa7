"""The base class of composites: a scheme, and a rule around its steps."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from sgverify.errors import DefinitionError
from sgverify.schemes.scheme import Scheme


@dataclass(frozen=True)
class Composite:
    """A scheme under a rule that is no function of one step: an acceptance, a swap, weights that adapt.

    The rule itself is a pure function in the arithmetic of the definitions, beside the subclass; the sampler, the exact
    checks and the printed formula read that one. `kind` names the family, `reference` how a command line names it.
    """

    name: str
    scheme: Scheme
    summary: str = ""
    source: str = ""
    reference: str = ""

    kind: ClassVar[str] = "none"

    def __post_init__(self) -> None:
        """Raise `DefinitionError` unless `scheme` is a `Scheme`."""
        if not isinstance(self.scheme, Scheme):
            raise DefinitionError(
                f"{type(self).__name__}({self.name!r}, scheme={self.scheme!r}): expected a Scheme, made under "
                "@scheme(dynamics) or by a word; torch code has no definition to run replicas of"
            )

    @property
    def rule(self) -> str:
        """The kind and its settings, by which two composites of one scheme differ."""
        common = {item.name for item in fields(Composite)}
        chosen = [
            f"{item.name}={getattr(self, item.name)!r}" for item in fields(self) if item.name not in common
        ]
        return ", ".join([self.kind, *chosen])

    def named(self, name: str, **changes: Any) -> Self:
        """The same composite under another name (and summary, source, reference)."""
        return replace(self, name=name, **changes)


# Replica exchange: the rules by which neighbours on a ladder of temperatures swap their states.
#
# Replica k runs the scheme at T_k, T_1 < T_2 < ...; the joint law is prod_k exp(-U(theta_k)/T_k) times each momentum's. A
# swap of theta between neighbours is accepted with the chance min(1, S), so that exact energies leave the joint law exactly
# invariant. The rules are in `exchange_rules`.
#
# A momentum ~ N(0, T I) goes with theta as p sqrt(T_new/T_old), which takes one normal law to the other (Jacobian 1 for the
# pair), or stays with its replica; in both cases S contains no kinetic energy. A momentum that moved unscaled would need
# the difference of H in S in place of the difference of U. A thermostat's friction, whose law depends on T alone, stays with
# its replica. Memory goes with theta.
#
# Source: Deng, Feng, Karagiannis, Lin, Liang 2021, Algorithms 1 and 2; Swendsen and Wang 1986.


@dataclass(frozen=True)
class ReplicaExchange(Composite):
    """Replicas of a scheme at several temperatures, whose neighbours swap.

    `reduced`: energies have the control variate of Algorithm 1, refreshed every m steps; `adaptive`: its coefficient is
    learnt (Algorithm 2) in place of -1.
    """

    reduced: bool = False
    adaptive: bool = False

    kind: ClassVar[str] = "replica-exchange"


__all__ = ["Composite", "ReplicaExchange"]
