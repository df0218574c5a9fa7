"""The defect that gradient noise alone leaves, the same for every integrator of order two and more."""

from __future__ import annotations

from fractions import Fraction

from sgverify.exact.series.averaging import average, print_moments
from sgverify.exact.series.local_order import defect_text
from sgverify.exact.series.operators import compose, difference, generator_of, ring_of
from sgverify.exact.series.orders import Defect
from sgverify.schemes import Dynamics


def noise_defect(dynamics: Dynamics, dim: int) -> Defect | None:
    """(h^2/2) (E L_l^2 - L^2): what the average over minibatches of exp(h L_l) differs by from exp(h L).

    If P_h = exp(h L_l) + O(h^3) given the minibatch, then its average has exactly this defect at h^2, whatever
    the scheme: the step of chen2015 appendix D that replaces psi by L_l^(K-1) psi loses it.
    """
    ring = ring_of(
        dynamics,
        dim,
        depth=4,
        cap=5,
    )
    generator = generator_of(dynamics, ring)
    squared = {a: c * ring.constant(Fraction(1, 2)) for a, c in compose(generator, generator, ring).items()}
    parts = average(squared, ring)
    plain = difference(parts.pop((), {}), squared, ring)
    assert not plain, "the part without noise is L^2 itself"
    texts = []
    for moments, part in sorted(parts.items()):
        reduced = difference(part, {}, ring)
        if reduced:
            texts.append(f"{print_moments(moments, dim)} * ( {defect_text(reduced, ring, Fraction(2))} )")
    return Defect(Fraction(2), " + ".join(texts), noise_alone=True) if texts else None
