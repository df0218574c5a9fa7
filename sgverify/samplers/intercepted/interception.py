"""Random draws of torch code, replaced while it runs.

Every operation passes a `TorchDispatchMode`, below autograd and the Python interface, so that it makes no difference how a
draw is spelled. Torch itself tags the operations that ask a random number generator.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from sgverify.samplers.intercepted.handed import Handed, total
from sgverify.samplers.intercepted.replacing import (
    Draw,
    UnreadableDrawError,
    arguments_of,
    is_random,
    name_of,
    replacement,
)

Witness = Callable[[Any, Any, Any], None]
"""Told an operation, its arguments (positional, then by keyword) and its result."""


class Interception(TorchDispatchMode):
    """While it is entered, `draw` provides the normal numbers of which every random number is made that torch is asked for.

    A draw N(mean, std^2) becomes mean + std z with z = draw(shape), a uniform one Phi(z), and so on (`laws`). What is drawn
    otherwise raises `UnreadableDrawError`, or, with `others` given, comes from that generator. `witness` is shown every
    operation.
    """

    def __init__(
        self, draw: Draw, *, others: torch.Generator | None = None, witness: Witness | None = None
    ) -> None:
        super().__init__()
        self._draw, self._others, self._witness = draw, others, witness
        self._paused = 0

    @contextmanager
    def paused(self) -> Any:
        """Leave alone what runs inside: it is ours, not the code's."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if self._paused:
            return func(*args, **kwargs)
        result = self._random(func, args, kwargs) if is_random(func) else func(*args, **kwargs)
        if self._witness is not None:
            self._witness(func, (args, kwargs), result)
        return result

    def _random(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        replace = replacement(func)
        try:
            if replace is None:
                raise UnreadableDrawError(name_of(func))
            return replace(self._draw, arguments_of(func, args, kwargs))
        except UnreadableDrawError:
            if self._others is None:
                raise
        return self._other(func, args, kwargs, self._others)

    def _other(self, func: Any, args: Any, kwargs: dict[str, Any], source: torch.Generator) -> Any:
        """Another draw, from `source`: by way of torch's own generator, because not every operation takes one."""
        if kwargs.get("generator") is not None:
            kwargs["generator"] = source
            return func(*args, **kwargs)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(source.get_state())
            result = func(*args, **kwargs)
            source.set_state(torch.get_rng_state())
        return result


__all__ = ["Draw", "Handed", "Interception", "UnreadableDrawError", "Witness", "total"]
