"""The powers of h that a function of the step size has, from its values at small steps, each with a bound of its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PowersOfH:
    """y(h) = sum_j c_j h^j: coefficients and bounds of their errors, shape (degree + 1, *batch).

    A bound is what rounding of the values may do, and twice what the fit changes by when its largest step is left out.
    """

    coefficients: np.ndarray
    bounds: np.ndarray

    def seen(self, power: int) -> np.ndarray:
        """Where the coefficient of h^power is not 0, by twice its bound. Shape (*batch)."""
        found: np.ndarray = np.abs(self.coefficients[power]) > 2 * self.bounds[power]
        return found


def powers_of_h(steps: np.ndarray, values: np.ndarray, errors: np.ndarray) -> PowersOfH:
    """The polynomial through the values, of degree len(steps) - 1. Shapes (n,), (n, *batch), (n, *batch).

    `steps` fall; `errors` bound the values' roundings. Interpolation is Richardson's extrapolation of every coefficient at
    once; in the variable h/h_1 the system is solved in long double, whose rounding does not count.
    """
    all_steps = _fitted(steps, values, errors)
    fewer = _fitted(steps[1:], values[1:], errors[1:])
    count = len(steps) - 1
    change = np.abs(all_steps[0][:count] - fewer[0])
    coefficients, rounding = all_steps
    bounds = rounding[:count] + 2 * change
    return PowersOfH(coefficients[:count].astype(float), bounds.astype(float))


def _fitted(steps: np.ndarray, values: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the interpolating polynomial, and the sum of the sizes of what the errors add to them."""
    scaled = np.asarray(steps, dtype=np.longdouble) / steps[0]
    inverse = _inverse_vandermonde(scaled)
    powers = np.longdouble(steps[0]) ** np.arange(len(steps))
    rows = inverse / powers[:, None]
    return np.tensordot(rows, values, 1), np.tensordot(np.abs(rows), errors, 1)


def _inverse_vandermonde(x: np.ndarray) -> np.ndarray:
    """Row j: the weights of the values in the coefficient of x^j, from the Lagrange polynomials."""
    count = len(x)
    rows = np.zeros((count, count), dtype=np.longdouble)
    for i in range(count):
        poly = np.ones(1, dtype=np.longdouble)
        for k in range(count):
            if k != i:
                poly = (np.append(0, poly) - x[k] * np.append(poly, 0)) / (x[i] - x[k])
        rows[:, i] = poly
    return rows
