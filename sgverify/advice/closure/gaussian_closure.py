"""How wide are a chain's draws if no exact law is known? The chain's law is approximated by a Gaussian closure.

The gradient of U is replaced by its best linear fit over a Gaussian law, and the covariance of the minibatch noise by its average
over the same law, each at the place of the step where the gradient is evaluated; one step is then an affine map with added noise,
whose invariant covariance solves a discrete Lyapunov equation, with the third cumulants of target, noise and chain as a correction
(`sgverify.advice.closure.fixed_point`). The law of the averages is the fixed point of this map (statistical linearisation). If U is
quadratic the result is exact with full gradients, and where a step evaluates one gradient, even if the Hessians of the data differ;
otherwise it is an approximation, and `distrust` gives the reason if it is unreliable.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg, optimize

from sgverify.advice.closure.fixed_point import (
    ENOUGH,
    ROUNDS,
    FitAt,
    fixed_law,
    flat,
    largest_change,
    law_of,
    positive,
)
from sgverify.advice.closure.gradient_calls import StepInGradients, step_in_gradients
from sgverify.advice.closure.gradient_fit import GradientEstimate, GradientFit
from sgverify.advice.closure.linear_chain import GaussianLaw, LinearChain, Mixing, target_covariance
from sgverify.advice.closure.shape import CLOSE, DRAWS, far, log_widths, measured_law, remedy
from sgverify.errors import InstabilityError, Unreached
from sgverify.subject.subject import Subject
from sgverify.targets.landscape import hessian

LARGEST = 100
"""The largest number of coordinates of theta for the approximation."""

_CONVERGED, _EXACTLY, _NEARLY = 1e-7, 1e-10, 3e-4
"""Rounds of averaging end where no standard deviation changes by more than this share, and no mean by more of its spread."""

_OF_MEAN = 3
"""A shift of the mean, of first order in e, has several terms of the third: those of exact laws are 1 to 3 times e^2 of it."""

TINY = 2.0**-15
"""The share of the step at which a chain's law is nearly that as h -> 0."""

NEAR_ERROR = 10 * _NEARLY
"""What `GaussianClosure.near` is off by whatever the step, where each round leaves at most 9/10 of the change before it."""


@dataclass(frozen=True)
class GaussianClosure:
    """The invariant law of a subject's chain, approximated by a Gaussian one, at any step size."""

    subject: Subject

    @staticmethod
    def why_not(subject: Subject) -> str | None:
        """The reason why the approximation does not apply to this subject; None where it does."""
        # It brings torch, which a run needs anyway.
        from sgverify.samplers.own.module_target import ModuleTarget

        if isinstance(subject.target, ModuleTarget):
            return "a module's parameters start anywhere, and not near a mode; `sgverify advise` seeks one"
        if subject.target.dim > LARGEST:
            return f"theta has more than {LARGEST} coordinates"
        return GaussianClosure.why_not_affine(subject)

    @staticmethod
    def why_not_affine(subject: Subject) -> str | None:
        """The reason why a step is no affine map with independent noise where U is quadratic; None where it is."""
        table = subject.configuration.gradient
        if table.estimator.draws_data and not (table.estimator.fresh or table.estimator.centred):
            return f"the noise of gradient.kind={table.kind!r} is not independent from step to step"
        if table.clip is not None or table.scale != 1:
            return "gradient.clip and gradient.scale make the gradient biased, which the approximation leaves out"
        if subject.scheme.dynamics.riemannian or subject.scheme.dynamics.state not in (
            ("theta",),
            ("theta", "p"),
        ):
            return "the dynamics is not affine where U is quadratic"
        return None

    def distrust(self, step: float) -> str | None:
        """The reason not to trust the approximation at this step size; None where it is trusted.

        The changes of the target's widths and of the chain's (`_changes`) have to be small.
        """
        if self.distrust_of_target is not None:
            return self.distrust_of_target
        try:
            widened, averaged, bent = self._changes(step)
        except (InstabilityError, np.linalg.LinAlgError) as error:
            return f"the chain's law has no Gaussian approximation ({error})"
        told, labels = float(np.abs(widened).max()), self.subject.target.labels
        changes = (("U averaged over it as with U at its mode", averaged), (BENT, bent))
        return next(
            filter(None, (far("the chain's law", how, change, told, labels) for how, change in changes)),
            None,
        )

    def _changes(self, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logarithms of ratios of widths: the chain's to the target's, and two that tell how far it is from Gaussian. Shapes (d,).

        By how much the first changes from U at its mode to U averaged over the law; and the displacement of the chain by the
        nonlinear part of the gradient over the curvature, if that part changed slowly. It does where noise in one direction
        drives another through the third derivatives of U.
        """
        if step in self._known_changes:
            return self._known_changes[step]
        peak = self._temperature * np.linalg.inv(self._curvature)
        at_mode = log_widths(self._chain_at_the_mode(step).of_theta) - log_widths(peak)
        chain = self.law(step).covariance
        widened = log_widths(chain) - log_widths(self.target_law.covariance)
        bent = log_widths(chain + self._displacement(step)) - log_widths(chain)
        self._known_changes[step] = widened, widened - at_mode, bent
        return self._known_changes[step]

    def biases(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Those of means and standard deviations, in standard deviations of the target. Shapes (d,), (d,)."""
        mean, sd = self.freed(self.law(step))
        target = self.target_law
        return (mean - target.mean) / target.sd, sd / target.sd - 1

    def freed(self, law: GaussianLaw) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviations of a chain, less what its limit as h -> 0 differs from the target's. Shapes (d,), (d,).

        Both approximate exp(-U/T), and leave out other terms, beside which the bias of a small step is small.
        """
        target, (mean, sd) = self.target_law, self._limit
        return law.mean - mean + target.mean, law.sd * target.sd / sd

    @cached_property
    def _limit(self) -> tuple[np.ndarray, np.ndarray]:
        return self._as_h_vanishes(third=True)

    @cached_property
    def _limit_without(self) -> tuple[np.ndarray, np.ndarray]:
        return self._as_h_vanishes(third=False)

    def _as_h_vanishes(self, *, third: bool) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviations of the chain's law as h -> 0; those of the target where small steps have no law."""
        try:
            one, two = (self.near(self.subject.step * share, third=third) for share in (TINY, 2 * TINY))
        except InstabilityError:
            return self.target_law.mean, self.target_law.sd
        return 2 * one.mean - two.mean, 2 * one.sd - two.sd

    def uncertainty(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Estimates of the errors of `biases`, and no bounds. Shapes (d,), (d,).

        With U quadratic, cubic of size e, and of size e^2 beyond, the law is complete to the relative order e^2 in its widths and
        to the first in its mean. e^2 is read off as the larger of the changes that `distrust` examines. A width is off by as
        much as all that is known of its order e^2, the third cumulants, and by the share e^2 of what is told; a mean, of which
        the order e^3 is left out whole, by `_OF_MEAN` times that share.
        """
        mean, sd = self.biases(step)
        _, averaged, bent = self._changes(step)
        share = np.maximum(np.abs(averaged), np.abs(bent))
        found, other = self.near(step), self.near(step, third=False)
        (one_mean, one_sd), (mean_without, sd_without) = self._limit, self._limit_without
        of_mean = (found.mean - one_mean) - (other.mean - mean_without)
        of_sd = found.sd / one_sd - other.sd / sd_without
        return (
            np.abs(of_mean) / one_sd + _OF_MEAN * share * np.abs(mean),
            np.abs(of_sd) + np.abs(bent) * np.abs(sd),
        )

    @property
    def distrust_of_target(self) -> str | None:
        """The reason why no Gaussian describes exp(-U/T), whatever the chain, and what mends it; None where one does."""
        return self._shape[0]

    @property
    def caveat(self) -> str:
        """What is to be said of a Gaussian whose widths are not those of U at its mode, but those of weighted draws."""
        return self._shape[1]

    @cached_property
    def _shape(self) -> tuple[str | None, str]:
        target, T = self.subject.target, self._temperature
        try:
            law, peak = self.target_law, T * np.linalg.inv(self._curvature)
        except (InstabilityError, np.linalg.LinAlgError) as error:
            none = f"exp(-U/T) has no Gaussian approximation ({error})"
            return none + remedy(target, T, self._gradient, self._mode), ""
        change = log_widths(law.covariance) - log_widths(peak)
        why = far("exp(-U/T)", "U averaged over it as with U at its mode", change, 0.0, target.labels)
        if why is None:
            return None, ""
        with suppress(Unreached, np.linalg.LinAlgError):
            if measured_law(target, T).confirms(law.mean, law.covariance):
                return (
                    None,
                    f"{why}; means and widths of the Gaussian are those of {DRAWS} weighted draws within {CLOSE:.0%}",
                )
        return why + remedy(target, T, self._gradient, self._mode), ""

    @cached_property
    def _temperature(self) -> float:
        return float(self.subject.configuration.temperature)

    @cached_property
    def _mode(self) -> np.ndarray:
        start = self.subject.target.location_float64(self._temperature)
        widths = self.subject.target.spread_float64(self._temperature)

        def energy(scaled: np.ndarray) -> float:
            value = float(self.subject.target.energy_float64((start + widths * scaled)[None])[0])
            return value if np.isfinite(value) else 1e300

        def gradient(scaled: np.ndarray) -> np.ndarray:
            return np.asarray(widths * self._gradient((start + widths * scaled)[None])[0])

        with np.errstate(all="ignore"):
            # Some hundred steps reach any mode there is; along a ridge without one the curvature tells.
            found = optimize.minimize(
                energy, np.zeros(len(start)), jac=gradient, method="BFGS", options={"gtol": 1e-6}
            )
        return np.asarray(start + widths * found.x)

    @cached_property
    def _curvature(self) -> np.ndarray:
        """The Hessian of U at the mode, by central differences of the gradient. Shape (d, d)."""
        widths = self.subject.target.spread_float64(self._temperature)
        return positive(hessian(self._gradient, self._mode, widths), "the Hessian at the mode")

    def _gradient(self, points: np.ndarray) -> np.ndarray:
        return self.estimate.at(points)[0]

    @cached_property
    def target_law(self) -> GaussianLaw:
        """The Gaussian nearest to exp(-U/T): E grad U = 0, and the averaged Hessian is T times its precision."""

        def law(fitted: GradientFit, covariance: np.ndarray) -> np.ndarray:
            positive(fitted.hessian, "U's averaged Hessian")
            return target_covariance(fitted, covariance, self._temperature)

        mean, covariance = self._closed(law, self._temperature * np.linalg.inv(self._curvature))
        return GaussianLaw(mean, covariance, None)

    def law(self, step: float) -> GaussianLaw:
        """The law of the chain at this step size, by mean and covariance. Raises `InstabilityError` where it has none."""
        if step not in self._laws:
            try:
                self._laws[step] = self._closed_at(step)
            except InstabilityError as error:
                self._laws[step] = error
        found = self._laws[step]
        if isinstance(found, InstabilityError):
            raise found
        return found

    def _closed_at(self, step: float) -> GaussianLaw:
        """The law at this step size, by mixed iterates from a start near it; by plain ones from the target's where these fail."""
        read, fit_at = step_in_gradients(self.subject, step), self.estimate.fit
        try:
            found = fixed_law(read, fit_at, self._start_near(read, step), step, _CONVERGED, Mixing())
        except InstabilityError:
            found = fixed_law(read, fit_at, self._start(read), step, _CONVERGED)
        return _theta_of(*found)

    def _start_near(self, read: StepInGradients, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance near the law: with the averages over the target's law, moved by third derivatives alone."""
        fitted, start = self._fit_over_target, self._start(read)

        def fit_at(mean: np.ndarray, covariance: np.ndarray) -> GradientFit:
            return fitted.moved(mean, covariance, None)

        try:
            mean, chain = fixed_law(read, fit_at, start, step, _NEARLY, Mixing())
        except InstabilityError:
            return start
        return mean, chain.covariance

    def near(self, step: float, *, third: bool = True) -> GaussianLaw:
        """The law of the chain at a step size at which it hardly differs from that of the target: to first order in the difference.

        The averages are those over the target's law, moved to the law of each place by the derivatives of U: no gradient is
        evaluated again, so that a search over steps is quick. Without `third` cumulants are left out, and averages moved alike.
        """
        fitted, fourth = self._fit_over_target, self._fourth

        def fit_at(mean: np.ndarray, covariance: np.ndarray) -> GradientFit:
            moved = fitted.moved(mean, covariance, fourth)
            return moved if third else replace(moved, third=None)

        return self._settled(step, fit_at, _EXACTLY)

    def _settled(self, step: float, fit_at: FitAt, tolerance: float) -> GaussianLaw:
        """The fixed point of one step with these averages, from the target's law. Raises `InstabilityError` where there is none."""
        read = step_in_gradients(self.subject, step)
        try:
            found = fixed_law(read, fit_at, self._start(read), step, tolerance, Mixing())
        except InstabilityError:
            found = fixed_law(read, fit_at, self._start(read), step, tolerance)
        return _theta_of(*found)

    def _start(self, read: StepInGradients) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of a state whose theta has the target's law. Shapes (n d,), (n d, n d)."""
        target, size = self.target_law, len(read.state) * len(self._mode)
        # A momentum starts at the target's temperature, a memory with nothing; where a gradient is asked theta is spread anyway.
        spread = linalg.block_diag(
            target.covariance, self._temperature * np.eye(len(target.mean)), np.zeros((size,) * 2)
        )
        mean = np.zeros(size)
        mean[: len(target.mean)] = target.mean
        return mean, spread[:size, :size]

    def beside(self, subject: Subject) -> GaussianClosure:
        """The closure of another subject on the same target at the same temperature; what only they determine is taken over."""
        other = GaussianClosure(subject)
        vars(other).update(
            _mode=self._mode, _curvature=self._curvature, target_law=self.target_law, _fourth=self._fourth
        )
        if subject.configuration.gradient == self.subject.configuration.gradient:
            vars(other).update(estimate=self.estimate, _fit_over_target=self._fit_over_target)
        return other

    @cached_property
    def _fit_over_target(self) -> GradientFit:
        return self.estimate.fit(self.target_law.mean, self.target_law.covariance)

    @cached_property
    def _fourth(self) -> np.ndarray | None:
        return self.estimate.fourth(self.target_law.mean, self.target_law.covariance)

    @cached_property
    def _known_changes(self) -> dict[float, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        return {}

    @cached_property
    def _laws(self) -> dict[float, GaussianLaw | InstabilityError]:
        return {}

    def _chain_at_the_mode(self, step: float) -> LinearChain:
        """The chain on the quadratic potential with U's Hessian at the mode; its noise is that over the target's law."""
        straight = replace(
            self._fit_over_target,
            mean=self._mode,
            gradient=np.zeros(len(self._mode)),
            hessian=self._curvature,
            third=None,
        )
        chain = self._settled(
            step, lambda mean, covariance: straight.moved(mean, covariance, None), _NEARLY
        ).chain
        assert chain is not None
        return chain

    def _closed(
        self, law: Callable[[GradientFit, np.ndarray], np.ndarray], covariance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance with E grad U = 0, where `law` gives the covariance back from the fit over that Gaussian law."""
        mean, mixing, scale = self._mode, Mixing(), np.sqrt(np.diag(covariance))
        for _ in range(ROUNDS):
            fitted = self.estimate.fit(mean, covariance)
            shift = np.linalg.solve(fitted.hessian, fitted.gradient)
            before, given = flat(mean, covariance, scale), covariance
            mean, covariance = mean - shift, law(fitted, covariance)
            change = largest_change(shift, given, covariance)
            if change <= _EXACTLY:
                return mean, covariance
            mixed = mixing.next(before, flat(mean, covariance, scale))
            if mixed is not None:
                mean, covariance = law_of(mixed, scale, len(scale)) or (mean, covariance)
        if change <= ENOUGH:
            return mean, covariance
        raise InstabilityError("averaging over it does not settle")

    @cached_property
    def estimate(self) -> GradientEstimate:
        """The gradient and the noise of its estimate."""
        return GradientEstimate(self.subject)

    def _displacement(self, step: float) -> np.ndarray:
        """The covariance of the gradient's nonlinear part, over the curvature. Shape (d, d)."""
        fitted = self.estimate.fit(self._mode, self.law(step).covariance)
        back = np.linalg.inv(fitted.hessian)
        return np.asarray(back @ fitted.bent @ back)


def _theta_of(mean: np.ndarray, chain: LinearChain) -> GaussianLaw:
    return GaussianLaw(mean[: chain.dim], chain.of_theta, chain)


BENT = "what is not linear in the gradient as without it"
