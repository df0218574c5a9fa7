"""Gibbs sampling of the hidden units given an image: one unit after the other, by its conditional law in closed form.

With psi^j the activation without unit j, and p(v | h)^beta in the place of p(v | h),

    log p(h_j = 1 | rest) / p(h_j = 0 | rest) = b_j + beta (v . W_j - sum_d [softplus(psi^j_d + W_jd) - softplus(psi^j_d)]).

beta = 1 samples p(h | v), as gradients need it; annealed importance sampling passes through 0 < beta < 1. The code of reference
[18] of chen2015 draws the same units with Polya-Gamma variables beside them; here these are summed out, so that no variable is
added.

A sweep in C multiplies where the formula takes softplus: exp(softplus(psi + w) - softplus(psi)) = 1 + sigma(psi) (exp(w) - 1). It
is taken where a C compiler is found; on torch a sweep takes about ten times as long, with equal states but for rounding.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad, softplus

from reports.applications.sbn.model import BeliefNetwork
from sgverify.errors import ConfigurationError
from sgverify.samplers.fused.compiler import CannotBuild, build, tell_of_slow_steps

_LANES = 8


def gibbs(
    network: BeliefNetwork,
    theta: Tensor,
    images: Tensor,
    states: Tensor,
    uniforms: Tensor,
    *,
    beta: float = 1.0,
    compiled: bool = True,
) -> Tensor:
    """The hidden states after sweeps from `states`; shape (R, n, J), as `states`.

    `theta` has shape (R, dim), one network for each of R rows; `images` (R, n, D) and `states` (R, n, J) hold 0 and 1, and
    `uniforms` (R, n, sweeps, J) numbers in (0, 1): unit j becomes 1 where its number is below its probability. `compiled=False`
    takes the sweeps on torch. Raises `ConfigurationError` for tensors of another dtype than float64.
    """
    for name, tensor in (("theta", theta), ("images", images), ("states", states), ("uniforms", uniforms)):
        if tensor.dtype != torch.float64:
            raise ConfigurationError(f"{name} has the dtype {tensor.dtype}; expected float64; convert it")
    library = _library() if compiled else None
    if library is None:
        return _on_torch(network, theta, images, states, uniforms, beta)
    return _in_c(library, network, theta, images, states, uniforms, beta)


def _on_torch(
    network: BeliefNetwork, theta: Tensor, images: Tensor, states: Tensor, uniforms: Tensor, beta: float
) -> Tensor:
    """The reference: the formula of this module, unit by unit."""
    weights, _, units = network.parts(theta)
    states = states.clone()
    for sweep in uniforms.unbind(2):
        psi = network.activation(theta, states)
        for j in range(network.hidden):
            row = weights[:, None, j]
            without = psi - states[..., j, None] * row
            change = softplus(without + row) - softplus(without)
            logit = units[:, None, j] + beta * (images * row - change).sum(-1)
            states[..., j] = (sweep[..., j] < torch.sigmoid(logit)).to(states.dtype)
            psi = without + states[..., j, None] * row
    return states


def _in_c(
    library: Any,
    network: BeliefNetwork,
    theta: Tensor,
    images: Tensor,
    states: Tensor,
    uniforms: Tensor,
    beta: float,
) -> Tensor:
    weights, pixels, units = network.parts(theta)
    rows, count, sweeps = *uniforms.shape[:2], uniforms.shape[2]
    beyond = -network.visible % _LANES
    padded = network.visible + beyond
    agreement = (images @ weights.mT).contiguous()
    wide = pad(weights, (0, beyond)).contiguous()
    which = torch.arange(rows).repeat_interleave(count)
    found = states.to(torch.uint8).contiguous()
    tensors = (
        which,
        wide,
        torch.expm1(wide),
        torch.expm1(-wide),
        pad(pixels, (0, beyond)).contiguous(),
        units.contiguous(),
        agreement,
        torch.exp(-units[:, None] - agreement),
        uniforms.contiguous(),
        found,
        torch.empty(2 * padded, dtype=torch.float64),
    )
    library.sweep(
        *map(ctypes.c_int64, (rows * count, network.hidden, padded, sweeps)),
        ctypes.c_double(beta),
        *(ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors),
    )
    return found.to(states.dtype)


@cache
def _library() -> Any:
    """The compiled sweeps; None where they cannot be built, which is then said once."""
    text = files("reports.applications.sbn").joinpath("sweeps.c").read_text(encoding="utf-8")
    try:
        return build(text)
    except CannotBuild as error:
        tell_of_slow_steps(str(error))
        return None
