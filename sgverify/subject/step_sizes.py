"""At which step sizes does a scheme contract on a target, and which step is the default?

The default is half the stability limit; if no limit is known, a share of the potential's fastest time scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx

from sgverify.errors import DefinitionError, InstabilityError
from sgverify.exact.affine.carrier import read_affine
from sgverify.exact.affine.field import Scalar
from sgverify.exact.affine.stability import (
    BITS,
    FOURTH,
    NEAR,
    SECOND,
    Stability,
    drawn_sizes,
    spectral_radii,
    stability_limit,
    stability_of,
)
from sgverify.exact.numbers.ball import BALLS
from sgverify.schemes import Dynamics, Scheme, exact
from sgverify.targets import Target
from sgverify.targets.metric import CoordinateMetric, MatrixMetric

if TYPE_CHECKING:
    from sgverify.exact.recursion.average import MomentStability

SEARCHED_HALVINGS = 40
"""The most halvings of a step in the search for one that contracts."""

SHARE_WITHOUT, SHARE_WITH_MOMENTUM = 0.2, 0.3


def share_of_time_scale(dynamics: Dynamics, curvature: float) -> float:
    """0.2/r for overdamped dynamics, a tenth of Euler's limit 2/r, and 0.3/sqrt(r) with a momentum; r the curvature."""
    if "p" in dynamics.state:
        return SHARE_WITH_MOMENTUM / math.sqrt(curvature)
    return SHARE_WITHOUT / curvature


def typical_step(
    scheme: Scheme, target: Target, temperature: float, metric: CoordinateMetric | MatrixMetric
) -> float:
    """A share of the fastest time scale, from the largest curvature r of U over the typical set of exp(-U/T).

    See `share_of_time_scale` for the share. If U is quadratic and the state has a momentum (a thermostat, whose step is not
    affine), r is constant and the step is 1/sqrt(r), half of Verlet's limit 2/sqrt(r).
    """
    curvature, faster = target.curvature_float64(temperature), 1.0
    if scheme.dynamics.riemannian:
        # The metric multiplies the rates of an overdamped step, and of friction, by b^2.
        faster = metric.largest(target.location_float64(temperature), target.spread_float64(temperature))
    if "p" in scheme.dynamics.state and target.quadratic and faster == 1.0:
        return 1.0 / math.sqrt(curvature)
    if scheme.dynamics.positive and target.positive:
        # Of overdamped steps in the metric diag(theta)^-1, the rates at a place are eigenvalues of theta^(1/2) U'' theta^(1/2).
        faster = float(target.location_float64(temperature).max())
    return share_of_time_scale(scheme.dynamics, curvature) / faster


def contracting_step(
    scheme: Scheme,
    target: Target,
    parameters: Mapping[str, float],
    metric: CoordinateMetric | MatrixMetric,
    first: float,
) -> float:
    """Half of the largest of first, first/2, ... at which a noise-free step contracts about the mean; `first` if none does.

    For steps with different constants in different coordinates, which no eigenvalue of the precision represents. The step's
    linear part is formed from differences along the unit vectors; for an affine step these are exact.
    """
    from sgverify.exact.readings.long_double import LongDoubleGradient, step_in_long_double

    names, dim = list(scheme.state), target.dim
    size = len(names) * dim
    centre = np.zeros(size)
    centre[:dim] = np.asarray([float(value) for value in target.mean])
    points = centre + np.vstack([np.zeros(size), np.eye(size)])
    state = [points[:, k * dim : (k + 1) * dim] for k in range(len(names))]
    draws = [np.zeros((size + 1, dim)) for _ in range(scheme.draws)]
    for h in (first / 2**k for k in range(SEARCHED_HALVINGS)):
        moved = step_in_long_double(
            scheme,
            state,
            draws,
            h=h,
            gradient=LongDoubleGradient(target),
            dim=dim,
            metric=metric,
            parameters=parameters,
        )
        images = np.hstack(moved).astype(np.float64)
        if np.isfinite(images).all() and np.abs(np.linalg.eigvals(images[1:] - images[0])).max() < 1 - NEAR:
            # Half of a contracting step, as the default step is half of the stability limit.
            return h / 2
    return first


LOST = 2.0**-40
"""The ratio of the noise amplitudes at h and at h/2 below which the draws of a step count as lost."""

HALVINGS = 60
"""The most halvings of the stability limit in the search for a default step."""


FAR = 100.0
"""Where the mean contracts at every step, a limit of higher moments is sought up to so many of the target's fastest time scales.

It is derived from nothing: the radius of second moments is no monotone function of h. Answers say how far was searched.
"""


@dataclass(frozen=True)
class StepSizes:
    """One step of `scheme`, with the values of its parameters, on the eigenvalues of the target's precision.

    `reference` is the scheme's name on a command line. `moments` gives the stability of second and fourth moments if
    minibatches have different Hessians; otherwise it is None.
    """

    scheme: Scheme
    reference: str
    parameters: dict[str, Fraction]
    eigenvalues: list[float]
    moments: MomentStability | None = None

    @cached_property
    def limit(self) -> float:
        """The step size at which one step stops contracting; in mean square, if minibatches have different Hessians.

        Infinity where there is none up to `searched`.
        """
        of_mean = stability_limit(self.scheme, self.parameters, self.eigenvalues)
        if self.moments is None or not of_mean:
            return of_mean
        top = of_mean if of_mean < math.inf else self.searched
        limit = self.moments.limit(top, SECOND)
        return limit if limit < top else of_mean

    @property
    def searched(self) -> float:
        """The step size up to which a limit is sought where the mean contracts at every one: infinity, but of second moments."""
        return math.inf if self.moments is None else FAR * self._fastest

    @cached_property
    def default(self) -> float:
        """Half the stability limit; if there is no limit, the fastest time scale of the target.

        The step is halved further in three cases: its spectral radius rounds to 1; a factor of the step is 0, so that draws
        are lost; or minibatches have different Hessians and the fourth moments, which mean square errors need, do not
        contract.
        """
        if self.limit == 0.0:
            raise InstabilityError(f"scheme={self.reference!r}: {self._never_stable()}")
        largest = self._fastest if self.limit == math.inf else self.limit / 2
        steps = [largest / 2**k for k in range(HALVINGS - 1)]
        radii = spectral_radii(self.scheme, self.parameters, self.eigenvalues, steps)
        # At half the limit the radius may touch 1 without exceeding it.
        clear = [step for step, radius in zip(steps, radii, strict=True) if radius < 1 - NEAR]
        visible = (
            clear or [step for step, radius in zip(steps, radii, strict=True) if radius < 1] or steps[:1]
        )
        visible = self._heard(visible)
        if self.moments is None or not self.moments.reaches(FOURTH):
            return visible[0]
        return next((step for step in visible if self.moments.contracts(step, FOURTH)), visible[0])

    @property
    def _fastest(self) -> float:
        """The fastest time scale of the target."""
        return float(max(self.eigenvalues) ** -0.5)

    def _heard(self, steps: list[float]) -> list[float]:
        """The steps from the first one on whose draws are not lost in any direction, compared with the step of half the size.

        For example, the step y - h grad U(y) with y = theta + noise loses its noise at h r = 1, with r the curvature.
        """
        sizes = drawn_sizes(self.scheme, self.parameters, self.eigenvalues, steps)
        # Regular amplitudes are proportional to a power of sqrt(h): one halving does not reduce them by this factor.
        lost = [a <= LOST * b for a, b in pairwise(sizes)]
        first = next((k for k, gone in enumerate(lost) if not gone), 0)
        return steps[first:]

    def check(self, steps: list[float], key: str) -> None:
        """Refuse step sizes at which one step does not contract; name the spectral radius.

        `key` is the setting that gave the steps. A radius near 1 is computed in ball arithmetic, so that rounding in float64
        refuses no step.
        """
        radii = spectral_radii(self.scheme, self.parameters, self.eigenvalues, steps)
        for step, radius in zip(steps, radii, strict=True):
            if radius < 1 - NEAR:
                continue
            verdict = self._stability(step)
            if verdict is not Stability.CONTRACTS:
                raise InstabilityError(f"{key}={step:.6g}: {self._instability(step, radius, verdict)}")
        moments = self.moments
        for step in steps:
            if moments is not None and moments.independent and not moments.contracts(step, SECOND):
                raise InstabilityError(f"{key}={step:.6g}: {self._mean_square_instability(step)}")

    def check_finite(self) -> None:
        """Refuse a step with numbers that are not finite: a division by zero that no other interpreter meets."""
        step = exact(1e-3 / max(self.eigenvalues))
        given = {"h": step, **{name: self.parameters[name] for name in self.scheme.parameters}}
        for bits in (ctx.prec, *BITS):
            with ctx.workprec(bits):
                read = read_affine(
                    self.scheme, {name: Scalar(BALLS, BALLS.number(value)) for name, value in given.items()}
                )
            numbers = (c for row in read.rows.values() for blocks in row.values() for c in blocks)
            # What cancels in few digits may be finite in more.
            if all(c.is_finite() for c in numbers if isinstance(c, arb)):
                return
        raise DefinitionError(
            f"scheme={self.reference!r}: one step of size {float(step):.3g} on this target has coefficients that are not "
            "finite numbers; expected finite ones; look for a division by zero or the root of a negative number"
        )

    def _instability(self, step: float, radius: float, verdict: Stability) -> str:
        if self.limit == 0.0:
            return self._never_stable()
        if verdict is Stability.EXPANDS:
            size = f"{radius:.6g}" if radius > 1 + NEAR else "just above 1"
            return (
                f"unstable, one step of {self.reference} has the spectral radius {size} on this target; expected a "
                f"radius below 1; take a step below {self.limit:.6g}"
            )
        if step < self.limit:
            return (
                f"too small, one step of {self.reference} has a spectral radius that {BITS[-1]} bits cannot tell from 1; "
                f"expected a step from which the chain contracts; take a larger one, below {self.limit:.6g}"
            )
        return (
            f"at or beyond the stability limit, one step of {self.reference} has a spectral radius that {BITS[-1]} bits "
            f"cannot tell from 1; expected a radius below 1; take a step below {self.limit:.6g}"
        )

    def _mean_square_instability(self, step: float) -> str:
        assert self.moments is not None
        (radius,) = self.moments.radii([step], SECOND)
        size = f"{radius:.6g}" if radius > 1 + NEAR else "1 or just above it"
        return (
            f"unstable in mean square, {self.moments.stretch} of {self.reference} takes the second moments with the spectral "
            f"radius {size} on this target with these minibatches, although the mean contracts; expected a radius below 1; take "
            f"a step below {self.limit:.6g} or a larger gradient.batch"
        )

    def _never_stable(self) -> str:
        """The sentence that no step size contracts, from the smallest time scale of the target down."""
        if self._stability(1e-3 * min(1.0, 1 / max(self.eigenvalues))) is Stability.EXPANDS:
            return (
                "no step size is stable on this target (the spectral radius is above 1 for small h); expected a radius "
                "below 1 for small h; check the signs of the drift and friction"
            )
        return (
            f"one step of {self.reference} never contracts on this target ({BITS[-1]} bits cannot tell the spectral radius "
            "from 1 for small h); expected a step that damps every variable; look for a missing friction (the noise "
            "needs one to balance it) or a variable that the step leaves alone"
        )

    def _stability(self, step: float) -> Stability:
        return stability_of(self.scheme, self.parameters, self.eigenvalues, step)
