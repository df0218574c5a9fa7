"""Which C loops hold the operations of a tape, and which arrays do they read and write?

A loop runs over the coordinates j and the chains l; it holds as many operations as depend on no other coordinate. A value that a
later loop reads is stored in an array [width][chains]. Between two loops there may be statements of another kind: sums over data,
or operations that choose, join or contract coordinates (`arithmetic`), whose terms are added one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.reading.arithmetic import Places, contracted, joined, progression
from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.tape import Operation, Tape, record


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


@dataclass(frozen=True)
class TapeAt:
    """A tape with its inputs in C, and where its constants begin in the arrays of the states' dtype and of float64."""

    tape: Tape
    inputs: Sequence[tuple[str, Tensor]]
    narrow: int = 0
    wide: int | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides its text."""
        shapes = tuple((name, tuple(tensor.shape), tensor.dtype) for name, tensor in self.inputs)
        fixed = tuple((tuple(tensor.shape), tensor.dtype) for tensor in self.tape.fixed)
        return self.tape.key, shapes, fixed, self.narrow, self.wide


def taped(
    function: Callable[[], Sequence[Tensor]], inputs: Iterable[tuple[str, Tensor]], clock: Clock | None = None
) -> TapeAt:
    """The operations of a function of these inputs, recorded after a run of it: then its constants exist."""
    function()
    named = list(inputs)
    return TapeAt(record(function, [value for _, value in named], (), clock or Clock())[0], named)


TERMS = 8
"""The terms of a sum in one statement; between two statements the sum is stored."""

SHARED = "@"
"""What the name of an array begins with if all chains share its numbers, one for each coordinate."""


@dataclass(frozen=True)
class Value:
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
    deferred: tuple[Operation, tuple[Value, Value], str] | None = None


@dataclass
class Loop:
    """The operations (type, name, expression) of one loop, all on the same number of coordinates."""

    width: int
    lines: list[tuple[str, str, str]]


class Loops:
    """The loops of one tape, in order; names in C begin with `prefix`.

    Products that are only joined to others (`only_joined`) are `written_once`: to their place among the others.
    """

    def __init__(self, prefix: str, written_once: Collection[str] = ()) -> None:
        self._prefix, self.written_once = prefix, written_once
        self._loops: list[Loop | LoopText] = []
        self._own: set[str] = set()
        self._stored: set[str] = set()

    def add(self, kind: str, name: str, operands: Sequence[Value], width: int, form: str) -> None:
        """Put an operation on `width` coordinates in the last loop, or in a new one; `form` has a place for each operand."""
        apart = any(value.array in self._own and (value.offset or value.width != width) for value in operands)
        loop = self._loops[-1] if self._loops else None
        if not isinstance(loop, Loop) or width != loop.width or apart:
            loop = Loop(width, [])
            self._loops.append(loop)
            self._own = set()
        # The operands of a test function may be float32 states, which are converted to float64 first.
        parts = [f"({kind}){self.read(value, width, self._own)}" for value in operands]
        loop.lines.append((kind, name, form.format(*parts)))
        self._own.add(name)

    def append(self, statements: LoopText) -> None:
        """Statements of another kind, after which a new loop begins."""
        self._loops.append(statements)
        self._own = set()

    @property
    def text(self) -> str:
        """The C text of all loops, and of the arrays that they need."""
        stored, others, text = self._rendered(self._loops)
        arrays = [f"{kind} {name}[{width}][WIDTH];" for kind, name, width in stored]
        return "\n".join([*arrays, *others, text])

    def in_parts(self, result: Value) -> Parted | None:
        """The loops in two parts, the second being the last loop; None if the result is not made there."""
        last = self._loops[-1] if self._loops else None
        if not isinstance(last, Loop) or result.array not in self._own or result.offset:
            return None
        stored, others, text = self._rendered(self._loops[:-1])
        lines = [f"const {kind} {name} = {form};" for kind, name, form in last.lines]
        return Parted(stored, "\n".join([*others, text]), lines, result.array)

    def _rendered(
        self, parts: Sequence[Loop | LoopText]
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

    def read(self, value: Value, width: int, own: set[str] | None) -> str:
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

    def stored_array(self, value: Value) -> str:
        """The C array [width][chains] of a value, which is copied if it does not lie in one."""
        if value.array.startswith(SHARED):
            name = f"{self._prefix}copy{len(self._loops)}_"
            place = f"{value.array[1:]}[{value.offset} + j]"
            text = f"for (int j = 0; j < {value.width}; j++) EACH(l) {name}[j][l] = {place};"
            self.append(LoopText([f"real {name}[{value.width}][WIDTH];"], text))
            return name
        if value.array.startswith(self._prefix) and not value.array.endswith("_"):
            self._stored.add(value.array)
            return f"({value.array}_ + {value.offset})"
        return f"({value.array} + {value.offset})"


def only_parts(tape: Tape) -> set[str]:
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


def only_joined(tape: Tape) -> set[str]:
    """The products of coordinates, not summed, that are used once, by being joined to others."""
    uses = Counter([*tape.outputs, *(name for line in tape.lines for name in line.given)])
    joins = {name for line in tape.lines if line.function is joined for name in line.given}
    products = [line for line in tape.lines if line.function is contracted]
    single = {line.name for line in products if len(tape.space[line.given[-1]]) == 1}
    return {name for name in joins & single if uses[name] == 1}


def depending(tape: Tape, inputs: Sequence[str]) -> set[str]:
    """The results of a tape that depend on some of these inputs."""
    found = set(inputs)
    for line in tape.lines:
        if found & {name.partition("=")[2] or name for name in line.given}:
            found.add(line.name)
    return found


def width_of(shape: Sequence[int]) -> int:
    """The coordinates of a value in C: those of a vector, or the samples of a number, shape (r, S, C, 1)."""
    return {3: shape[-1], 4: shape[0]}.get(len(shape), 1)


def ctype(tensor: Tensor) -> str:
    """The C type of a tensor's numbers."""
    # The truth of a comparison is 1 or 0; its operands must not be rounded.
    return {torch.float64: "double", torch.float32: "float", torch.bool: "double", torch.int64: "i64"}[
        tensor.dtype
    ]


def contraction(
    line: Operation, array: str, values: Mapping[str, Value], space: Mapping[str, Any], loops: Loops
) -> Value:
    """The value of an operation on several coordinates, whose statements are appended to the loops.

    `values` are those of the tape, `space` its further objects. The result lies in a new `array`, given as type and name, unless it
    is a part of a value.
    """
    read = [values[name] for name in line.given if name in values]
    places = [space[name] for name in line.given if name not in values]
    shape, operation = tuple(line.result.shape), line.function.__name__
    along = progression(places[0]) if operation == "taken" else None
    if along is not None and read[0].array and (shape[-1] == 1 or along[1] == 1):
        return replace(read[0], width=shape[-1], shape=shape, offset=read[0].offset + along[0])
    name, tables = array.split()[1], list[str]()
    entries = [_entries(value, loops) for value in read]
    if operation == "joined":
        text = "\n".join(_joined(name, entries, read))
    else:
        chosen = [(every,) if operation == "taken" else tuple(every) for every in places]
        at = [_places(f"{name}{side}", every, tables) for side, every in enumerate(chosen)]

        def term(number: int, offset: str = "") -> str:
            return " * ".join(entry(place(number, offset)) for entry, place in zip(entries, at, strict=True))

        if line.name in loops.written_once:
            loops.append(LoopText(tables, ""))
            return Value(shape[-1], shape, text=term(0))
        text = (
            f"for (int j = 0; j < {shape[-1]}; j++) {{\n{_added(f'{name}[j][l]', term, len(chosen[0]))}\n}}"
        )
    loops.append(LoopText([f"{array}[{shape[-1]}][WIDTH];", *tables], text))
    return Value(shape[-1], shape, name)


def _added(into: str, term: Callable[..., str], terms: int) -> str:
    """The statements that add so many terms, `TERMS` at a time."""
    lines = [f"EACH(l) {into} = {_sum([term(k) for k in range(min(terms, TERMS))])};"]
    blocks = terms // TERMS
    if blocks > 1:
        added = _sum([into, *(term(k, "t") for k in range(TERMS))])
        lines.append(f"for (int t = {TERMS}; t < {blocks * TERMS}; t += {TERMS}) EACH(l) {into} = {added};")
    if blocks and terms % TERMS:
        added = _sum([into, *(term(k) for k in range(blocks * TERMS, terms))])
        lines.append(f"EACH(l) {into} = {added};")
    return "\n".join(lines)


def _joined(name: str, entries: Sequence[Callable[[str], str]], read: Sequence[Value]) -> list[str]:
    first, lines = 0, []
    for entry, value in zip(entries, read, strict=True):
        lines.append(
            f"for (int j = 0; j < {max(1, value.width)}; j++) EACH(l) {name}[{first} + j][l] = {entry('j')};"
        )
        first += max(1, value.width)
    return lines


def _entries(value: Value, loops: Loops) -> Callable[[str], str]:
    """The entry of a value at a coordinate, as a C expression in the chain l."""
    if not value.array:
        return lambda place: value.text
    if value.array.startswith(SHARED):
        return lambda place: f"{value.array[1:]}[{value.offset} + {place}]"
    array = loops.stored_array(value)
    return lambda place: f"{array}[{place}][l]"


def _sum(terms: Sequence[str]) -> str:
    """The terms added from the left."""
    return " + ".join(terms)


def _places(name: str, chosen: Sequence[Places], tables: list[str]) -> Callable[[int, str], str]:
    """The coordinate that term k, further on by `offset` terms, reads for the coordinate j of the result.

    It is an affine function of both, or else an entry of a table, which is added to `tables`.
    """
    first, step = chosen[0][0], progression([every[0] for every in chosen])
    along = progression(chosen[0])
    if (
        step is not None
        and along is not None
        and all(every == tuple(every[0] + along[1] * j for j in range(len(every))) for every in chosen)
    ):

        def affine(number: int, offset: str) -> str:
            further = f" + {step[1]} * {offset}" if offset else ""
            return f"{first + step[1] * number} + {along[1]} * j{further}"

        return affine
    entries = ", ".join(str(every[j]) for j in range(len(chosen[0])) for every in chosen)
    tables.append(f"static const int {name}[] = {{{entries}}};")
    return lambda number, offset: f"{name}[{len(chosen)} * j + {number}{' + ' + offset if offset else ''}]"
