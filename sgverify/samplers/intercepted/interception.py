"""Random draws of torch code, replaced while it runs.

Every operation passes a `TorchDispatchMode`, below autograd and the Python interface, so that it makes no difference how a
draw is spelled. Torch itself tags the operations that ask a random number generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sgverify.errors import SgverifyError

Draw = Callable[[tuple[int, ...]], Tensor]
"""Independent standard normal numbers of a shape, whatever we call that."""

Witness = Callable[[Any, Any, Any], None]
"""Told an operation, its arguments (positional, then by keyword) and its result."""


class UnreadableDrawError(SgverifyError):
    """The code draws random numbers of a law that no quadrature here stands for."""

    def __init__(self, operation: str) -> None:
        super().__init__(
            f"it draws by torch's {operation}, which is no normal draw; normal ones (randn, randn_like, normal, normal_, "
            "torch.distributions.Normal) are replaced"
        )
        self.operation = operation


class Interception(TorchDispatchMode):
    """While it is entered, `draw` provides every normal number that torch is asked for.

    A draw N(mean, std^2) becomes mean + std z with z = draw(shape). What is drawn otherwise raises
    `UnreadableDrawError`, or, with `others` given, comes from that generator. `witness` is shown every operation.
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
        result = self._random(func, args, kwargs) if _is_random(func) else func(*args, **kwargs)
        if self._witness is not None:
            self._witness(func, (args, kwargs), result)
        return result

    def _random(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = func._schema.name.partition("::")[2]
        if name in ("randn", "randn_like"):
            return self._standard(func, name, args, kwargs)
        if name == "normal_":
            mean, std = (*args[1:], *(0.0, 1.0)[len(args) - 1 :])[:2]
            mean, std = kwargs.get("mean", mean), kwargs.get("std", std)
            return args[0].copy_(mean + std * self._draw(tuple(args[0].shape)).to(args[0]))
        if name == "normal":
            return self._general(args, kwargs)
        if self._others is None:
            raise UnreadableDrawError(name)
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

    def _standard(self, func: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Tensor:
        like = args[0] if name == "randn_like" else None
        shape = tuple(args[0] if like is None else like.shape)
        dtype = kwargs.get("dtype") or (torch.get_default_dtype() if like is None else like.dtype)
        device = kwargs.get("device") or (None if like is None else like.device)
        drawn = self._draw(shape).to(dtype=dtype, device=device)
        out = kwargs.get("out")
        return drawn if out is None else out.resize_(shape).copy_(drawn)

    def _general(self, args: Any, kwargs: dict[str, Any]) -> Tensor:
        """torch.normal: numbers or tensors for mean and standard deviation, a size where both are numbers."""
        mean = args[0] if args else kwargs["mean"]
        std = args[1] if len(args) > 1 else kwargs.get("std", 1.0)
        tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
        if tensors:
            shape = torch.broadcast_shapes(*(value.shape for value in tensors))
            drawn = self._draw(tuple(shape)).to(tensors[0])
        else:
            shape = torch.Size(args[2] if len(args) > 2 else kwargs["size"])
            dtype = kwargs.get("dtype") or torch.get_default_dtype()
            drawn = self._draw(tuple(shape)).to(dtype=dtype, device=kwargs.get("device"))
        value = mean + std * drawn
        out = kwargs.get("out")
        return value if out is None else out.resize_(shape).copy_(value)


class Handed:
    """A list of numbers handed out in order: a vector z, cut into the shapes that are asked for.

    `asked` keeps the shapes. With `rows`, z has the shape (chains, m), and each draw one row for each chain.
    """

    def __init__(self, values: Tensor | None, *, rows: bool = False) -> None:
        self._values, self._rows = values, rows
        self.asked: list[tuple[int, ...]] = []
        self._used = 0

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """The next numbers in this shape; zeros where there is no list, or no longer one."""
        self.asked.append(shape)
        if self._values is None:
            return torch.zeros(shape, dtype=torch.float64)
        count = math.prod(shape[1:] if self._rows else shape)
        taken = self._values[..., self._used : self._used + count]
        self._used += count
        if taken.shape[-1] < count:
            return torch.zeros(shape, dtype=torch.float64)
        return taken.reshape(shape).clone()

    @property
    def used(self) -> int:
        """How many numbers of a chain were asked for."""
        return self._used if self._values is not None else total(self.asked, self._rows)


def total(shapes: Iterable[tuple[int, ...]], rows: bool) -> int:
    """The numbers in draws of these shapes, of one chain."""
    return sum(math.prod(shape[1:] if rows else shape) for shape in shapes)


def _is_random(func: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in func.tags
