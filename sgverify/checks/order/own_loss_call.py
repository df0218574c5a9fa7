"""The mean and the second moments of one call of code over its minibatches, which are enumerated, and over its normal draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.samplers.intercepted.dtypes import DtypeAudit
from sgverify.samplers.intercepted.replacing import numbers_of

MOST = 30_000
"""The most calls from one state at one step size."""

RIGHT = 1e-3
"""The share of a coefficient that counts as equal; errors of the fit are added. The factors that are found in code, such as n/N or
the square root of 2, differ from 1 by more."""

PROBES, ODD = 6, 8.0
"""The minibatches and draws at which it is tested that normal draws enter as a sum; and the change of the sum from one minibatch to
another that counts as none, in units of h over the target's time."""

UNIT = {True: 2.0**-23, False: 2.0**-52}
"""The rounding of an operation, with float32 tensors in the code and without."""


class CallOfDraws:
    """One call from a state, whose choices are outcomes and whose other draws are normal, as a function of its draws."""

    def __init__(self, box: BlackBox, state: Sequence[Tensor], h: float) -> None:
        self._box, self._state = box, state
        self.laws = box.laws(state, h)
        odd = next((law for law in self.laws if not law.chances and law.kind != "normal"), None)
        if odd is not None:
            raise Unreached(f"it draws {odd.named} numbers: choices and normal draws are enumerated")
        self.free = [j for j, law in enumerate(self.laws) if not law.chances]
        self.outcomes = {j: numbers_of(law) for j, law in enumerate(self.laws) if law.chances}
        self.base = np.zeros(len(self.laws))
        for j, (numbers, _) in self.outcomes.items():
            if len(numbers) > MOST // 10:
                raise Unreached(
                    f"one draw has {len(numbers)} outcomes: too many to enumerate; give it fewer data"
                )
            self.base[j] = numbers[0]
        self.calls = 0
        audit = DtypeAudit(())
        self.after(self.base, h, audit)
        size = max(1.0, *(float(value.abs().max()) for value in state))
        if not np.array_equal(self.after(self.base, h), self.after(self.base, h)):
            raise Unreached(
                "with its draws of torch put in, it moves otherwise at every call: it draws elsewhere, or keeps something"
            )
        self.off = math.sqrt(audit.operations) * UNIT[bool(audit.found)] * size
        self._drop_idle(h)

    @property
    def minibatches(self) -> int:
        """The number of combinations of outcomes."""
        return math.prod(len(numbers) for numbers, _ in self.outcomes.values())

    def after(self, z: np.ndarray, h: float, witness: DtypeAudit | None = None) -> np.ndarray:
        """X_1 - X_0."""
        self.calls += 1
        moved, handed = self._box.take(self._state, torch.tensor(z), h, witness=witness)
        if len(handed.laws) != len(self.laws) or any(
            a.kind != b.kind or len(a.chances) != len(b.chances)
            for a, b in zip(handed.laws, self.laws, strict=True)
        ):
            raise Unreached("the chances of a draw, or its law, depend on the draws before it")
        return torch.cat(
            [(b.double() - a).reshape(-1) for a, b in zip(self._state, moved, strict=True)]
        ).numpy()

    def every(self) -> Iterator[tuple[np.ndarray, float]]:
        """The draws of all combinations of outcomes, with normal numbers 0, and their probabilities."""
        for chosen in itertools.product(*(zip(*pair, strict=True) for pair in self.outcomes.values())):
            z, weight = self.base.copy(), 1.0
            for j, (number, chance) in zip(self.outcomes, chosen, strict=True):
                z[j] = number
                weight *= chance
            yield z, weight

    def _drop_idle(self, h: float) -> None:
        """Keep one outcome of a choice that changes nothing, such as the order in which a loader would go on."""
        tried = self.base.copy()
        tried[self.free] = 0.3
        still = self.after(tried, h)
        for j in list(self.outcomes):
            other = tried.copy()
            for number in self.outcomes[j][0]:
                other[j] = number
                if not np.array_equal(self.after(other, h), still):
                    break
            else:
                del self.outcomes[j]


def moments(call: CallOfDraws, h: float, share: float) -> tuple[np.ndarray, np.ndarray]:
    """E (X_1 - X_0) and E (X_1 - X_0)(X_1 - X_0)' over all outcomes and over the normal draws, to O(h^2) in the latter.

    If the normal draws enter as a sum, odd in each and alike in all minibatches up to O(share), with `share` h over the target's
    time, they have no mean, and their covariance is that of one minibatch. Otherwise each minibatch is called at their nodes
    +-sqrt(m) e_j, whose rule is exact to the third degree.
    """
    free, total = call.free, call.minibatches
    size = len(call.after(call.base, h))
    columns = np.array([(call.after(b, h) - call.after(a, h)) / 2 for a, b in _pairs(call.base, free)])
    columns = columns.reshape(len(free), size)
    plain = total + len(columns) < MOST and _additive(call, columns, h, share)
    nodes = 1 if plain or not free else 2 * len(free)
    if total * nodes > MOST:
        raise Unreached(
            f"{total} minibatches and {nodes} values of its noise: {MOST} calls at most are made; give it fewer data"
        )
    mean, square = np.zeros(size), np.zeros((size, size))
    for z, weight in call.every():
        for at in [z] if plain else _around(z, free):
            moved = call.after(at, h)
            mean += weight / nodes * moved
            square += weight / nodes * np.outer(moved, moved)
    return mean, square + (columns.T @ columns if plain else 0.0)


def _pairs(base: np.ndarray, free: Sequence[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The base with -1 and with 1 in one free entry."""
    for j in free:
        below, above = base.copy(), base.copy()
        below[j], above[j] = -1.0, 1.0
        yield below, above


def _additive(call: CallOfDraws, columns: np.ndarray, h: float, share: float) -> bool:
    """Do normal draws enter some minibatches as a sum of `columns`, without an even part?"""
    random = np.random.default_rng(0)
    every = list(itertools.islice(call.every(), MOST))
    noise = float(np.abs(columns).sum(axis=0).max(initial=0.0))
    for _ in range(PROBES if call.free else 0):
        z = every[int(random.integers(len(every)))][0].copy()
        still = call.after(z, h)
        drawn = random.standard_normal(len(call.free))
        up, down = z.copy(), z.copy()
        up[call.free], down[call.free] = drawn, -drawn
        one, other = call.after(up, h), call.after(down, h)
        if np.abs((one + other) / 2 - still).max() > RIGHT / 10 * np.abs(still).max() + 4 * call.off:
            return False
        if np.abs((one - other) / 2 - drawn @ columns).max() > ODD * share * noise + 4 * call.off:
            return False
    return True


def _around(z: np.ndarray, free: Sequence[int]) -> Iterator[np.ndarray]:
    """z with each of its m free entries at +-sqrt(m), the others at 0."""
    if not free:
        yield z
    for j, sign in itertools.product(free, (1.0, -1.0)):
        at = z.copy()
        at[j] = sign * math.sqrt(len(free))
        yield at
