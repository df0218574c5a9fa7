"""Which C text runs a recorded definition, with what a composite does between its steps?

The text is that of `variates.c` and `steps.c`, with the recorded step of all replicas, the recorded actions and test functions in
their places; `compiler` builds it. It serves every run with the same operations on the same target.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sgverify.errors import Unreached
from sgverify.samplers.fused.composites.energies import EnergyText
from sgverify.samplers.fused.composites.rule import FRESH, Action, EnergyStream
from sgverify.samplers.fused.data_sums import SumText
from sgverify.samplers.fused.elementary import with_functions
from sgverify.samplers.fused.loops import TapeAt, Translated
from sgverify.samplers.fused.shape import KernelShape, c_text, definitions
from sgverify.samplers.fused.translation import translate
from sgverify.samplers.randomness.philox import ROWS
from sgverify.samplers.reading.tape import Tape

_GIVEN = {
    **dict.fromkeys(("rows", "chains", "first_chain", "first", "count", "fresh"), "i64"),
    **dict.fromkeys(("noise_stride", "batch_stride", "constants_stride", "size"), "i64"),
    "bound": "double",
    **dict.fromkeys(("noise_keys", "batch_keys", "uniform_keys"), "const u64 *"),
    **dict.fromkeys(("before", "after", "kept_values"), "void *const *"),
    **dict.fromkeys(("constants", "f", "offset", "data_weights"), "const real *"),
    **dict.fromkeys(("data", "data_across"), "const real *restrict"),
    **dict.fromkeys(("handed", "added", "energy_data", "energy_whole", "energy_weights"), "const real *"),
    **dict.fromkeys(("fw", "deviations", "energy_rows", "numbers"), "const double *"),
    **dict.fromkeys(("weights", "sums_before"), "const double *"),
    **dict.fromkeys(("sums_after", "put"), "double *"),
    **dict.fromkeys(("counted", "kept"), "const uint8_t *"),
    "indices": "const uint32_t *",
    "drawn": "const struct drawn *",
    "table": "real *",
}
"""What a call of a kernel is given, with the types in C; see `steps.c`."""

_IN_PYTHON: dict[str, Any] = {"i64": ctypes.c_int64, "double": ctypes.c_double}


class KernelCall(ctypes.Structure):
    """What a call of a kernel is given; an array that is left out is NULL."""

    _fields_ = tuple((name, _IN_PYTHON.get(kind, ctypes.c_void_p)) for name, kind in _GIVEN.items())


@dataclass(frozen=True)
class Variable:
    """A variable that a kernel holds for every chain: its name in C, dtype and width."""

    name: str
    dtype: torch.dtype
    width: int

    def kind(self, real: torch.dtype) -> str:
        """Its type in C, where `real` is the dtype of states."""
        return "real" if self.dtype == real else "double"


class FixedTensors:
    """The fixed tensors of a kernel's tapes, side by side: those of the states' dtype `real`, and others in float64."""

    def __init__(self, real: torch.dtype) -> None:
        self._real = real
        self._tensors: list[Tensor] = []

    def put(self, at: TapeAt) -> TapeAt:
        """The tape with the places of its fixed tensors after those of the tapes before. Raises `Unreached`."""
        narrow, wide = (sum(tensor.numel() for tensor in part) for part in self._parts())
        self._tensors += at.tape.fixed
        kinds = {tensor.dtype for tensor in at.tape.fixed} - {self._real, torch.float64}
        if kinds:
            raise Unreached(f"a constant in {kinds.pop()}")
        return replace(at, narrow=narrow, wide=None if self._real == torch.float64 else wide)

    def flat(self) -> list[Tensor]:
        """Both rows, each with a 0 at its end, so that there is always one entry."""
        kinds = (self._real, torch.float64)
        return [
            torch.cat([*(tensor.flatten() for tensor in part), torch.zeros(1, dtype=kind)]).contiguous()
            for part, kind in zip(self._parts(), kinds, strict=True)
        ]

    def _parts(self) -> list[list[Tensor]]:
        return [
            [tensor for tensor in self._tensors if (tensor.dtype == self._real) is same]
            for same in (True, False)
        ]


@dataclass(frozen=True)
class Program:
    """What a kernel runs: the step of all replicas, what is renewed before it, the actions after it, and test functions, or None.

    It holds the `states` of all replicas and what else is `held`, of which some are `kept`. `sums` and `energies` write sums over
    data, energies of actions on the minibatches of `streams`.
    """

    shape: KernelShape
    states: Sequence[Variable]
    held: Sequence[Variable]
    kept: Sequence[Variable]
    step: TapeAt
    begin: Action | None
    actions: Sequence[Action]
    observe: TapeAt | None
    sums: SumText | None
    energies: EnergyText | None
    streams: Sequence[EnergyStream]

    @property
    def key(self) -> tuple[Any, ...]:
        """What decides the text."""
        actions = [action for action in (self.begin, *self.actions) if action is not None]
        sums, energies = self.sums, self.energies
        return (
            replace(self.shape, chains=range(0)),
            self.shape.width,
            (*self.states, *self.held),
            tuple(self.kept),
            self.step.key,
            self.observe and self.observe.key,
            tuple((action.when, action.at.key, *action.changed) for action in actions),
            sums and sums.key,
            energies and energies.key,
            tuple((stream.event, stream.each * stream.batch) for stream in self.streams),
        )

    @property
    def tapes(self) -> list[Tape]:
        """All tapes."""
        actions = [action for action in (self.begin, *self.actions) if action is not None]
        placed = [self.step, self.observe, None if self.energies is None else self.energies.sample]
        found = [at.tape for at in (*placed, *(action.at for action in actions)) if at is not None]
        return found + [
            part.body for part in (self.sums, self.energies) if part is not None and part.body is not None
        ]

    @property
    def text(self) -> str:
        """The C text. Raises `Unreached`."""
        shape, everything, step = self.shape, [*self.states, *self.held], self.step
        moved = _translated(step, "step_", sums=self.sums, energies=self.energies)
        if moved.widths != [variable.width for variable in self.states]:
            raise Unreached("a step that changes the width of a variable")
        observed = 0 if self.observe is None else len(self.observe.tape.outputs)
        each = max(1, observed // shape.replicas)
        parts = {
            "DECLARE_GIVEN": "struct given {\n" + "\n".join(f"{t} {n};" for n, t in _GIVEN.items()) + "\n};",
            "GIVEN": "\n".join(f"{kind} const {name} = given->{name};" for name, kind in _GIVEN.items()),
            "DECLARE_STATE": "\n".join(
                f"{self._kind(v)} {v.name}[{v.width}][WIDTH], N{v.name}[{v.width}][WIDTH];"
                for v in everything
            ),
            "LOAD_STATE": "\n".join(
                f"memset({v.name}, 0, sizeof {v.name});"
                + _each(v, f"{v.name}[j][l] = ((const {self._kind(v)} *)before[{place}])[{_place(v)}];")
                for place, v in enumerate(everything)
            ),
            "BEGIN": self._begin(),
            "ENTER": "enter_minibatches(own_table, size, from, to, places, entering, Q0_0);" * shape.table,
            "STEP": _moved(moved, self.states),
            "CHECK_STATE": "\n".join(
                _each(v, f"left |= !(FABS({v.name}[j][l]) <= (real)bound);") for v in self.states
            ),
            "ACT": self._act(),
            "OBSERVE": self._observe(each),
            "KEEP": "\n".join(
                f"if (kept_values[{place}]) "
                + _each(
                    v,
                    f"(({self._kind(v)} *)kept_values[{place}])[((kept_so_far * chains) + at + l) * {v.width} + j] = "
                    f"{v.name}[j][l];",
                )
                for place, v in enumerate(self.kept)
            ),
            "STORE_STATE": "\n".join(
                _each(v, f"(({self._kind(v)} *)after[{place}])[{_place(v)}] = {v.name}[j][l];")
                for place, v in enumerate(everything)
            ),
        }
        lines = [
            *definitions(shape, len(step.tape.constants), observed),
            f"#define APART {len(self.streams)}",
            f"#define SUMMED(o) (((o) % {each} * rows + s) * REPLICAS + (o) / {each})",
            c_text("variates.c"),
        ]
        for line in c_text("steps.c").splitlines():
            lines.append(parts.get(line.strip(), line))
        return with_functions(off_the_stack("\n".join(lines) + "\n"))

    def _begin(self) -> str:
        """What gradients carry is renewed."""
        shape, begin = self.shape, self.begin
        if shape.table:
            assert self.sums is not None
            fill, sums = self.sums.write_table("X0_0"), "sum_table(own_table, size, from, to, Q0_0);"
            return f"if {FRESH} {{\n{fill}\n}}\nif ({FRESH} || (first + k) % {shape.refresh} == 0) {sums}"
        if begin is None:
            return ""
        return f"if ({begin.when})" + self._changed(begin, "begin_", sums=self.sums)

    def _act(self) -> str:
        acts = []
        for number, action in enumerate(self.actions):
            uniforms = sorted({name for name, _ in action.at.inputs if name.startswith("U")})
            drawn = [
                f"double {name}[1][WIDTH]; take_uniforms(&uniform[{name[1:]}], first + k, from, to, "
                f"put ? put + ((k * rows + s) * REPLICAS + {name[1:]}) * chains + at : 0, {name}[0]);"
                for name in uniforms
            ]
            body = self._changed(action, f"act{number}_", energies=self.energies)
            acts.append("\n".join([f"if ({action.when}) {{", *drawn, body, "}"]))
        acts += [
            f"if ({stream.event}) apart[{number}].used += {stream.each * stream.batch};"
            for number, stream in enumerate(self.streams)
        ]
        return "\n".join(acts)

    def _changed(self, action: Action, prefix: str, **more: Any) -> str:
        by_name = {variable.name: variable for variable in (*self.states, *self.held)}
        return _moved(_translated(action.at, prefix, **more), [by_name[name] for name in action.changed])

    def _observe(self, each: int) -> str:
        """The test functions of the replicas that count are added, each with the weight of its row."""
        if self.observe is None:
            return ""
        seen = _translated(self.observe, "seen_")
        place = [f"(k * rows + s) * REPLICAS + {r}" for r in range(self.shape.replicas)]
        weights = [f"const double weight{r} = weights[{at}];" for r, at in enumerate(place)]
        adding = [
            f"if (counted[{place[o // each]}]) sums[{o}][l] "
            + (f"= {value};" if self.shape.weighted else f"+= {value} * weight{o // each};")
            for o, value in enumerate(seen.results)
        ]
        counted = " || ".join(f"counted[{at}]" for at in place)
        loop = ["const int j = 0;", "for (int l = from; l < to; l++) {", *adding, "}"]
        return "\n".join([f"if ({counted}) {{", *weights, seen.text, *loop, "}"])

    def _kind(self, variable: Variable) -> str:
        return variable.kind(self.shape.dtype)


def _translated(at: TapeAt, prefix: str, **how: Any) -> Translated:
    return translate(at.tape, at.inputs, prefix, offset=at.narrow, wide=at.wide, **how)


def _moved(moved: Translated, variables: Sequence[Variable]) -> str:
    """Statements that compute the new values of variables and then put them in place of the old ones."""
    news = "\n".join(
        f"for (int j = 0; j < {v.width}; j++) EACH(l) {{ N{v.name}[j][l] = {result}; }}"
        for v, result in zip(variables, moved.results, strict=True)
    )
    copies = "\n".join(f"memcpy({v.name}, N{v.name}, sizeof {v.name});" for v in variables)
    return "{\n" + moved.text + "\n" + news + "\n" + copies + "\n}"


def _each(variable: Variable, body: str) -> str:
    return f"for (int j = 0; j < {variable.width}; j++) for (int l = from; l < to; l++) {{ {body} }}"


def _place(variable: Variable) -> str:
    return f"(s * {variable.width} + j) * chains + at + l"


MOST_ON_STACK = 1 << 17
"""The most bytes of arrays that a kernel keeps on the stack, of which threads may have little."""

_ARRAYS = re.compile(
    r"^(\s*)((?:real|double|float) (\w+(?:\[[^\]]*\])+(?:, \w+(?:\[[^\]]*\])+)*);)", re.MULTILINE
)


def off_the_stack(text: str) -> str:
    """The C text with those arrays in memory of the thread's own with which the others would take more than `MOST_ON_STACK`.

    Arrays of blocks that do not lie within one another share their place.
    """
    sizes = {"CELL": 2 * ROWS, **dict(re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE))}
    held, lines = [0], []
    for line in text.splitlines():
        found = _ARRAYS.match(line)
        if found:
            needed = 0
            for array in found[3].split(", "):
                lengths = [length.split(" + ") for length in re.findall(r"\[([^\]]*)\]", array)]
                needed += 8 * math.prod(
                    sum(int(sizes.get(part, part)) for part in parts) for parts in lengths
                )
            if sum(held) + needed > MOST_ON_STACK:
                line = f"{found[1]}static _Thread_local {line[len(found[1]) :]}"
            else:
                held[-1] += needed
        for brace in re.findall(r"[{}]", line):
            held = [*held, 0] if brace == "{" else held[:-1] or [0]
        lines.append(line)
    return "\n".join(lines) + "\n"
