"""How do a torch module, a loss, data and a prior make a posterior that every scheme can sample?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.errors import ConfigurationError, DefinitionError, UserError
from sgverify.samplers.own.module_mode import ModuleMode, Progress, mode_of
from sgverify.samplers.own.module_operations import Layout
from sgverify.samplers.own.module_parts import GaussianPrior, ModuleLikelihood, WrittenPrior, check_module
from sgverify.targets.target import Target

REDUCTIONS = ("mean", "sum", "none")

Prior = float | Mapping[str, float] | Callable[[dict[str, Tensor]], Tensor]

# The relative tolerance of a float64 loss of a few data; a mean mistaken for a sum is off by a factor.
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ModuleTarget(Target):
    """The target exp(-U/T) over the parameters of a module; see `module_target`.

    `layout` gives the position of each parameter in theta. `dtype` is that of the module's own parameters, and the default dtype
    of a run. `mode` is the search of the one about which chains start; None where they start about the module's own parameters.
    """

    layout: Layout = field(default_factory=lambda: Layout({}), repr=False)
    dtype: str = "float32"
    mode: ModuleMode | None = field(default=None, repr=False)

    @property
    def parts(self) -> Mapping[str, tuple[int, ...]]:
        """The name and shape of each parameter in theta, in order."""
        return self.layout.shapes

    @property
    def quadratic(self) -> bool:
        """False: the code of a module is not analysed."""
        return False

    def unflatten(self, theta: Any) -> dict[str, Any]:
        """The parameters by name, of a tensor or an array. Shape (*chains, d) -> (*chains, *shape) each."""
        return self.layout.unflatten(theta)

    def outputs(self, theta: Any, x: Any) -> Tensor:
        """The module's outputs for n inputs at the parameters of every chain or draw, in the dtype of the module.

        theta of shape (*chains, d) and inputs of shape (n, *input) give shape (*chains, n, *output).
        """
        kind = getattr(torch, self.dtype)
        with torch.no_grad():
            return self._written.outputs_of(_as(theta, kind), _as(x, kind))

    def location_float64(self, temperature: float) -> np.ndarray:
        """The point about which chains start, shape (d,): the parameters of the module at its construction, or a mode."""
        assert self.stated_location is not None
        return self.stated_location

    def spread_float64(self, temperature: float) -> np.ndarray:
        """The unit of `start` for each coordinate, shape (d,)."""
        assert self.stated_spread is not None
        return self.stated_spread

    def at_mode(self, progress: Progress | None = None) -> ModuleTarget:
        """The target whose chains start about a mode near the module's own parameters, found once."""
        if self.mode is not None:
            return self
        theta, mode = mode_of(self, progress)
        return replace(self, stated_location=theta, mode=mode)

    def curvature_float64(self, temperature: float) -> float:
        """Raise `ConfigurationError`: the curvature of a module is not known."""
        raise ConfigurationError(
            f"schedule.step: a default is not known for {self.name}, a torch module; expected a step size; set schedule.step, for "
            "which `sgverify advise TARGET SCHEME` measures the curvature at a mode"
        )

    def energy_float64(self, theta: np.ndarray) -> np.ndarray:
        """U in float64; points of shape (*batch, d) give shape (*batch)."""
        assert self.data is not None
        at = torch.tensor(theta, dtype=torch.float64)
        rows = torch.tensor(self.data).reshape(len(self.data), *(1,) * (at.ndim - 1), -1)
        with torch.no_grad():
            return np.asarray(self.prior(theta) + self._written.of_batch(at, rows).numpy())

    @property
    def _written(self) -> ModuleLikelihood:
        likelihood: Any = self.likelihood
        assert isinstance(likelihood, ModuleLikelihood)
        return likelihood


def module_target(
    module: torch.nn.Module,
    loss: Callable[[Any, Any], Any],
    *,
    data: tuple[Any, Any],
    reduction: str | None = None,
    prior: Prior = 1.0,
    spread: float = 0.01,
    name: str | None = None,
) -> ModuleTarget:
    """The posterior of a torch module's parameters: U(theta) = prior(theta) + sum_i loss(module(x_i), y_i).

    `data` is (x, y), tensors or arrays of N entries along their first axis. `loss(outputs, y)` is the negative log likelihood of
    a batch, and `reduction` is its operation over the batch: "mean", "sum" or "none" (one number for each datum, or several that
    are added). By default `reduction` is the loss's attribute of this name, as in `torch.nn.CrossEntropyLoss()`. The reduction
    is tested, and a loss with another one is refused. The loss of a single datum is used unchanged: `MSELoss` with "mean"
    divides by the number of outputs too. `prior` is the precision 1/sd^2 of a centred Gaussian, one number or one for each
    parameter by name, or a function of {name: tensor} that returns -log prior.

    The chains start at the module's own parameters plus `start` (of the configuration) times `spread`. The module itself is not
    changed (`torch.func.functional_call`); it runs in the dtype of its parameters unless the configuration names another. Each
    chain has its own minibatches. The tensor operations of a gradient are recorded once: module and loss must be functions of
    parameters and data alone. On a processor they become arithmetic coordinate by coordinate, which a kernel in C repeats
    (`module_operations`); where one has no such form, in large networks and on other devices, they are called for all chains in one
    pass (`torch.func.vmap`).
    Raises `DefinitionError` for a module that is random (dropout) or couples the data of a batch (batch norm) in training
    mode, or that `vmap` cannot run; `ConfigurationError` for data, reduction or prior that do not fit.
    """
    if not isinstance(module, torch.nn.Module):
        raise DefinitionError(
            f"module_target: {type(module).__name__} is no torch.nn.Module; expected one; pass the network itself"
        )
    own = name or type(module).__name__
    layout = Layout.of(module)
    if not layout.dim:
        raise DefinitionError(f"module_target: {own} has no parameters; expected some; pass another module")
    check_module(module, own)
    start = layout.flatten({key: value.detach() for key, value in module.named_parameters()})
    said = _reduction(loss, reduction)
    rows, inputs, outputs, kinds = _rows(data)
    likelihood = ModuleLikelihood(module, loss, said, layout, inputs, outputs, kinds)
    if not (spread > 0 and math.isfinite(spread)):
        raise ConfigurationError(f"spread={spread!r}: expected a positive, finite number")
    target = ModuleTarget(
        own,
        layout.dim,
        _prior(prior, layout),
        likelihood,
        rows,
        stated_location=start.double().cpu().numpy(),
        stated_spread=np.full(layout.dim, float(spread)),
        layout=layout,
        dtype="float64" if start.dtype == torch.float64 else "float32",
    )
    check_reduction(likelihood, start.double().cpu(), torch.tensor(rows[:4]), own)
    return target


def check_reduction(likelihood: ModuleLikelihood, theta: Tensor, rows: Tensor, name: str) -> None:
    """Compare the loss of a batch with the sum, or the mean, of the losses of its data.

    Two batches are compared, which detects a mean mistaken for a sum as well as a layer that couples the data. Raises
    `ConfigurationError`, or `DefinitionError` if the module cannot be run.
    """
    try:
        with torch.no_grad():
            first, again = (likelihood.of_batch(theta[None], rows[:, None])[0] for _ in range(2))
            singles = likelihood.of_one(theta, rows)
            value = likelihood.raw(likelihood.layout.unflatten(theta), rows)
            likelihood.gradient_of_one(theta, rows)
    except UserError:
        raise
    except Exception as error:
        raise DefinitionError(
            f"{name}: the module or its loss raised {type(error).__name__} when it was run for several chains at once: "
            f"{str(error).splitlines()[0] if str(error) else error}; expected loss(module(x), y) in torch functions that "
            "torch.func.vmap can run; mend the module, the loss or the shapes of the data"
        ) from None
    if not math.isfinite(first.item()):
        raise DefinitionError(
            f"{name}: the loss of the first {len(rows)} data is {first.item()} at the module's own parameters; expected a finite "
            "one; mend the loss, the data or the parameters"
        )
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


def _reduction(loss: Any, given: str | None) -> str:
    said = getattr(loss, "reduction", None) if given is None else given
    if said not in REDUCTIONS:
        raise ConfigurationError(
            f"reduction={given!r}: it must be said whether the loss of a batch is the mean or the sum over its data; expected "
            "one of 'mean', 'sum' and 'none'; give reduction=..., or a loss with this attribute"
        )
    return str(said)


def _prior(prior: Prior, layout: Layout) -> Any:
    if callable(prior):
        return WrittenPrior(prior, layout)
    named = dict(prior) if isinstance(prior, Mapping) else dict.fromkeys(layout.shapes, prior)
    if set(named) != set(layout.shapes):
        raise ConfigurationError(
            f"prior: has the names {sorted(named)}; expected one precision for each of {list(layout.shapes)}; name all of them"
        )
    precision = np.empty(layout.dim)
    for key, _, place in layout.places():
        value = named[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise ConfigurationError(
                f"prior={value!r} for {key}: expected a positive, finite precision 1/sd^2, or a function for all parameters"
            )
        precision[place] = value
    return GaussianPrior(precision)


def _rows(
    data: Any,
) -> tuple[np.ndarray, tuple[int, ...], tuple[int, ...], tuple[torch.dtype | None, torch.dtype | None]]:
    """The data as rows of numbers, the shapes of x and y, and their dtypes if they are integers (else None)."""
    if not isinstance(data, tuple) or len(data) != 2:
        raise ConfigurationError(f"data: expected a pair (x, y), not {type(data).__name__}; give both")
    x, y = (_copied(item) for item in data)
    if not x.ndim or not y.ndim or len(x) != len(y) or not len(x):
        raise ConfigurationError(
            f"data: x has the shape {tuple(x.shape)} and y {tuple(y.shape)}; expected as many y as x along the first axis; give "
            "one y for each x"
        )
    for key, item in (("x", x), ("y", y)):
        if not torch.isfinite(item.double()).all():
            raise ConfigurationError(
                f"data: {key} holds NaN or infinity; expected finite numbers; mend the data"
            )
        if not item.is_floating_point() and item.abs().max() >= 2**24:
            raise ConfigurationError(
                f"data: {key} holds whole numbers beyond 2^24, which float32 does not hold; expected smaller ones; renumber them"
            )
    rows = torch.cat([item.reshape(len(item), -1).double() for item in (x, y)], 1).numpy()
    rows.flags.writeable = False
    kinds = tuple(None if item.is_floating_point() else item.dtype for item in (x, y))
    return rows, tuple(x.shape[1:]), tuple(y.shape[1:]), (kinds[0], kinds[1])


def _copied(item: Any) -> Tensor:
    return item.detach().cpu() if isinstance(item, Tensor) else torch.tensor(np.array(item))


def _as(x: Any, kind: torch.dtype) -> Tensor:
    given = _copied(x)
    return given.to(kind) if given.is_floating_point() else given


def _close(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).abs() <= _TOLERANCE * (a.abs() + b.abs()))
