"""Which states, step sizes, draws and minibatches has a run, and does the definition reproduce each of its steps?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.reading.binding import bind_numbers
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.reading.motion import State
from sgverify.samplers.run.leg import Divergence, Leg, RunObserver
from sgverify.samplers.run.run import Ensemble
from sgverify.samplers.run.schedules import Row
from sgverify.samplers.run.settings import Settings, one_thread
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import in_order, parameters_of
from sgverify.targets import Target

BLOCK = 7
"""The steps per block: so few that a short run crosses many ends of blocks, where streams could be restarted wrongly."""


@dataclass(frozen=True, eq=False)
class Transcript:
    """The first L steps of S rows of C chains.

    `states` maps each variable to X_0, ..., X_L, shape (L + 1, S, C, d or 1); `steps`, shape (L, S), holds h_l; `draws`, shape
    (L, K, S, C, d), the K draws of each step in their order; `minibatches`, shape (L m, n, S, C), the data indices of each
    minibatch, or None; `additive`, shape (L g, S, C, d), the additive noise of each gradient evaluation, or None. All are in the
    order of the steps. `diverged` is the reason if the run is shorter than requested.
    """

    chains: range
    rows: tuple[Row, ...]
    states: dict[str, np.ndarray] = field(repr=False)
    steps: np.ndarray = field(repr=False)
    draws: np.ndarray = field(repr=False)
    minibatches: np.ndarray | None = field(repr=False)
    additive: np.ndarray | None = field(repr=False)
    diverged: Divergence | None

    @property
    def length(self) -> int:
        """L, the number of steps."""
        return len(self.steps)


@dataclass(frozen=True)
class Mismatch:
    """A step whose state differs from the definition's: X_l of one chain in `variable`, and the definition's value."""

    number: int
    row: int
    chain: int
    variable: str
    found: float
    expected: float

    def __str__(self) -> str:
        return (
            f"step {self.number} of chain {self.chain} ended at {self.variable} = {self.found!r}, where the definition, run on "
            f"the state before and on the draws that were handed to the step, gives {self.expected!r}"
        )


def transcribe(
    scheme: Scheme, target: Target, rows: Sequence[Row], settings: Settings, *, block: int = BLOCK
) -> Transcript:
    """The transcript of rows that all have the same length. Raises `ConfigurationError` as `sample` does."""
    ensemble, written = Ensemble(scheme, target, rows, settings, block=block), _Writing()
    diverged: Divergence | None = None
    with one_thread(), torch.no_grad():
        for part in ensemble.blocks(written):
            if part.diverged:
                diverged = next(iter(part.diverged.values()))
                break
    length = len(written.steps)
    drawn = [_wide(draw, len(rows)) for draw in written.drawn[: length * scheme.draws]]
    shape = (length, scheme.draws, len(rows), settings.chains, target.dim)
    minibatches = [part for part in written.sourced if not part.is_floating_point()]
    additive = [part for part in written.sourced if part.is_floating_point()]
    return Transcript(
        ensemble.chains,
        tuple(rows),
        {
            name: np.stack([_numpy(state[place]) for state in written.states])
            for place, name in enumerate(scheme.state)
        },
        np.array(written.steps),
        np.stack(drawn).reshape(shape) if drawn else np.empty(shape),
        _joined(minibatches, length * max(1, scheme.minibatches)),
        _joined(additive, length * max(1, scheme.gradients)),
        diverged,
    )


def first_mismatch(
    transcript: Transcript, scheme: Scheme, target: Target, settings: Settings
) -> Mismatch | None:
    """The first step that the definition does not reproduce bit for bit; None if it reproduces all steps.

    Each step is recomputed by the definition from the state before it, on its draws and minibatches. The constants h, D, T, `dim`
    and the metric are recomputed, and no tape is played: the bits of a run must not depend on batching, hoisting or tapes.
    """
    ensemble = Ensemble(scheme, target, transcript.rows, settings, tape=False)
    clock, dtype = Clock(), ensemble.dtype
    bound = bind_numbers(scheme, parameters_of(settings), target.dim, clock, settings.metric)
    before = [torch.from_numpy(transcript.states[name]).to(dtype) for name in scheme.state]
    drawn = torch.from_numpy(transcript.draws).to(dtype)
    with one_thread(), torch.no_grad():
        estimator = ensemble.estimator(tuple(range(len(transcript.rows))), scheme.census)
        sourced = transcript.minibatches if transcript.additive is None else transcript.additive
        if sourced is not None:
            estimator.source = Given(torch.from_numpy(sourced))
        estimator.prepare(0, transcript.length)
        h: Constant | None = None
        for k, sizes in enumerate(transcript.steps):
            if h is None or not np.array_equal(sizes, transcript.steps[k - 1]):
                h = Constant(sizes[None], clock)
            estimator.begin(k, before[0][k])
            values = bound.step(
                [state[k] for state in before], h=h, grad=estimator.of_step(k), draw=in_order(drawn[k])
            )
            for name, state, value in zip(scheme.state, before, values, strict=True):
                found = value.expand(state[k + 1].shape)
                apart = found != state[k + 1]
                if apart.any():
                    row, chain, place = (int(i) for i in apart.nonzero()[0])
                    here = (row, chain, place)
                    return Mismatch(
                        k + 1,
                        row,
                        transcript.chains[chain],
                        name if name == "xi" or target.dim == 1 else f"{name}[{place}]",
                        state[k + 1][here].item(),
                        found[here].item(),
                    )
    return None


class _Writing(RunObserver):
    """A run observer that records the start, and the size, the draws and the resulting state of every step.

    `sourced` holds the draws of the gradient estimator, block by block.
    """

    def __init__(self) -> None:
        self.states: list[State] = []
        self.steps: list[np.ndarray] = []
        self.drawn: list[Tensor] = []
        self.sourced: list[Tensor] = []

    def begin(self, leg: Leg) -> Leg:
        self.states.append(_copied(leg.start))
        if leg.estimator.source is not None:
            leg.estimator.source = _Heard(leg.estimator.source, self.sourced)
        return leg.telling(lambda draw: self.drawn.append(draw.clone()))

    def show(self, rows: tuple[int, ...], number: int, state: State, steps: np.ndarray) -> None:
        self.states.append(_copied(state))
        self.steps.append(steps.copy())


class _Heard:
    """A source of minibatches or noise whose blocks are recorded."""

    def __init__(self, source: Any, record: list[Tensor]) -> None:
        self._source, self._record = source, record

    def block(self, first: int, count: int) -> Tensor:
        drawn: Tensor = self._source.block(first, count)
        self._record.append(drawn.clone())
        return drawn


class Given:
    """A source that returns the recorded blocks of another source."""

    def __init__(self, drawn: Tensor) -> None:
        self._drawn = drawn

    def block(self, first: int, count: int) -> Tensor:
        """The entries first, ..., first + count - 1; indices beyond the recorded entries start again from the first."""
        places = [place % len(self._drawn) for place in range(first, first + count)]
        return self._drawn[places]


def _copied(state: State) -> State:
    return tuple(tensor.clone() for tensor in state)


def _wide(draw: Tensor, rows: int) -> np.ndarray:
    """A draw as an array with one entry for every row, repeated if the rows share it."""
    return _numpy(draw.expand(rows, *draw.shape[1:]))


def _joined(parts: list[Tensor], count: int) -> np.ndarray | None:
    return torch.cat(parts)[:count].cpu().numpy() if parts else None


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.to(torch.float64).cpu().numpy()
