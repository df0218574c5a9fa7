"""Do the swaps of somebody else's replica code leave the joint law of two replicas invariant?

Code swaps or does not swap, as its own uniform draw decides: the chance of a swap is the measure of the draws that swap, found by
enumeration of the draw along its axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from scipy.optimize import bisect
from scipy.special import ndtr, ndtri
from torch import Tensor

from sgverify.checks.question import Question
from sgverify.errors import Unreached
from sgverify.evidence import Evidence, tried
from sgverify.rates.verdict import Judgement
from sgverify.samplers.intercepted.interception import Handed, Interception
from sgverify.subject.composite import TorchSubject

DIFFERENCES = (0.5, 1.0, 3.0, 8.0)
"""The tested values of (1/T - 1/T_other)(U - U_other), of both signs."""

PAIRS = ((1.0, 2.0, 3.0), (1.0, 5.0, 3.0), (0.3, 0.7, 100.0), (3.0, 1.25, -100.0))
"""The two temperatures and the lower energy, in units of the configured temperature: none of the pairs but the first two has a
temperature of 1 in these units, one has the hotter replica first, and one has energies below 0."""

MOVED = 3
"""The dimension in which the states are exchanged too: one coordinate alone shows no rule that exchanges some of several."""

LOOKED, FINER = 23, 63
"""Quantiles of each draw that show which one decides, and those of this one, between two of which a change is bisected."""

TAIL = (3.0, 4.0, 6.0, 8.0)
"""The sizes of rare draws that are tried beside the quantiles."""

OFF = 2.0**-20
"""What the chance of a swap may be off: a float32 uniform number is a multiple of 2^-24."""

ROUNDED = 2.0**-23
"""The rounding of an energy, as a share of its size, if the code takes float32."""


def torch_swap_balance(question: Question) -> Evidence:
    """exp(-U/T - U'/T') P(swap) is the same before and after a swap of the states: P(U, U')/P(U', U) = exp((1/T - 1/T')(U - U')).

    The rule of the code runs, with its random draws enumerated, at several energy differences of both signs for each of some pairs
    of temperatures.
    """
    subject = cast(TorchSubject, question.subject)
    swap, T = cast(Callable[..., Any], subject.scheme.swap), subject.configuration.temperature
    states = _states(max(subject.target.dim, MOVED))
    found: dict[str, float] = {}
    faults: list[str] = []
    swapped = 0.0
    try:
        for one, two, level in PAIRS:
            first, other, low = one * T, two * T, level * T
            rate = 1 / first - 1 / other
            for u in DIFFERENCES:
                U, U_other = (low + u / rate, low) if rate > 0 else (low, low - u / rate)
                there = _chance(swap, states, U, U_other, first, other)
                back = _chance(swap, states, U_other, U, first, other)
                swapped = max(swapped, there, back)
                found[f"T = {first:g} and {other:g}, (1/T - 1/T')(U - U') = {u:g}"] = (
                    _log_ratio(there, back) - u
                )
                rounding = ROUNDED * (abs(U) + abs(U_other)) * abs(rate)
                faults += _imbalance(u, there, back, first, other, OFF + rounding)
            again = _chance(swap, states[::-1], U, U_other, first, other)
            if abs(there - again) > OFF:
                text = f"the chance of a swap is {there:.6g} or {again:.6g} at the same energies, for other states"
                faults.append(text)
    except Unreached as error:
        return question.unanswered(f"the chance of a swap is not found: {error}", method="quadrature")
    if faults:
        judgement = Judgement("violates", False, faults[0])
    elif not swapped:
        judgement = Judgement("inconclusive", False, "it never swapped; nothing is known of its rule")
    else:
        judgement = Judgement(
            "conforms",
            False,
            f"flows balance at {len(found)} pairs of energies; the chance of a swap and of its reverse, by enumeration of the draw "
            "that decides",
        )
    certificate = {"log of flow over reverse flow": found, "resolution": OFF}
    scope = question.scope(states=tried(f"{len(found)} pairs of energies and temperatures"))
    return question.evidence(judgement, method="quadrature", certificate=certificate, scope=scope)


def _imbalance(u: float, there: float, back: float, T: float, other: float, known: float) -> list[str]:
    """A sentence if flow and reverse flow differ; empty if they are equal as far as the chances are `known`."""
    if there == back == 0:
        return []
    allowed = known * (1 + math.exp(u))
    if abs(there - back * math.exp(u)) <= allowed:
        return []
    off = _log_ratio(there, back) - u
    sign = abs(there * math.exp(u) - back) <= allowed
    decision = there + back < 2 and abs((1 - there) - (1 - back) * math.exp(u)) <= allowed
    why = ""
    if sign or decision:
        why = "; the swaps are inverted: " + (
            "the energies, or the temperatures, have changed places"
            if sign
            else "it swaps where it should not, and reversely"
        )
    return [
        f"flow and reverse flow differ by exp({off:.4g}){why}; at T = {T:g} and {other:g}, (1/T - 1/T')(U - U') = {u:g}: the "
        f"chance of a swap is {there:.6g}, and that of its reverse {back:.6g}, where their ratio is to be {math.exp(u):.6g}"
    ]


def _log_ratio(there: float, back: float) -> float:
    if there == back:
        return 0.0
    return math.log(there / back) if there and back else math.copysign(math.inf, there - back)


def _states(dim: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    one, other = (torch.randn((dim,), generator=random, dtype=torch.float64) for _ in range(2))
    return one, other


def _chance(
    swap: Callable[..., Any],
    states: tuple[Tensor, Tensor],
    U: float,
    U_other: float,
    T: float,
    T_other: float,
) -> float:
    """The probability with which the code swaps two states, over its own draws."""

    def outcome(z: np.ndarray | None) -> tuple[bool, int]:
        handed = Handed(None if z is None else torch.tensor(z))
        given = {
            "U": torch.tensor(U, dtype=torch.float64),
            "U_other": torch.tensor(U_other, dtype=torch.float64),
        }
        with Interception(handed):
            result = swap(*(state.clone() for state in states), **given, T=T, T_other=T_other)
        return _swapped(result, states), handed.used

    count = outcome(None)[1]
    base = np.random.default_rng(0).standard_normal(count)

    def along(j: int, points: np.ndarray) -> np.ndarray:
        found = np.zeros(len(points), dtype=bool)
        for k, point in enumerate(points):
            z = base.copy()
            z[j] = point
            found[k] = outcome(z)[0]
        return found

    looked = _quantiles(LOOKED)
    decides = [j for j in range(count) if count == 1 or len(set(along(j, looked))) > 1]
    if len(decides) > 1:
        raise Unreached(f"{len(decides)} of its {count} draws decide together")
    if not decides:
        others = {outcome(z)[0] for z in np.random.default_rng(1).standard_normal((FINER, count))}
        if len(others) > 1:
            raise Unreached("several of its draws decide together")
        return float(others.pop())
    points = _quantiles(FINER)
    values = along(decides[0], points)
    edges = [-math.inf]
    for k in np.flatnonzero(values[1:] != values[:-1]):
        # The chance is off by less than half of what the draw is.
        here = points[k], points[k + 1]
        edges.append(bisect(lambda z: along(decides[0], np.array([z]))[0] - 0.5, *here, xtol=OFF / 16))
    edges.append(math.inf)
    starts = [bool(values[0]) ^ bool(k % 2) for k in range(len(edges) - 1)]
    return float(sum(ndtr(b) - ndtr(a) for a, b, on in zip(edges, edges[1:], starts, strict=False) if on))


def _quantiles(count: int) -> np.ndarray:
    """Quantiles of a normal number at equal steps of its probability, and rare ones of both signs."""
    inner = ndtri(np.arange(1, count + 1) / (count + 1))
    return np.sort(np.concatenate([inner, TAIL, [-size for size in TAIL]]))


def _swapped(result: Any, states: tuple[Tensor, Tensor]) -> bool:
    """Are the two states exchanged? Raises `Unreached` for a result that is neither them nor their exchange."""
    if isinstance(result, (tuple, list)) and len(result) == 2:
        same = [
            [isinstance(value, Tensor) and torch.equal(value, state) for state in states] for value in result
        ]
        if same[0][0] and same[1][1]:
            return False
        if same[0][1] and same[1][0]:
            return True
    raise Unreached("what it returns is neither the two states as they came nor the two exchanged")
