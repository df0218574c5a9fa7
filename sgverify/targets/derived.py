"""Targets made of a target: with a scaled likelihood, and the marginal of one coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.targets.potential import Matrix, Vector, centred_quadratic
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
        return cls(whole.name, len(places), prior, whole=whole, places=tuple(places))

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
