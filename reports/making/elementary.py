"""How large are the errors of the elementary functions in float32, over all 2^32 arguments? Writes float32.json and float32.md.

The functions in C, whose bits are those of their definitions, are held against those in float64, whose errors are below one unit of
float64's last place: the errors found are right to 2^-29 units of float32's.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sgverify.keeping.files import write_atomically
from sgverify.samplers.fused.compiler import build
from sgverify.samplers.fused.elementary import called, with_functions
from sgverify.samplers.reading.elementary import ELEMENTARY

ARGUMENTS = 1 << 32

# An error is infinite where one of both values is NaN, or where a value is finite, or of the other sign, that exceeds float32.
_TEXT = """
void largest_error(int64_t first, int64_t count, double *error, float *place)
{
    enum { SIZE = 1024 };
    static float x[SIZE], y[SIZE];
    static double exact[SIZE], errors[SIZE];
    *error = -1;
    for (int64_t start = first; start < first + count; start += SIZE) {
        for (int i = 0; i < SIZE; i++) {
            const uint32_t bits = (uint32_t)(start + i);
            memcpy(&x[i], &bits, sizeof bits);
        }
        for (int i = 0; i < SIZE; i++)
            y[i] = FLOAT32(x[i]);
        for (int i = 0; i < SIZE; i++)
            exact[i] = FLOAT64((double)x[i]);
        for (int i = 0; i < SIZE; i++) {
            const double size = __builtin_fabs(exact[i]), found = y[i], normal = size < 0x1p-126 ? 0x1p-126 : size;
            int64_t bits;
            memcpy(&bits, &normal, sizeof bits);
            bits = (bits & INT64_C(0x7FF0000000000000)) - (INT64_C(23) << 52);
            double unit;
            memcpy(&unit, &bits, sizeof unit);
            const double away = __builtin_fabs(found - exact[i]) / unit;
            const double beyond = __builtin_fabs(found) >= 0x1.fffffep127 && found * exact[i] > 0 ? 0 : __builtin_inf();
            const double finite = size > 0x1.fffffep127 ? beyond : away;
            const int none = found != found, none_exact = exact[i] != exact[i];
            errors[i] = none && none_exact ? 0 : none || none_exact ? __builtin_inf() : finite;
        }
        double worst = 0;
        for (int i = 0; i < SIZE; i++)
            worst = errors[i] > worst ? errors[i] : worst;
        if (worst > *error)
            for (int i = 0; i < SIZE; i++)
                if (errors[i] == worst)
                    *error = worst, *place = x[i];
    }
}
"""


@dataclass(frozen=True)
class Row:
    """The largest error of a function, in units in the last place of the exact value, and an argument where it is."""

    function: str
    error: float
    place: float


def make(folder: Path) -> None:
    """Evaluate every function at all arguments, and write the table."""
    rows = [largest_error(function) for function in ELEMENTARY]
    place = folder / "elementary"
    place.mkdir(exist_ok=True)
    text = ",\n".join(json.dumps(asdict(row)) for row in rows)
    write_atomically(place / "float32.json", f"[\n{text}\n]\n")
    render(folder)


def render(folder: Path) -> None:
    """Write the page from the stored table."""
    place = folder / "elementary"
    lines = [
        "# Errors of the elementary functions in float32",
        "",
        "Written by `python -m reports elementary`.",
        "",
        "The largest error over all 2^32 arguments, in units in the last place of the exact value.",
        "",
        "| function | largest error | at |",
        "| :-- | --: | --: |",
        *(f"| {row.function} | {row.error:.4f} | {row.place!r} |" for row in stored(folder)),
    ]
    write_atomically(place / "float32.md", "\n".join(lines) + "\n")


def stored(folder: Path) -> list[Row]:
    """The rows of the stored table."""
    text = (folder / "elementary" / "float32.json").read_text(encoding="utf-8")
    return [Row(**row) for row in json.loads(text)]


def largest_error(function: Callable[..., Tensor], first: int = 0, count: int = ARGUMENTS) -> Row:
    """The largest error at the arguments of so many consecutive bit patterns, a multiple of 1024."""
    text = _TEXT
    for name, dtype in (("FLOAT32", torch.float32), ("FLOAT64", torch.float64)):
        text = text.replace(f"{name}(", f"{called(function, dtype)}(")
    found: Any = build(with_functions(text)).largest_error
    found.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
    found.restype = None
    error, place = ctypes.c_double(), ctypes.c_float()
    found(first, count, ctypes.addressof(error), ctypes.addressof(place))
    return Row(function.__name__, error.value, place.value)
