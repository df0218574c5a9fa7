"""Steps are taken by the definition, by its tape, or several at once through torch.compile; and the metric that they ask for.

The compiled form needs a C++ compiler. It has the operations of the tape, in their order. The compiler may round some of them
differently (a fused multiply-add, another exponential), so that its results agree with the others up to rounding only.

A metric is G = (B B^T)^-1, with B diagonal or a full matrix of polynomials.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import ConfigurationError, Unreached
from sgverify.samplers.randomness.noise import KEPT
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

    @property
    def tape(self) -> Tape | None:
        """The tape at the present step size, once it has reproduced the definition's bits; None before."""
        return self._recorded if self._proved else None

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

    def move_compiled(self, state: State, drawn: Sequence[State], k: int, observe: Tape | None) -> Stretch:
        """The next STEPS steps from step `k` of the block on, by the compiled tape; `state` is not overwritten."""
        tape = self._recorded
        assert tape is not None
        met = []
        for number in range(k, k + len(drawn)):
            self._clock.now = number
            met.append(tape.met(state[0]))
        inputs = (*state, *drawn[0])
        return Stretch(*compiled_steps(tape, observe, inputs)(state, drawn, met, tape.fixed))

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


STEPS = KEPT
"""The number of steps that are compiled as one."""

_COMPILED: dict[tuple[Any, ...], Callable[..., Any]] = {}


@dataclass(frozen=True)
class Stretch:
    """The states after each of STEPS steps, and the values of the test functions at each."""

    states: list[tuple[Tensor, ...]]
    values: list[tuple[Tensor, ...]]


def together(compiled: bool | str, tape: Tape | None, observer: Any, left: int) -> int:
    """The number of next steps that torch compiles as one, 0 for none; `observer`, if given, sees the states."""
    ready = compiled is True and tape is not None and left >= STEPS
    return STEPS if ready and (observer is None or observer.tape is not None) else 0


def compiled_steps(tape: Tape, observe: Tape | None, inputs: Sequence[Tensor]) -> Callable[..., Any]:
    """STEPS steps of a tape as one function of (state, draws, constants, fixed), compiled at its first call.

    `draws` and `constants` hold the values for each step; `observe` is a tape of test functions. The function returns the fields
    of a `Stretch`. Constants are arguments and not compiled in; tapes that differ in anything else are compiled separately.
    """
    shapes = tuple((tuple(tensor.shape), tensor.dtype, tensor.device) for tensor in inputs)
    key = (tape.key, None if observe is None else observe.key, shapes)
    if key not in _COMPILED:
        _COMPILED[key] = _compile(tape.play, None if observe is None else observe.play)
    return _COMPILED[key]


def _compile(play: Callable[..., Any], observe: Callable[..., Any] | None) -> Callable[..., Any]:
    def steps(state: Any, draws: Any, constants: Any, fixed: Any) -> Any:
        states, values = [], []
        for k in range(STEPS):
            state = play((*state, *draws[k]), constants[k], fixed)
            states.append(state)
            values.append(() if observe is None else observe(state, (), ()))
        return states, values

    compiled = torch.compile(steps, fullgraph=True, dynamic=False)

    def run(*given: Any) -> Any:
        try:
            with warnings.catch_warnings():
                # torch compiles with functions of its own that it has deprecated.
                warnings.simplefilter("ignore", DeprecationWarning)
                return compiled(*given)
        except Exception as error:  # torch's own types of errors change from release to release
            reason = " ".join((str(error).strip() or type(error).__name__).splitlines()[:3])
            raise ConfigurationError(
                f"compiled=True: torch.compile fails here: {reason}; it needs a C++ compiler such as g++; install one, or "
                "leave compiled=False"
            ) from error

    return run


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
