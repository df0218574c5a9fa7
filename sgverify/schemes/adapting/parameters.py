"""What is a parameter of another library's sampler, in terms of the step size, the temperature and the friction?"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.numbers.arithmetic import Grammar

QUANTITIES = ("h", "T", "D", "N", "n", "dim")

FUNCTIONS = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt}

_GRAMMAR = Grammar(QUANTITIES, FUNCTIONS, "1 - h*D", signs="+ - * / **", number=float)

Parameter = Callable[[Mapping[str, float]], Any]
"""The value of a parameter for h, T, D, N, n and dim."""


def parameter(name: str, given: Any) -> Parameter:
    """The parameter `name` that a user writes as an expression, a number, True or False, or text in quotes within quotes.

    The value of an expression is a float. Raises `DefinitionError` for anything else, and, when it is evaluated, where the
    expression has no finite value or needs a quantity that this run lacks (N and n without data).

    >>> parameter("momentum_decay", "1 - exp(-h*D)")({"h": 0.0, "D": 2.0})
    0.0
    >>> parameter("kernel", "'baoab'")({}), parameter("nesterov", False)({}), parameter("lr", 0.5)({})
    ('baoab', False, 0.5)
    """
    if isinstance(given, (bool, int, float)) or given is None:
        return lambda quantities: given
    if not isinstance(given, str):
        raise DefinitionError(
            f"adapter.map.{name}={given!r}: expected an expression in {', '.join(QUANTITIES)}, a number, or true or false"
        )
    text = _text_in(given)
    if text is not None:
        return lambda quantities: text
    try:
        node = _GRAMMAR.read(given)
    except DefinitionError as error:
        raise DefinitionError(
            f"adapter.map.{name}: {error} A text that is meant as text has quotes within: \"'{given[:40]}'\"."
        ) from None
    needed = _GRAMMAR.names_in(node)

    def value(quantities: Mapping[str, float]) -> float:
        lacking = sorted(needed - quantities.keys())
        if lacking:
            raise DefinitionError(
                f"adapter.map.{name}={given!r}: this run has no {', '.join(lacking)}; expected an expression in "
                f"{', '.join(name for name in QUANTITIES if name in quantities)}"
            )
        try:
            found = float(_GRAMMAR.value(node, quantities))
        except (ValueError, ArithmeticError, TypeError):
            found = math.nan
        if not math.isfinite(found):
            shown = ", ".join(f"{name} = {quantities[name]:g}" for name in sorted(needed))
            raise DefinitionError(
                f"adapter.map.{name}={given!r}: has no finite value at {shown}; mend the expression"
            )
        return found

    return value


def _text_in(given: str) -> str | None:
    """The text between quotes that are part of what was given; None if there are none."""
    if given[:1] not in ("'", '"'):
        return None
    try:
        value = ast.literal_eval(given)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, str) else None


__all__ = ["FUNCTIONS", "QUANTITIES", "Parameter", "parameter"]
