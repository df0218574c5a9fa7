"""Posterior averages of polynomials under Gaussian laws, exactly, from the mean and the covariance of the target.

Under exp(-(U + p.p/2)/T) partial integration gives, for every polynomial f and coordinate x_i,

    E[d_i f] = E[f d_i H] / T,    H = U(theta) + p.p/2,

and where d_i H is linear, d_i H = sum_j K_ij (x_j - m_j), solving for E[f (x_i - m_i)] leaves

    E[x_i f] = m_i E[f] + T sum_j (K^-1)_ij E[d_j f],

which lowers the degree until E[1] = 1 is left.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.targets import Observable, Target
from sgverify.targets.constants import read_number


def posterior_average(target: Target, observable: Observable, temperature: Any) -> Fraction:
    """E[phi(theta, p)] under exp(-(U(theta) + p.p/2)/T), exactly.

    `temperature` is T > 0; a float is read as the decimal that it prints as. Raises `ConfigurationError`
    for another temperature, or an observable of another dimension.
    """
    T = read_number("temperature", temperature)
    if T <= 0:
        raise ConfigurationError(
            f"temperature={temperature!r}: expected a number above 0; write e.g. temperature=1.0"
        )
    if observable.dim != target.dim:
        raise ConfigurationError(
            f"test_function={str(observable)!r} has dim={observable.dim} and the target {target.name!r} has "
            f"dim={target.dim}; expected the same; parse the test function with the target's dim"
        )
    _ = target.precision  # names the target where it is not quadratic
    # A row is asked for where it is needed: a test function of few coordinates needs no inverse of the precision.
    dim, rows = observable.dim, cache(target.covariance_row)
    found: dict[tuple[int, ...], Any] = {(0,) * (2 * dim): Fraction(1)}

    def moment(exponents: tuple[int, ...]) -> Any:
        if exponents not in found:
            i = next(k for k, power in enumerate(exponents) if power)
            rest = _lowered(exponents, i)
            total = target.mean[i] * moment(rest) if i < dim else Fraction(0)
            for j, power in enumerate(rest):
                if not power:
                    continue
                shared = rows(i)[j] if max(i, j) < dim else int(i == j)
                if shared:
                    total = total + T * power * shared * moment(_lowered(rest, j))
            found[exponents] = total
        return found[exponents]

    padded = {(*e[: 2 * dim], *(0,) * (2 * dim - len(e))): c for e, c in observable.terms.items()}
    return Fraction(sum((Fraction(c) * moment(e) for e, c in padded.items()), Fraction(0)))


def _lowered(exponents: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*exponents[:place], exponents[place] - 1, *exponents[place + 1 :])
