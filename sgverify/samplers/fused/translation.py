"""How are the operations of a tape translated into C loops over coordinates and chains?

A value of the tape is an array [width][chains], a constant of the row, or a constant of the target. Each operation of a definition
works coordinate by coordinate (`loops`); a sum over data has statements of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.fused.elementary import called
from sgverify.samplers.fused.loops import (
    SHARED,
    Loops,
    LoopText,
    Parted,
    Translated,
    Value,
    contraction,
    ctype,
    depending,
    only_joined,
    only_parts,
    width_of,
)
from sgverify.samplers.reading.arithmetic import contracted, joined, summed, taken
from sgverify.samplers.reading.elementary import ELEMENTARY
from sgverify.samplers.reading.tape import Operation, Tape

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "true_divide": "/"}
_REVERSED = {"rsub": "-", "__rsub__": "-"}
# A number divided by a tensor, which torch computes as the number times 1 / tensor.
_INVERTED = ("__rdiv__", "__rtruediv__")

_COMPARED = {"ne": "!=", "lt": "<", "gt": ">", "ge": ">=", "le": "<=", "eq": "==", "__eq__": "=="}

NUMBER = "="
"""What the name of an input begins with that is one number for all chains."""

LONGEST = 2_000
"""The most operations of a step that are translated; a dense matrix has two for each of its entries."""


def translate(
    tape: Tape,
    inputs: Sequence[tuple[str, Tensor]],
    prefix: str,
    *,
    offset: int = 0,
    sums: Any = None,
    wide: int | None = None,
    energies: Any = None,
    repeated: tuple[str, str] | None = None,
) -> Translated:
    """The C translation of a tape; names in C begin with `prefix`.

    `inputs` gives the C array of each input and a tensor of its shape, (S, C, width). The tape's fixed tensors lie in the C array
    `f` from `offset` on; `sums` writes sums over data. With `wide`, those in float64 lie in the C array `fw` from `wide` on.
    An input whose name begins with `NUMBER` is a C expression of one number for all chains. `repeated` names an input, and text
    that opens a loop, which the caller closes: what depends on the input stands within. Raises `Unreached`.
    """
    writer = _written(tape, inputs, prefix, offset, repeated, sums=sums, wide=wide, energies=energies)
    results = [writer.values[name] for name in tape.outputs]
    if not all(value.array for value in results):
        raise Unreached("a step that returns a number")
    return Translated(
        [writer.loops.read(value, 0, None) for value in results],
        [value.width for value in results],
        writer.loops.text,
    )


def translate_in_parts(
    tape: Tape, inputs: Sequence[tuple[str, Tensor]], prefix: str, *, offset: int = 0
) -> Parted | None:
    """The C translation of a tape of one result, in two parts; None if its result is not made by the last loop.

    Arguments as for `translate`. A caller that runs the first part for several values of an input can run the last loop for all.
    """
    writer = _written(tape, inputs, prefix, offset)
    (name,) = tape.outputs
    return writer.loops.in_parts(writer.values[name])


def _written(
    tape: Tape,
    inputs: Sequence[tuple[str, Tensor]],
    prefix: str,
    offset: int,
    repeated: tuple[str, str] | None = None,
    **more: Any,
) -> _Writer:
    if len(tape.lines) > LONGEST:
        raise Unreached(f"{len(tape.lines)} operations in a step are too many for a C compiler")
    writer = _Writer(tape, inputs, prefix, offset, **more)
    name, opening = repeated or ("", "")
    within = depending(tape, [f"x{number}" for number, (array, _) in enumerate(inputs) if array == name])
    for line in tape.lines:
        if line.name not in within:
            writer.add(line)
    if repeated is not None:
        writer.loops.append(LoopText([], opening))
    for line in tape.lines:
        if line.name in within:
            writer.add(line)
    return writer


class _Writer:
    def __init__(
        self,
        tape: Tape,
        inputs: Sequence[tuple[str, Tensor]],
        prefix: str,
        start: int,
        sums: Any = None,
        wide: int | None = None,
        energies: Any = None,
    ) -> None:
        self._space, self._prefix, self._sums, self._energies = tape.space, prefix, sums, energies
        self._only_parts = only_parts(tape)
        self.values: dict[str, Value] = {}
        self.loops = Loops(prefix, only_joined(tape))
        self._changed: set[str] = set()
        for number, (array, like) in enumerate(inputs):
            alike = array.startswith(NUMBER)
            self.values[f"x{number}"] = (
                Value(0, tuple(like.shape), text=array.removeprefix(NUMBER))
                if alike
                else Value(like.shape[-1], tuple(like.shape), array)
            )
        for number, constant in enumerate(tape.constants):
            shape = () if constant.value.shape[1] == 1 else (constant.value.shape[1], 1, 1)
            self.values[f"c{number}"] = Value(0, shape, text=f"c[{number}]")
        starts = {"f": start, "fw": wide or 0}
        for number, tensor in enumerate(tape.fixed):
            name = "f" if wide is None or tensor.dtype != torch.float64 else "fw"
            width = tensor.shape[-1] if tensor.ndim == 1 else 0
            array, place = f"{SHARED}{name}" if tensor.ndim else "", starts[name]
            self.values[f"f[{number}]"] = Value(width, tuple(tensor.shape), array, place, f"{name}[{place}]")
            starts[name] += tensor.numel()

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
                self.values[line.name] = Value(
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
        elif operation == "clamp" and len(line.given) == 2 and line.given[1].startswith("max="):
            bound = self._value(line.given[1].removeprefix("max="))
            self._apply(line, (self._value(line.given[0]), bound), "({0} > {1} ? {1} : {0})")
        elif operation in _COMPARED and len(line.given) == 2:
            pair = tuple(self._value(name, finite=False) for name in line.given)
            self._apply(line, pair, f"{{0}} {_COMPARED[operation]} {{1}}")
        elif operation == "where" and len(line.given) == 3:
            values = tuple(self._value(name, finite=False) for name in line.given)
            self._apply(line, values, "({0} ? {1} : {2})")
        elif operation == "maximum" and len(line.given) == 2:
            # As torch does: a NaN stays.
            self._apply(line, self._pair(line), "({0} > {1} || {0} != {0} ? {0} : {1})")
        elif operation == "bucketize":
            self._region(line)
        elif operation == "gather" and len(line.given) == 3 and self._space.get(line.given[1]) == -1:
            self._looked_up(line, line.given[0], line.given[2])
        elif operation == "double" and len(line.given) == 1:
            self._assign(line, (self._value(line.given[0]),), "")
        elif operation in ("sum_of_values", "mean_of_rows", "sample_of_energies"):
            self._energy(line)
        elif operation == "sum_of_samples":
            self._sum_of_samples(line)
        elif operation == "isfinite":
            self._apply(line, (self._value(line.given[0]),), "({0} - {0} == 0)")
        elif operation in ("expand", "expand_as", "clone", "detach"):
            self.values[line.name] = replace(self.values[line.given[0]], shape=tuple(line.result.shape))
        elif operation == "put_together":
            self._put_together(line)
        elif line.function in (contracted, joined, summed, taken):
            array = f"{ctype(line.result)} {self._prefix}{line.name}_"
            self.values[line.name] = contraction(line, array, self.values, self._space, self.loops)
        elif operation in ("sum_of_gradients", "change_of_gradients"):
            self._sum(line, operation)
        elif operation == "to" and self._asked(line.given) == [line.result.dtype]:
            self._assign(line, (self.values[line.given[0]],), "")
        else:
            raise Unreached(f"{operation} is not an operation that C repeats to the bit")

    def _asked(self, given: Sequence[str]) -> list[Any]:
        """The arguments of a call after the first one."""
        return [self._space.get(name) for name in given[1:]]

    def _pair(self, line: Operation) -> tuple[Value, Value]:
        if len(line.given) != 2:
            raise Unreached(f"{line.function.__name__} with options")
        left, right = (self._value(name) for name in line.given)
        return left, right

    def _value(self, name: str, *, finite: bool = True) -> Value:
        if name in self.values:
            return self.values[name]
        number = self._space.get(name)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise Unreached(f"an operation with {number!r}")
        if abs(number) == float("inf") and not finite:
            return Value(0, (), text="__builtin_inf()" if number > 0 else "-__builtin_inf()")
        if number != number or abs(number) == float("inf"):
            raise Unreached(f"an operation with {number!r}")
        return Value(0, (), text=float(number).hex())

    def _part(self, line: Operation) -> Value:
        """Some coordinates of a value."""
        value = self.values.get(line.given[0])
        (place,) = self._asked(line.given)
        if line.given[1] in self.values:
            return self._looked_up(line, *line.given)
        shape = tuple(line.result.shape)
        if value is None or not value.array:
            raise Unreached("a part of a number")
        if place == (Ellipsis, None) and len(value.shape) == 2:
            return replace(value, shape=shape)
        if (
            not (isinstance(place, tuple) and len(place) == 2 and place[0] is Ellipsis)
            or len(value.shape) != 3
        ):
            raise Unreached(f"a part {place!r} of a value")
        chosen = place[1]
        whole = range(value.width)
        if value.deferred is not None and isinstance(chosen, slice):
            return self._deferred_part(line, value.deferred, whole[chosen][0])
        if isinstance(chosen, int) and not isinstance(chosen, bool):
            return Value(1, shape, value.array, value.offset + whole[chosen])
        if isinstance(chosen, slice) and chosen.step in (None, 1) and len(whole[chosen]):
            return Value(len(whole[chosen]), shape, value.array, value.offset + whole[chosen].start)
        raise Unreached(f"a part {place!r} of a value")

    def _deferred_part(
        self, line: Operation, deferred: tuple[Operation, tuple[Value, Value], str], place: int
    ) -> Value:
        """One coordinate of the result of a deferred operation."""
        _, operands, sign = deferred
        shape = tuple(line.result.shape)
        parts = [
            replace(value, width=1, shape=shape, offset=value.offset + place) if value.width > 1 else value
            for value in operands
        ]
        self._assign(line, (parts[0], parts[1]), sign)
        return self.values[line.name]

    def _sum(self, line: Operation, operation: str) -> None:
        """A sum over data, by statements of its own."""
        if self._sums is None:
            raise Unreached("a sum over data in a test function")
        point, source = line.given
        theta, name = self.loops.stored_array(self.values[point]), f"{self._prefix}{line.name}_"
        data = self.values[source].array if source in self.values else ""
        if operation == "sum_of_gradients":
            self.loops.append(self._sums.write(theta, data, name))
        else:
            self.loops.append(self._sums.write_change(theta, data, name, again=data in self._changed))
            self._changed.add(data)
        self.values[line.name] = Value(line.result.shape[-1], tuple(line.result.shape), name)

    def _energy(self, line: Operation) -> None:
        """A part of an energy that comes from data, by statements of its own."""
        if self._energies is None:
            raise Unreached("an energy over data in a step")
        operation = line.function.__name__
        *points, source = line.given
        theta = self.loops.stored_array(self.values[points[0]]) if points else ""
        data, name = self.values[source].array if source in self.values else "", f"{self._prefix}{line.name}_"
        self.loops.append(self._energies.write(operation, theta, data, name))
        shape = tuple(line.result.shape)
        self.values[line.name] = Value(width_of(shape), shape, name)

    def _sum_of_samples(self, line: Operation) -> None:
        """The sum over the first axis of a value of shape (r, S, C, 1), which has r coordinates in C."""
        value, name = self._value(line.given[0]), f"{self._prefix}{line.name}_"
        if len(value.shape) != 4:
            raise Unreached("a sum over another axis than that of samples")
        array = self.loops.stored_array(value)
        text = (
            f"memset({name}, 0, sizeof {name});\n"
            f"for (int j = 0; j < {value.width}; j++) EACH(l) {name}[0][l] = {name}[0][l] + {array}[j][l];"
        )
        self.loops.append(LoopText([f"{ctype(line.result)} {name}[1][WIDTH];"], text))
        self.values[line.name] = Value(1, tuple(line.result.shape), name)

    def _region(self, line: Operation) -> None:
        """The number of edges below a value, NaN counting as above all; the edges are a vector of constants."""
        value, edges = self._value(line.given[0]), self.values.get(line.given[1])
        options = {name.partition("=")[0]: self._space.get(name.partition("=")[2]) for name in line.given[2:]}
        if edges is None or not edges.array.startswith(SHARED) or options != {"right": False}:
            raise Unreached("regions of other kinds")
        name, array = f"{self._prefix}{line.name}_", f"{edges.array[1:]}[{edges.offset} + i]"
        text = (
            f"memset({name}, 0, sizeof {name});\n{{ const int j = 0; for (int i = 0; i < {edges.width}; i++) EACH(l) "
            f"{name}[0][l] += !({array} >= {self.loops.read(value, 1, None)}); }}"
        )
        self.loops.append(LoopText([f"i64 {name}[1][WIDTH];"], text))
        self.values[line.name] = Value(1, tuple(line.result.shape), name)

    def _looked_up(self, line: Operation, table: str, index: str) -> Value:
        """The entry of a vector at a place that differs from chain to chain."""
        value, place = self._value(table), self.values[index]
        if line.result.shape[-1] != 1 or not value.array or value.width < 1:
            raise Unreached("a look-up of several entries")
        name, at = f"{self._prefix}{line.name}_", self.loops.read(place, 1, None)
        shared = value.array.startswith(SHARED)
        array = value.array[1:] if shared else self.loops.stored_array(value)
        entry = f"{array}[{value.offset} + {at}]" if shared else f"{array}[{at}][l]"
        kind = ctype(line.result)
        text = f"{{ const int j = 0; EACH(l) {name}[0][l] = {entry}; }}"
        self.loops.append(LoopText([f"{kind} {name}[1][WIDTH];"], text))
        self.values[line.name] = Value(1, tuple(line.result.shape), name)
        return self.values[line.name]

    def _put_together(self, line: Operation) -> None:
        """The vector of some numbers at their coordinates, added to a vector or to 0."""
        _, whole, places, *numbers = line.given
        width, name = line.result.shape[-1], f"{self._prefix}{line.name}_"
        base = self.values.get(whole)
        first = "0" if base is None else self.loops.read(base, width, None)
        lines = [f"for (int j = 0; j < {width}; j++) EACH(l) {name}[j][l] = {first};"]
        kind = ctype(line.result)
        for place, given in zip(self._space[places], numbers, strict=True):
            value = self.loops.read(self._value(given), 1, None)
            sign = "=" if base is None else "+="
            lines.append(f"{{ const int j = 0; EACH(l) {name}[{place}][l] {sign} ({kind}){value}; }}")
        self.loops.append(LoopText([f"{kind} {name}[{width}][WIDTH];"], "\n".join(lines)))
        self.values[line.name] = Value(width, tuple(line.result.shape), name)

    def _assign(self, line: Operation, given: tuple[Value, ...], operation: str) -> None:
        """An operation that is written between or before its operands."""
        self._apply(
            line, given, f" {operation} ".join(("{0}", "{1}")) if len(given) == 2 else f"{operation}({{0}})"
        )

    def _apply(self, line: Operation, given: tuple[Value, ...], form: str) -> None:
        """An operation in a loop over coordinates and chains; `form` has a place for each operand."""
        shape = tuple(line.result.shape)
        width, samples = width_of(shape), len(shape) == 4
        for value in given:
            # A number or a vector of the target combines with states only, a test function's value with other values of its kind.
            fixed = value.array in (f"{SHARED}f", f"{SHARED}fw")
            alike = len(value.shape) == len(shape) or (samples and value.width == 1 and len(value.shape) == 3)
            if value.width and not fixed and not alike:
                raise Unreached("values of different shapes")
            if fixed and (value.width == 0 or len(shape) != 3):
                raise Unreached("a matrix of the target as a whole")
            if value.width not in (0, 1, width):
                raise Unreached("values of different widths")
        if (
            len(shape) not in (2, 3, 4)
            or (samples and shape[-1] != 1)
            or (len(shape) == 2 and any(value.shape for value in given if not value.width))
        ):
            raise Unreached(f"a value of shape {shape}")
        name = f"{self._prefix}{line.name}"
        self.loops.add(ctype(line.result), name, given, width, form)
        self.values[line.name] = Value(width, shape, name)
