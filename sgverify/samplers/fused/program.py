"""Which C text runs a recorded definition, and which have been written in this process?

The text holds the random variates and the steps, with the recorded definition and test functions; `compiler` builds it. It serves
every run with the same operations on the same target.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from sgverify.samplers.fused.elementary import with_functions
from sgverify.samplers.fused.gradients import DataTables, padded
from sgverify.samplers.fused.loops import SumWriter, Translated
from sgverify.samplers.fused.translation import NotTranslatable, translate
from sgverify.samplers.randomness import variates
from sgverify.samplers.randomness.philox import LANES, ROWS
from sgverify.samplers.reading.arithmetic import RUN
from sgverify.samplers.reading.constants import Derivation
from sgverify.samplers.reading.tape import Tape
from sgverify.targets import Target

WIDTHS = (64, 16, 4)
"""The possible numbers of chains that move side by side: divisors of LANES, and multiples of a Philox block."""

FEW = 4
"""The number of chains side by side up to which sums over all data take data side by side instead."""

TABLE_WIDTH = 16
"""The most chains that move side by side if each has a table of gradients, so that theirs stay in a core's second cache."""

CACHED = 4096
"""The most entries of a state variable of more than `VECTOR` chains, so that the chains' data stay in a core's first cache."""

VECTOR = 16
"""The chains that fill a vector register in float32: as many move side by side even where their data fill the second cache."""

LARGEST = 1024
"""The most coordinates of a kernel."""


@dataclass(frozen=True)
class KernelShape:
    """The sizes for which a kernel is made.

    A step uses `minibatches` minibatches of `batch` data each; both are 0 for full gradients. `carried` are the widths of what
    the gradient estimator carries from step to step, and recomputes every `refresh` steps; with a `table` of each datum's last
    gradient, they are its sum. The draws of a step are normal numbers of one stream, drawn in the kernel, unless they are
    `handed` to it.
    """

    dtype: torch.dtype
    dim: int
    draws: int
    minibatches: int
    batch: int
    chains: range
    iid: bool = True
    adds: bool = True
    noisy: bool = False
    handed: bool = False
    carried: tuple[int, ...] = ()
    refresh: int = 0
    table: bool = False

    @property
    def width(self) -> int:
        """The number of chains that move side by side, large but with few idle lanes. Raises `NotTranslatable`."""
        most = TABLE_WIDTH if self.table else WIDTHS[0]
        if self.dim > LARGEST:
            raise NotTranslatable(f"a dimension of {self.dim} is beyond {LARGEST}")
        fitting = [
            width for width in WIDTHS if width <= most and (width <= VECTOR or width * self.dim <= CACHED)
        ]
        return min(
            fitting,
            key=lambda width: (-(-self.chains.stop // width) - self.chains.start // width) * (width + 8),
        )


@dataclass(frozen=True)
class Tapes:
    """What a kernel runs: the tapes of a step and, or None, of test functions and of what is carried, and sums over data.

    The fixed tensors of `step` come first in the kernel's array of constants, then those of `begin`, then those of a datum's
    gradient.
    """

    step: Tape
    observe: Tape | None = None
    begin: Tape | None = None
    sums: SumWriter | None = None


@dataclass(frozen=True, eq=False)
class Recorded:
    """A definition on a target, translated: what is the same at all step sizes, parameters, rows and chains.

    The C text, its function, the data, and the constants of the target in one row; `derivation` computes the constants of a run
    from h, T and D by the operations of the definition, in their order.
    """

    text: str
    call: Any
    derivation: Derivation
    flat: Tensor
    tables: DataTables


@dataclass(frozen=True, eq=False)
class Translations:
    """What is kept of a target: C texts with their functions by all that decides them, and data by the form in which they are read.

    `named` are the objects whose names are in the recorded operations, kept so that no other object gets their address.
    """

    texts: dict[tuple[Any, ...], tuple[str, Any]] = field(default_factory=dict)
    tables: dict[tuple[Any, ...], DataTables] = field(default_factory=dict)
    named: list[Any] = field(default_factory=list)


_RECORDED: WeakKeyDictionary[Target, Translations] = WeakKeyDictionary()


def kept_of(target: Target) -> Translations:
    """What is kept of a target."""
    return _RECORDED.get(target, Translations())


def keep(target: Target, kept: Translations) -> None:
    """Keep it as long as the target itself."""
    _RECORDED[target] = kept


def is_recorded(target: Target) -> bool:
    """Has this process translated some definition on this target?"""
    return target in _RECORDED


def forget_recorded() -> None:
    """Forget all translations: to be called where the code that made them has been changed."""
    _RECORDED.clear()


def program(shape: KernelShape, tapes: Tapes, state: Sequence[Tensor]) -> str:
    """The C text of a kernel.

    A step is a function of state, what is carried, draws and minibatches; `state` holds tensors of shape (S, C, width).
    """
    vector, step = state[0], tapes.step
    inputs = [(f"X{place}", tensor) for place, tensor in enumerate(state)]
    carried = [(f"Q{place}", state[0].new_ones((1, 2, width))) for place, width in enumerate(shape.carried)]
    held = [(name, tensor.shape[-1]) for name, tensor in (*inputs, *carried)]
    given = [*inputs, *carried, *((f"z[{k}]", vector) for k in range(shape.draws))]
    named = (lambda m: f"g[{m}]") if shape.adds else str
    moved = translate(
        step, [*given, *((named(m), vector) for m in range(shape.minibatches))], "step_", sums=tapes.sums
    )
    if moved.widths != [tensor.shape[-1] for tensor in state]:
        raise NotTranslatable("a step that changes the width of a variable")
    parts = {
        "DECLARE_STATE": "\n".join(
            f"real {name}[{width}][WIDTH], N{name}[{width}][WIDTH];" for name, width in held
        ),
        "LOAD_STATE": "\n".join(
            f"memset({name}, 0, sizeof {name});"
            + _kept(width, f"{name}[j][l] = before[{v}][{_place(width)}];")
            for v, (name, width) in enumerate(held)
        ),
        "BEGIN": "",
        "ENTER": "",
        "STEP": _moved(moved, held[: len(state)]),
        "CHECK_STATE": "\n".join(
            _kept(width, f"left |= !(FABS({name}[j][l]) <= bound);") for name, width in held[: len(state)]
        ),
        "STORE_STATE": "\n".join(
            _kept(width, f"after[{v}][{_place(width)}] = {name}[j][l];")
            for v, (name, width) in enumerate(held)
        ),
        "KEEP": "\n".join(
            f"if (kept_states[{v}]) for (int l = from; l < to; l++) for (int j = 0; j < {width}; j++) "
            f"kept_states[{v}][((kept_so_far * chains) + at + l) * {width} + j] = {name}[j][l];"
            for v, (name, width) in enumerate(held)
        ),
        "OBSERVE": "",
    }
    if tapes.begin is not None:
        start = sum(tensor.numel() for tensor in step.fixed)
        begun = translate(tapes.begin, inputs[:1], "begin_", offset=start, sums=tapes.sums)
        parts["BEGIN"] = f"if ((first + k) % {shape.refresh} == 0)" + _moved(begun, held[len(state) :])
    if shape.table:
        parts["BEGIN"] = f"if ((first + k) % {shape.refresh} == 0) sum_table(own_table, size, from, to, Q0);"
        parts["ENTER"] = "enter_minibatches(own_table, size, from, to, places, entering, Q0);"
    observed = 0
    if tapes.observe is not None:
        seen = translate(tapes.observe, inputs, "seen_")
        observed = len(seen.results)
        adding = "\n".join(f"sums[{o}][l] += {text} * weight;" for o, text in enumerate(seen.results))
        parts["OBSERVE"] = (
            "{\n" + seen.text + f"\nconst int j = 0;\nfor (int l = from; l < to; l++) {{\n{adding}\n}}\n}}"
        )
    lines = [*definitions(shape, len(step.constants), observed), c_text("variates.c"), c_text("streams.c")]
    for line in c_text("steps.c").splitlines():
        lines.append(parts.get(line.strip(), line))
    return with_functions(off_the_stack("\n".join(lines) + "\n"))


def program_of_streams(shape: KernelShape) -> str:
    """The C text of a library that draws the numbers of streams, and takes no steps."""
    return "\n".join(["#define STREAMS", *definitions(shape, 0, 0), c_text("variates.c")]) + "\n"


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


def _moved(moved: Translated, held: Sequence[tuple[str, int]]) -> str:
    """Statements that compute the new values of variables and then put them in place of the old ones."""
    news = "\n".join(
        _each(width, f"N{name}[j][l] = {result};")
        for (name, width), result in zip(held, moved.results, strict=True)
    )
    copies = "\n".join(f"memcpy({name}, N{name}, sizeof {name});" for name, _ in held)
    return "{\n" + moved.text + "\n" + news + "\n" + copies + "\n}"


def definitions(shape: KernelShape, constants: int, observed: int) -> list[str]:
    """The definitions in front of the C text of a kernel."""
    double = shape.dtype == torch.float64
    log_terms, sin_terms = variates._TERMS[shape.dtype]
    _, mantissa, root = variates._LAYOUT[shape.dtype]
    suffix = "" if double else "f"
    angle = variates._ANGLE_BITS
    defined = {
        "real": "double" if double else "float",
        "whole": "int64_t" if double else "int32_t",
        "uwhole": "uint64_t" if double else "uint32_t",
        "SQRT": f"__builtin_sqrt{suffix}",
        "FABS": f"__builtin_fabs{suffix}",
        "COPYSIGN": f"__builtin_copysign{suffix}",
        "LANES": LANES,
        "ROWS": ROWS,
        "WIDTH": shape.width,
        "DIM": shape.dim,
        # A multiple of the vector length in float64, so that a row of deviations is read by a few vector loads.
        "PADDED": padded(shape.dim),
        "DRAWS": shape.draws,
        "MINIBATCHES": shape.minibatches,
        "BATCH": shape.batch,
        "ADDS": int(shape.adds),
        "TABLE": int(shape.table),
        "NOISY": int(shape.noisy),
        "HANDED": int(shape.handed),
        "IID": int(shape.iid),
        # The chains whose sums over all data are taken at once: those of a vector register of 64 bytes.
        "AT_ONCE": min(shape.width, 8 if double else 16),
        "RUN": RUN,
        "HALVINGS": RUN.bit_length() - 1,
        "CONSTANTS": constants,
        "OBSERVED": observed,
        "MANTISSA": mantissa,
        "SQRT_HALF": root,
        "RADIUS_BITS": variates._RADIUS_BITS,
        "ANGLE_BITS": angle,
        "LOG_SERIES(x)": _horner(variates._LOG[:log_terms]),
        "SIN_SERIES(x)": _horner(variates._SIN[:sin_terms]),
        "MINUS_TWO_LOG_2": (-2 * math.log(2.0)).hex(),
        "ANGLE_MIDDLE": ((1 << (angle - 1)) - 0.5).hex(),
        "ANGLE_UNIT": (math.pi * 2.0 ** -(angle + 1)).hex(),
    }
    return [f"#define {name} {value}" for name, value in defined.items()]


def c_text(name: str) -> str:
    """The C text of a file of this folder."""
    return files("sgverify.samplers.fused").joinpath(name).read_text(encoding="utf-8")


def _horner(coefficients: Sequence[float]) -> str:
    """The polynomial of x by Horner's rule, without a loop: a loop inside that over chains would have to be unrolled first."""
    first, *middle, last = (f"(real){value.hex()}" for value in coefficients)
    value = f"x * {last}"
    for coefficient in reversed(middle):
        value = f"({value} + {coefficient}) * x"
    return f"({value} + {first})"


def _each(width: int, body: str) -> str:
    return f"for (int j = 0; j < {width}; j++) EACH(l) {{ {body} }}"


def _kept(width: int, body: str) -> str:
    return f"for (int j = 0; j < {width}; j++) for (int l = from; l < to; l++) {{ {body} }}"


def _place(width: int) -> str:
    return f"(s * {width} + j) * chains + at + l"
