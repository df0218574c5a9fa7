"""How is somebody's code run as it is, many steps in a row, and what are the innovations of its steps?

A plain torch step is a run too: each result is handed to the next call, as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from sgverify.checks.long_run.departures import RunDeparture, departures, told_steps
from sgverify.checks.long_run.innovations import CopyBlock, Innovations
from sgverify.errors import Unreached
from sgverify.law.chosen_step import started
from sgverify.law.torch_chain import StepLaw, setting_of
from sgverify.samplers.intercepted.black_box import BlackBox
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.samplers.intercepted.interception import Interception
from sgverify.schemes.torch_step import TorchStep

STRETCH = 50
"""The number of steps whose states are looked at together."""

FIRST, LATER, STRETCHES, SHARE = 40, 12, (4, 20), 250
"""Of a step that is not affine, its first steps are looked at, and stretches of later ones: the fewest and the most, else one in so
many steps."""

LINEAR = 1e-6
"""The relative error up to which draws enter a step linearly."""


class CodeRun(Protocol):
    """Code that runs as it is, and a twin of it that takes one step from a given state with given draws."""

    parts: Sequence[Any]
    """The copies: each with a name, its size, and its numbers h, T and D."""

    drawn: int
    """The number of draws of the twin's last step."""

    variables: int | None
    """The number of values of each copy, where a state is as many values of all copies, one after the other."""

    @property
    def kept(self) -> bool:
        """Is the whole state there? Some of it appears with the first step."""

    def step(self) -> None:
        """One step as it is."""

    def flat(self) -> np.ndarray:
        """The state, theta first, shape (values,)."""

    def held(self, state: np.ndarray, draw: float) -> np.ndarray:
        """The state after a step of the twin, where every number behind its draws is `draw`."""


@dataclass
class Ran:
    """A run: the squared distance of theta from its mean at each step, by block, the steps looked at, and what departs."""

    squares: np.ndarray
    steps: np.ndarray
    found: list[RunDeparture] = field(default_factory=list)

    @property
    def departing(self) -> np.ndarray:
        """Which steps of the run were seen to have another law."""
        flags = np.zeros(int(self.steps[-1]), dtype=bool)
        for item in self.found:
            if item.kind == "law":
                flags[self.steps[item.flags] - 1] = True
        return flags


def run_affine(run: CodeRun, laws: Sequence[StepLaw], centre: float, count: int, seed: int) -> Ran:
    """Run and hold every step against the law of one step, one law for each block."""
    n, sizes = run.variables, [part.size for part in run.parts]
    assert n is not None
    copies, rank = sum(sizes), {len(law.whitening) for law in laws}
    if len(rank) > 1:
        raise Unreached("the noise of its groups has not the same number of directions")
    (ranks,) = rank
    starts = np.concatenate([[0], np.cumsum(sizes)])
    # Neighbours of one law together.
    firsts = [k for k, law in enumerate(laws) if not k or law is not laws[k - 1]]
    spans = [
        (laws[k], slice(int(starts[k]), int(starts[end])))
        for k, end in zip(firsts, [*firsts[1:], len(laws)], strict=True)
    ]
    blocks = [CopyBlock(part.name, part.size) for _ in range(max(1, ranks)) for part in run.parts]
    error, normal = max(law.error for law in laws), all(law.normal for law in laws)
    found = Innovations(blocks, count, normal=normal, error=error, seed=seed)
    squares, quiet = np.zeros((count, len(sizes))), np.zeros(count)
    first = 1
    if not run.kept:
        run.step()
        first = 2
    before = run.flat()
    for start in range(0, count, STRETCH):
        steps = min(STRETCH, count - start)
        states = np.empty((steps + 1, len(before)))
        states[0] = before
        for number in range(steps):
            run.step()
            states[number + 1] = run.flat()
        before = states[-1].copy()
        if not np.isfinite(states).all():
            where = first + start + int(np.flatnonzero(~np.isfinite(states[1:]).all(1))[0])
            raise Unreached(f"step {where} of a run is not finite")
        shaped = states.reshape(steps + 1, n, copies)
        made, theta = np.zeros((steps, max(1, ranks), copies)), shaped[:, 0] - centre
        for law, here in spans:
            old, new = shaped[:-1, :, here], shaped[1:, :, here]
            left = [
                new[:, i] - law.still[i] - sum(law.matrix[i, j] * old[:, j] for j in range(n))
                for i in range(n)
            ]
            for k in range(ranks):
                made[:, k, here] = sum(law.whitening[k, i] * left[i] for i in range(n))
            if len(law.quiet):
                size = 1 + np.abs(old).max((1, 2))
                off = np.abs(np.einsum("ki,isc->skc", law.quiet, np.array(left))).max((1, 2)) / size
                quiet[start : start + steps] = np.maximum(quiet[start : start + steps], off / law.rounding)
        moved = theta[1:]
        squares[start : start + steps] = np.add.reduceat(moved * moved, starts[:-1], axis=1) / sizes
        before_it = theta[:-1] if ranks < 2 else np.repeat(theta[:-1, None], ranks, axis=1).reshape(steps, -1)
        found.add(made.reshape(steps, -1), before_it)
    ran = Ran(squares, np.arange(first, first + count))
    flags = quiet > 1
    if flags.any():
        told = told_steps(flags)
        ran.found.append(
            RunDeparture(
                "law",
                "what is to move without noise is off, in units of its rounding, by",
                told,
                quiet.max(),
                0.0,
                1e3,
                flags,
            )
        )
    ran.found += departures(found) if ranks else []
    return ran


def run_held(run: CodeRun, centre: float, count: int, seed: int, error: float = 0.0) -> Ran:
    """Run, and hold some of the steps against the twin's step from the same state, without draws and with draws of 1.

    Raises `Unreached` where the draws of the twin do not enter linearly.
    """
    random = np.random.default_rng(seed)
    wanted = np.zeros(count, dtype=bool)
    wanted[:FIRST] = True
    for start in random.integers(FIRST, count - LATER, int(np.clip(count // SHARE, *STRETCHES))):
        wanted[start : start + LATER] = True
    sizes = [part.size for part in run.parts]
    blocks = [CopyBlock(part.name, part.size) for part in run.parts]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    steps = np.flatnonzero(wanted) + 1
    found = Innovations(blocks, len(steps), seed=seed, error=LINEAR + error)
    squares = np.zeros((count, len(sizes)))
    first, copies, noisy = 1, int(starts[-1]), None
    if not run.kept:
        run.step()
        first = 2
    for number in range(count):
        before = run.flat() if wanted[number] else None
        run.step()
        after = run.flat()
        if not np.isfinite(after).all():
            raise Unreached(f"step {first + number} of a run is not finite")
        squares[number] = np.add.reduceat((after[:copies] - centre) ** 2, starts[:-1]) / sizes
        if before is None:
            continue
        still, moved = run.held(before, 0.0), run.held(before, 1.0)
        gain = moved - still
        if noisy is None:
            size = np.abs(gain).reshape(-1)
            width = len(size) // copies
            if not run.drawn:
                raise Unreached("it draws nothing by torch at a step that is held")
            if run.drawn > copies:
                raise Unreached("a step draws several numbers for each entry")
            # The first variable that the noise reaches shows it; the others follow from it.
            shares = [size[k * copies : (k + 1) * copies] for k in range(width)]
            noisy = next((k for k, share in enumerate(shares) if (share > 0).all()), None)
            if noisy is None:
                raise Unreached("a step that is held draws no noise for some of its entries")
            here = slice(noisy * copies, (noisy + 1) * copies)
            other = (run.held(before, -2.0) - still)[here]
            if not np.allclose(
                other, -2 * gain[here], rtol=LINEAR + error, atol=(LINEAR + error) * np.abs(gain[here]).max()
            ):
                raise Unreached("its draws do not enter a step linearly")
        here = slice(noisy * copies, (noisy + 1) * copies)
        gains = gain[here]
        gains[gains == 0] = np.inf
        found.add(((after - still)[here] / gains)[None], (before[:copies] - centre)[None])
    ran = Ran(squares, steps - 1 + first)
    ran.found = departures(found)
    return ran


def run_alone(run: CodeRun, centre: float, count: int) -> Ran:
    """Run, with nothing but the spread of theta looked at."""
    sizes = [part.size for part in run.parts]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    squares = np.zeros((count, len(sizes)))
    for number in range(count):
        run.step()
        theta = run.flat()[: ends[-1]]
        if not np.isfinite(theta).all():
            raise Unreached(f"step {number + 1} of a run is not finite")
        squares[number] = np.add.reduceat((theta - centre) ** 2, ends[:-1]) / sizes
    return Ran(squares, np.arange(1, count + 1))


@dataclass(frozen=True)
class Rows:
    """The copies of a run, with their numbers h, T and D."""

    name: str
    size: int
    numbers: Mapping[str, float]


class FunctionRun:
    """A run of a step on an isotropic Gaussian, from a draw of its target and from the start of its memory.

    `dim` is that of one call and `rows` the chains of one, for a step that takes many. With `alone` each entry is a copy.
    """

    kept = True

    def __init__(
        self,
        step: TorchStep,
        numbers: Mapping[str, float],
        centre: float,
        rate: float,
        dim: int,
        rows: int,
        alone: bool,
    ) -> None:
        self._step, self._numbers, self._h = step, numbers, numbers["h"]
        count = dim * rows
        told = f"{count:,} entries" if alone else f"{rows:,} chains" if step.chains else "one chain"
        self.parts: Sequence[Any] = (Rows(told, count if alone else rows, numbers),)
        one = 1 if alone else dim
        self._setting = setting_of(step, numbers, np.full(one, centre), rate)
        given = {name: numbers[name] for name in step.parameters}
        self._box = BlackBox(step, lambda theta, _: rate * (theta - centre), dim, given)
        mean, spreads = self._setting.law[0], self._setting.spreads
        state = torch.tensor(mean) + torch.tensor(spreads) * torch.randn(
            (count // one, len(mean)), dtype=torch.float64
        )
        if alone:
            # Entries side by side: the values of each variable follow each other, and there is one of a scalar.
            parts = [
                part[:full, 0].reshape(1, -1)
                for full, part in zip(step.sizes(dim), state.split(1, dim=1), strict=True)
            ]
        else:
            parts = list(state.split(list(self._setting.sizes), dim=1))
        whole = step.tensors(torch.cat(parts, dim=1) if step.chains else torch.cat(parts, dim=1)[0], dim)
        self.state: tuple[Tensor, ...] = tuple(value.contiguous() for value in whole)
        known = len(step.dynamics.state)
        if step.memory:
            self.state = (*self.state[:known], *started(step, self.state)[:])
        self.variables: int | None = None
        if alone and all(value.numel() == count for value in self.state):
            self.variables = len(self.state)
        elif not alone:
            self.variables = len(mean)
        self._alone = alone
        self.drawn = 0

    def step(self) -> None:
        """One step as it is."""
        with default_dtype(torch.float64):
            self.state = self._box.handed_on(self.state, self._h)

    def flat(self) -> np.ndarray:
        """The state, theta first; of whole chains, value after value of all chains."""
        if self._alone or not self._step.chains:
            return torch.cat([value.reshape(-1) for value in self.state]).to(torch.float64).numpy()
        rows = len(self.state[0])
        return (
            torch.cat([value.reshape(rows, -1) for value in self.state], dim=1)
            .to(torch.float64)
            .T.reshape(-1)
            .numpy()
        )

    @property
    def operations(self) -> int:
        """The number of torch's operations in a step."""
        counted = 0

        def count(*_: Any) -> None:
            nonlocal counted
            counted += 1

        with torch.random.fork_rng(devices=[]), default_dtype(torch.float64):
            self._box.run(self.state, None, self._h, others=torch.Generator().manual_seed(0), witness=count)
        return counted

    def held(self, state: np.ndarray, draw: float) -> np.ndarray:
        """The state after a step from a state, where every number behind its draws is `draw`."""
        parts, ends = [], 0
        for value in self.state:
            parts.append(torch.from_numpy(state[ends : ends + value.numel()].copy()).reshape(value.shape))
            ends += value.numel()
        kept, self.drawn = self.state, 0

        def put(shape: tuple[int, ...], law: Any = None, chances: Any = None) -> Tensor:
            self.drawn += int(np.prod(shape, dtype=int))
            return torch.full(shape, draw, dtype=torch.float64)

        with torch.random.fork_rng(devices=[]), Interception(put), default_dtype(torch.float64):
            self.state = self._box.real_state(parts, self._h)
            moved = self.flat()
        self.state = kept
        return moved
