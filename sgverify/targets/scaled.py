"""The effective target of an estimator that scales the likelihood's gradient by a wrong factor."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sgverify.errors import ConfigurationError
from sgverify.targets.target import Target


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
