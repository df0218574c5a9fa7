"""By which law of one step are the innovations of a run computed, and which variance does that law lead to?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sgverify.law.gaussian_setting import GaussianSetting
from sgverify.law.one_step_map import read_one_step
from sgverify.law.step_rows import StepRows
from sgverify.schemes.torch_step import TorchStep

RANK = 1e-12
"""The share of the largest eigenvalue of the noise's covariance below which a direction has no noise."""


@dataclass(frozen=True)
class StepLaw:
    """X -> matrix X + still + noise of one copy, in the code's own units; None of `matrix` where the step is not affine.

    `whitening`, shape (rank, n), makes standard numbers of the noise, `quiet`, shape (n - rank, n), shows what has none, which is
    known up to `rounding`. `error` bounds the error of the whitened noise. `variance` is that of theta in the long run, and `due`
    that of the target.
    """

    matrix: np.ndarray
    still: np.ndarray
    whitening: np.ndarray
    quiet: np.ndarray
    error: float
    rounding: float
    normal: bool
    variance: float
    due: float

    @property
    def bias(self) -> float:
        """The relative error of the variance in the long run; infinite where there is no such law."""
        return abs(self.variance / self.due - 1)


def setting_of(
    step: TorchStep, numbers: Mapping[str, float], centre: np.ndarray, rate: float
) -> GaussianSetting:
    """The isotropic Gaussian of a run, for a step with its numbers."""
    given = {name: numbers[name] for name in step.dynamics.parameters}
    return GaussianSetting(step.dynamics, given, rate * np.eye(len(centre)), centre, step.memory)


def law_of(
    step: TorchStep, numbers: Mapping[str, float], centre: np.ndarray, rate: float
) -> tuple[StepLaw | None, str]:
    """The law of one copy, by its intercepted draws; None with the reason where it is not affine.

    Raises `Unreached` where the law of a step cannot be read at all.
    """
    setting, h = setting_of(step, numbers, centre, rate), numbers["h"]
    rows = StepRows(step, setting, h)
    found = read_one_step(rows, h)
    if found.bend is not None:
        return None, f"a step is not affine at {found.where}"
    mean, spreads = setting.law[0], setting.spreads
    matrix = spreads[:, None] * found.matrix / spreads
    still = mean + spreads * found.still - matrix @ mean
    values, vectors = np.linalg.eigh(found.covariance)
    noisy = values > max(RANK * values[-1], 10 * found.blur)
    scale = np.sqrt(values[noisy])
    # A wrong mean by `rounding`, and a wrong variance by `blur`, of each standard number.
    error = (
        0.0 if not noisy.any() else 4 * float(found.rounding / scale.min() + found.blur / values[noisy].min())
    )
    variance = spreads[0] ** 2 * float(found.law.covariance[0, 0]) if found.radius < 1 else np.nan
    return (
        StepLaw(
            matrix,
            still,
            (vectors[:, noisy].T / scale[:, None]) / spreads,
            vectors[:, ~noisy].T / spreads,
            error + 1e-7,
            1e-7 + 100 * found.rounding,
            found.noise_bend is None,
            variance,
            float(setting.law[1][0, 0]),
        ),
        "",
    )


__all__ = ["StepLaw", "law_of", "setting_of"]
