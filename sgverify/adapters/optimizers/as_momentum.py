"""With which conventions is the buffer of an optimizer the momentum of the kinetic dynamics? The mean of a step tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sgverify.adapters.optimizers.finding import AT
from sgverify.adapters.optimizers.options import read_options
from sgverify.errors import SgverifyError
from sgverify.samplers.intercepted import BlackBox
from sgverify.samplers.intercepted.dtypes import default_dtype
from sgverify.schemes.adapting import AdapterSettings
from sgverify.schemes.dynamics import kinetic, langevin
from sgverify.schemes.torch_step import TorchStep

STEPS = ("h", "h**2")
"""The step size of published optimizers, in the kinetic dynamics' own."""

FRICTIONS = ("D", "h*D", "1-h*D", "exp(-h*D)")
"""What published optimizers call friction, decay of the momentum, or the momentum that is left."""

SMALL = (2.0**-10, 2.0**-11)
"""The step sizes at which a mean motion is looked at."""

NEAR = 1e-3
"""The tolerance of the drift that two step sizes give: its error is of order h^2."""

Adapt = Callable[[Any, AdapterSettings, str], TorchStep]


def momentum_settings(
    adapt: Adapt, found: Any, name: str, settings: AdapterSettings, reference: str
) -> Mapping[str, str] | None:
    """Settings with which a step without its draws moves by h times the kinetic drift, as h -> 0; None if none of those tried does.

    They say what the step's own numbers mean, and nothing of its noise: whether the step is right is for the checks to say.
    """
    told = f"scheme={reference or name!r}"
    options = read_options(found, name, langevin, settings, told)
    own = [option for option, text in options.told.items() if text == "h" and option not in settings.map]
    left = [option for option, default in options.left.items() if isinstance(default, float)]
    for size in STEPS:
        for option in left:
            for friction in FRICTIONS:
                given = {**settings.map, **dict.fromkeys(own, size), option: friction}
                try:
                    step = adapt(found, replace(settings, dynamics=kinetic.name, map=given), reference)
                    fits = not step.memory and _drifts(step)
                except SgverifyError:
                    continue
                if fits:
                    # The step size by its usual name needs no setting.
                    maps = {f"adapter.map.{key}": str(text) for key, text in given.items() if text != "h"}
                    return {"adapter.dynamics": kinetic.name, **maps}
    return None


def _drifts(step: TorchStep) -> bool:
    """Does a step without its draws move by h (p, -g - D p) + O(h^2), g the gradient?"""
    given = {name: AT[name] for name in step.parameters}
    theta, p = (torch.tensor(values, dtype=torch.float64) for values in ([0.7, -0.4], [0.3, 0.9]))

    def gradient(place: Tensor, minibatch: int) -> Tensor:
        return 1.3 * place + 0.2

    box = BlackBox(step, gradient, len(theta), given)
    with default_dtype(torch.float64):
        rates = []
        for h in SMALL:
            draws = torch.zeros(box.census((theta, p), h), dtype=torch.float64)
            moved, _ = box.run((theta, p), draws, h)
            rates.append(torch.cat([(moved[0] - theta) / h, (moved[1] - p) / h]))
    due = torch.cat([p, -gradient(theta, 0) - AT["D"] * p])
    return bool((2 * rates[1] - rates[0] - due).abs().max() <= NEAR)


__all__ = ["momentum_settings"]
