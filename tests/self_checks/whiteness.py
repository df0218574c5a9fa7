"""Tests of draws that should be white: of a law, uncorrelated over steps, coordinates and chains, never used twice.

Every bound holds for any number of draws, at the level that is asked; none is a limit theorem. With y and x independent,
x of independent entries with E exp(s x) <= exp(s^2/2), the sum <y, x>/|y| is sub-Gaussian given y: it leaves
+- sqrt(2 log(2/level)) with at most the probability `level`. Sums of such terms over the steps, divided by the root of
their number, keep the bound, since each is one given all steps before it. The standard normal law fulfils the
condition, and so does every symmetric law with even moments that are no larger.
Sources: Boucheron, Lugosi, Massart 2013, "Concentration inequalities", sections 2.3 and 2.4; Massart 1990.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special

from sgverify.schemes.definition.mathematics import NoiseLaw

# An odd multiplier spreads the words of a stretch over the 64 bits that are compared first.
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Extreme:
    """The most extreme of `count` statistics of one kind, where it is found, and the bound that all keep at their level."""

    value: float
    bound: float
    place: tuple[int, ...]
    count: int

    @property
    def beyond(self) -> bool:
        """Does the statistic exceed its bound?"""
        return abs(self.value) > self.bound


def sub_gaussian_bound(count: int, level: float) -> float:
    """sqrt(2 log(2 count / level)): what none of `count` sub-Gaussian variables leaves but with probability `level`."""
    return math.sqrt(2 * math.log(2 * count / level))


def lagged(draws: np.ndarray, lag: int, level: float) -> Extreme | None:
    """Correlation of every draw with every draw `lag` steps later. Shape (L, w, C): steps, draws of a step, chains.

    T_ab = (L - lag)^(-1/2) sum_l <z_(l,a), z_(l+lag,b)>/|z_(l,a)|, the products over chains; `place` is (a, b). With
    lag = 0 every pair a < b of one step. None where there is no pair.
    """
    length, width, _ = draws.shape
    if length <= lag or (lag == 0 and width < 2):
        return None
    scaled = _unit(draws[: length - lag])
    found = np.einsum("lac,lbc->ab", scaled, draws[lag:], optimize=True) / math.sqrt(length - lag)
    if lag == 0:
        found = np.triu(found, 1)
    count = width * width if lag else width * (width - 1) // 2
    return _largest(found, sub_gaussian_bound(count, level), count)


def between_chains(draws: np.ndarray, level: float) -> Extreme | None:
    """Correlation of every two chains, <z_a, z_b>/|z_a| over their draws. Shape (n, C); `place` is the pair."""
    chains = draws.shape[1]
    if chains < 2:
        return None
    norms = np.sqrt((draws**2).sum(0))
    found = np.triu(draws.T @ draws / np.where(norms > 0, norms, 1.0)[:, None], 1)
    count = chains * (chains - 1) // 2
    return _largest(found, sub_gaussian_bound(count, level), count)


def common_part(draws: np.ndarray, level: float) -> Extreme:
    """A statistic of noise common to all chains: n^(-1/2) (sum_k (sum_c z_kc)^2 / C - n) over n draws of C chains. Shape (n, C).

    The sum is at most chi-square of n degrees of freedom in the convex order of its exponential moments, so that it exceeds
    n + 2 sqrt(n x) + 2 x with probability at most exp(-x) (Laurent and Massart 2000, Lemma 1). One-sided.
    """
    count, chains = draws.shape
    x = math.log(1 / level)
    value = float((draws.sum(1) ** 2).sum() / chains - count) / math.sqrt(count)
    return Extreme(max(value, 0.0), 2 * math.sqrt(x) + 2 * x / math.sqrt(count), (), 1)


def law_distance(values: np.ndarray, law: NoiseLaw, level: float) -> Extreme:
    """sqrt(n) sup |F_n - F|, F the law's distribution function, below sqrt(log(2/level)/2) (Massart 1990)."""
    ordered = np.sort(values, axis=None)
    n = len(ordered)
    if not law.atoms:
        exact = special.ndtr(ordered) if law.normal else np.clip((ordered / law.largest + 1) / 2, 0.0, 1.0)
        apart = max(
            float((np.arange(1, n + 1) / n - exact).max()), float((exact - np.arange(n) / n).max()), 0.0
        )
    else:
        atoms = sorted((float(value), float(weight)) for value, weight in law.atoms)
        middles = [(a + b) / 2 for (a, _), (b, _) in pairwise(atoms)]
        below = np.searchsorted(ordered, middles) / n
        exact = np.cumsum([weight for _, weight in atoms])[:-1]
        apart = float(np.abs(below - exact).max(initial=0.0))
    return Extreme(math.sqrt(n) * apart, math.sqrt(math.log(2 / level) / 2), (), 1)


def variance_ratio(values: np.ndarray, level: float) -> tuple[float, float, float]:
    """The mean square of standard normal draws and its bounds, quantiles of chi-square over its n degrees of freedom."""
    n = values.size
    # chdtri(v, q) is the point above which a chi-square law has the probability q.
    low, high = (float(special.chdtri(n, q)) / n for q in (1 - level / 2, level / 2))
    return float((values**2).mean()), low, high


def mean_size(values: np.ndarray, level: float) -> Extreme:
    """sqrt(n) times the mean, sub-Gaussian."""
    return Extreme(float(values.sum()) / math.sqrt(max(1, values.size)), sub_gaussian_bound(1, level), (), 1)


def sizes(draws: np.ndarray) -> np.ndarray:
    """+-1 as |z| lies above its median or not: draws whose sizes, not signs, depend on one another show here."""
    return np.where(np.abs(draws) > float(special.ndtri(0.75)), 1.0, -1.0)


def coincidence(law: NoiseLaw, unit: float) -> float:
    """A bound of the probability that two draws are the same number: sum_i p_i^2 of a discrete law.

    A normal draw that is held to a relative precision `unit` has no value more likely than that. A uniform one is one of
    2^32 numbers.
    """
    if law.edge is not None:
        return max(unit, 2.0**-32)
    return unit if law.normal else sum(float(weight) ** 2 for _, weight in law.atoms)


def repeated(streams: np.ndarray, width: int) -> Iterator[tuple[int, int, int, int]]:
    """Stretches of `width` draws that occur twice, as they are or all negated. Shape (s, L): s streams of L draws.

    Yields (stream, start, other stream, its start), the first in the order of the streams.
    """
    count, length = streams.shape
    if length < width or width < 1:
        return
    bits = np.ascontiguousarray(streams + 0.0).view(np.uint64)
    # One bit is the sign: a stretch and its negative have the same words but for it, and the same products of signs.
    sign = bits >> np.uint64(63)
    magnitudes = bits & np.uint64(0x7FFFFFFFFFFFFFFF)
    places = length - width + 1
    mixed = np.zeros((count, places), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for k in range(width):
            # Zero has no sign.
            turned = np.where(
                magnitudes[:, k : k + places] == 0, np.uint64(0), sign[:, k : k + places] ^ sign[:, :places]
            )
            mixed = mixed * _ODD + (magnitudes[:, k : k + places] ^ (turned << np.uint64(63)))
            mixed ^= mixed >> np.uint64(29)
    flat = mixed.ravel()
    order = np.argsort(flat, kind="stable")
    same = np.flatnonzero(flat[order][1:] == flat[order][:-1])
    pairs = sorted((int(order[i]), int(order[i + 1])) for i in same)
    for first, second in pairs:
        (a, i), (b, j) = divmod(first, places), divmod(second, places)
        one, other = streams[a, i : i + width], streams[b, j : j + width]
        if np.array_equal(one, other) or np.array_equal(one, -other):
            yield a, i, b, j


def window(single: float, places: int, level: float) -> int:
    """How many draws in a row occur twice, but for a common sign, among `places` stretches only with probability `level`.

    `single` is the probability that two draws are the same; the pairs are at most places^2/2. 0 where it is 1.
    """
    return 0 if single >= 1 else max(1, math.ceil(math.log(places * places / level) / -math.log(single)))


def _unit(draws: np.ndarray) -> Any:
    norms = np.sqrt((draws**2).sum(-1, keepdims=True))
    return draws / np.where(norms > 0, norms, 1.0)


def _largest(found: np.ndarray, bound: float, count: int) -> Extreme:
    place = np.unravel_index(int(np.argmax(np.abs(found))), found.shape)
    return Extreme(float(found[place]), bound, tuple(int(i) for i in place), count)
