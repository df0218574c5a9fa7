"""What a root of the state takes from an element of a ring: its derivatives, and its average over minibatches."""

from __future__ import annotations

from sgverify.exact.series.polynomials import Polynomial
from sgverify.exact.series.ring import Ring


def is_smooth(value: Polynomial, ring: Ring) -> bool:
    """Whether no root of the state occurs in `value`, whose derivatives the ring does not have."""
    degrees = value.degrees()
    return all(
        ring.depends_only_on_parameters(what.argument)
        for position, what in ring.opaque.items()
        if what.kind != "number" and degrees[position]
    )


def has_moments(value: Polynomial, ring: Ring) -> bool:
    """Whether no root in `value` holds a derivative of U: its average is a sum of moments of the gradients then."""
    degrees = value.degrees()
    inside = [what.argument for k, what in ring.opaque.items() if what.kind == "root" and degrees[k]]
    return not any(argument.degrees()[k] for argument in inside for k in ring.jets)


def takes_roots_of_gradients(ring: Ring) -> bool:
    """Whether a derivative of U stands under a root, or in a polynomial whose sign is supposed."""
    inside = [what.argument for what in ring.opaque.values() if what.kind == "root"]
    return any(value.degrees()[k] for value in (*inside, *ring.supposed.values()) for k in ring.jets)
