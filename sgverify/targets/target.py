"""Targets exp(-U/T): a potential that is defined once, and the exact numbers that its evaluation gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sgverify.errors import ConfigurationError, DefinitionError
from sgverify.targets.exact_potential import ExactPotential
from sgverify.targets.form import Monomial, Quadratic, Rows, inverse, solved
from sgverify.targets.points import gradient_at, not_finite, value_at
from sgverify.targets.potential import PairPotential, Potential, polynomial_potential
from sgverify.targets.power_sums import PolynomialVectors

if TYPE_CHECKING:
    from sgverify.targets.landscape import Landscape

# Data that are visited at once when U is evaluated at many points; fewer where the coordinates of all points are many, and more
# where they are so few that all together are at most _ENTRIES.
_PIECE = 256
_MOST_ENTRIES = 2**24
_ENTRIES = 2**17
BELOW_0 = (-0.1, -1.0, -10.0)
"""The places, in each coordinate, at which a target is asked for mass below 0."""


@dataclass(frozen=True, eq=False)
class Target:
    """exp(-U/T) with U(theta) = prior(theta) + sum_i likelihood(theta, x_i).

    `prior` is -log p(theta), `likelihood` is -log p(x | theta) of one datum, both up to a constant and both
    generic in their carrier; shape (*batch, d) -> (*batch). A minibatch estimate scales the likelihood part
    by N/n and the prior part not at all (chen2015, section 2). Everything exact here is derived from these
    two functions by evaluating them, and needs U to be quadratic. `components`: the shares and Gaussian parts of a
    mixture, exp(-U) = sum_k share_k N_k up to a factor. `averages`, `stated_location` and `stated_spread`: known averages
    under exp(-U/T) by test function, and known means and standard deviations by coordinate. `condensable`: sums over all of
    many data may be taken over few weighted ones (`line`). `peaks`: points near the modes of a target on the line whose
    modes may be far apart. `smooth`: U has all derivatives wherever the density is
    not 0, as the kind's author states. `rugged`: the target has so many modes that no chain of moderate length forgets its start.
    `positive`: the density is 0 but where every coordinate is above 0. `hessian_bounds`: the least and the largest eigenvalue that
    the Hessian of U has anywhere, where bounds are known. `told`: what is taken for granted in it, as an answer prints it.
    `names`: the user's own of the coordinates; empty for none.
    """

    name: str
    dim: int
    prior: Potential = field(repr=False)
    likelihood: PairPotential | None = field(default=None, repr=False)
    data: np.ndarray | None = field(default=None, repr=False)
    components: tuple[tuple[Fraction, Target], ...] = field(default=(), repr=False)
    averages: Mapping[str, float] = field(default_factory=dict, repr=False)
    stated_location: np.ndarray | None = field(default=None, repr=False)
    stated_spread: np.ndarray | None = field(default=None, repr=False)
    condensable: bool = field(default=False, repr=False)
    peaks: tuple[float, ...] = field(default=(), repr=False)
    smooth: bool = field(default=False, repr=False)
    rugged: bool = field(default=False, repr=False)
    positive: bool = field(default=False, repr=False)
    hessian_bounds: tuple[float, float] | None = field(default=None, repr=False)
    told: str = field(default="", repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def size(self) -> int | None:
        """N, the number of data; None for a target without data."""
        return None if self.data is None else len(self.data)

    @property
    def labels(self) -> tuple[str, ...]:
        """theta[0], theta[1], ..., each followed by its own name where it has one."""
        names = [f" ({name})" for name in self.names] or [""] * self.dim
        return tuple(f"theta[{i}]{name}" for i, name in enumerate(names))

    @property
    def precision(self) -> Rows:
        """The Hessian of U, exactly. Shape (d, d)."""
        return self._potential.hessian

    @cached_property
    def covariance(self) -> Rows:
        """The inverse of the Hessian of U, exactly: exp(-U/T) is N(mean, T covariance). Shape (d, d)."""
        return inverse(self.precision)

    def covariance_row(self, place: int) -> tuple[Fraction, ...]:
        """One row of `covariance`, for itself: the inverse of a dense precision has many long fractions. Shape (d,)."""
        if place not in self._rows:
            unit = [Fraction(int(i == place)) for i in range(self.dim)]
            self._rows[place] = solved(self.precision, unit)
        return self._rows[place]

    @cached_property
    def mean(self) -> tuple[Fraction, ...]:
        """The minimiser of U, exactly: where its gradient vanishes. Shape (d,)."""
        return solved(self.precision, [-entry for entry in self._potential.gradient])

    def power_sum(self, exponents: Monomial) -> Fraction:
        """sum_i prod_j x_ij^a_j, exactly, for the exponents a: all that a polynomial potential asks of the data."""
        return self._exact.power_sum(exponents)

    def gradient(self, theta: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """grad U at an exact point. Shape (d,) -> (d,)."""
        rows = zip(self._potential.gradient, self.precision, strict=True)
        return tuple(g + sum(h * t for h, t in zip(row, theta, strict=True)) for g, row in rows)

    @cached_property
    def quadratic(self) -> bool:
        """Whether U is quadratic in theta, so that exp(-U/T) is Gaussian."""
        try:
            _ = self._potential
        except DefinitionError:
            return False
        return True

    @cached_property
    def common_curvature(self) -> bool:
        """Whether U is quadratic and all data share one Hessian: gradient noise does not depend on theta then.

        True for a quadratic target without data.
        """
        if not self.quadratic or self.data is None:
            return self.quadratic
        return self._exact.common_curvature

    def data_vectors(self) -> PolynomialVectors:
        """H_i and g_i with N grad likelihood(theta, x_i) = H_i theta + g_i as polynomials in the data, with their joint power sums.

        The upper triangle of H_i row by row, then g_i: no list of N numbers. Shape (N, d (d + 3) / 2). Raises
        `ConfigurationError` for a target without data and `DefinitionError` where U is not quadratic.
        """
        self.check_data()
        _ = self.precision
        return self._exact.data_vectors

    def data_gradients(self) -> list[tuple[Fraction, ...]]:
        """y_i = N grad likelihood(theta, x_i), less its average over i: exact, summing to zero. Shape (N, d).

        The gradient estimate of a minibatch B of n data is grad U(theta) + 1/n sum_{i in B} y_i. Raises
        `ConfigurationError` for a target without data, and where the y_i depend on theta because the data differ
        in their Hessians (`common_curvature` is False).
        """
        self.check_data()
        _ = self.precision
        if not self.common_curvature:
            raise ConfigurationError(
                f"target.name={self.name!r}: its data differ in their Hessians, so minibatch noise depends on theta; "
                "expected a target whose data share one, as 'gaussian-mean'; ask for data_vectors() instead"
            )
        return self._exact.data_gradients

    def precision_float64(self) -> np.ndarray:
        """`precision`, each entry rounded once. Shape (d, d)."""
        return _rounded(self.precision)

    def covariance_float64(self) -> np.ndarray:
        """`covariance`, each entry rounded once. Shape (d, d)."""
        return _rounded(self.covariance)

    def mean_float64(self) -> np.ndarray:
        """`mean`, each entry rounded once. Shape (d,)."""
        return _rounded(self.mean)

    def energy_float64(self, theta: np.ndarray) -> np.ndarray:
        """U at many points; infinite off theta > 0 where the target is positive. Shape (*batch, d) -> (*batch)."""
        if self.positive:
            inside = np.asarray((theta > 0).all(-1))
            return np.where(inside, self._energy(np.where(inside[..., None], theta, 1.0)), np.inf)
        return self._energy(theta)

    def _energy(self, theta: np.ndarray) -> np.ndarray:
        # Far out an energy may be beyond float64: it is infinite then, and exp(-U/T) is 0.
        with np.errstate(over="ignore"):
            total = np.asarray(self.prior(theta), dtype=np.float64)
            return total if self.data is None else total + self._sums(theta, *self.weighted)[0]

    def _sums(self, theta: np.ndarray, data: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The sums of the likelihood's potential over data, and those of its terms' sizes. Shape (*batch, d) -> (2, *batch)."""
        assert self.likelihood is not None
        total = np.zeros((2, *theta.shape[:-1]))
        size = max(1, theta.size)
        piece = max(1, _ENTRIES // size, min(_PIECE, _MOST_ENTRIES // size))
        for start in range(0, len(data), piece):
            each = self.likelihood(theta[..., None, :], data[start : start + piece])
            if weights is not None:
                each = each * weights[start : start + piece]
            total += each.sum(-1), np.abs(each).sum(-1)
        return total

    def gradient_float64(self, theta: np.ndarray) -> np.ndarray:
        """grad U at many points, by the reverse mode; NaN off theta > 0 where the target is positive. Shape (n, d) -> (n, d)."""
        data, weights = (None, None) if self.data is None else self.weighted
        inside = (theta > 0).all(-1, keepdims=True) if self.positive else np.True_
        at = np.where(inside, theta, 1.0) if self.positive else theta
        found = gradient_at(at, self.prior, self.likelihood, data, weights)
        return np.where(inside, found, np.nan) if self.positive else found

    @cached_property
    def weighted(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The data of sums over all of them, with multiplicities: every datum once, or few nodes where they are `condensable`."""
        from sgverify.targets.line import SMALLEST, condensed

        assert self.data is not None
        few = None
        if self.condensable and self.dim == 1 and len(self.data) >= SMALLEST:
            few = condensed(
                self.data,
                lambda theta, data, weights: self._sums(theta[:, None], data, weights),
                lambda theta: self.prior(theta[:, None]),
                self.hint(0),
                self.peaks,
            )
        return (self.data, None) if few is None else few

    @cached_property
    def independent(self) -> bool:
        """Whether U is a polynomial without products of coordinates, so that exp(-U/T) is a product."""
        if self.data is not None:
            return False
        try:
            return self._exact.independent
        except DefinitionError:
            return False

    @cached_property
    def lines(self) -> tuple[Target, ...]:
        """The targets on a line of which exp(-U/T) is the product where coordinates are `independent`; equal ones are one."""
        made = {
            powers: Target(self.name, 1, polynomial_potential(powers))
            for powers in dict.fromkeys(self._exact.lines)
        }
        return tuple(made[powers] for powers in self._exact.lines)

    def location_float64(self, temperature: float) -> np.ndarray:
        """The mean of exp(-U/T), where it is known, else its mode. Shape (d,).

        Exact where U is quadratic, by quadrature in one dimension and for independent coordinates.
        """
        return self.mean_float64() if self.quadratic else self._landscape(temperature).location

    def at_mode(self) -> Target:
        """The target with chains that start about a mode. Raises `ConfigurationError` unless it is a torch module's."""
        raise ConfigurationError(
            f"target.mode with target.name={self.name!r}: expected a torch module, which starts at its own parameters; chains "
            "start about the mean or the mode here already; leave it out"
        )

    def spread_float64(self, temperature: float) -> np.ndarray:
        """The standard deviations of exp(-U/T), where they are known, else those of the Gaussian at its mode. Shape (d,)."""
        if self.quadratic:
            return np.asarray(np.sqrt(temperature * np.diag(self.covariance_float64())))
        return self._landscape(temperature).spread

    def at_deviations_float64(self, deviations: np.ndarray | float, temperature: float) -> np.ndarray:
        """The places so many standard deviations from the location, in each coordinate. Shape (*batch, d) or () -> (*batch, d).

        On a positive target they are counted along log theta, so that every place is above 0.
        """
        location, spread = self.location_float64(temperature), self.spread_float64(temperature)
        if self.positive:
            return np.asarray(location * np.exp(deviations * spread / location))
        return np.asarray(location + deviations * spread)

    def lowest_energy_float64(self, temperature: float) -> float:
        """The least U found: at the mean where U is quadratic, else by a descent from the lowest of some points.

        It may be a local minimum; no exact answer depends on it.
        """
        if self.quadratic:
            return float(self.energy_float64(self.mean_float64()))
        # scipy.optimize takes a while to import, and only these targets need it.
        from sgverify.targets.landscape import descended

        return descended(
            self.energy_float64, self.location_float64(temperature), self.spread_float64(temperature)
        )

    def curvature_float64(self, temperature: float) -> float:
        """The largest eigenvalue of the Hessian of U over the typical set of exp(-U/T): the fastest rate, 1/time^2.

        Exact, up to rounding, where U is quadratic; elsewhere a heuristic for default steps (see `landscape`).
        """
        if self.quadratic:
            return float(np.linalg.eigvalsh(self.precision_float64())[-1])
        return self._landscape(temperature).curvature

    def barrier_float64(self, temperature: float) -> float:
        """U/T between neighbouring `peaks`, at its lowest, above U/T at the higher of all peaks; 0 without them."""
        if len(self.peaks) < 2:
            return 0.0
        at = np.sort(np.array(self.peaks))
        between, peaks = (
            self.energy_float64(((at[1:] + at[:-1]) / 2)[:, None]),
            self.energy_float64(at[:, None]),
        )
        return float(between.min() - peaks.max()) / temperature

    def hint(self, place: int) -> tuple[float, float]:
        """(centre, scale) from which the search for the mass of exp(-U/T) along a coordinate starts."""
        location, spread = self.stated_location, self.stated_spread
        return (
            0.0 if location is None else float(location[place]),
            1.0 if spread is None else float(spread[place]),
        )

    def energy_of_coordinate(self, place: int) -> Callable[[np.ndarray], np.ndarray]:
        """U along one coordinate, the others at 0: all of it where coordinates are independent. Shape (n,) -> (n,)."""

        def energy(x: np.ndarray) -> np.ndarray:
            points = np.zeros((len(x), self.dim))
            points[:, place] = x
            return self.energy_float64(points)

        return energy

    def _landscape(self, temperature: float) -> Landscape:
        if temperature not in self._landscapes:
            # scipy.optimize takes a while to import, and only these targets need it.
            from sgverify.targets.landscape import landscape_of

            self._landscapes[temperature] = landscape_of(self, temperature)
        return self._landscapes[temperature]

    @cached_property
    def _rows(self) -> dict[int, tuple[Fraction, ...]]:
        return {}

    @cached_property
    def _landscapes(self) -> dict[float, Landscape]:
        return {}

    @cached_property
    def _exact(self) -> ExactPotential:
        return ExactPotential(self.dim, self.prior, self.likelihood, self.data)

    @cached_property
    def _potential(self) -> Quadratic:
        try:
            return self._exact.quadratic
        except DefinitionError as error:
            raise DefinitionError(
                f"target.name={self.name!r}: U is not quadratic, so exp(-U/T) has no exact mean, precision and covariance "
                f"({error}); expected a quadratic potential here; use a method that needs no exact law"
            ) from None

    def check_domain(self, scheme: str, *, positive: bool) -> None:
        """Raise `ConfigurationError` where one of target and scheme lives on theta > 0 and the other does not."""
        if positive and self.goes_below_0:
            raise ConfigurationError(
                f"target.name={self.name!r} has mass off theta > 0, where scheme={scheme!r} never goes (its dynamics are "
                "positive=True): what is right above 0 would say nothing of the rest; expected a target that lives there, "
                "target.name='expanded-mean'; or leave positive=True out of @dynamics"
            )
        if self.positive and not positive:
            raise ConfigurationError(
                f"target.name={self.name!r} lives on theta > 0, and scheme={scheme!r} goes anywhere; expected a scheme on "
                "theta > 0, sgrld-expanded-mean; or take the same posterior on all of R^d, target.name='expanded-natural'"
            )

    @property
    def goes_below_0(self) -> bool:
        """Is the density above 0 at some place where every coordinate is below 0? A user's own target does not say it."""
        if self.positive:
            return False
        with np.errstate(all="ignore"):
            return bool(np.isfinite(self.energy_float64(np.outer(BELOW_0, np.ones(self.dim)))).any())

    def check_data(self) -> None:
        """Raise `ConfigurationError` for a target without data."""
        if self.data is None:
            raise ConfigurationError(
                f"target.name={self.name!r} has no data, so it has no minibatches; expected a target with data; "
                "choose gradient.kind='full' or 'additive', or target.name='gaussian-mean'"
            )


def _rounded(values: Sequence[Any]) -> np.ndarray:
    array = np.array(values, dtype=object).astype(np.float64)
    array.flags.writeable = False
    return array


def check_finite(target: Target, temperature: float) -> None:
    """Raise `DefinitionError` if the prior's potential or its gradient is not finite one spread away from its location.

    The location itself is not tested, since the potential may have a kink at a mode.
    """
    places = target.at_deviations_float64(np.array([[1.0], [-1.0]]), temperature)
    value, slope = value_at(places, target.prior), gradient_at(places, target.prior)
    for what, found in (("value", value[:, None]), ("gradient", slope)):
        bad = np.flatnonzero(~np.isfinite(found).all(-1))
        if len(bad):
            raise not_finite(target, what, "the log density", places[bad[0]])
