"""The rules of replica exchange with noisy energies, Deng et al. 2021: each written once, in plain arithmetic.

Every function is elementwise, in `+ - * /` and `sqrt`: fractions, floats, arrays, tensors and balls all go through it.
"""

from __future__ import annotations

from typing import Any

from sgverify.schemes.definition.mathematics import sqrt


def inverse_gap(tau_1: Any, tau_2: Any) -> Any:
    """1/tau1 - 1/tau2, what energies are multiplied by in every swap; positive where the first replica is the colder."""
    return 1 / tau_1 - 1 / tau_2


def log_swap_rate(energy_1: Any, energy_2: Any, *, tau_1: Any, tau_2: Any, variance: Any, F: Any) -> Any:
    """log S = g (L1 - L2 - g variance/F), g = 1/tau1 - 1/tau2; Deng et al. 2021, equations (6) and (16).

    `energy_1`, `energy_2` are (noisy) energies of the colder and the warmer replica, `variance` that of the noise of their
    *difference*, F the correction factor. The replicas swap where log u < log S, u uniform on [0, 1]: with chance min(1, S).
    """
    gap = inverse_gap(tau_1, tau_2)
    return gap * (energy_1 - energy_2 - gap * variance / F)


def reduced_energy(here: Any, there: Any, total: Any, *, coefficient: Any = -1) -> Any:
    """L~ = L(B | theta) + c (L(B | control) - sum_i L(x_i | control)); Deng et al. 2021, equations (3) and (5).

    `here` and `there` are the energies of one minibatch at theta and at the control, `total` the full energy at the control.
    """
    return here + coefficient * (there - total)


def best_coefficient(covariance: Any, variance: Any) -> Any:
    """c* = -Cov(L(B | theta), L(B | control))/Var L(B | control), which reduces the variance by 1 - rho^2; below equation (3)."""
    return -covariance / variance


def smoothed(before: Any, measured: Any, *, gamma: Any) -> Any:
    """(1 - gamma) before + gamma measured, how variance and coefficient are learnt; Deng et al. 2021, Algorithms 1 and 2."""
    return (1 - gamma) * before + gamma * measured


def rescaled(p: Any, *, old: Any, new: Any) -> Any:
    """The momentum of a state that moves from temperature `old` to `new`: p sqrt(new/old) is N(0, T I) at both."""
    return p * sqrt(new / old)
