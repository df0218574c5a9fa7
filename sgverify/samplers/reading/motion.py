"""Steps are taken by the definition or by its tape; and the metric that they ask for.

A metric is G = (B B^T)^-1, with B diagonal or a full matrix of polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.reading.carrier import Chains
from sgverify.samplers.reading.constants import Clock, Constant
from sgverify.samplers.reading.tape import Tape, record, room
from sgverify.schemes import Scheme
from sgverify.schemes.definition.binding import Bound, in_order
from sgverify.targets.metric import CoordinateMetric, MatrixMetric, MetricText, parse_metric
from sgverify.targets.observable import Terms

State = tuple[Tensor, ...]


class Motion:
    """Moves states by a scheme that is bound to tensors.

    With `tape`, the first step at a step size runs the definition and computes its constants, and the second step is recorded.
    The third step is both run and played; if the two agree to the bit, all later steps are played. The step from a state may
    overwrite that state.
    """

    def __init__(
        self,
        bound: Bound[Scheme],
        clock: Clock,
        *,
        tape: bool,
    ) -> None:
        self._bound, self._clock = bound, clock
        self._recordable, self._proved = tape, False
        self._h: Constant | None = None
        self._rooms: tuple[State, ...] = ()
        self._turn = 0
        self._recorded: Tape | None = None
        self._met: State | None = None

    def move(
        self,
        state: State,
        drawn: State,
        h: Constant,
        make_grad: Callable[[], Any],
        given: State | None = (),
    ) -> State:
        """The next state of every chain, each variable of shape (S, C, d) or (S, C, 1).

        `given` are the tensors in this step's gradients that change from step to step; None if the step cannot be recorded.
        """
        if h is not self._h:
            self._h, self._recorded, self._proved = h, None, False
            return self._define(state, drawn, make_grad)
        if not self._recordable or given is None:
            return self._define(state, drawn, make_grad)
        if self._proved:
            return self._play(state, (*drawn, *given))
        if self._recorded is None:
            return self._record(state, drawn, given, make_grad)
        new = self._define(state, drawn, make_grad)
        # A variable that the step leaves unchanged is the state's own tensor, which playing may overwrite: copy it.
        new = tuple(tensor.clone() if any(tensor is old for old in state) else tensor for tensor in new)
        pairs = zip(new, self._play(state, (*drawn, *given)), strict=True)
        self._proved = self._recordable = all(torch.equal(a, b) for a, b in pairs)
        return new

    def _record(self, state: State, drawn: State, given: State, make_grad: Callable[[], Any]) -> State:
        try:
            self._recorded, new = record(
                lambda: self._define(state, drawn, make_grad),
                (*state, *drawn, *given),
                (),
                self._clock,
                overwritten=len(state),
            )
        except Unreached:
            self._recordable = False
            return self._define(state, drawn, make_grad)
        self._rooms = (room(new), room(new))
        self._met = self._recorded.met(new[0]) if self._recorded.steady else None
        return new

    def _play(self, state: State, given: State) -> State:
        tape = self._recorded
        assert tape is not None
        self._turn = 1 - self._turn
        new = self._rooms[self._turn]
        met = tape.met(state[0]) if self._met is None else self._met
        tape.play_into((*state, *given), met, tape.fixed, new)
        return new

    def _define(self, state: State, drawn: State, make_grad: Callable[[], Any]) -> State:
        new = self._bound.step(state, h=self._h, grad=make_grad(), draw=in_order(drawn))
        # A draw that the step returns unchanged would be overwritten by a later draw: copy it.
        return tuple(tensor.clone() if any(tensor is draw for draw in drawn) else tensor for tensor in new)


class FullMetric:
    """The metric ingredient of a definition for a matrix B of polynomials; vectors have shape (S, C, d)."""

    diffusion = CoordinateMetric.diffusion

    def __init__(self, metric: MatrixMetric) -> None:
        self._metric = metric
        self._divergence, self._root_divergence = metric.divergence(), metric.root_divergence()

    def root(self, theta: Chains, vector: Chains) -> Chains:
        """B v."""
        return self._applied(self._metric.entries, theta, vector)

    def transposed(self, theta: Chains, vector: Chains) -> Chains:
        """B^T v."""
        return self._applied(tuple(zip(*self._metric.entries, strict=True)), theta, vector)

    def inverse(self, theta: Chains, vector: Chains) -> Chains:
        """G^-1 v."""
        return self.root(theta, self.transposed(theta, vector))

    def divergence(self, theta: Chains) -> Chains:
        """sum_j d_j (B B^T)_ij."""
        return _joined([_value(terms, theta) for terms in self._divergence])

    def root_divergence(self, theta: Chains) -> Chains:
        """sum_j d_j B_ji."""
        return _joined([_value(terms, theta) for terms in self._root_divergence])

    def _applied(self, rows: Sequence[Sequence[Terms]], theta: Chains, vector: Chains) -> Chains:
        values = []
        for row in rows:
            total: Any = theta[..., :1] * 0
            for j, terms in enumerate(row):
                if terms:
                    total = total + _value(terms, theta) * vector[..., j : j + 1]
            values.append(total)
        return _joined(values)


def make_metric(given: MetricText | None, dim: int) -> CoordinateMetric | FullMetric:
    """The metric ingredient of the configured B. Raises `ConfigurationError` unless B is a `dim` x `dim` matrix."""
    metric = parse_metric(given, dim)
    return metric if isinstance(metric, CoordinateMetric) else FullMetric(metric)


def _value(terms: Terms, theta: Chains) -> Chains:
    """The values of a polynomial at theta, shape (S, C, 1), summed term by term."""
    total: Any = theta[..., :1] * 0
    for exponents, coefficient in terms.items():
        term: Any = total * 0 + float(coefficient)
        for i, power in enumerate(exponents):
            if power:
                term = term * theta[..., i : i + 1] ** power
        total = total + term
    value: Chains = total
    return value


def _joined(entries: Sequence[Chains]) -> Chains:
    return Chains(torch.cat([entry.tensor for entry in entries], dim=-1))
