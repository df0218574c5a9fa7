"""How are the operations of a tape translated into C loops over coordinates and chains?

A value of the tape is an array [width][chains], a constant of the row, or a constant of the target. Each operation of a definition
works coordinate by coordinate. A loop holds as many operations as depend on no other coordinate. Between two loops there may be
statements of another kind, such as a sum over data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from sgverify.samplers.fused.elementary import called
from sgverify.samplers.reading.elementary import ELEMENTARY
from sgverify.samplers.reading.tape import Operation, Tape

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "true_divide": "/"}
_REVERSED = {"rsub": "-", "__rsub__": "-"}
# A number divided by a tensor, which torch computes as the number times 1 / tensor.
_INVERTED = ("__rdiv__", "__rtruediv__")

LONGEST = 2_000
"""The most operations of a step that are translated; a dense matrix has two for each of its entries."""


class NotTranslatable(Exception):
    """Raised for an operation that C would not reproduce to the bit, or that has no translation."""


@dataclass(frozen=True)
class Translated:
    """The results of a tape as C expressions in a loop over j and l, their widths, and the statements before that loop."""

    results: list[str]
    widths: list[int]
    text: str


@dataclass(frozen=True)
class Parted:
    """A translation in two parts: `text` computes the `arrays` (type, name, width) that a last loop over j and l reads.

    In the last loop stand `lines`, of which the expression `result` is the value of the tape.
    """

    arrays: list[tuple[str, str, int]]
    text: str
    lines: list[str]
    result: str


@dataclass(frozen=True)
class LoopText:
    """Statements that compute a value, and the declarations of the arrays that they need."""

    arrays: list[str]
    text: str


class SumWriter(Protocol):
    """Writes the statements of a sum over data."""

    def write(self, theta: str, source: str, result: str) -> LoopText:
        """The statements that put the sum at the array `theta` into the array `result`; `source` names the data."""


SHARED = "@"
"""What the name of an array begins with if all chains share its numbers, one for each coordinate."""


@dataclass(frozen=True)
class _Value:
    """The value behind a name of the tape.

    `array` is the C array that holds the value, in `width` coordinates from `offset` on. The width is 0 for a number that is
    equal for all coordinates and chains (then `text`), and for a matrix of the target.
    """

    width: int
    shape: tuple[int, ...]
    array: str = ""
    offset: int = 0
    text: str = ""
    # The operation and its operands, if only single coordinates are ever used: each is computed where it is used.
    deferred: tuple[Operation, tuple[_Value, _Value], str] | None = None


def translate(
    tape: Tape,
    inputs: Sequence[tuple[str, Tensor]],
    prefix: str,
    *,
    offset: int = 0,
    sums: SumWriter | None = None,
) -> Translated:
    """The C translation of a tape; names in C begin with `prefix`.

    `inputs` gives the C array of each input and a tensor of its shape, (S, C, width). The tape's fixed tensors lie in the C array
    `f` from `offset` on; `sums` writes sums over data. Raises `NotTranslatable`.
    """
    writer = _written(tape, inputs, prefix, offset, sums)
    results = [writer.values[name] for name in tape.outputs]
    if not all(value.array for value in results):
        raise NotTranslatable("a step that returns a number")
    return Translated(
        [writer.read(value, 0, None) for value in results], [value.width for value in results], writer.text
    )


def translate_in_parts(
    tape: Tape, inputs: Sequence[tuple[str, Tensor]], prefix: str, *, offset: int = 0
) -> Parted | None:
    """The C translation of a tape of one result, in two parts; None if its result is not made by the last loop.

    Arguments as for `translate`. A caller that runs the first part for several values of an input can run the last loop for all.
    """
    writer = _written(tape, inputs, prefix, offset, None)
    (name,) = tape.outputs
    return writer.in_parts(writer.values[name])


def _written(
    tape: Tape, inputs: Sequence[tuple[str, Tensor]], prefix: str, offset: int, sums: SumWriter | None
) -> _Writer:
    if len(tape.lines) > LONGEST:
        raise NotTranslatable(f"{len(tape.lines)} operations in a step are too many for a C compiler")
    writer = _Writer(tape, inputs, prefix, offset, sums)
    for line in tape.lines:
        writer.add(line)
    return writer


@dataclass
class _Loop:
    """The operations (type, name, expression) of one loop, all on the same number of coordinates."""

    width: int
    lines: list[tuple[str, str, str]]


class _Writer:
    def __init__(
        self,
        tape: Tape,
        inputs: Sequence[tuple[str, Tensor]],
        prefix: str,
        start: int,
        sums: SumWriter | None,
    ) -> None:
        self._space, self._prefix, self._sums = tape.space, prefix, sums
        self._only_parts = _only_parts(tape)
        self.values: dict[str, _Value] = {}
        self._loops: list[_Loop | LoopText] = []
        self._own: set[str] = set()
        self._stored: set[str] = set()
        for number, (array, like) in enumerate(inputs):
            self.values[f"x{number}"] = _Value(like.shape[-1], tuple(like.shape), array)
        for number, constant in enumerate(tape.constants):
            shape = () if constant.value.shape[1] == 1 else (constant.value.shape[1], 1, 1)
            self.values[f"c{number}"] = _Value(0, shape, text=f"c[{number}]")
        for number, tensor in enumerate(tape.fixed):
            width = tensor.shape[-1] if tensor.ndim == 1 else 0
            array = f"{SHARED}f" if tensor.ndim else ""
            self.values[f"f[{number}]"] = _Value(width, tuple(tensor.shape), array, start, f"f[{start}]")
            start += tensor.numel()

    @property
    def text(self) -> str:
        """The C text of all loops, and of the arrays that they need."""
        stored, others, text = self._rendered(self._loops)
        arrays = [f"{kind} {name}[{width}][WIDTH];" for kind, name, width in stored]
        return "\n".join([*arrays, *others, text])

    def in_parts(self, result: _Value) -> Parted | None:
        """See `translate_in_parts`."""
        last = self._loops[-1] if self._loops else None
        if not isinstance(last, _Loop) or result.array not in self._own or result.offset:
            return None
        stored, others, text = self._rendered(self._loops[:-1])
        lines = [f"const {kind} {name} = {form};" for kind, name, form in last.lines]
        return Parted(stored, "\n".join([*others, text]), lines, result.array)

    def _rendered(
        self, parts: Sequence[_Loop | LoopText]
    ) -> tuple[list[tuple[str, str, int]], list[str], str]:
        """The arrays (type, name, width) that loops write to, the declarations of other arrays, and the text of the loops."""
        stored, others, loops = [], [], []
        for loop in parts:
            if isinstance(loop, LoopText):
                others += loop.arrays
                loops.append(loop.text)
                continue
            body = []
            for kind, name, text in loop.lines:
                body.append(f"const {kind} {name} = {text};")
                if name in self._stored:
                    stored.append((kind, f"{name}_", loop.width))
                    body.append(f"{name}_[j][l] = {name};")
            loops.append(f"for (int j = 0; j < {loop.width}; j++) EACH(l) {{\n" + "\n".join(body) + "\n}")
        return stored, others, "\n".join(loops)

    def read(self, value: _Value, width: int, own: set[str] | None) -> str:
        """The C expression of a value in a loop over `width` coordinates (0: any loop) that defines the names `own`."""
        if not value.array:
            return value.text
        if own and value.array in own:
            return value.array
        place = str(value.offset) if value.width == 1 else f"j + {value.offset}"
        if value.array.startswith(SHARED):
            return f"{value.array[1:]}[{place}]"
        if value.array.startswith(self._prefix) and not value.array.endswith("_"):
            self._stored.add(value.array)
            return f"{value.array}_[{place}][l]"
        return f"{value.array}[{place}][l]"

    def add(self, line: Operation) -> None:
        """Translate one operation."""
        operation = line.function.__name__
        if operation == "__getitem__":
            self.values[line.name] = self._part(line)
        elif operation in _INFIX or operation in _REVERSED:
            left, right = self._pair(line)
            if operation in _REVERSED:
                left, right = right, left
            sign = _INFIX.get(operation) or _REVERSED[operation]
            if line.name in self._only_parts and all(value.deferred is None for value in (left, right)):
                shape = tuple(line.result.shape)
                self.values[line.name] = _Value(
                    shape[-1], shape, "deferred", deferred=(line, (left, right), sign)
                )
            else:
                self._assign(line, (left, right), sign)
        elif operation == "neg" and len(line.given) == 1:
            self._assign(line, (self._value(line.given[0]),), "-")
        elif operation in _INVERTED:
            value, number = self._pair(line)
            inverse = replace(line, name=f"{line.name}_inverse")
            self._assign(inverse, (value,), "1 / ")
            self._assign(line, (self.values[inverse.name], number), "*")
        elif operation == "root" and len(line.given) == 1:
            precision = "f" if line.result.dtype == torch.float32 else ""
            self._assign(line, (self._value(line.given[0]),), f"__builtin_sqrt{precision}")
        elif line.function in ELEMENTARY and len(line.given) == 1:
            self._assign(line, (self._value(line.given[0]),), called(line.function, line.result.dtype))
        elif operation == "clamp_min" and len(line.given) == 2:
            value, bound = self._pair(line)
            # As torch does: a NaN stays.
            self._apply(line, (value, bound), "({0} < {1} ? {1} : {0})")
        elif operation in ("expand", "expand_as", "clone"):
            self.values[line.name] = replace(self.values[line.given[0]], shape=tuple(line.result.shape))
        elif operation == "put_together":
            self._put_together(line)
        elif operation == "sum_of_gradients":
            self._sum(line)
        elif operation == "to" and self._asked(line.given) == [line.result.dtype]:
            self._assign(line, (self.values[line.given[0]],), "")
        else:
            raise NotTranslatable(f"{operation} is not an operation that C repeats to the bit")

    def _asked(self, given: Sequence[str]) -> list[Any]:
        """The arguments of a call after the first one."""
        return [self._space.get(name) for name in given[1:]]

    def _pair(self, line: Operation) -> tuple[_Value, _Value]:
        if len(line.given) != 2:
            raise NotTranslatable(f"{line.function.__name__} with options")
        left, right = (self._value(name) for name in line.given)
        return left, right

    def _value(self, name: str) -> _Value:
        if name in self.values:
            return self.values[name]
        number = self._space.get(name)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise NotTranslatable(f"an operation with {number!r}")
        if number != number or abs(number) == float("inf"):
            raise NotTranslatable(f"an operation with {number!r}")
        return _Value(0, (), text=float(number).hex())

    def _part(self, line: Operation) -> _Value:
        """Some coordinates of a value."""
        value = self.values.get(line.given[0])
        (place,) = self._asked(line.given)
        shape = tuple(line.result.shape)
        if value is None or not value.array:
            raise NotTranslatable("a part of a number")
        if (
            not (isinstance(place, tuple) and len(place) == 2 and place[0] is Ellipsis)
            or len(value.shape) != 3
        ):
            raise NotTranslatable(f"a part {place!r} of a value")
        chosen = place[1]
        whole = range(value.width)
        if value.deferred is not None and isinstance(chosen, slice):
            return self._deferred_part(line, value.deferred, whole[chosen][0])
        if isinstance(chosen, int) and not isinstance(chosen, bool):
            return _Value(1, shape, value.array, value.offset + whole[chosen])
        if isinstance(chosen, slice) and chosen.step in (None, 1) and len(whole[chosen]):
            return _Value(len(whole[chosen]), shape, value.array, value.offset + whole[chosen].start)
        raise NotTranslatable(f"a part {place!r} of a value")

    def _deferred_part(
        self, line: Operation, deferred: tuple[Operation, tuple[_Value, _Value], str], place: int
    ) -> _Value:
        """One coordinate of the result of a deferred operation."""
        _, operands, sign = deferred
        shape = tuple(line.result.shape)
        parts = [
            replace(value, width=1, shape=shape, offset=value.offset + place) if value.width > 1 else value
            for value in operands
        ]
        self._assign(line, (parts[0], parts[1]), sign)
        return self.values[line.name]

    def _sum(self, line: Operation) -> None:
        """A sum over data, by statements of its own."""
        if self._sums is None:
            raise NotTranslatable("a sum over data in a test function")
        point, source = line.given
        theta, name = self._stored_array(self.values[point]), f"{self._prefix}{line.name}_"
        data = self.values[source].array if source in self.values else ""
        self._loops.append(self._sums.write(theta, data, name))
        self._own = set()
        self.values[line.name] = _Value(line.result.shape[-1], tuple(line.result.shape), name)

    def _stored_array(self, value: _Value) -> str:
        """The C array [width][chains] of a value, which is copied if it does not lie in one."""
        if value.array.startswith(SHARED):
            name = f"{self._prefix}copy{len(self._loops)}_"
            place = f"{value.array[1:]}[{value.offset} + j]"
            text = f"for (int j = 0; j < {value.width}; j++) EACH(l) {name}[j][l] = {place};"
            self._loops.append(LoopText([f"real {name}[{value.width}][WIDTH];"], text))
            return name
        if value.array.startswith(self._prefix) and not value.array.endswith("_"):
            self._stored.add(value.array)
            return f"({value.array}_ + {value.offset})"
        return f"({value.array} + {value.offset})"

    def _put_together(self, line: Operation) -> None:
        """The vector of some numbers at their coordinates, added to a vector or to 0."""
        _, whole, places, *numbers = line.given
        width, name = line.result.shape[-1], f"{self._prefix}{line.name}_"
        base = self.values.get(whole)
        first = "0" if base is None else self.read(base, width, None)
        lines = [f"for (int j = 0; j < {width}; j++) EACH(l) {name}[j][l] = {first};"]
        kind = _ctype(line.result)
        for place, given in zip(self._space[places], numbers, strict=True):
            value = self.read(self._value(given), 1, None)
            sign = "=" if base is None else "+="
            lines.append(f"{{ const int j = 0; EACH(l) {name}[{place}][l] {sign} ({kind}){value}; }}")
        self._loops.append(LoopText([f"{kind} {name}[{width}][WIDTH];"], "\n".join(lines)))
        self._own = set()
        self.values[line.name] = _Value(width, tuple(line.result.shape), name)

    def _assign(self, line: Operation, given: tuple[_Value, ...], operation: str) -> None:
        """An operation that is written between or before its operands."""
        self._apply(
            line, given, f" {operation} ".join(("{0}", "{1}")) if len(given) == 2 else f"{operation}({{0}})"
        )

    def _apply(self, line: Operation, given: tuple[_Value, ...], form: str) -> None:
        """An operation in a loop over coordinates and chains; `form` has a place for each operand."""
        shape = tuple(line.result.shape)
        width = shape[-1] if len(shape) == 3 else 1
        for value in given:
            # A number or a vector of the target combines with states only, a test function's value with other values of its kind.
            fixed = value.array == f"{SHARED}f"
            if value.width and not fixed and len(value.shape) != len(shape):
                raise NotTranslatable("values of different shapes")
            if fixed and (value.width == 0 or len(shape) != 3):
                raise NotTranslatable("a matrix of the target as a whole")
            if value.width not in (0, 1, width):
                raise NotTranslatable("values of different widths")
        if len(shape) not in (2, 3) or (
            len(shape) == 2 and any(value.shape for value in given if not value.width)
        ):
            raise NotTranslatable(f"a value of shape {shape}")
        apart = any(value.array in self._own and (value.offset or value.width != width) for value in given)
        loop = self._loops[-1] if self._loops else None
        if not isinstance(loop, _Loop) or width != loop.width or apart:
            loop = _Loop(width, [])
            self._loops.append(loop)
            self._own = set()
        kind, name = _ctype(line.result), f"{self._prefix}{line.name}"
        # The operands of a test function may be float32 states, which are converted to float64 first.
        parts = [f"({kind}){self.read(value, width, self._own)}" for value in given]
        loop.lines.append((kind, name, form.format(*parts)))
        self._own.add(name)
        self.values[line.name] = _Value(width, shape, name)


def _only_parts(tape: Tape) -> set[str]:
    """The values of several coordinates of which only single coordinates are used, each once."""
    single, other = Counter[str](), {*tape.outputs}
    for line in tape.lines:
        place = tape.space.get(line.given[-1]) if line.function.__name__ == "__getitem__" else None
        if (
            isinstance(place, tuple)
            and len(place) == 2
            and isinstance(place[1], slice)
            and line.result.ndim == 3
        ):
            single[f"{line.given[0]} {place[1]}"] += 1
            if line.result.shape[-1] != 1:
                other.add(line.given[0])
        else:
            other.update(name.partition("=")[2] or name for name in line.given)
    repeated = {key.split()[0] for key, count in single.items() if count > 1}
    return {key.split()[0] for key in single} - other - repeated


def _ctype(tensor: Tensor) -> str:
    return {torch.float64: "double", torch.float32: "float"}[tensor.dtype]
