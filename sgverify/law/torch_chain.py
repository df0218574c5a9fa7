"""What is the affine chain of torch code on a Gaussian target, at each step size, with the noise of its draws and gradients?

By which law of one step are the innovations of a run computed, and which variance does that law lead to?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import flint
import numpy as np
import torch
from flint import arb, arb_mat

from sgverify.errors import ConfigurationError, InstabilityError, Unreached
from sgverify.exact.affine.noise import LARGEST_TENSOR
from sgverify.exact.chain.chain import AffineChain, ChainProblem, QuadraticForm
from sgverify.exact.numbers.ball import column, matrix, number
from sgverify.exact.numbers.entrywise import push
from sgverify.law.chosen_step import chosen_gradient, started
from sgverify.law.gaussian_setting import GaussianSetting, configured_design
from sgverify.law.one_step_map import REACH, OneStepMap, read_in_its_law, read_one_step, rows_of_chain
from sgverify.law.step_rows import Expected, GradientGain, ShiftedGradient, StepRows, read_gains
from sgverify.rates.powers import powers_of_h
from sgverify.schemes.torch_step import TorchStep
from sgverify.subject.caching import Same, cached_by, cached_per_subject
from sgverify.subject.subject import Subject

HALVINGS = 7
"""The number of step sizes h, h/2, h/4, ... at which a stationary quantity is computed."""

FEWEST = 4
"""The fewest step sizes of a sweep: the fit needs one power for its error bound, and must distinguish orders 1 and 2."""

SMALLER = 30
"""The most halvings of a default step in the search for one at which the chain contracts."""

NEAR = 1e-6
"""The share of the dynamics' own gain that counts as equal: remainders of the fits are smaller."""


class BendsError(Unreached):
    """Raised if the step is not affine in the state."""


@cached_per_subject
def chain_of(subject: Subject) -> TorchChain:
    """The chain of a subject, whose maps are read once each; raises `Unreached` and what the code itself raises."""
    return TorchChain(subject)


@cached_by(
    lambda subject: (Same(subject.scheme), subject.step, subject.noise.each_evaluation),
    # What a gradient and a Gaussian setting are made of.
    lambda subject: (subject.configuration.temperature, subject.configuration.friction),
    lambda subject: (repr(subject.configuration.target), subject.configuration.gradient.scale),
)
def _rows(subject: Subject) -> tuple[ShiftedGradient, StepRows]:
    """The step on its Gaussian target, with the mean of the gradient estimates; minibatches change its noise alone."""
    design = configured_design(subject)
    assert design is not None
    step = cast(TorchStep, subject.scheme)
    setting = design.setting(step.dynamics, step.memory)
    gradient = ShiftedGradient(chosen_gradient(subject), each_evaluation=subject.noise.each_evaluation)
    return gradient, rows_of_chain(step, setting, subject.step, gradient)


class TorchChain:
    """The subject's step on its target: X_1 = M X_0 + c + noise at each step size, in natural units about the stationary mean.

    The step is tested at states out to 6 spreads of the target and of the chain's own law, at draws of up to 6 standard deviations,
    and at gradient noise of up to 6. Raises `Unreached` if the target is not Gaussian or the gradients' noise not known.
    """

    def __init__(self, subject: Subject) -> None:
        _refuse(subject)
        self.subject, self.noise = subject, subject.noise
        self.step = cast(TorchStep, subject.scheme)
        self.gradient, self.rows = _rows(subject)
        self.setting: GaussianSetting = self.rows.setting
        self._maps: dict[float, OneStepMap] = {}
        self._gains: dict[float, GradientGain] = {}
        n, dim = len(self.setting.spreads), subject.target.dim
        start = np.zeros((2, n))
        start[:, :dim] = np.array([[1.0], [-1.0]]) * subject.configuration.start_of()
        self._start = start[np.abs(start).max(axis=1) > max(REACH)]

    def map(self, h: float) -> OneStepMap:
        """The affine map of one step of size h, `covariance` with the noise of gradients.

        Raises `BendsError` if the step is not affine at some tested state, `Unreached` if it cannot be evaluated.
        """
        if h not in self._maps:
            self._maps[h] = read_in_its_law(
                self.rows, h, also=self._start, noisy=lambda seen: self._with_gradients(seen, h)
            )
        seen = self._maps[h]
        if seen.bend is not None:
            raise BendsError(f"one step is not affine at {seen.where}, {seen.bend:g} spreads from the mean")
        return seen

    def linear_part(self, h: float, length: float) -> OneStepMap:
        """The map without tests, from differences over vectors of this length."""
        return self._with_gradients(read_one_step(self.rows, h, length=length, probed=False), h)

    def gains(self, h: float) -> GradientGain:
        """The gains of the gradients' noise in one step of size h."""
        if h not in self._gains:
            units = np.sqrt(np.diag(_floats(self.noise.covariance)))
            self._gains[h] = read_gains(self.rows, self.gradient, units, h)
        return self._gains[h]

    def _with_gradients(self, seen: OneStepMap, h: float) -> OneStepMap:
        if self.noise.covariance is None or seen.bend is not None:
            return seen
        found = self.gains(h)
        own = self._correlation
        added = sum((gain @ own @ gain.T for gain in found.gains), np.zeros_like(seen.covariance))
        size = max((float(np.abs(gain).sum(axis=1).max()) for gain in found.gains), default=0.0)
        blur = seen.blur + len(found.gains) * 2 * found.rounding * max(size, 1.0) * len(own)
        return replace(seen, covariance=seen.covariance + added, blur=blur)

    @cached_property
    def noise_enters_as_drift(self) -> bool:
        """Does a gradient's noise g move one step by h times what it moves the drift, to leading order in h?

        Every gain is then O(h), and their sum is h G + O(h^2) with the dynamics' own G: so it is in every consistent step, and
        fresh minibatches add a term in h to the bias of each of them.
        """
        steps = np.array([self.first * 2.0**-k for k in range(HALVINGS)])
        read = [self.gains(float(h)) for h in steps]
        count = len(read[0].gains)
        if not count or any(len(found.gains) != count for found in read):
            return False
        every = np.array([[*found.gains, sum(found.gains, 0 * found.gains[0])] for found in read])
        off = (count + 1) * np.array([found.rounding for found in read])
        powers = powers_of_h(steps, every, np.broadcast_to(off[:, None, None, None], every.shape))
        due = self.setting.gradient_gain * read[0].units
        size = max(float(np.abs(due).max()), 1e-300)
        small = np.abs(powers.coefficients[0]) <= 2 * powers.bounds[0] + NEAR * size * steps[0]
        right = np.abs(powers.coefficients[1][-1] - due) <= 2 * powers.bounds[1][-1] + NEAR * size
        return bool(small.all() and right.all())

    @cached_property
    def _correlation(self) -> np.ndarray:
        """The covariance of one gradient noise in units of its standard deviations."""
        own = _floats(self.noise.covariance)
        units = np.sqrt(np.diag(own))
        units = np.where(units > 0, units, 1.0)
        return own / np.outer(units, units)

    def steps(self) -> np.ndarray:
        """The configured step sizes of the sweep, from large to small; else halvings of the first step.

        Raises `ConfigurationError` for too few steps, `InstabilityError` if the chain does not contract at one of them.
        """
        steps = configured_sweep(self.subject)
        for h in steps:
            self.check_contracts(h, "sweep.steps")
        return np.array(steps or [self.first * 2.0**-k for k in range(HALVINGS)])

    def check_contracts(self, h: float, key: str) -> None:
        """Raise `InstabilityError` if the chain does not contract at a step size that the setting `key` gave."""
        radius = self.map(h).radius
        if not radius < 1:
            raise InstabilityError(
                f"{key} has {h:.6g}: one step of {self.subject.reference} does not contract on this target, spectral "
                f"radius {radius:.6g}; expected smaller steps"
            )

    @cached_property
    def first(self) -> float:
        """The configured step; else the default step, halved until the chain contracts at twice its size.

        Raises `InstabilityError` for a configured step at which the chain does not contract.
        """
        subject = self.subject
        h, chosen = subject.step, subject.configuration.schedule.step is not None
        for _ in range(1 if chosen else SMALLER):
            radius = self.map(h).radius
            if radius < 1:
                return h if chosen or h == subject.step else h / 2
            h /= 2
        if chosen:
            raise InstabilityError(
                f"schedule.step={subject.step:.6g}: one step of {subject.reference} does not contract on this target, spectral "
                f"radius {radius:.6g}; expected a smaller step; leave schedule.step out for one that is"
            )
        raise Unreached(
            f"the chain contracts at no step size from {subject.step:.3g} down to {2 * h:.3g}: spectral radius {radius:.6g}"
        )

    def problem(self, h: float) -> ChainProblem:
        """Chain, test function and true average as balls at the working precision, which hold the errors of the reading."""
        seen = self.map(h)
        c, subject = self.subject.configuration, self.subject
        start = self._start_of_chains()
        spread = None
        if "p" in self.setting.dynamics.state and c.start_momentum == "stationary":
            spread = np.diag([float(name.partition("[")[0] == "p") for name in self.setting.names])
        third, fourth = self._cumulants(h)
        chain = AffineChain(
            map=balls(seen.matrix, seen.rounding),
            shift=balls(seen.still[:, None], seen.rounding if seen.noise_bend is None else seen.blur),
            covariance=balls(seen.covariance, seen.blur),
            start_mean=balls(start[:, None], 0.0),
            start_covariance=None if spread is None else balls(spread, 0.0),
            third=third,
            fourth=fourth,
        )
        return ChainProblem(chain, self._form(), number(subject.truth))

    def _start_of_chains(self) -> np.ndarray:
        """X_0 in natural units: theta at its start, other variables at their mean, memory at the start that it states."""
        step, setting = self.step, self.setting
        start = np.zeros(len(setting.spreads))
        start[: setting.dim] = self.subject.configuration.start_of()
        own = torch.tensor(setting.law[0] + setting.spreads * start)
        state = step.tensors(own[None] if step.chains else own, setting.dim)
        memory = [value.reshape(-1).numpy() for value in started(step, state)]
        own = np.concatenate([np.zeros(0), *memory]) - setting.law[0][setting.known :]
        return np.concatenate([start[: setting.known], own / setting.spreads[setting.known :]])

    def why_no_square(self, h: float) -> str | None:
        """The reason why the mean square error is not computed; None if it is."""
        if self.map(h).noise_bend is not None:
            try:
                self.rows.cumulants(h)
            except Unreached as error:
                return f"the third and fourth cumulants of its draws are not read: {error}"
        dim, drawn = (
            self.subject.target.dim,
            self.noise.covariance is not None and not self.noise.each_evaluation,
        )
        if drawn and dim > LARGEST_TENSOR:
            return f"third and fourth cumulants of minibatches are not computed in {dim} dimensions"
        return None

    def _cumulants(self, h: float) -> tuple[arb_mat | None, arb_mat | None]:
        """Third and fourth cumulants of the noise, of draws that are not normal and of minibatches; None where they vanish."""
        drawn: tuple[Expected | None, ...] = (None, None)
        if self.map(h).noise_bend is not None and not self.why_no_square(h):
            drawn = self.rows.cumulants(h)
        found: list[arb_mat | None] = []
        for order, own, part_of_draws in ((3, self.noise.third, drawn[0]), (4, self.noise.fourth, drawn[1])):
            total = None if part_of_draws is None else _enclosed(part_of_draws)
            if own is not None:
                read = self.gains(h)
                units = np.where(read.units > 0, read.units, 1.0)
                for gain in read.gains:
                    part = push(arb_mat(own), balls(gain / units, read.rounding / float(units.min())), order)
                    total = part if total is None else total + part
            found.append(total)
        return found[0], found[1]

    def _form(self) -> QuadraticForm:
        """The test function of the user's coordinates as one of the natural coordinates."""
        c, b, a = self.subject.observable.quadratic_form()
        pad = [0] * (len(self.setting.spreads) - len(b))
        quadratic = matrix([*([*row, *pad] for row in a), *([0] * (len(b) + len(pad)) for _ in pad)])
        linear = column([*b, *pad])
        mean, units = balls(self.setting.law[0][:, None], 0.0), balls(np.diag(self.setting.spreads), 0.0)
        constant = (mean.transpose() * (linear + quadratic * mean))[0, 0]
        return QuadraticForm(
            number(c) + constant, units * (linear + 2 * quadratic * mean), units * quadratic * units
        )


def configured_sweep(subject: Subject) -> list[float]:
    """The configured step sizes from large to small; raises `ConfigurationError` for too few of them."""
    given = subject.configuration.sweep.steps or []
    steps = sorted(map(float, set(given)), reverse=True)
    if given and len(steps) < FEWEST:
        raise ConfigurationError(
            f"sweep.steps={list(given)}: {len(steps)} different step sizes; expected {FEWEST} at least, for the powers of h to be "
            "told apart, or leave it out"
        )
    return steps


def balls(values: np.ndarray, radius: float) -> arb_mat:
    """A matrix of balls about floats."""
    return arb_mat([[arb(float(x), radius) for x in row] for row in values])


def _enclosed(part: Expected) -> arb_mat:
    """A matrix of balls about expectations."""
    return arb_mat(
        [
            [arb(float(x), float(r)) for x, r in zip(*row, strict=True)]
            for row in zip(part.value, part.bound, strict=True)
        ]
    )


def _floats(matrix: object) -> np.ndarray:
    with flint.ctx.workprec(128):
        return np.array([[float(arb(x).mid()) for x in row] for row in matrix.tolist()])  # type: ignore[attr-defined]


def _refuse(subject: Subject) -> None:
    gradient, noise = subject.configuration.gradient, subject.noise
    kind = f"gradient.kind={gradient.kind!r}"
    if not subject.target.quadratic:
        raise Unreached(
            f"the potential of target.name={subject.configuration.target.name!r} is not quadratic"
        )
    if gradient.clip is not None:
        raise Unreached(f"gradient.clip={gradient.clip!r}: a clipped gradient is not affine in the state")
    if not noise.known:
        raise Unreached(f"{kind}: the law of its noise is not known")
    if noise.exchangeable:
        raise Unreached(
            f"{kind}: the minibatches of a pass over the data depend on one another, and a step of torch code is read alone"
        )
    if noise.multiplicative:
        raise Unreached(
            f"{kind}: its minibatches have Hessians of their own, so that one step has no single matrix"
        )
    if noise.refresh is not None and noise.covariance is not None:
        raise Unreached(f"{kind}: it keeps a snapshot from step to step")


RANK = 1e-12
"""The share of the largest eigenvalue of the noise's covariance below which a direction has no noise."""


@dataclass(frozen=True)
class StepLaw:
    """X -> matrix X + still + noise of one copy, in the code's own units; None of `matrix` where the step is not affine.

    `whitening`, shape (rank, n), makes standard numbers of the noise, `quiet`, shape (n - rank, n), shows what has none, which is
    known up to `rounding`. `error` bounds the error of the whitened noise. `variance` is that of theta in the long run, and `due`
    that of the target.
    """

    matrix: np.ndarray
    still: np.ndarray
    whitening: np.ndarray
    quiet: np.ndarray
    error: float
    rounding: float
    normal: bool
    variance: float
    due: float

    @property
    def bias(self) -> float:
        """The relative error of the variance in the long run; infinite where there is no such law."""
        return abs(self.variance / self.due - 1)


def setting_of(
    step: TorchStep, numbers: Mapping[str, float], centre: np.ndarray, rate: float
) -> GaussianSetting:
    """The isotropic Gaussian of a run, for a step with its numbers."""
    given = {name: numbers[name] for name in step.dynamics.parameters}
    return GaussianSetting(step.dynamics, given, rate * np.eye(len(centre)), centre, step.memory)


def law_of(
    step: TorchStep, numbers: Mapping[str, float], centre: np.ndarray, rate: float
) -> tuple[StepLaw | None, str]:
    """The law of one copy, by its intercepted draws; None with the reason where it is not affine.

    Raises `Unreached` where the law of a step cannot be read at all.
    """
    setting, h = setting_of(step, numbers, centre, rate), numbers["h"]
    rows = StepRows(step, setting, h)
    found = read_one_step(rows, h)
    if found.bend is not None:
        return None, f"a step is not affine at {found.where}"
    mean, spreads = setting.law[0], setting.spreads
    matrix = spreads[:, None] * found.matrix / spreads
    still = mean + spreads * found.still - matrix @ mean
    values, vectors = np.linalg.eigh(found.covariance)
    noisy = values > max(RANK * values[-1], 10 * found.blur)
    scale = np.sqrt(values[noisy])
    # A wrong mean by `rounding`, and a wrong variance by `blur`, of each standard number.
    error = (
        0.0 if not noisy.any() else 4 * float(found.rounding / scale.min() + found.blur / values[noisy].min())
    )
    variance = spreads[0] ** 2 * float(found.law.covariance[0, 0]) if found.radius < 1 else np.nan
    return (
        StepLaw(
            matrix,
            still,
            (vectors[:, noisy].T / scale[:, None]) / spreads,
            vectors[:, ~noisy].T / spreads,
            error + 1e-7,
            1e-7 + 100 * found.rounding,
            found.noise_bend is None,
            variance,
            float(setting.law[1][0, 0]),
        ),
        "",
    )
