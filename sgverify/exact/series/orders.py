"""What is found of a scheme's local order: a number, the defect behind it, and what all of it is said under."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sgverify.exact.rings.roots import LIMIT, UNSEEN, WHERE, Condition
from sgverify.exact.series.operators import Operator


@dataclass(frozen=True)
class Defect:
    """The first power of h at which P_h and exp(hL) differ, and the operator that they differ by.

    Of a defect averaged over minibatches, `operator` is the part without noise, and `noise_alone` says that
    there is none: everything that is left carries moments of the gradient noise. `where` is the part of the state
    space in which it was found, "" where the definition is one power series for all states.
    """

    power: Fraction
    text: str
    operator: Operator = field(repr=False, compare=False, default_factory=dict)
    noise_alone: bool = False
    where: str = ""

    @property
    def order(self) -> Fraction:
        """The local order K that this defect leaves: the error is O(h^(K+1))."""
        return self.power - 1


@dataclass(frozen=True)
class LocalOrder:
    """Local order K (chen2015 Definition 1), given the minibatch and averaged over minibatches.

    A `None` defect means that none was found up to order `examined`. Of a scheme with memory the order is the weak
    one at finite times: the defect is that of the step once the start of the memory is forgotten, which is what
    accumulates, and `start` is what the start leaves in E f(X_n) for good. `steps` is the number of consecutive steps that
    were expanded for the moments of the minibatches: one, and one more for each memory that a scheme carries.

    All of it is said as h -> 0, uniformly in bounded sets of states, and under `conditions`. A definition with |x| in
    it is proved on every branch, and a defect is one of some branch. Where signs of parameters decide, this is
    the order in the region `where` (such as "T - 1 > 0"), and `elsewhere` holds that of the other regions. `counts`: a
    sum over coordinates in the step grows with their number by itself, as one of constants does.
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
    counts: bool = False

    @property
    def order(self) -> Fraction:
        """K given the minibatch, or the order examined where no defect was found."""
        own = Fraction(self.examined) if self.given_minibatch is None else self.given_minibatch.order
        # One step's error at h^(K+1) adds up to h^K; what the start leaves is there once.
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
        """Whether the definition holds what no power of h shows, so that the order is that of h -> 0 alone."""
        return any(condition.kind == UNSEEN for condition in self.conditions)

    @property
    def exceptions(self) -> tuple[str, ...]:
        """Where the definition is not defined, or not real: what is proved is proved where these hold."""
        return tuple(condition.text for condition in self.conditions if condition.kind == WHERE)
