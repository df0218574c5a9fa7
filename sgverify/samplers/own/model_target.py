"""How does a model of a probabilistic programming language become a target? By its own log density, in its unconstrained space.

NumPyro's `initialize_model` and PyMC's `logp_dlogp_function` give both, with the Jacobians of the maps to that space. The library
computes them; the draws, the steps and what is judged are those of any log density. Neither library is imported before a model
of its kind is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import is_of
from sgverify.targets.own.log_density import LogDensity, log_density
from sgverify.user_code import own_code

Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""The log density and its gradient at many points in float64; shape (n, d) -> (n,), (n, d)."""


@dataclass(frozen=True)
class ModelDensity:
    """The log density of a model in its unconstrained space.

    `sites` names the model's variables in the order of theta, with their lengths.
    """

    name: str
    sites: Mapping[str, int]
    evaluate: Evaluate

    @property
    def dim(self) -> int:
        """The length of theta."""
        return sum(self.sites.values())


def model_target(
    model: Any,
    *arguments: Any,
    averages: Mapping[str, float] | None = None,
    location: float | Sequence[float] | None = None,
    spread: float | Sequence[float] | None = None,
    **keywords: Any,
) -> LogDensity:
    """The posterior of a model, as a log density of theta in R^d, for `target.name=FILE.py:NAME`.

    `model` is a PyMC model, or a function with NumPyro's `sample` statements, which is given `arguments` and `keywords`. A variable
    with bounds enters by the library's own map to the real line (the logarithm of a positive one), whose Jacobian is part of the
    density. theta has NumPyro's sites in alphabetical order, PyMC's free variables in the order of the model. All data are in
    the model, so that there are no minibatches. `averages`, `location` and `spread` are as in `log_density`.

        import numpyro, numpyro.distributions as dist, sgverify

        def model(y):
            mu = numpyro.sample("mu", dist.Normal(0, 1))
            numpyro.sample("y", dist.Normal(mu, 1), obs=y)

        posterior = sgverify.model_target(model, y=data)

    Raises `DefinitionError` where the library is missing, or the model has none or other than continuous variables.
    """
    density = read_model(model, *arguments, **keywords)

    def function(theta: Tensor) -> Tensor:
        found: Tensor = _Outside.apply(theta, density.evaluate)
        return found

    function.__name__ = density.name
    made = log_density(dim=density.dim, batched=True, averages=averages, location=location, spread=spread)
    return made(function)


def read_model(model: Any, *arguments: Any, **keywords: Any) -> ModelDensity:
    """The log density of a PyMC model, or of NumPyro's; raises as `model_target` does."""
    if is_of(model, "pymc"):
        if arguments or keywords:
            raise DefinitionError(
                "model_target: a PyMC model holds its data, and takes no arguments; expected the model alone; leave them out"
            )
        read = partial(_of_pymc, model)
    elif callable(model):
        read = partial(_of_numpyro, model, arguments, keywords)
    else:
        raise DefinitionError(
            f"model_target: {type(model).__name__} is no model; expected a PyMC model, or a function with NumPyro's sample "
            "statements; give one of these"
        )
    try:
        with own_code():
            found = read()
    except (DefinitionError, KeyboardInterrupt):
        raise
    except Exception as error:
        name = getattr(model, "__name__", type(model).__name__)
        raise DefinitionError(
            f"model_target: reading {name} raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}; "
            "expected a model whose free variables are continuous; sum the discrete ones out"
        ) from None
    if not found.dim:
        raise DefinitionError(f"model_target: {found.name} has no free variable; expected one or more")
    return found


class _Outside(torch.autograd.Function):
    """A log density that another library evaluates together with its gradient."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, evaluate: Evaluate) -> Tensor:
        flat = theta.detach().reshape(-1, theta.shape[-1]).to(torch.float64).cpu().numpy()
        values, gradients = evaluate(np.ascontiguousarray(flat))
        ctx.save_for_backward(torch.tensor(gradients).reshape(theta.shape).to(theta))
        return torch.tensor(values).reshape(theta.shape[:-1]).to(theta)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adjoint: Tensor) -> tuple[Tensor, None]:
        (gradients,) = ctx.saved_tensors
        return adjoint[..., None] * gradients, None


def _of_numpyro(model: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> ModelDensity:
    try:
        import jax
        from jax.flatten_util import ravel_pytree
        from numpyro.infer.util import initialize_model
    except ImportError as error:
        raise DefinitionError(
            f"model_target: a function is taken for a NumPyro model, and {error.name} is not installed; expected it; install "
            "sgverify[ppl], or write a log density in torch under @sgverify.log_density"
        ) from None

    def precise() -> AbstractContextManager[Any]:
        # jax computes in float32 unless it is told otherwise; in 64 bits the density is that of the model.
        if hasattr(jax, "enable_x64"):
            return jax.enable_x64(True)
        from jax.experimental import enable_x64

        return enable_x64()

    with precise():
        read = initialize_model(
            jax.random.PRNGKey(0), model, model_args=arguments, model_kwargs=dict(keywords)
        )
        start = read.param_info.z
        _, whole = ravel_pytree(start)
        both = jax.jit(jax.vmap(jax.value_and_grad(lambda theta: -read.potential_fn(whole(theta)))))

    def evaluate(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # One program for each power of 2: jax compiles one for every shape.
        size = 1 << max(0, len(theta) - 1).bit_length()
        padded = np.concatenate([theta, np.repeat(theta[-1:], size - len(theta), axis=0)])
        with precise():
            values, gradients = both(padded)
            return np.array(values)[: len(theta)], np.array(gradients)[: len(theta)]

    sites = {site: int(np.size(start[site])) for site in sorted(start)}
    return ModelDensity(getattr(model, "__name__", "model"), sites, evaluate)


def _of_pymc(model: Any) -> ModelDensity:
    discrete = [variable.name for variable in model.discrete_value_vars]
    if discrete:
        raise DefinitionError(
            f"model_target: {', '.join(discrete)} of the PyMC model is discrete; expected continuous variables; sum it out"
        )
    both = model.logp_dlogp_function(ravel_inputs=True)
    both.set_extra_values({})

    def evaluate(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pairs = [both(row) for row in theta]
        return (
            np.array([float(value) for value, _ in pairs]),
            np.array([gradient for _, gradient in pairs], dtype=np.float64).reshape(theta.shape),
        )

    start = model.initial_point()
    sites = {variable.name: int(np.size(start[variable.name])) for variable in model.continuous_value_vars}
    return ModelDensity(model.name or "pymc_model", sites, evaluate)
