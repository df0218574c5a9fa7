"""Powers of h from enclosed values at tiny step sizes, for steps that do not tend to the identity: a memory moves at once.

The polynomial through the values at h = e, 2 e, ..., N e, e = 2^-64, gives the coefficients of a function that is analytic at
h = 0: c_j up to what the higher ones add, of the size of c_k e^(k - j). One more value tells whether the function is analytic
there, which one of sqrt(h) is not.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, arb_mat, ctx

from sgverify.errors import InstabilityError, NotExpandableError
from sgverify.exact.numbers.ball import PrecisionLostError

TINY = 64
"""Values are taken at multiples of 2^-64."""

BITS = 1536
"""The working precision: interpolation divides by e^N, and answers of order 1/h by e^2 more."""

WIDER = 2.0**16
"""How much a coefficient may be off by the next ones, in units of c_k e^(k - j): sums of powers of 1, ..., N."""

ANALYTIC = 2.0**-40
"""The largest relative departure of the further value from the polynomial."""


def powers_at_zero(value: Callable[[arb], list[arb]], orders: int) -> list[list[arb]]:
    """c_0, ..., c_(orders - 1) of several functions of h at once. Raises `NotExpandableError` where one is not analytic."""
    nodes = range(1, orders + 3)
    with ctx.workprec(BITS):
        tiny = arb(2) ** -TINY
        try:
            values = [value(k * tiny) for k in nodes]
        except (InstabilityError, PrecisionLostError) as error:
            raise NotExpandableError(f"a step that does not forget its start as h -> 0 ({error})") from None
        known, further = values[:-1], values[-1]
        vandermonde = arb_mat([[arb(k) ** j for j in range(len(known))] for k in nodes[:-1]])
        scaled = vandermonde.solve(arb_mat(known))
        found = []
        for place, there in enumerate(further):
            # In units of e^j, so that the size of every term is seen.
            terms = [scaled[j, place] for j in range(len(known))]
            read = sum((c * arb(nodes[-1]) ** j for j, c in enumerate(terms)), arb(0))
            size = sum((abs(c).upper() for c in terms), arb(0))
            apart = abs(there - read)
            if not (apart.lower() <= ANALYTIC * size or size < tiny**orders):
                raise NotExpandableError("odd powers of sqrt(h), or no powers of h at all")
            slack = (apart * WIDER).upper()
            enclosed = []
            for j in reversed(range(len(known))):
                enclosed.append((terms[j] + arb(0, slack)) / tiny**j)
                slack = (slack + abs(terms[j]) * WIDER).upper()
            found.append(enclosed[::-1][:orders])
        return found
