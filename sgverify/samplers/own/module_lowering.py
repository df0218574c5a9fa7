"""How do the recorded operations on one chain of a module become arithmetic coordinate by coordinate?

Operations on views become lists of coordinates (`taken`), products of matrices become sums of products in a fixed order
(`contracted`), and elementary functions those of `elementary`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, fx
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.fx.experimental.proxy_tensor import make_fx

from sgverify.errors import Unreached
from sgverify.samplers.own.module_arithmetic import COMPARISONS, ELEMENTWISE, FURTHER, MAKES, POWERS, VIEWS
from sgverify.samplers.reading.arithmetic import contracted, joined, summed, taken
from sgverify.samplers.reading.constants import lasting

MOST = 1_000
"""The most instructions: a C compiler takes about two thousand operations."""

_ATEN = torch.ops.aten


@dataclass(frozen=True)
class _Part:
    """Entries of a computed value: `places`, whose shape is that of the tensor in torch, are coordinates of value `number`."""

    number: int
    places: Tensor


@dataclass(frozen=True)
class Instruction:
    """A function of values by their numbers (an `int`), of numbers and of constant tensors, and its further arguments."""

    function: Callable[..., Tensor]
    operands: tuple[Any, ...]
    options: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Number:
    """The number of a computed value."""

    value: int


def instructions_of(
    function: Callable[..., Tensor], theta: Tensor, datum: Tensor, whole: Tensor
) -> tuple[Instruction, ...]:
    """The instructions that make the result of a function of theta, shape (d,), and a datum, shape (w,), of the shape of theta.

    Values 0 and 1 are theta and the datum; each instruction makes the next one. `whole`, shape (w,), marks the columns of data that
    are whole numbers. Raises `Unreached`, or an error of torch for code that it cannot follow.
    """
    decompositions = {**core_aten_decompositions(), **get_decompositions(FURTHER)}
    graph = make_fx(torch.func.functionalize(function), decomposition_table=decompositions)(theta, datum)
    graph.graph.eliminate_dead_code()
    return tuple(_Lowering(graph, theta.dtype, whole).instructions)


class _Lowering:
    """Turns the recorded operations on one chain into instructions on values of shape (*batch, width)."""

    def __init__(self, graph: fx.GraphModule, dtype: torch.dtype, whole: Tensor) -> None:
        self.instructions: list[Instruction] = []
        self._graph, self._dtype, self._whole = graph, dtype, whole
        self._widths: list[int] = []
        self._values: dict[fx.Node, _Part | Tensor] = {}
        self._truths: set[int] = set()
        for node in graph.graph.nodes:
            if node.op == "output":
                self._finish(self._values[node.args[0]])
            else:
                self._values[node] = self._of_node(node)
            if len(self.instructions) > MOST:
                raise Unreached(f"more than {MOST} operations")

    def _of_node(self, node: fx.Node) -> _Part | Tensor:
        """The value of a node: entries of a computed value, or a tensor that does not depend on theta and datum."""
        if node.op == "placeholder":
            shape = node.meta["tensor_meta"].shape
            self._widths.append(prod(shape))
            return _Part(len(self._widths) - 1, torch.arange(prod(shape)).reshape(shape))
        if node.op == "get_attr":
            constant: Tensor = getattr(self._graph, str(node.target))
            return constant
        args: list[Any] = [self._values[item] if isinstance(item, fx.Node) else item for item in node.args]
        if any(isinstance(item, list) and any(isinstance(one, fx.Node) for one in item) for item in args):
            args = [[self._values[one] for one in item] if isinstance(item, list) else item for item in args]
        operation: Any = getattr(node.target, "overloadpacket", None)
        if getattr(node.target, "namespace", "") == "prims":
            operation = getattr(_ATEN, operation.__name__, operation)
        kind = node.meta["tensor_meta"]
        if operation in MAKES:
            fill = {_ATEN.full_like: 1, _ATEN.full: 1, _ATEN.scalar_tensor: 0}.get(operation)
            value = (
                args[fill] if fill is not None else 1.0 if operation in (_ATEN.ones_like, _ATEN.ones) else 0.0
            )
            return torch.full(kind.shape, value, dtype=kind.dtype)
        if not any(isinstance(item, _Part) for item in _flat(args)):
            made: Tensor = node.target(*args, **node.kwargs)  # type: ignore[operator]
            return made
        if operation is _ATEN.clamp:
            low, high = (*args[1:], None)[:2]
            bounded = args[0] if low is None else self._each(ELEMENTWISE[_ATEN.clamp_min], [args[0], low])
            return bounded if high is None else self._each(ELEMENTWISE[_ATEN.clamp_max], [bounded, high])
        if operation in VIEWS:
            source = args[0]
            assert isinstance(source, _Part)
            return _Part(source.number, node.target(source.places, *args[1:], **node.kwargs))  # type: ignore[operator]
        found = self._computed(operation, args, dict(node.kwargs), kind)
        if tuple(found.places.shape) != tuple(kind.shape):
            raise Unreached(f"{operation} with a result of another shape")
        return found

    def _computed(self, operation: Any, args: list[Any], options: dict[str, Any], kind: Any) -> _Part:
        """An operation that is not a mere view."""
        if operation in (_ATEN._to_copy, torch.ops.prims.convert_element_type):
            return self._converted(args[0], kind.dtype)
        if kind.dtype not in (self._dtype, torch.bool, torch.int64):
            raise Unreached(f"values of {kind.dtype}")
        if operation is _ATEN.gather:
            return self._looked_up(*args)
        if operation is _ATEN.scatter:
            return self._scattered(*args)
        if operation is _ATEN.where or kind.dtype == torch.bool:
            return self._each(ELEMENTWISE[operation], args)
        if operation is _ATEN.sum:
            return self._sum(operation, *args[:3])
        if kind.dtype != self._dtype:
            raise Unreached("arithmetic of whole numbers")
        if operation is _ATEN.pow and not isinstance(args[1], _Part | Tensor):
            return self._each(POWERS[args[1]], args[:1])
        if operation in (_ATEN.add, _ATEN.sub) and options.get("alpha", 1) != 1:
            args = [args[0], self._each(ELEMENTWISE[_ATEN.mul], [args[1], options["alpha"]])]
        if operation is _ATEN.div and options.get("rounding_mode") is not None:
            raise Unreached("rounded division")
        if operation in (_ATEN.mm, _ATEN.bmm):
            return self._product(*args)
        if operation is _ATEN.mean:
            return self._sum(operation, *args[:3])
        if operation is _ATEN.var:
            return self._variance(*args, **options)
        if operation is _ATEN.amax:
            return self._largest(*args)
        if operation is _ATEN.cat:
            return self._joined(*args)
        if operation not in ELEMENTWISE:
            raise Unreached(str(operation))
        return self._each(ELEMENTWISE[operation], args)

    def _converted(self, part: _Part, dtype: torch.dtype) -> _Part:
        """The same entries in another dtype: data that are whole numbers to an integer type, or back."""
        if dtype.is_floating_point:
            if dtype != self._dtype:
                raise Unreached(f"a conversion to {dtype}")
        elif part.number not in self._truths and (part.number != 1 or not self._whole[part.places].all()):
            raise Unreached("a number that is rounded")
        return self._counted(part)

    def _counted(self, part: _Part) -> _Part:
        """The same entries, 1 for a comparison that holds and 0 for one that does not."""
        if part.number not in self._truths:
            return part
        return self._each(torch.where, [part, 1.0, 0.0])

    def _each(self, function: Callable[..., Any], args: Sequence[Any]) -> _Part:
        """A function of each coordinate by itself."""
        shapes = [_shape(item) for item in args]
        shape = torch.broadcast_shapes(*shapes)
        aligned = [self._aligned(item, shape) for item in args]
        if function is ELEMENTWISE[_ATEN.mul] and 1.0 in aligned:
            # Exact, so that nothing is left to do.
            kept = args[1 - aligned.index(1.0)]
            assert isinstance(kept, _Part)
            return _Part(kept.number, kept.places.expand(shape))
        if function is torch.where and not any(isinstance(item, Number | Tensor) for item in aligned[1:]):
            # A choice between two numbers has the dtype of the run.
            aligned[1] = self._constant(torch.tensor([aligned[1]]))
        widths = [
            self._widths[item.value]
            if isinstance(item, Number)
            else item.numel()
            if isinstance(item, Tensor)
            else 1
            for item in aligned
        ]
        number = self._add(function, aligned, width=max(widths))
        if function in COMPARISONS:
            self._truths.add(number)
        every = torch.arange(prod(shape)) if max(widths) > 1 else torch.zeros(prod(shape), dtype=torch.int64)
        return _Part(number, every.reshape(shape))

    def _aligned(self, item: Any, shape: Sequence[int]) -> Any:
        """An operand with one coordinate for each entry of a tensor of this shape, or one for all."""
        if not isinstance(item, _Part | Tensor):
            return float(item)
        if isinstance(item, Tensor):
            whole = item.expand(shape).flatten()
            if bool((whole == whole[0]).all()):
                return whole[0].item()
            return self._constant(whole)
        places = item.places.expand(shape).flatten()
        if bool((places == places[0]).all()):
            places = places[:1]
        return self._whole_of(_Part(item.number, places))

    def _product(self, left: Any, right: Any) -> _Part:
        """A product of matrices, or of as many pairs of them, in the order of the axis that is summed over."""
        a, b = self._entries(left), self._entries(right)
        shape = (*a.places.shape[:-1], b.places.shape[-1])
        terms = range(a.places.shape[-1])
        sides = [
            [a.places[..., k, None].expand(shape).flatten() for k in terms],
            [b.places[..., k, :].unsqueeze(-2).expand(shape).flatten() for k in terms],
        ]
        lefts, rights = (tuple(tuple(one.tolist()) for one in side) for side in sides)
        number = self._add(contracted, [a.operand, b.operand], lefts, rights, width=prod(shape))
        return _Part(number, torch.arange(prod(shape)).reshape(shape))

    def _sum(self, operation: Any, given: Any, axes: Any = None, keep: bool = False) -> _Part:
        """A sum over some axes, all if none are given, in order; or a mean."""
        part = self._entries(self._counted(given) if isinstance(given, _Part) else given)
        summed_over = _axes(axes, part.places.ndim)
        kept = [axis for axis in range(part.places.ndim) if axis not in summed_over]
        shape = [part.places.shape[axis] for axis in kept]
        terms = part.places.permute([*summed_over, *kept]).reshape(-1, prod(shape))
        places = torch.arange(prod(shape)).reshape(shape)
        if len(terms) == 1 and part.part is not None:
            result = _Part(part.part.number, terms[0].reshape(shape))
        else:
            chosen = tuple(tuple(one.tolist()) for one in terms)
            result = _Part(self._add(summed, [part.operand], chosen, width=prod(shape)), places)
        if operation is _ATEN.mean:
            result = self._each(ELEMENTWISE[_ATEN.div], [result, float(len(terms))])
        return _Part(result.number, _kept(result.places, summed_over) if keep else result.places)

    def _variance(self, part: _Part, axes: Any, correction: float = 1.0) -> _Part:
        """The sum of the squares of the deviations from the mean over some axes, divided by their number less `correction`."""
        mean = self._sum(_ATEN.mean, part, axes, True)
        deviation = self._each(ELEMENTWISE[_ATEN.sub], [part, mean])
        squares = self._sum(_ATEN.sum, self._each(ELEMENTWISE[_ATEN.mul], [deviation, deviation]), axes)
        number = part.places.numel() // squares.places.numel()
        return self._each(ELEMENTWISE[_ATEN.div], [squares, float(number - correction)])

    def _largest(self, part: _Part, axes: Any = None, keep: bool = False) -> _Part:
        """The largest entry over some axes."""
        over = _axes(axes, part.places.ndim)
        kept = [axis for axis in range(part.places.ndim) if axis not in over]
        shape = [part.places.shape[axis] for axis in kept]
        terms = part.places.permute([*over, *kept]).reshape(-1, *shape)
        found = _Part(part.number, terms[0])
        for other in terms[1:]:
            found = self._each(torch.maximum, [found, _Part(part.number, other)])
        return _Part(found.number, _kept(found.places, over) if keep else found.places)

    def _looked_up(self, source: Any, axis: int, index: _Part) -> _Part:
        """The entries of `source` along an axis at places that depend on the datum."""
        source = self._entries(source).as_part()
        others = [
            size for place, size in enumerate(source.places.shape) if place != axis % source.places.ndim
        ]
        if [
            size for place, size in enumerate(index.places.shape) if place != axis % index.places.ndim
        ] != others:
            raise Unreached("a look-up in a part of a tensor")

        def along(place: int) -> _Part:
            return _Part(
                source.number, source.places.select(axis, place).unsqueeze(axis).expand(index.places.shape)
            )

        found = along(0)
        for place in range(1, source.places.shape[axis]):
            chosen = self._each(torch.eq, [index, float(place)])
            found = self._each(torch.where, [chosen, along(place), found])
        return found

    def _scattered(self, base: Any, axis: int, index: _Part, value: Any) -> _Part:
        """`base` with a number at one place along an axis, which depends on the datum."""
        if isinstance(value, _Part | Tensor) or index.places.shape[axis] != 1:
            raise Unreached("several entries that are written over")
        shape = [1] * index.places.ndim
        shape[axis] = _shape(base)[axis]
        places = torch.arange(shape[axis], dtype=self._dtype).reshape(shape)
        chosen = self._each(torch.eq, [index, places])
        written = torch.full(_shape(base), value, dtype=self._dtype)
        return self._each(torch.where, [chosen, written, base])

    def _joined(self, parts: Sequence[Any], axis: int = 0) -> _Part:
        """Tensors one after the other along an axis."""
        entries = [self._entries(part).as_part() for part in parts]
        first, shaped, operands = 0, [], []
        for part in entries:
            flat = part.places.flatten()
            operands.append(self._whole_of(part))
            shaped.append(torch.arange(first, first + len(flat)).reshape(part.places.shape))
            first += len(flat)
        return _Part(self._add(joined, operands, width=first), torch.cat(shaped, axis))

    def _whole_of(self, part: _Part) -> Any:
        """The entries of a part as a value of their own."""
        places, width = part.places.flatten(), self._widths[part.number]
        if len(places) == width and torch.equal(places, torch.arange(width)):
            return Number(part.number)
        return Number(self._add(taken, [Number(part.number)], tuple(places.tolist()), width=len(places)))

    def _finish(self, result: _Part | Tensor) -> None:
        """Make the result the value of the last instruction."""
        if not isinstance(result, _Part) or self._whole_of(result).value != len(self._widths) - 1:
            raise Unreached("a gradient that is no computed value")

    def _constant(self, values: Tensor) -> Tensor:
        return lasting(values.to(self._dtype).flatten().clone())

    def _entries(self, item: Any) -> _Entries:
        if isinstance(item, _Part):
            return _Entries(item, Number(item.number), item.places)
        return _Entries(None, self._constant(item), torch.arange(item.numel()).reshape(item.shape))

    def _add(self, function: Callable[..., Any], operands: Sequence[Any], *options: Any, width: int) -> int:
        self.instructions.append(Instruction(function, tuple(operands), options))
        self._widths.append(width)
        return len(self._widths) - 1


@dataclass(frozen=True)
class _Entries:
    """The operand of an instruction, computed or constant, and the places of its entries."""

    part: _Part | None
    operand: Any
    places: Tensor

    def as_part(self) -> _Part:
        """The entries of a computed value. Raises `Unreached` for a constant."""
        if self.part is None:
            raise Unreached("a constant where a computed value is expected")
        return self.part


def _flat(args: Sequence[Any]) -> list[Any]:
    return [one for item in args for one in (item if isinstance(item, list) else [item])]


def _shape(item: Any) -> tuple[int, ...]:
    if isinstance(item, _Part):
        return tuple(item.places.shape)
    return tuple(item.shape) if isinstance(item, Tensor) else ()


def _axes(axes: Any, ndim: int) -> list[int]:
    """The axes, all if none are given, in order."""
    named = [axes] if isinstance(axes, int) else axes
    return sorted(axis % ndim for axis in named) if named else list(range(ndim))


def _kept(places: Tensor, axes: Sequence[int]) -> Tensor:
    for axis in axes:
        places = places.unsqueeze(axis)
    return places
