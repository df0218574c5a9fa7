"""Targets made of a target: with a scaled likelihood, the marginal of one coordinate, and in other coordinates, theta = m + A z.

exp(-U(m + A z)/T) is a density of z whose draws, mapped back, are those of theta: exactly, whatever m and A are. A chain is cheap
where A makes all directions alike: the inverse root of the Hessian at the mode (`whitened`), or the covariates' own scales
(`standardised`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sgverify.errors import ConfigurationError
from sgverify.targets.kind import TargetKind
from sgverify.targets.potential import Matrix, Vector, centred_quadratic, constant, linear
from sgverify.targets.power_sums import PolynomialVectors
from sgverify.targets.target import Target

# The effective target of an estimator that scales the likelihood's gradient by a wrong factor.


def with_scaled_likelihood(target: Target, factor: Fraction) -> Target:
    """The target of prior(theta) + factor sum_i likelihood(theta, x_i); `target` itself where the factor is 1.

    The estimate grad prior + factor N/n sum_{i in B} grad likelihood(x_i) has the gradient of this target as its mean
    (chen2015, section 2, with another factor than N/n). Raises `ConfigurationError` for a target without data.
    """
    if factor == 1:
        return target
    check_likelihood(target, f"gradient.scale={float(factor)!r}")
    likelihood = target.likelihood

    def scaled(theta: Any, x: Any) -> Any:
        # Whole numbers meet every carrier, and exact ones exactly.
        return likelihood(theta, x) * factor.numerator / factor.denominator  # type: ignore[misc]

    return replace(target, likelihood=scaled)


def check_likelihood(target: Target, given: str) -> None:
    """Raise `ConfigurationError` for a setting of the likelihood's gradient, `given` as key=value, on a target without data."""
    if target.data is None:
        raise ConfigurationError(
            f"{given}: the target {target.name!r} has no data, so its gradient has no likelihood part; expected a target "
            "with data; leave the setting out, or choose one such as target.name='gaussian-mean'"
        )


# Some coordinates of a Gaussian target that its precision does not couple to the others: their law is a target of its own.


@dataclass(frozen=True, eq=False)
class MarginalTarget(Target):
    """The coordinates `places` of `whole`, whose data share one Hessian: U = (theta - mean) . precision (theta - mean)/2.

    Its data are those of the whole, and the gradient of a datum has the entries `places` of the whole's.
    """

    whole: Target | None = field(default=None, repr=False)
    places: tuple[int, ...] = ()

    @classmethod
    def of(cls, whole: Target, places: Sequence[int]) -> MarginalTarget:
        """The target of the coordinates `places`, which have to be uncoupled from the others."""
        precision = Matrix([whole.precision[i][j] for j in places] for i in places)
        mean = Vector(whole.mean[i] for i in places)
        prior = centred_quadratic(precision, mean)
        names = tuple(whole.names[i] for i in places) if whole.names else ()
        return cls(whole.name, len(places), prior, names=names, whole=whole, places=tuple(places))

    @property
    def size(self) -> int | None:
        """N of the whole."""
        assert self.whole is not None
        return self.whole.size

    def data_vectors(self) -> PolynomialVectors:
        """The gradients' entries alone: the Hessians are the same for all data. Shape (N, d)."""
        assert self.whole is not None
        vectors = self.whole.data_vectors().last(self.whole.dim)
        return PolynomialVectors(vectors.sums, [vectors.forms[place] for place in self.places])


# A target in other coordinates, theta = m + A z.

DENSE = 100
"""The coordinates up to which `whiten=true` is dense."""

FRAME_KEYS = ("mode", "whiten", "standardise")
"""The configuration keys, below `target.`, that change coordinates, or where chains start."""


@dataclass(frozen=True, eq=False)
class AffineFrame:
    """m and A of a target, sought when they are first asked for; `how` is "dense" or "diagonal", of the Hessian, or the change of
    covariates A.
    """

    whole: Target
    how: str | np.ndarray

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """m and A. Shapes (d,), (d, d)."""
        target = self.whole
        if not isinstance(self.how, str):
            return np.zeros(target.dim), self.how
        if target.quadratic:
            centre, covariance = target.mean_float64(), target.covariance_float64()
        else:
            # scipy.optimize takes a while to import, and only these targets need it.
            from sgverify.targets.landscape import laplace

            centre, covariance = laplace(target)
        sd = np.sqrt(np.diag(covariance))
        # The root of the correlations: its products do not mix units.
        root = (
            np.eye(target.dim)
            if self.how == "diagonal"
            else np.linalg.cholesky(covariance / np.outer(sd, sd))
        )
        return centre, sd[:, None] * root

    @cached_property
    def exact(self) -> tuple[Vector, Matrix]:
        """The same as constants of a potential."""
        centre, axes = self.arrays
        return Vector(map(Fraction, centre.tolist())), Matrix([map(Fraction, row) for row in axes.tolist()])

    def back(self, z: np.ndarray) -> np.ndarray:
        """theta of z. Shape (*batch, d) -> (*batch, d)."""
        centre, axes = self.arrays
        return np.asarray(centre + z @ axes.T, dtype=z.dtype)


@dataclass(frozen=True, eq=False)
class Framed:
    """A potential, or that of one datum, as a function of z."""

    part: Callable[..., Any] = field(repr=False)
    frame: AffineFrame

    def __call__(self, z: Any, *rows: Any) -> Any:
        """The potential at m + A z, on every carrier."""
        centre, axes = self.frame.exact
        return self.part(linear(axes, z) + constant(z, centre), *rows)


@dataclass(frozen=True, eq=False)
class FramedTarget(Target):
    """The target of z: stated averages and places are those of theta, and are left out."""

    frame: AffineFrame = field(kw_only=True, repr=False)

    @staticmethod
    def of(whole: Target, how: str | np.ndarray) -> FramedTarget:
        """A target in other coordinates."""
        frame = AffineFrame(whole, how)
        likelihood = None if whole.likelihood is None else Framed(whole.likelihood, frame)
        prior = Framed(whole.prior, frame)
        return FramedTarget(
            whole.name,
            whole.dim,
            prior,
            likelihood,
            whole.data,
            told=whole.told,
            names=whole.names,
            frame=frame,
        )


def framed(target: Target, kind: TargetKind | None, given: dict[str, Any]) -> Target:
    """The target in the coordinates that the configuration asks for; `kind` is that of a target of the catalogue.

    Raises `ConfigurationError` where there are none.
    """
    whiten, standardise = given.get("whiten"), given.get("standardise")
    target = target.at_mode() if given.get("mode") else target
    if not whiten and not standardise:
        return target
    if target.positive or (whiten and standardise):
        why = "lives on theta > 0" if target.positive else "has both target.whiten and target.standardise"
        raise ConfigurationError(
            f"target.name={target.name!r} {why}; expected one change of coordinates, on all of R^d; leave it out"
        )
    if standardise:
        return FramedTarget.of(target, _scales(target, kind))
    how = ("dense" if target.dim <= DENSE else "diagonal") if whiten is True else str(whiten)
    return FramedTarget.of(target, how)


def _scales(target: Target, kind: TargetKind | None) -> np.ndarray:
    if kind is None or kind.data is None or kind.data.labels != 1 or target.data is None:
        raise ConfigurationError(
            f"target.standardise with target.name={target.name!r}: expected a regression, whose covariates have scales; set "
            "target.whiten=true, which every target takes"
        )
    return standardising(np.asarray(target.data, dtype=float)[:, : target.dim])[0]


def standardising(x: np.ndarray) -> tuple[np.ndarray, int | None]:
    """B with x . B z = sum_j z_j (x_j - m_j)/s_j, and the place of the intercept, without which no mean is moved. Shape (d, d)."""
    sd = x.std(axis=0)
    constant_ = np.flatnonzero(sd <= 1e-12 * np.abs(x).max(axis=0))
    intercept = int(constant_[0]) if len(constant_) else None
    fixed = np.isin(np.arange(x.shape[1]), constant_)
    change = np.diag(1 / np.where(fixed, 1.0, sd))
    if intercept is not None:
        change[intercept, ~fixed] = -x[:, ~fixed].mean(axis=0) / sd[~fixed] / x[0, intercept]
    return change, intercept


def with_intercept(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a regression whose data are from a file, with a first column of ones."""
    if not given.get("intercept"):
        return given
    if "file" not in given or "data" not in given:
        raise ConfigurationError(
            "target.intercept speaks of the covariates of target.file; give target.file, or write a column of ones into the data"
        )
    data = np.asarray(given["data"], dtype=float)
    return {**given, "data": np.column_stack([np.ones(len(data)), data])}
