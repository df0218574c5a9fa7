"""What a sampled run is, by name: so that a paused run is not taken up as another one."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import torch

from sgverify.samplers.differentiation import Potential
from sgverify.samplers.schedules import Row
from sgverify.samplers.settings import Settings
from sgverify.schemes import Scheme
from sgverify.targets import Target

DIGITS = 9
"""Of the gradients that tell targets apart: exp and log may round otherwise on another machine."""

FREE = ("chains", "first_chain", "device", "compiled")
"""Settings that may differ: chains are compared by themselves, the others change nothing but where and how quickly a run
is made. Torch's own generators do depend on the device."""


def identity_of(
    scheme: Scheme,
    target: Target,
    rows: Sequence[Row],
    settings: Settings,
    observables: Sequence[Callable[..., Any]],
) -> dict[str, str]:
    """Name and value of all that a run is made of.

    Test functions are told apart by their text, or their name where they have none.
    """
    found = {
        "scheme": scheme.name,
        "definition": _digest(_source(scheme)),
        "target": target.name,
        "potential": _digest(_gradients(target)),
        "rows": "; ".join(f"{row.name}, lengths={list(row.lengths)}, burn_in={row.burn_in}" for row in rows),
        "observables": "; ".join(getattr(item, "__name__", str(item)) for item in observables),
    }
    held = {
        item.name: str(getattr(settings, item.name)) for item in fields(Settings) if item.name not in FREE
    }
    found.update(held)
    if settings.generator == "native":
        found["device"] = settings.device
    return found


def _source(scheme: Scheme) -> str:
    """The definition as it is written: of a word its letters with their shares."""
    word = scheme.word
    if word is None:
        functions = [scheme.function, *scheme.memory.values()]
        return "\n".join(map(_text, functions))
    letters = (f"{name}: {_text(letter.function)}" for name, letter in word.alphabet.letters.items())
    return "\n".join([word.text, ",".join(map(str, word.shares)), *letters])


def _text(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        # Made by exec: there is no text, and the code says which it is.
        code = getattr(function, "__code__", None)
        return repr(function) if code is None else f"{code.co_code!r} {code.co_consts!r} {code.co_names!r}"


def _gradients(target: Target) -> str:
    """dim, the data, and the gradient of U at two points."""
    potential = Potential(target, dtype=torch.float64, device=torch.device("cpu"), hoist=False)
    places = torch.stack(
        [torch.linspace(low, low + 0.5, target.dim, dtype=torch.float64) for low in (-0.4, 0.3)]
    )
    gradients = potential.full(places[None]).flatten().tolist()
    data = b"" if target.data is None else target.data.tobytes()
    return f"{target.dim} {hashlib.sha256(data).hexdigest()} " + " ".join(
        f"{entry:.{DIGITS}g}" for entry in gradients
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


__all__ = ["identity_of"]
