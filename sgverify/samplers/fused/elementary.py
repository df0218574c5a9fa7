"""How do the elementary functions of `sgverify.samplers.reading.elementary` become C functions with equal bits?

A function's definition is recorded on a tape for one element, and each operation of the tape becomes one statement. Nothing is
written a second time. The functions have no branches (a choice by `where` is a conditional expression of two values that are there
already), so that a compiler that inlines them into a loop over chains turns every statement into vector instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from sgverify.samplers.reading.constants import Clock
from sgverify.samplers.reading.elementary import ELEMENTARY, definition_of
from sgverify.samplers.reading.tape import Operation, Tape, record

_TYPES = {torch.float64: "double", torch.float32: "float", torch.int64: "int64_t"}
_SUFFIXES = {torch.float64: "f64", torch.float32: "f32"}

# Whole numbers are combined without a sign, where C wraps around as tensors do.
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "__and__": "&", "__or__": "|", "__xor__": "^"}
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "__eq__": "=="}

# Bits of a number and a number of bits.
_PREAMBLE = """#include <stdint.h>
#include <string.h>
#define ELEMENTARY static inline __attribute__((always_inline))
ELEMENTARY int64_t bits_of(double x) { int64_t bits; memcpy(&bits, &x, sizeof bits); return bits; }
ELEMENTARY double of_bits(int64_t bits) { double x; memcpy(&x, &bits, sizeof x); return x; }
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


@lru_cache(maxsize=64)
def function_text(function: Callable[..., Tensor], dtype: torch.dtype) -> str:
    """The C function of one element of this dtype."""
    definition = definition_of(function, dtype)
    x = torch.ones(1, dtype=dtype)
    tape, _ = record(lambda: (definition(x),), (x,), (), Clock())
    body, result = _body(tape)
    kind = _TYPES[dtype]
    return f"ELEMENTARY {kind} {called(function, dtype)}(const {kind} x0)\n{{\n{body}\n    return {result};\n}}\n"


def _body(tape: Tape) -> tuple[str, str]:
    """The statements of a tape, and the expression of its result."""
    values = {"x0": "x0"}
    lines = []
    for line in tape.lines:
        text = _expression(line, values, tape.space)
        if line.result.dtype == torch.bool:
            # A comparison stays part of the choices that it decides, where a compiler makes a mask of it.
            values[line.name] = f"({text})"
        else:
            values[line.name] = line.name
            lines.append(f"    const {_TYPES[line.result.dtype]} {line.name} = {text};")
    return "\n".join(lines), values[tape.outputs[0]]


def _expression(line: Operation, values: dict[str, str], space: dict[str, Any]) -> str:
    """The C expression of one operation. Raises `NotImplementedError` for one that no definition uses yet."""
    name, whole = line.function.__name__, line.result.dtype == torch.int64
    named = {key: space[value] for key, _, value in (part.partition("=") for part in line.given) if value}
    plain = [part for part in line.given if "=" not in part]
    options = [space.get(part) for part in plain]

    def term(place: int) -> str:
        return values[plain[place]] if plain[place] in values else _number(options[place])

    if name in _INFIX:
        left, right = term(0), term(1)
        if whole:
            return f"(int64_t)((uint64_t){left} {_INFIX[name]} (uint64_t){right})"
        return f"{left} {_INFIX[name]} {right}"
    if name in _COMPARED:
        return f"{term(0)} {_COMPARED[name]} {term(1)}"
    if name in ("rsub", "__rsub__"):
        return f"{term(1)} - {term(0)}"
    if name == "neg":
        return f"-{term(0)}"
    if name == "reciprocal":
        return f"1.0 / {term(0)}"
    if name == "abs":
        return f"__builtin_fabs({term(0)})"
    if name == "copysign":
        suffix = "f" if line.result.dtype == torch.float32 else ""
        return f"__builtin_copysign{suffix}({term(0)}, {term(1)})"
    if name == "where":
        return f"{term(0)} ? {term(1)} : {term(2)}"
    if name == "clamp":
        low = named.get("min", options[1] if len(plain) > 1 else None)
        high = named.get("max", options[2] if len(plain) > 2 else None)
        text = term(0) if high is None else f"({term(0)} > {_number(high)} ? {_number(high)} : {term(0)})"
        return text if low is None else f"{term(0)} < {_number(low)} ? {_number(low)} : {text}"
    if name == "__lshift__":
        return f"(int64_t)((uint64_t){term(0)} << {options[1]})"
    if name == "__rshift__":
        return f"{term(0)} >> {options[1]}"
    if name == "to":
        return f"({_TYPES[line.result.dtype]}){term(0)}"
    if name == "view":
        return f"{'bits_of' if whole else 'of_bits'}({term(0)})"
    if name in ("ones_like", "full_like"):
        return "1.0" if name == "ones_like" else term(1)
    raise NotImplementedError(f"the operation {name} of an elementary function has no text in C yet")


def _number(value: Any) -> str:
    if isinstance(value, int):
        return f"INT64_C({value})"
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return "__builtin_inf()" if value > 0 else "-__builtin_inf()"
    return float(value).hex()


__all__ = ["called", "function_text", "with_functions"]
