"""How is the memory of a torch step counted, and does it move the state?"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgWarning, solve_discrete_lyapunov

from sgverify.errors import SgverifyError
from sgverify.law.gaussian_setting import GaussianSetting
from sgverify.law.one_step_map import read_one_step
from sgverify.law.step_rows import StepRows

PROBED = 16
"""The number of states and draws at which a memory is tried for its effect on the state."""


def with_memory_units(rows: StepRows, h: float) -> GaussianSetting:
    """The setting with each memory counted in its standard deviation under the chain's law at step size h, if it has one.

    A momentum buffer may be a millionth of theta; in units of its own no rounding is amplified.
    """
    setting = rows.setting
    seen = read_one_step(rows, h, probed=False)
    if seen.bend is not None or not seen.radius < 1:
        return setting
    with warnings.catch_warnings():
        # Of a matrix in unequal units; the magnitude is all that is needed.
        warnings.simplefilter("ignore", LinAlgWarning)
        law = solve_discrete_lyapunov(seen.matrix, seen.covariance)
    own = np.sqrt(np.maximum(np.diag(law), 0.0))
    units = own[setting.known :] * setting.spreads[setting.known :]
    if not (np.isfinite(units).all() and (units > 0).all()):
        return setting
    return replace(setting, memory_units=tuple(units.tolist()))


def is_idle(rows: StepRows, h: float) -> bool:
    """Is the state after a step the same to the last bit whatever the memory is, at the states and draws that are tried?"""
    setting, random = rows.setting, np.random.default_rng(0)
    n, known = len(setting.spreads), setting.known
    states, draws = random.standard_normal((PROBED, n)), random.standard_normal((PROBED, rows.draws(h)))
    others = states.copy()
    # Of both signs and of two sizes; a memory that has no value below 0 is taken to move the state.
    others[:, known:] = -3 * states[:, known:] + 1
    try:
        one, other = (rows(tried, draws, h)[:, :known] for tried in (states, others))
    except SgverifyError:
        return False
    return bool(np.array_equal(one, other))


__all__ = ["is_idle", "with_memory_units"]
