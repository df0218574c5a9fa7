"""The functions of definitions, under the module name that files of users import; `definition.mathematics` defines them."""

from __future__ import annotations

from sgverify.schemes.definition.mathematics import (
    cos,
    dot,
    erf,
    exp,
    expm1,
    first_entry,
    log,
    logistic,
    magnitude,
    sin,
    softplus,
    sqrt,
    tanh,
)

__all__ = [
    "cos",
    "dot",
    "erf",
    "exp",
    "expm1",
    "first_entry",
    "log",
    "logistic",
    "magnitude",
    "sin",
    "softplus",
    "sqrt",
    "tanh",
]
