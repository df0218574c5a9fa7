"""The local order of a scheme, proved by generator expansion for every smooth potential."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sgverify.errors import NotExpandableError
from sgverify.exact.series.averaging import average, merge_minibatches, print_moments
from sgverify.exact.series.operators import Operator, difference, exponential, generator_of
from sgverify.exact.series.printing import print_operator
from sgverify.exact.series.ring import Ring
from sgverify.exact.series.transition import Transition, transition_of
from sgverify.schemes import Scheme

HIGHEST_ORDER = 4


@dataclass(frozen=True)
class Defect:
    """The first power of h at which P_h and exp(hL) differ, and the operator that they differ by.

    Of a defect averaged over minibatches, `operator` is the part without noise, and `noise_alone` says that
    there is none: everything that is left carries moments of the gradient noise.
    """

    power: Fraction
    text: str
    operator: Operator = field(repr=False, compare=False, default_factory=dict)
    noise_alone: bool = False

    @property
    def order(self) -> Fraction:
        """The local order K that this defect leaves: the error is O(h^(K+1))."""
        return self.power - 1


@dataclass(frozen=True)
class LocalOrder:
    """Local order K (chen2015 Definition 1), given the minibatch and averaged over minibatches.

    A `None` defect means that none was found up to order `examined`. `steps` is the number of consecutive
    steps that were expanded: one, or two where a scheme carries memory.
    """

    dim: int
    given_minibatch: Defect | None
    averaged: Defect | None
    examined: int
    steps: int = 1

    @property
    def order(self) -> Fraction:
        """K given the minibatch, or the order examined where no defect was found."""
        return Fraction(self.examined) if self.given_minibatch is None else self.given_minibatch.order

    @property
    def averaged_order(self) -> Fraction:
        """K averaged over minibatches, for minibatch noise with generic moments."""
        return Fraction(self.examined) if self.averaged is None else self.averaged.order


def local_order(scheme: Scheme, dim: int = 2, highest: int = HIGHEST_ORDER) -> LocalOrder:
    """Prove the local order of `scheme` in dimension `dim`, temperature and friction symbolic.

    P_h f is expanded through the moments of the increment, E[D^a]/a! for all |a| <= 2(K+1), and compared
    coefficient by coefficient with the normal-ordered h^k L^k/k!; equality is equality of polynomials in the
    state, in all derivatives of U, and in the parameters. Raises `NotExpandableError` where the step has no
    power series that the ring can hold.
    """
    steps = 2 if scheme.memory else 1
    result = LocalOrder(dim, None, None, 0, steps)
    # Most schemes differ at h^2 or h^3, and the low powers cost a fraction of the high ones.
    for examined in (1, *range(2, highest + 1)):
        result = _compare(scheme, dim, examined, steps)
        if result.given_minibatch is not None and result.averaged is not None:
            break
    return result


def _compare(scheme: Scheme, dim: int, examined: int, steps: int) -> LocalOrder:
    degree = 2 * (examined + 1)
    ring, transition = _expand(scheme, dim, degree, steps)
    exact = exponential(generator_of(scheme.dynamics, ring), ring, degree // 2)
    given = averaged = None
    for j in range(degree + 1):
        expected: Operator = {}
        if j % 2 == 0 and j > 0:
            expected = {a: c * steps ** (j // 2) for a, c in exact[j // 2].items()}
        found = transition.at(j)
        if given is None:
            left = difference(merge_minibatches(found, ring), expected, ring)
            if left:
                given = Defect(Fraction(j, 2), defect_text(left, ring, Fraction(j, 2)), left)
        if averaged is None:
            averaged = _averaged_defect(found, expected, ring, Fraction(j, 2))
        if given and averaged:
            break
    return LocalOrder(dim, given, averaged, examined, steps)


def _expand(scheme: Scheme, dim: int, degree: int, steps: int) -> tuple[Ring, Transition]:
    for cap in (degree + 1, degree + 3, degree + 7):
        ring = Ring(
            dim,
            scheme.dynamics.shapes,
            scheme.dynamics.parameters,
            depth=cap + 1,
            draws=scheme.starts.draws + steps * scheme.draws,
            minibatches=scheme.starts.minibatches + steps * scheme.minibatches,
            cap=cap,
        )
        try:
            transition = transition_of(scheme, ring, degree, steps)
            for j in range(degree + 1):
                transition.at(j)
        except NotExpandableError:
            # Roots and quotients lose orders; more working orders may bring them back.
            if cap == degree + 7:
                raise
            continue
        return ring, transition
    raise AssertionError("unreachable")


def _averaged_defect(found: Operator, expected: Operator, ring: Ring, power: Fraction) -> Defect | None:
    parts = average(found, ring)
    plain = difference(parts.pop((), {}), expected, ring)
    texts = [defect_text(plain, ring, power)] if plain else []
    for moments, operator in sorted(parts.items()):
        reduced = difference(operator, {}, ring)
        if reduced:
            texts.append(f"{print_moments(moments, ring.dim)} * ( {defect_text(reduced, ring, power)} )")
    return Defect(power, " + ".join(texts), plain, noise_alone=not plain) if texts else None


def defect_text(operator: Operator, ring: Ring, power: Fraction) -> str:
    """h^power ( the operator )."""
    printed = {index: ring.text(value) for index, value in operator.items()}
    return f"h^{power} ( {print_operator(printed, ring.labels)} )"
