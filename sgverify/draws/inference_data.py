"""Draws as ArviZ InferenceData: its groups, names and coordinates.

ArviZ and xarray are imported on first use.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

import sgverify
from sgverify.advice.widths import StepBias
from sgverify.configuration import Configuration
from sgverify.draws.step_choice import StepChoice, check_installed
from sgverify.samplers.run.recording import Draws
from sgverify.samplers.run.schedules import Row
from sgverify.targets import Target
from sgverify.targets.derived import FramedTarget


@cache
def arviz() -> Any:
    """Import ArviZ, without its daily message about its next version. Raises `UserError` where it is not installed."""
    check_installed()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "\\s*ArviZ is undergoing", FutureWarning)
        import arviz as library
    return library


MOST_OBSERVED = 1_000_000
"""The largest amount of data that is copied into every file of draws."""

CHAINS = ("chain", "draw")


def make_inference_data(
    draws: Draws,
    target: Target,
    *,
    chains: range,
    reference: str,
    configuration: Configuration,
    command: str,
) -> Any:
    """InferenceData of one row of draws: posterior, sample_stats, observed_data, and where they come from.

    posterior: theta by `coordinate` (its name where it has one, else its number), or the parts that the target names.
    sample_stats: `energy` U(theta), `step_size` h_l, `diverging` on the last draw of a chain that left every bound in one of the
    next steps, the other variables of the dynamics under their own names, `log_weight` where draws count differently (log h_l of
    varying steps, the weights of an adaptive composite), and what a composite records: `swaps` since the draw before,
    `swap_probability`, `walker` (which replica this state started as), `region`. xarray's `weighted` averages the posterior under
    exp(`log_weight`). The coordinate `draw` is l, the number of the step.
    """
    import xarray

    coordinates = {"chain": np.asarray(chains), "draw": draws.numbers}
    shape = (len(chains), len(draws.numbers))
    attributes = _attributes(draws, target, reference, configuration, command)
    theta, *others = draws.values
    parts, places = _posterior(draws.values[theta], theta, target)
    posterior = xarray.Dataset(parts, {**coordinates, **places}, attributes)

    steps = np.broadcast_to(draws.steps, shape)
    stats: dict[str, Any] = {"step_size": (CHAINS, steps), "diverging": (CHAINS, _diverging(draws, chains))}
    if draws.energies is not None:
        stats["energy"] = (CHAINS, draws.energies)
    if draws.log_weights is not None:
        stats["log_weight"] = (CHAINS, draws.log_weights)
    for name, value in draws.statistics.items():
        stats[name] = (CHAINS, value)
    wide = False
    for name in others:
        value = draws.values[name]
        whole = value.shape[-1] == target.dim and name == "p"
        wide = wide or whole
        stats[name] = ((*CHAINS, "coordinate"), value) if whole else (CHAINS, value[..., 0])
    along = _along(target) if wide else {}
    groups: dict[str, Any] = {
        "posterior": posterior,
        "sample_stats": xarray.Dataset(stats, {**coordinates, **along}, attributes),
    }
    if target.data is not None and target.data.size <= MOST_OBSERVED:
        size, width = target.data.shape
        groups["observed_data"] = xarray.Dataset(
            {"data": (("datum", "column"), np.array(target.data))},
            {"datum": np.arange(size), "column": np.arange(width)},
            attributes,
        )
    return arviz().InferenceData(attrs=attributes, **groups)


def tell_step(
    draws: Any, row: Row, choice: StepChoice | None, bias: StepBias | None, warning: str | None
) -> None:
    """Add the step size, whose choice it is, its bias and its warning to the attributes of the draws and of their groups."""
    told: dict[str, Any] = {"step_size": row.at(1)}
    if choice is not None:
        told["step_origin"] = choice.origin
        if choice.line is not None:
            told["step_choice"] = choice.line
    if bias is not None and bias.distrust is None:
        told |= {"step_bias": bias.share, "step_bias_coordinate": bias.coordinate, "step_bias_how": bias.how}
    elif bias is not None:
        told["step_bias_unknown"] = bias.distrust
    if warning is not None:
        told["step_warning"] = warning
    tell(draws, told)


def tell(draws: Any, told: Mapping[str, Any]) -> None:
    """Add to the attributes of the draws and of their groups."""
    for place in (draws, *(draws[name] for name in draws.groups())):
        place.attrs.update(told)


def _posterior(
    theta: np.ndarray, name: str, target: Target
) -> tuple[dict[str, Any], Mapping[str, np.ndarray]]:
    """Variables and coordinates: theta as one vector, or cut into the parts that the target names. Shape (C, n, d)."""
    if isinstance(target, FramedTarget):
        theta, target = target.frame.back(theta), target.frame.whole
    cut = getattr(target, "unflatten", None)
    if cut is None:
        return {name: ((*CHAINS, "coordinate"), theta)}, _along(target)
    parts: dict[str, Any] = {}
    places: dict[str, np.ndarray] = {}
    for part, value in cut(theta).items():
        axes = [f"{part}_{k}" for k in range(value.ndim - 2)]
        parts[part] = ((*CHAINS, *axes), value)
        places |= {axis: np.arange(size) for axis, size in zip(axes, value.shape[2:], strict=True)}
    return parts, places


def _along(target: Target) -> dict[str, np.ndarray]:
    """The axis of coordinates, by their names or else their numbers."""
    return {"coordinate": np.array(target.names) if target.names else np.arange(target.dim)}


def _diverging(draws: Draws, chains: range) -> np.ndarray:
    """A mask, shape (C, n), of the draws after which the chain diverged before its next draw."""
    found = np.zeros((len(chains), len(draws.numbers)), dtype=bool)
    for why in draws.diverged:
        for chain in why.chains:
            found[chains.index(chain), -1:] = True
    return found


def _attributes(
    draws: Draws, target: Target, reference: str, configuration: Configuration, command: str
) -> dict[str, Any]:
    keys = configuration.as_dict()
    if "test_function" not in configuration.model_fields_set:
        # Nothing is averaged here; written out, the default would be refused for vectors.
        keys.pop("test_function")
    if not command:
        # The target was made in Python: the configuration cannot build it, and must not name another one.
        keys["target"] = {"name": target.name}
    return {
        "scheme": reference,
        "target": target.name,
        "configuration": json.dumps(keys, sort_keys=True),
        "seed": configuration.seed,
        "command": command,
        "steps_done": draws.reached,
        "complete": int(draws.complete),
        "diverged": "; ".join(map(str, draws.diverged)),
        "inference_library": "sgverify",
        "inference_library_version": sgverify.__version__,
    }
