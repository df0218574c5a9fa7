"""The pace of a step: the number c with P_h f = f + c h L f + ..., so that h is a step of size c h of the dynamics.

Where a step is written with h/2 in place of h, as in Welling and Teh 2011, its generator is L/2. This leaves the same densities
invariant as L, and only the time that a step takes is another one: orders are those of P_h f = exp(c h L) f + O(h^(K+1)).
"""

from __future__ import annotations

from fractions import Fraction

from sgverify.errors import NotExpandableError
from sgverify.exact.rings.polynomials import to_fmpq, to_fraction
from sgverify.exact.series.averaging import merge_minibatches
from sgverify.exact.series.operators import generator_of, ring_of, symbol_of, transition_of
from sgverify.schemes import Scheme

PACE = "_pace"

DIM = 2
"""The dimension in which a pace is read; the proof of an order then judges it in every other."""


def pace_of(scheme: Scheme) -> Fraction:
    """The pace c > 0 of a scheme; 1 where its first term is no multiple of L by a number, or where it has a memory."""
    # Kept with the scheme, as its cached properties are: a proof asks for each selection of coordinates.
    kept = vars(scheme)
    if PACE not in kept:
        kept[PACE] = _pace(scheme)
    return kept[PACE]


def _pace(scheme: Scheme) -> Fraction:
    if scheme.memory:
        return Fraction(1)
    try:
        ring = ring_of(
            scheme.dynamics,
            DIM,
            depth=3,
            draws=scheme.starts.draws + scheme.draws,
            minibatches=scheme.starts.minibatches + scheme.minibatches,
            cap=6,
            parts=scheme.census.parts or scheme.starts.parts,
        )
        generator = symbol_of(generator_of(scheme.dynamics, ring), ring)
        first = transition_of(scheme, ring, 2, 1).symbol(2)
        first = ring.reduce(merge_minibatches({(): first}, ring).get((), ring.zero))
    except (NotExpandableError, ZeroDivisionError):
        return Fraction(1)
    if not generator or not first:
        return Fraction(1)
    pace = to_fraction(first.leading_coefficient()) / to_fraction(generator.leading_coefficient())
    return pace if pace > 0 and not ring.reduce(first - generator * to_fmpq(pace)) else Fraction(1)


def step_text(pace: Fraction) -> str:
    """The size of a step of this pace, such as h/2 or 2 h.

    >>> step_text(Fraction(1, 2)), step_text(Fraction(3, 2))
    ('h/2', '3/2 h')
    """
    return f"h/{pace.denominator}" if pace.numerator == 1 and pace != 1 else "h" if pace == 1 else f"{pace} h"
