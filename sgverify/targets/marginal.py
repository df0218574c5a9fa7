"""Some coordinates of a Gaussian target that its precision does not couple to the others: their law is a target of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sgverify.targets.potential import Matrix, Vector, centred_quadratic
from sgverify.targets.power_sums import PolynomialVectors
from sgverify.targets.target import Target


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


__all__ = ["MarginalTarget"]
