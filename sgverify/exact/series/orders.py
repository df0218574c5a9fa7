"""The result of a proof of local order: the order, the defect behind it, and the conditions of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sgverify.exact.rings.roots import LIMIT, UNSEEN, WHERE, Condition
from sgverify.exact.series.operators import Operator


@dataclass(frozen=True)
class Defect:
    """The first power of h at which P_h and exp(hL) differ, and the operator of their difference.

    For a defect averaged over minibatches, `operator` is the part without noise; `noise_alone` says that this part vanishes
    and all terms carry moments of the gradient noise. `where` is the part of the state space in which the defect was found,
    "" where the definition is one power series for all states.
    """

    power: Fraction
    text: str
    operator: Operator = field(repr=False, compare=False, default_factory=dict)
    noise_alone: bool = False
    where: str = ""

    @property
    def order(self) -> Fraction:
        """The local order K with this defect: the error is O(h^(K+1))."""
        return self.power - 1


@dataclass(frozen=True)
class LocalOrder:
    """Local order K (chen2015 Definition 1), given the minibatch and averaged over minibatches.

    A `None` defect means that none was found up to order `examined`. For a scheme with memory the order is the weak
    order at finite times: the defect is that of the step with its memory equilibrated, whose errors accumulate, and `start`
    is the lasting error of the start in E f(X_n). `steps` is the number of consecutive steps that were expanded for the
    moments of the minibatches: one, and one more for each memory of the scheme.

    All statements hold as h -> 0, uniformly in bounded sets of states, and under `conditions`. A definition with |x| is proved
    on every branch, and a defect belongs to some branch. Where signs of parameters decide, this is the order in the region
    `where` (such as "T - 1 > 0"), and `elsewhere` holds the orders of the other regions. `sums`: the step or the dynamics
    sums over coordinates; `crowd`: the most coordinates that a term has for each factor of h, inf where a sum counts them.
    """

    dim: int
    given_minibatch: Defect | None
    averaged: Defect | None
    examined: int
    steps: int = 1
    start: Defect | None = None
    conditions: tuple[Condition, ...] = ()
    where: str = ""
    elsewhere: tuple[LocalOrder, ...] = ()
    sums: bool = False
    crowd: float = 1.0

    @property
    def order(self) -> Fraction:
        """K given the minibatch, or the order examined where no defect was found."""
        own = Fraction(self.examined) if self.given_minibatch is None else self.given_minibatch.order
        # Errors of steps at h^(K+1) add up to h^K; the error of the start enters once.
        return own if self.start is None else min(own, self.start.power)

    @property
    def averaged_order(self) -> Fraction:
        """K averaged over minibatches, for minibatch noise with generic moments."""
        return Fraction(self.examined) if self.averaged is None else self.averaged.order

    @property
    def limits(self) -> tuple[str, ...]:
        """How small h must be where the definition is its power series only below some h, such as "h < 1/5"."""
        return tuple(condition.text for condition in self.conditions if condition.kind in (LIMIT, UNSEEN))

    @property
    def unseen(self) -> bool:
        """Whether the definition has terms that no power of h shows, so that the order concerns h -> 0 alone."""
        return any(condition.kind == UNSEEN for condition in self.conditions)

    @property
    def exceptions(self) -> tuple[str, ...]:
        """The conditions on states and parameters under which the definition is defined and real, and the proof holds."""
        return tuple(condition.text for condition in self.conditions if condition.kind == WHERE)
