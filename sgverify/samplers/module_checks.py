"""What a torch module and its loss must not do, found out before anything is sampled."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from sgverify.errors import ConfigurationError, DefinitionError, UserError
from sgverify.samplers.module_parts import ModuleLikelihood

# Of a float64 loss of a few data; a mean taken for a sum is off by a factor.
_TOLERANCE = 1e-9


def check_module(module: torch.nn.Module, name: str) -> None:
    """Refuse, by name, layers that are random or mix the data of a batch. Raises `DefinitionError`."""
    for place, layer in module.named_modules():
        kind = f"{type(layer).__name__} at {place!r}" if place else type(layer).__name__
        if isinstance(layer, _DropoutNd) and layer.training and layer.p > 0:
            raise DefinitionError(
                f"{name}: {kind} draws a mask at every call, so that there is no one potential; expected a module whose "
                "outputs are a function of its parameters; call module.eval() first, or leave the layer out"
            )
        if isinstance(layer, _NormBase) and (layer.training or not layer.track_running_stats):
            raise DefinitionError(
                f"{name}: {kind} normalises by the batch, so that the loss of a datum depends on the others and a minibatch "
                "estimate is biased; expected stored statistics; call module.eval() first, or use LayerNorm or GroupNorm"
            )


def check_reduction(likelihood: ModuleLikelihood, theta: Tensor, rows: Tensor, name: str) -> None:
    """Hold the loss of a few data together against those of each by itself, as sum and as mean.

    Two batches are compared, so that neither a mean taken for a sum nor a layer that couples the data goes unseen. Raises
    `ConfigurationError`, or `DefinitionError` where the module cannot be run.
    """
    try:
        with torch.no_grad():
            first, again = (likelihood.of_batch(theta[None], rows[:, None])[0] for _ in range(2))
            singles = likelihood.of_one(theta, rows)
            value = likelihood.raw(theta, rows)
    except UserError:
        raise
    except Exception as error:
        raise DefinitionError(
            f"{name}: the module or its loss raised {type(error).__name__} when it was run for several chains at once: "
            f"{str(error).splitlines()[0] if str(error) else error}; expected loss(module(x), y) in torch functions that "
            "torch.func.vmap can run; mend the module, the loss or the shapes of the data"
        ) from None
    if not torch.equal(first, again):
        raise DefinitionError(
            f"{name}: two calls on the same data and parameters gave {first.item():.9g} and {again.item():.9g}; expected a "
            "module that is not random; call module.eval() first"
        )
    if value.ndim == 0 and likelihood.reduction == "none" and len(rows) > 1:
        raise ConfigurationError(
            f"reduction='none': the loss returns one number for {len(rows)} data; expected one for each; say 'mean' or 'sum'"
        )
    if value.ndim and likelihood.reduction != "none":
        raise ConfigurationError(
            f"reduction={likelihood.reduction!r}: the loss returns the shape {tuple(value.shape)} for {len(rows)} data; expected "
            "one number; say reduction='none'"
        )
    if _close(first, singles.sum()):
        return
    ratio = (value.sum() / singles.sum()).item()
    if likelihood.reduction == "sum" and _close(value, singles.mean()):
        does, other = "their mean", "mean"
    elif likelihood.reduction == "mean" and _close(value, singles.sum()):
        does, other = "their sum", "sum"
    else:
        raise DefinitionError(
            f"{name}: the loss of {len(rows)} data together is {ratio:.6g} times the sum of their losses, neither sum nor mean; "
            "expected a loss that adds over data; look for a layer or a loss that mixes the data of a batch"
        )
    raise ConfigurationError(
        f"reduction={likelihood.reduction!r}: the loss of {len(rows)} data together is {does}; expected what was said, else the "
        f"gradient of a minibatch is scaled wrongly; say reduction={other!r}"
    )


def _close(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).abs() <= _TOLERANCE * (a.abs() + b.abs()))
