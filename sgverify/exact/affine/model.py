"""A scheme on a Gaussian target with everything fixed but the step size: the input of the exact engines.

A model under changing step sizes: the float64 arrays that the recursion over a decreasing schedule takes.

Exact values at a step size with bounds that hold for the float as well that a program runs with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import flint
import numpy as np
from flint import arb, arb_mat

from sgverify.errors import Unreached
from sgverify.exact.affine.carrier import AffineStep, Base, read_affine, read_start
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.matrices import as_ball, longest, powers_of, stacked
from sgverify.exact.affine.noise import Drawn, GradientNoise, added, drawn_tensor
from sgverify.exact.chain.block_recursion import contracted
from sgverify.exact.chain.chain import AffineChain, ChainProblem, ProblemAt, QuadraticForm
from sgverify.exact.numbers import ball
from sgverify.exact.numbers.ball import BALLS, FLOATS, Certified
from sgverify.exact.numbers.entrywise import push
from sgverify.exact.numbers.matrix_series import rational_matrix, unit_matrix
from sgverify.schemes import Scheme, exact
from sgverify.schemes.definition.binding import parameters_of
from sgverify.targets import Observable, Target
from sgverify.targets.form import inverse_in_balls

if TYPE_CHECKING:
    from sgverify.exact.chain.varying_steps import StepArrays, VaryingProblem

StepSize = Callable[[], arb]
"""A step size as a function of flint's working precision."""


LARGEST_FOURTH = 10
"""The largest number of coordinates for which cumulants of orders three and four are kept: only the MSE asks for them."""


@dataclass(frozen=True)
class StepParts:
    """X' = map X + shift + sum_k B_k z_k + sum_a G_a g_a, in balls at the working precision.

    `draws` are the laws of the z_k with their blocks B_k; `injections` the blocks G_a of the minibatches' noises g_a, in
    order of use. Blocks are n x d.
    """

    map: arb_mat
    shift: arb_mat
    injections: list[arb_mat]
    draws: Drawn

    @property
    def drawn_covariance(self) -> arb_mat:
        """The covariance of sum_k B_k z_k."""
        total = arb_mat(self.map.nrows(), self.map.nrows())
        for _, b in self.draws:
            total = total + b * b.transpose()
        return total


@dataclass(frozen=True)
class Model:
    """A scheme, a Gaussian target, an observable and the numbers of a configuration, all exact.

    `target` is the effective target, whose gradient the steps follow on average. `judged` is the posterior whose average is
    examined and from which the chain starts, where it differs (a biased gradient). Coordinates are ordered state variable by
    state variable: (theta_0.., p_0.., memory..).
    """

    scheme: Scheme
    target: Target
    observable: Observable
    truth: Fraction
    noise: GradientNoise
    temperature: Fraction
    friction: Fraction
    start: Fraction
    stationary_momentum: bool
    judged: Target | None = None

    @property
    def parameters(self) -> dict[str, Fraction]:
        """The dynamics' parameters by the names that definitions use."""
        return parameters_of(self)

    @property
    def size(self) -> int:
        """n, the number of coordinates."""
        return self.target.dim * len(self.scheme.state)

    def problem_at(self, step: StepSize) -> ProblemAt:
        """The chain, test function and true average at this step size, at any precision."""
        return lambda bits: ChainProblem(self.chain(step()), self._quadratic(), ball.number(self.truth))

    def chain(self, step: arb) -> AffineChain:
        """M, c, the noise's cumulants and the start, as balls at the working precision.

        Raises `Unreached` where the minibatches have Hessians of their own, so that M is random.
        """
        if self.noise.multiplicative:
            raise Unreached("the minibatches have Hessians of their own, so one step has no single matrix")
        parts = self.parts(step)
        covariance = parts.drawn_covariance
        third = fourth = None
        if self.size <= LARGEST_FOURTH:
            third, fourth = drawn_tensor(parts.draws, 3), drawn_tensor(parts.draws, 4)
        if self.noise.covariance is not None and not self.noise.exchangeable:
            v = arb_mat(self.noise.covariance)
            for b in parts.injections:
                covariance = covariance + b * v * b.transpose()
            if self.size <= LARGEST_FOURTH:
                own = self._pushed(parts.injections)
                third, fourth = added(third, own[0]), added(fourth, own[1])
        mean, spread = self.start_law(step)
        return AffineChain(parts.map, parts.shift, covariance, mean, spread, third, fourth)

    def parts(self, step: arb) -> StepParts:
        """One step without the law of its minibatches' noises."""
        given = {"h": step, **{name: ball.number(value) for name, value in self._given.items()}}
        return self._matrices(
            read_affine(
                self.scheme,
                {name: Scalar(BALLS, value) for name, value in given.items()},
                each_evaluation=self.noise.each_evaluation,
            )
        )

    def _matrices(self, read: AffineStep) -> StepParts:
        powers = powers_of(ball.matrix(self.target.precision), ball.identity(self.target.dim), longest(read))
        names = list(self.scheme.state)

        def part(*columns: Base) -> arb_mat:
            return stacked(read, names, columns, powers, as_ball, arb_mat)

        centre, ones = ball.column(self.target.mean), ball.column([1] * self.target.dim)
        return StepParts(
            map=part(*(("state", name) for name in names)),
            shift=part(("mean", 0)) * centre + part(("ones", 0)) * ones,
            injections=[part(("gradient", k)) for k in range(read.gradients)],
            draws=[(law, part(("noise", k))) for k, law in enumerate(read.laws)],
        )

    def start_law(self, step: arb | None = None) -> tuple[arb_mat, arb_mat | None]:
        """Mean and covariance (None for a point) of X_0, as balls; `step` is h, which a memory may start from."""
        mean, spread = self.state_law()
        if self.scheme.memory:
            return self._start_memory(mean, spread, step)
        return mean, spread if self.stationary_momentum and "p" in self.scheme.state else None

    def state_law(self) -> tuple[arb_mat, arb_mat]:
        """Mean and covariance of the state at the start; 0 for the memory, which starts from it."""
        dim, names = self.target.dim, list(self.scheme.state)
        posterior = self.judged or self.target
        temperature = ball.number(self.temperature)
        means: list[Any] = []
        spread = arb_mat(self.size, self.size)
        for name in self.scheme.dynamics.state:
            if name == "theta":
                covariance, start = inverse_in_balls(posterior.precision), ball.number(self.start)
                means += [
                    ball.number(m) + start * (temperature * covariance[i, i]).sqrt()
                    for i, m in enumerate(posterior.mean)
                ]
            else:
                means += [arb(0)] * dim
        if self.stationary_momentum and "p" in names:
            at = names.index("p") * dim
            for i in range(dim):
                spread[at + i, at + i] = temperature
        means += [arb(0)] * (self.size - len(means))
        mean = arb_mat(self.size, 1, means)
        return mean, spread

    def _start_memory(self, mean: arb_mat, spread: arb_mat, step: arb | None) -> tuple[arb_mat, arb_mat]:
        """The start of a scheme with memory, by full gradients as in the sampler."""
        given = {name: Scalar(BALLS, ball.number(value)) for name, value in self.parameters.items()}
        if step is not None:
            given["h"] = Scalar(BALLS, step)
        begun = self._matrices(read_start(self.scheme, given))
        covariance = begun.map * spread * begun.map.transpose() + begun.drawn_covariance
        return begun.map * mean + begun.shift, covariance

    def _pushed(self, injections: list[arb_mat]) -> tuple[arb_mat | None, arb_mat | None]:
        third = fourth = None
        for b in injections:
            if self.noise.third is not None:
                pushed = push(arb_mat(self.noise.third), b, 3)
                third = pushed if third is None else third + pushed
            if self.noise.fourth is not None:
                pushed = push(arb_mat(self.noise.fourth), b, 4)
                fourth = pushed if fourth is None else fourth + pushed
        return third, fourth

    def _quadratic(self) -> QuadraticForm:
        c, b, a = self.observable.quadratic_form()
        pad = self.size - len(b)
        rows = [[*row, *([0] * pad)] for row in a] + [[0] * self.size for _ in range(pad)]
        return QuadraticForm(ball.number(c), ball.column([*b, *([0] * pad)]), ball.matrix(rows))

    @cached_property
    def _given(self) -> dict[str, Fraction]:
        return {name: self.parameters[name] for name in self.scheme.parameters}


def fixed_step(value: float | Fraction) -> StepSize:
    """A step size that is an exact number; a float is the decimal it prints as."""
    number = exact(value)
    return lambda: ball.number(number)


def horizon_step(scale: float | Fraction, alpha: Fraction, length: int) -> StepSize:
    """h = scale * L^-alpha, enclosed at the working precision."""
    factor, power = exact(scale), alpha
    return lambda: ball.number(factor) / arb(length) ** ball.number(power)


Array = Any

_PIECE = 2**13
"""Step sizes at which a step is evaluated together."""


def varying_problem(model: Model) -> VaryingProblem:
    """The chain of `model` at any array of step sizes, with its start, test function and true average.

    The minibatch noises of a step, independent of one another, are stacked into one vector g.
    """
    from sgverify.exact.chain.varying_steps import VaryingProblem

    c, b, a = model.observable.quadratic_form()
    n = model.size
    linear, quadratic = np.zeros(n), np.zeros((n, n))
    linear[: len(b)] = [float(v) for v in b]
    quadratic[: len(b), : len(b)] = [[float(v) for v in row] for row in a]
    with flint.ctx.workprec(128):
        mean, spread = model.start_law()
        start_mean = np.array([float(v.mid()) for v in mean.entries()])
        start_covariance = np.zeros((n, n))
        if spread is not None:
            start_covariance += np.array([float(v.mid()) for v in spread.entries()]).reshape(n, n)
    read = _read(model, np.array([1.0]))
    gradients, terms = read.gradients, 2 * longest(read) + model.target.dim
    return VaryingProblem(
        arrays=lambda steps: _arrays(model, steps),
        start_mean=start_mean,
        start_covariance=start_covariance,
        constant=float(c),
        linear=linear,
        quadratic=quadratic,
        target=float(model.truth),
        third=_stacked_tensor(model.noise.third, model.target.dim, gradients, 3),
        fourth=_stacked_tensor(model.noise.fourth, model.target.dim, gradients, 4),
        # A coefficient is off by less than 2^-49 of itself; an entry sums products of two of them.
        entry_error=2.0**-48 + terms * 2.0**-53 if model.size > UNCOUPLED else 2.0**-48,
    )


UNCOUPLED = 4
"""Coordinates up to which no two terms of an entry of a step nearly cancel, but at single step sizes: two dimensions."""


def _arrays(model: Model, steps: Array) -> StepArrays:
    read = _read(model, steps)
    exact_powers = powers_of(
        rational_matrix(model.target.precision), unit_matrix(model.target.dim), longest(read)
    )
    powers = [np.array(_rows(power)) for power in exact_powers]
    found = _summed(model, read, powers, len(steps), lambda value: value)
    return (
        found
        if model.size <= UNCOUPLED
        else replace(found, sizes=_summed(model, read, powers, len(steps), np.abs))
    )


def _summed(
    model: Model, read: AffineStep, powers: Sequence[Array], count: int, term: Callable[[Any], Any]
) -> StepArrays:
    """Map, shift and covariance at every step size, with `term` applied to every number that they are summed from."""
    from sgverify.exact.chain.varying_steps import StepArrays

    dim, n = model.target.dim, model.size
    mean = term(np.array([float(v) for v in model.target.mean]))
    names = list(model.scheme.state)

    def column(base: tuple[str, Any]) -> Array:
        """The n x d blocks of one base at every step size, steps last."""
        out = np.zeros((n, dim, count))
        for k, name in enumerate(names):
            for c, power in zip(read.rows[name].get(base, ()), powers, strict=False):
                factor = np.broadcast_to(term(c if isinstance(c, np.ndarray) else float(c)), (count,))
                out[k * dim : (k + 1) * dim] += term(power)[:, :, None] * factor
        return out

    maps = np.concatenate([column(("state", name)) for name in names], axis=1)
    shift = np.einsum("idk,d->ik", column(("mean", 0)), mean) + column(("ones", 0)).sum(axis=1)
    covariance = np.zeros((n, n, count))
    for k in range(read.draws):
        drawn = column(("noise", k))
        covariance += np.einsum("idk,jdk->ijk", drawn, drawn)
    injection = None
    if model.noise.covariance is not None:
        own = term(np.array([[float(v) for v in row] for row in _rows(model.noise.covariance)]))
        blocks = [column(("gradient", k)) for k in range(read.gradients)]
        for block in blocks:
            covariance += contracted("idk,de,jek->ijk", block, own, block)
        injection = np.concatenate(blocks, axis=1) if blocks else None
    return StepArrays(maps, shift, covariance, injection)


def _read(model: Model, steps: Array) -> AffineStep:
    given = {
        name: Scalar(FLOATS, np.full_like(steps, float(model.parameters[name])))
        for name in model.scheme.parameters
    }
    return read_affine(
        model.scheme, {"h": Scalar(FLOATS, steps), **given}, each_evaluation=model.noise.each_evaluation
    )


def _stacked_tensor(tensor: Any | None, dim: int, copies: int, order: int) -> Array | None:
    """The cumulants of several independent copies of g: equal blocks on the diagonal."""
    if tensor is None or not copies:
        return None
    own = np.array([[float(v) for v in row] for row in _rows(tensor)]).reshape((dim,) * order)
    out = np.zeros((dim * copies,) * order)
    for copy in range(copies):
        at = slice(copy * dim, (copy + 1) * dim)
        out[(at,) * order] = own
    return out


def _rows(matrix: Any) -> list[list[float]]:
    return [[float(flint.arb(v).mid()) for v in row] for row in matrix.tolist()]


def as_run(evaluate: Callable[[StepSize], Certified], step: float, size: StepSize | None = None) -> Certified:
    """The value at `size`, by default the decimal that `step` prints as, with a bound that holds at the double `step` too.

    The two step sizes differ by up to half an ulp of h, which may move the value by more than the error bound of either. The
    value v' at the double is computed as well, and the bound is |v - v'| plus its own error bound; no derivative is needed.
    """
    found = evaluate(fixed_step(step) if size is None else size)
    if size is None and Fraction(step) == exact(step):
        return found
    run = evaluate(fixed_step(Fraction(step)))
    # The difference of floats so near each other is exact; the sum is rounded, and so moved up by one float.
    apart = abs(run.value - found.value)
    reach = math.nextafter(apart + run.error_bound, math.inf) if apart else run.error_bound
    return replace(found, error_bound=max(found.error_bound, reach))
