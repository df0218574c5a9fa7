"""For which sizes is a C text made, and which definitions stand in front of it?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import torch

from sgverify.errors import Unreached
from sgverify.samplers.fused.gradients import padded
from sgverify.samplers.randomness import variates
from sgverify.samplers.randomness.philox import LANES, ROWS
from sgverify.samplers.reading.arithmetic import RUN

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
    `handed` to it. The `replicas` of a chain move together; their actions read `numbers` numbers of each step that all chains
    share, and whole numbers below `finest`, 0 if none. States may be `weighted` in averages.
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
    replicas: int = 1
    numbers: int = 0
    finest: int = 0
    weighted: bool = False

    @property
    def width(self) -> int:
        """The number of chains that move side by side, large but with few idle lanes. Raises `Unreached`."""
        most = TABLE_WIDTH if self.table else WIDTHS[0]
        if self.dim > LARGEST:
            raise Unreached(f"a dimension of {self.dim} is beyond {LARGEST}")
        fitting = [
            width for width in WIDTHS if width <= most and (width <= VECTOR or width * self.dim <= CACHED)
        ]
        return min(
            fitting,
            key=lambda width: (-(-self.chains.stop // width) - self.chains.start // width) * (width + 8),
        )


def program_of_streams(shape: KernelShape) -> str:
    """The C text of a library that draws the numbers of streams, and takes no steps."""
    return "\n".join(["#define STREAMS", *definitions(shape, 0, 0), c_text("variates.c")]) + "\n"


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
        "REPLICAS": shape.replicas,
        "ALL_DRAWS": shape.replicas * shape.draws,
        "NUMBERS": shape.numbers,
        "FINEST": shape.finest,
        "UNIFORMS": shape.replicas - 1 if shape.finest else 0,
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
