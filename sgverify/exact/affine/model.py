"""A scheme on a Gaussian target with everything fixed but the step size: the input of the exact engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import arb, arb_mat

from sgverify.errors import NotAffineError
from sgverify.exact import ball
from sgverify.exact.affine.algebra import longest, powers_of, stacked
from sgverify.exact.affine.carrier import Base, read_affine, read_start
from sgverify.exact.affine.drawn_noise import Drawn, added, drawn_tensor
from sgverify.exact.affine.field import BALLS, Scalar
from sgverify.exact.affine.gradient_noise import GradientNoise
from sgverify.exact.chain import AffineChain, Problem, ProblemAt, Quadratic
from sgverify.exact.tensor import push
from sgverify.schemes import Scheme, exact
from sgverify.schemes.binding import parameters_of
from sgverify.targets import Observable, Target

StepSize = Callable[[], arb]
"""A step size as a function of flint's working precision."""


LARGEST_FOURTH = 10
"""The largest number of coordinates for which cumulants of orders three and four are kept: only the MSE asks for them."""


@dataclass(frozen=True)
class Model:
    """A scheme, a Gaussian target, an observable and the numbers of a configuration, all exact.

    `target` is the one whose gradient the steps follow on average; `judged`, where it is another one (a biased
    gradient), the posterior whose average is asked for and around which the chain starts. Coordinates are ordered
    state variable by state variable: (theta_0.., p_0.., memory..).
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
        return lambda bits: Problem(self.chain(step()), self._quadratic(), ball.number(self.truth))

    def chain(self, step: arb) -> AffineChain:
        """M, c, the noise's cumulants and the start, as balls at the working precision.

        Raises `NotAffineError` where the minibatches have Hessians of their own: M is then another one at each step.
        """
        if self.noise.multiplicative:
            raise NotAffineError(
                "the minibatches have Hessians of their own, so one step has no single matrix"
            )
        read = read_affine(
            self.scheme,
            {"h": Scalar(BALLS, step), **{k: Scalar(BALLS, ball.number(v)) for k, v in self._given.items()}},
            each_evaluation=self.noise.each_evaluation,
        )
        powers = powers_of(self._precision_balls, ball.identity(self.target.dim), longest(read))
        names = list(self.scheme.state)

        def part(*columns: Base) -> arb_mat:
            return stacked(read, names, columns, powers, _as_ball, arb_mat)

        shift = part(("mean", 0)) * self._mean + part(("ones", 0)) * ball.column([1] * self.target.dim)
        injections = [part(("gradient", k)) for k in range(read.gradients)]
        draws = [(law, part(("noise", k))) for k, law in enumerate(read.laws)]
        covariance = arb_mat(self.size, self.size)
        for _, b in draws:
            covariance = covariance + b * b.transpose()
        third = fourth = None
        if self.size <= LARGEST_FOURTH:
            third, fourth = drawn_tensor(draws, 3), drawn_tensor(draws, 4)
        if self.noise.covariance is not None and not self.noise.exchangeable:
            v = arb_mat(self.noise.covariance)
            for b in injections:
                covariance = covariance + b * v * b.transpose()
            if self.size <= LARGEST_FOURTH:
                own = self._pushed(injections)
                third, fourth = added(third, own[0]), added(fourth, own[1])
        mean, spread = self.start_law(step)
        return AffineChain(
            part(*(("state", name) for name in names)), shift, covariance, mean, spread, third, fourth
        )

    def injections(self, step: arb) -> tuple[list[arb_mat], arb_mat]:
        """The blocks B_g of the minibatch noises in order of use, and the covariance of the drawn noise."""
        columns, drawn = self.sources(step)
        covariance = arb_mat(self.size, self.size)
        for _, b in drawn:
            covariance = covariance + b * b.transpose()
        return columns, covariance

    def sources(self, step: arb) -> tuple[list[arb_mat], Drawn]:
        """The blocks B_g of the minibatch noises in order of use, and those of the draws with their laws."""
        read = read_affine(
            self.scheme,
            {"h": Scalar(BALLS, step), **{k: Scalar(BALLS, ball.number(v)) for k, v in self._given.items()}},
        )
        powers = powers_of(self._precision_balls, ball.identity(self.target.dim), longest(read))
        names = list(self.scheme.state)
        columns = [
            stacked(read, names, [("gradient", k)], powers, _as_ball, arb_mat) for k in range(read.gradients)
        ]
        drawn = [
            (law, stacked(read, names, [("noise", k)], powers, _as_ball, arb_mat))
            for k, law in enumerate(read.laws)
        ]
        return columns, drawn

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
                means += [
                    ball.number(m)
                    + ball.number(self.start) * (temperature * ball.number(posterior.covariance[i][i])).sqrt()
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
        """The start of a scheme with memory, started from full gradients as the sampler starts it."""
        given = {name: Scalar(BALLS, ball.number(value)) for name, value in self.parameters.items()}
        if step is not None:
            given["h"] = Scalar(BALLS, step)
        read = read_start(self.scheme, given)
        powers = powers_of(self._precision_balls, ball.identity(self.target.dim), longest(read))
        names = list(self.scheme.state)

        def part(*columns: Base) -> arb_mat:
            return stacked(read, names, columns, powers, _as_ball, arb_mat)

        image = part(*(("state", name) for name in names))
        shift = part(("mean", 0)) * self._mean + part(("ones", 0)) * ball.column([1] * self.target.dim)
        covariance = image * spread * image.transpose()
        for k in range(read.draws):
            drawn = part(("noise", k))
            covariance = covariance + drawn * drawn.transpose()
        return image * mean + shift, covariance

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

    def _quadratic(self) -> Quadratic:
        c, b, a = self.observable.quadratic_form()
        pad = self.size - len(b)
        rows = [[*row, *([0] * pad)] for row in a] + [[0] * self.size for _ in range(pad)]
        return Quadratic(ball.number(c), ball.column([*b, *([0] * pad)]), ball.matrix(rows))

    @cached_property
    def _given(self) -> dict[str, Fraction]:
        return {name: self.parameters[name] for name in self.scheme.parameters}

    @property
    def _precision_balls(self) -> arb_mat:
        return ball.matrix(self.target.precision)

    @property
    def _mean(self) -> arb_mat:
        return ball.column(self.target.mean)


def fixed_step(value: float | Fraction) -> StepSize:
    """A step size that is an exact number; a float is the decimal it prints as."""
    number = exact(value)
    return lambda: ball.number(number)


def horizon_step(scale: float | Fraction, alpha: Fraction, length: int) -> StepSize:
    """h = scale * L^-alpha, enclosed at the working precision."""
    factor, power = exact(scale), alpha
    return lambda: ball.number(factor) / arb(length) ** ball.number(power)


def _as_ball(value: Any) -> Any:
    if isinstance(value, arb):
        return value
    return 0 if value == 0 else BALLS.number(exact(value))
