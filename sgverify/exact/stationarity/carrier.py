"""A dynamics and a density read on the differential field, coordinate by coordinate."""

from __future__ import annotations

from typing import Any

from sgverify.errors import NotExpandableError
from sgverify.exact.entrywise import (
    EntrywiseVector,
    RootMetric,
    coordinates_of,
    squares_of,
    state_of,
    transpose,
)
from sgverify.exact.stationarity.field import Element, Field
from sgverify.schemes import Density, Dynamics


class Functions(RootMetric):
    """U, its gradient and the metric at the position of the state, as symbols."""

    def __init__(self, field: Field) -> None:
        self._field = field

    def potential(self, theta: EntrywiseVector) -> Element:
        """U(theta)."""
        self._check(theta, "U")
        return self._field.symbol("U", (0,) * self._field.dim)

    def gradient(self, theta: EntrywiseVector) -> EntrywiseVector:
        """grad U(theta)."""
        self._check(theta, "grad")
        dim = self._field.dim
        return EntrywiseVector(
            [self._field.symbol("U", tuple(int(i == k) for k in range(dim))) for i in range(dim)]
        )

    def divergence(self, theta: EntrywiseVector) -> EntrywiseVector:
        """The vector sum_j d_j (G^-1)_ij."""
        return self._divergence(self.diffusion(theta).rows)

    def root_divergence(self, theta: EntrywiseVector) -> EntrywiseVector:
        """The vector sum_j d_j B_ji."""
        return self._divergence(transpose(self.rows(theta)))

    def _divergence(self, rows: list[list[Element]]) -> EntrywiseVector:
        field = self._field
        places = [field.coordinates.index(("theta", j)) for j in range(field.dim)]
        zero = field.constant(0)
        return EntrywiseVector(
            [sum((field.derivative(b, j) for b, j in zip(row, places, strict=True)), zero) for row in rows]
        )

    def rows(self, theta: EntrywiseVector) -> list[list[Element]]:
        """B."""
        self._check(theta, "metric")
        field, here = self._field, (0,) * self._field.dim
        return [[field.symbol("B", i, j, here) for j in range(field.dim)] for i in range(field.dim)]

    def _check(self, theta: EntrywiseVector, name: str) -> None:
        here = [self._field.symbol("theta", i) for i in range(self._field.dim)]
        if not isinstance(theta, EntrywiseVector) or any(
            a - b for a, b in zip(theta.entries, here, strict=True)
        ):
            raise NotExpandableError(f"{name} at another place than theta")


def read_dynamics(dynamics: Dynamics, field: Field) -> tuple[list[Element], list[list[Element]]]:
    """Drift F and half squared diffusion a = sigma sigma^T / 2 in coordinates."""
    drift, diffusion = dynamics.coefficients(_state(field), **_ingredients(dynamics, field))
    size = len(field.coordinates)
    squares = [[field.constant(0) for _ in range(size)] for _ in range(size)]
    for (i, j), value in squares_of(diffusion, field.shapes, field.dim).items():
        squares[i][j] = _element(value, field)
    return [_element(value, field) for value in coordinates_of(drift, field.shapes, field.dim)], squares


def read_density(density: Density, field: Field) -> Element:
    """log rho."""
    return _element(density.log(_state(field), **_ingredients(density, field)), field)


def _state(field: Field) -> tuple[Any, ...]:
    return state_of(field.shapes, field.dim, field.symbol)


def _ingredients(definition: Dynamics | Density, field: Field) -> dict[str, Any]:
    functions = Functions(field)
    return {
        "U": functions.potential,
        "grad": functions.gradient,
        "metric": functions,
        "dim": field.dim,
        **{name: field.parameter(name) for name in definition.parameters},
    }


def _element(value: Any, field: Field) -> Element:
    return value if isinstance(value, Element) else field.constant(value)
