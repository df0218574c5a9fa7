"""How do the elementary functions of `sgverify.samplers.reading.elementary` become C functions with equal bits?

A function's definition is recorded on a tape for one element, and each operation of the tape becomes one statement. Nothing is
written a second time. The functions have no branches (a choice by `where` is a conditional expression of two values that are there
already), so that a compiler that inlines them into a loop over chains turns every statement into vector instructions.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgverify.samplers.fused.compiler import CannotBuild, build, is_built
from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.elementary import COMPILED, ELEMENTARY, InPlaceOf, definition_of
from sgverify.samplers.reading.floating_point import KEPT
from sgverify.samplers.reading.tape import Operation, Tape, record

PROVED = 4096
"""The arguments of random bits on which a function in C is held against its definition before its first use."""

_TYPES = {
    torch.float64: "double",
    torch.float32: "float",
    torch.int64: "int64_t",
}
_SUFFIXES = {torch.float64: "f64", torch.float32: "f32"}

# Bits of a number and a number of bits, by the format of the result.
_VIEWS = {torch.int64: "bits_of", torch.float64: "of_bits"}

# Whole numbers are combined without a sign, where C wraps around as tensors do.
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "__and__": "&", "__or__": "|", "__xor__": "^"}
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "__eq__": "=="}

_PREAMBLE = """#include <stdint.h>
#include <string.h>
#define ELEMENTARY static inline __attribute__((always_inline))
ELEMENTARY int64_t bits_of(double x) { int64_t bits; memcpy(&bits, &x, sizeof bits); return bits; }
ELEMENTARY double of_bits(int64_t bits) { double x; memcpy(&x, &bits, sizeof x); return x; }
"""


_LOOP = """
void every(const REAL *x, REAL *y, int64_t count)
{
    REAL some[64] = {0};
    for (int64_t at = 0; at < count; at += 64) {
        const size_t size = (count - at < 64 ? count - at : 64) * sizeof(REAL);
        memcpy(some, x + at, size);
        for (int i = 0; i < 64; i++)
            some[i] = FUNCTION(some[i]);
        memcpy(y + at, some, size);
    }
}
"""


def called(function: Callable[..., Tensor], dtype: torch.dtype) -> str:
    """The name in C of an elementary function of one dtype."""
    return f"elementary_{function.__name__}_{_SUFFIXES[dtype]}"


def with_functions(text: str) -> str:
    """A C text with the elementary functions that it calls in front of it; without any, the text itself."""
    wanted = [
        (function, dtype)
        for function in ELEMENTARY
        for dtype in _SUFFIXES
        if f"{called(function, dtype)}(" in text
    ]
    if not wanted:
        return text
    return "\n".join([_PREAMBLE, *(function_text(function, dtype) for function, dtype in wanted), text])


def function_text(function: Callable[..., Tensor], dtype: torch.dtype) -> str:
    """The C function of one element of this dtype."""
    key = ("text", function, dtype)
    if key not in KEPT:
        KEPT[key] = _function_text(function, dtype)
    found: str = KEPT[key]
    return found


def _function_text(function: Callable[..., Tensor], dtype: torch.dtype) -> str:
    definition = definition_of(function, dtype)
    x = torch.ones(1, dtype=dtype)
    tape, _ = record(lambda: (definition(x),), (x,), (), Clock())
    body, result = _body(tape, dtype)
    kind = _TYPES[dtype]
    return f"ELEMENTARY {kind} {called(function, dtype)}(const {kind} x0)\n{{\n{body}\n    return {result};\n}}\n"


def loop_text(function: Callable[..., Tensor], dtype: torch.dtype) -> str:
    """The C function `every(x, y, count)`: y[i] = f(x[i]), 64 entries at a time; y may be x."""
    kind, name = _TYPES[dtype], called(function, dtype)
    return with_functions(_LOOP.replace("REAL", kind).replace("FUNCTION", name))


def in_c(function: Callable[..., Tensor], dtype: torch.dtype, may_build: bool) -> InPlaceOf | None:
    """A function in C for `COMPILED`, with the bits of its definition; None if it is not stored, cannot be built or differs."""
    text = loop_text(function, dtype)
    if not may_build and not is_built(text):
        return None
    try:
        every: Any = build(text).every
    except CannotBuild:
        return None
    every.argtypes, every.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64], None
    words = np.random.default_rng(0).integers(0, 256, PROVED * dtype.itemsize, dtype=np.uint8)
    given = torch.from_numpy(words.view(f"f{dtype.itemsize}"))
    # Half of them of moderate size, as most arguments are.
    given[::2] = torch.linspace(-30, 30, PROVED // 2, dtype=torch.float64).to(dtype)
    made, expected = torch.empty_like(given), definition_of(function, dtype)(given)
    every(given.data_ptr(), made.data_ptr(), PROVED)
    same = (made == expected) & (made.signbit() == expected.signbit()) | (made.isnan() & expected.isnan())
    found: InPlaceOf = every
    return found if bool(same.all()) else None


COMPILED.make = in_c


def _body(tape: Tape, dtype: torch.dtype) -> tuple[str, str]:
    """The statements of a tape of one argument of this dtype, and the expression of its result."""
    values = {"x0": "x0"}
    kinds = {"x0": dtype}
    lines = []
    for line in tape.lines:
        text = _expression(line, values, kinds, tape.space)
        kinds[line.name] = line.result.dtype
        if line.result.dtype == torch.bool:
            # A comparison stays part of the choices that it decides, where a compiler makes a mask of it.
            values[line.name] = f"({text})"
        else:
            values[line.name] = line.name
            lines.append(f"    const {_TYPES[line.result.dtype]} {line.name} = {text};")
    return "\n".join(lines), values[tape.outputs[0]]


def _expression(
    line: Operation, values: dict[str, str], kinds: dict[str, torch.dtype], space: dict[str, Any]
) -> str:
    """The C expression of one operation. Raises `NotImplementedError` for one that no definition uses yet.

    `values` and `kinds` are the text and the format of each value so far.
    """
    name, kind = line.function.__name__, line.result.dtype
    named = {key: space[value] for key, _, value in (part.partition("=") for part in line.given) if value}
    plain = [part for part in line.given if "=" not in part]
    options = [space.get(part) for part in plain]
    # A number takes the format of the values that it is combined with; a comparison's result says nothing of that.
    if kind == torch.bool:
        kind = next(kinds[part] for part in plain if part in kinds)

    def term(place: int) -> str:
        return values[plain[place]] if plain[place] in values else _number(options[place], kind)

    def number(value: Any) -> str:
        return _number(value, kind)

    if name in _INFIX:
        left, right = term(0), term(1)
        if kind == torch.int64:
            signed = _TYPES[kind]
            return f"({signed})((u{signed}){left} {_INFIX[name]} (u{signed}){right})"
        return f"{left} {_INFIX[name]} {right}"
    if name in _COMPARED:
        return f"{term(0)} {_COMPARED[name]} {term(1)}"
    if name in ("rsub", "__rsub__"):
        return f"{term(1)} - {term(0)}"
    if name == "neg":
        return f"-{term(0)}"
    if name == "reciprocal":
        return f"{number(1.0)} / {term(0)}"
    if name == "abs":
        return f"__builtin_fabs({term(0)})"
    if name == "copysign":
        return f"__builtin_copysign({term(0)}, {term(1)})"
    if name == "where":
        return f"{term(0)} ? {term(1)} : {term(2)}"
    if name == "clamp":
        low = named.get("min", options[1] if len(plain) > 1 else None)
        high = named.get("max", options[2] if len(plain) > 2 else None)
        text = term(0) if high is None else f"({term(0)} > {number(high)} ? {number(high)} : {term(0)})"
        return text if low is None else f"{term(0)} < {number(low)} ? {number(low)} : {text}"
    if name == "__lshift__":
        signed = _TYPES[kind]
        return f"({signed})((u{signed}){term(0)} << {options[1]})"
    if name == "__rshift__":
        return f"{term(0)} >> {options[1]}"
    if name == "to":
        return f"({_TYPES[kind]}){term(0)}"
    if name == "view":
        return f"{_VIEWS[kind]}({term(0)})"
    if name in ("ones_like", "full_like"):
        return number(1.0) if name == "ones_like" else term(1)
    raise NotImplementedError(f"the operation {name} of an elementary function has no text in C yet")


def _number(value: Any, kind: torch.dtype) -> str:
    """A number in C, a whole one or a decimal."""
    if kind == torch.int64:
        return f"INT64_C({value})"
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf()"
    return float(value).hex()
