"""Members of a class of potentials that shrink no faster: quadratics, and curvatures that switch from step to step.

The difference of two copies that meet the curvature lambda at every place is multiplied by the same matrix in every step, whose
spectral radius is a rate that no certificate can beat. Where the curvature differs from place to place, a sequence may be slower
than each of its members: the spectral radius of a product of n steps, to the power 1/n, is a rate that the class has.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from sgverify.exact.certificates.pair import PairedStep
from sgverify.exact.certificates.semidefinite import closed_loop
from sgverify.exact.chain.lyapunov import floats

CURVATURES = 65
"""Curvatures between m and L, in equal ratios, of the quadratics that are tried."""

SEQUENCES = 2**12
"""The largest number of sequences of curvatures that are tried."""


@dataclass(frozen=True)
class SlowMember:
    """A member of the class and its rate a step: the spectral radius of a period of `curvatures`, a row a step, to 1/period."""

    rate: float
    curvatures: tuple[tuple[float, ...], ...]


def slowest_quadratic(pair: PairedStep, convexity: float, smoothness: float) -> SlowMember:
    """The quadratic potential with the largest spectral radius among those tried."""
    step, places = floats(pair.step), floats(pair.places)
    curvatures = np.geomspace(convexity, smoothness, CURVATURES)
    radii = _radii(closed_loop(step, places, np.repeat(curvatures[:, None], pair.gradients, axis=1)))
    slowest = int(radii.argmax())
    return SlowMember(float(radii[slowest]), ((float(curvatures[slowest]),) * pair.gradients,))


def slowest_sequence(pair: PairedStep, convexity: float, smoothness: float) -> SlowMember:
    """The slowest period of steps whose gradients meet the curvature m or L, each of them either; shorter periods first."""
    step, places = floats(pair.step), floats(pair.places)
    letters = np.array(list(itertools.product((convexity, smoothness), repeat=pair.gradients)))
    matrices = closed_loop(step, places, letters)
    words, products = np.arange(len(letters))[:, None], matrices
    best = SlowMember(0.0, ())
    while True:
        length = words.shape[1]
        rates = _radii(products) ** (1 / length)
        slowest = int(rates.argmax())
        # A longer word that repeats a shorter one has its rate, up to rounding.
        if rates[slowest] > best.rate * (1 + 1e-12):
            word = tuple(tuple(float(c) for c in letters[letter]) for letter in words[slowest])
            best = SlowMember(float(rates[slowest]), word)
        if len(words) * len(letters) > SEQUENCES:
            return best
        count, last = len(words), np.arange(len(letters))
        words = np.hstack([np.repeat(words, len(letters), axis=0), np.tile(last, count)[:, None]])
        products = np.tile(matrices, (count, 1, 1)) @ np.repeat(products, len(letters), axis=0)


def _radii(matrices: np.ndarray) -> np.ndarray:
    return np.abs(np.linalg.eigvals(matrices)).max(axis=-1)
