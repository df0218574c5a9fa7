"""How is the gradient of a torch module's loss computed for many chains at once, without the cost of Python at every step?

`torch.func` differentiates the loss of one chain and maps it over the chains. Its transformations run in Python at every call,
which for a small network takes several times as long as the arithmetic. The operations that they end in are therefore recorded
once for each shape of the arguments (`make_fx`) and then called one after the other, with equal bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import torch
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import handle_torch_function, has_torch_function

from sgverify.samplers.own.module_operations import Layout

CALLS = 20
"""The calls with arguments of one shape after which their operations are recorded, which takes as long as about a hundred calls."""

SHAPES = 16
"""The most shapes of arguments that are recorded: the pieces of a pass over all data have two."""

_ATEN = torch.ops.aten
_VIEWS = frozenset(
    {_ATEN.view.default, _ATEN._unsafe_view.default, _ATEN.expand.default, _ATEN.detach.default}
)
"""Operations that return their argument if it has the shape and strides of the result."""


def as_one_operation(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A method of tensors that a `Tape` records as one operation, instead of the operations in it."""

    @wraps(method)
    def call(self: Any, *given: Tensor) -> Tensor:
        if has_torch_function(given):
            found: Tensor = handle_torch_function(getattr(self, method.__name__), given, *given)
            return found
        return method(self, *given)

    return call


Loss = Callable[..., Tensor]
"""A function of one chain's parameters by name, and of its data, with a result of shape ()."""

_Key = tuple[Any, ...]


@dataclass(eq=False)
class ChainGradient:
    """The gradient in theta of `loss`, for each of n chains: theta of shape (n, d) gives shape (n, d).

    Beside theta a loss may have data: one tensor for all chains, or one whose first axis is that of the chains. The bits are those
    of `torch.func.vmap(torch.func.grad(loss))`, which also computes what cannot be recorded. The loss must be a function of its
    arguments alone: what Python computes beside the tensors is not computed again.
    """

    loss: Loss = field(repr=False)
    layout: Layout = field(repr=False)
    _seen: dict[_Key, int] = field(default_factory=dict, init=False, repr=False)
    _recorded: dict[_Key, Callable[..., Tensor] | None] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, theta: Tensor, *data: Tensor, shared: bool = False) -> Tensor:
        """The gradients; `shared` says that every chain has the same data, which then lack the axis of chains."""
        # Recorded views are those of contiguous tensors.
        given = tuple(tensor.detach().contiguous() for tensor in (theta, *data))
        key = (shared, *((tuple(tensor.shape), tensor.dtype, tensor.device) for tensor in given))
        with torch.no_grad():
            played = self._recorded.get(key)
            if played is not None:
                return played(*given)
            plain = torch.func.vmap(self._of_one, in_dims=(0, *((None if shared else 0,) * len(data))))
            if not self._due(key):
                return plain(*given)
            recorded, expected = _record(plain, given), plain(*given)
            played = None if recorded is None else recorded.forward
            # A clever path is held against the plain one.
            same = played is not None and torch.equal(played(*given), expected)
            self._recorded[key] = played if same else None
            return expected

    def _due(self, key: _Key) -> bool:
        """Are the operations on arguments of this kind to be recorded now?"""
        if key in self._recorded or len(self._recorded) >= SHAPES:
            return False
        self._seen[key] = self._seen.get(key, 0) + 1
        return self._seen[key] >= CALLS

    def _of_one(self, theta: Tensor, *data: Tensor) -> Tensor:
        parts: Mapping[str, Tensor] = torch.func.grad(self.loss)(self.layout.unflatten(theta), *data)
        return self.layout.flatten(parts)


def _record(function: Callable[..., Tensor], given: tuple[Tensor, ...]) -> fx.GraphModule | None:
    """The tensor operations of a call, without those that return their argument; None if they cannot be recorded."""
    try:
        graph = make_fx(function)(*given)
    except Exception:  # torch raises errors of many types for code that it cannot follow
        return None
    for node in list(graph.graph.nodes):
        if (
            node.op == "call_function"
            and node.target in _VIEWS
            and _layout_of(node) == _layout_of(node.args[0])
        ):
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


def _layout_of(node: fx.Node) -> Any:
    """Shape and strides of a recorded value, the node itself where they are not known."""
    meta = node.meta.get("tensor_meta")
    return node if meta is None else (tuple(meta.shape), tuple(meta.stride), meta.dtype)
