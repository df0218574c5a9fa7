"""Each datum's own quadratic function, from the vectors of its coefficients."""

from __future__ import annotations

from fractions import Fraction

from sgverify.targets import Target


def quadratics_of(target: Target) -> list[tuple[list[list[Fraction]], list[Fraction]]]:
    """(H_i, g_i) of every datum, N grad likelihood(theta, x_i) = H_i theta + g_i."""
    d, vectors = target.dim, target.data_vectors()
    places = {pair: k for k, pair in enumerate((j, k) for j in range(d) for k in range(j, d))}
    found = []
    for i in range(len(vectors)):
        row = [Fraction(str(value)) for value in vectors[i]]
        hessian = [[row[places[min(j, k), max(j, k)]] for k in range(d)] for j in range(d)]
        found.append((hessian, row[len(places) :]))
    return found
