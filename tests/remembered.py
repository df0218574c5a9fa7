"""What many tests ask of the same scheme, computed once in a process: its proofs, its stability limits, its departures from its
expansion, its exact law on a target; and the formula of a posterior average.

A scheme is the code of its step, so that the file of an example is the same scheme in whichever folder a test writes it. Planted
bugs are schemes of their own, or edits, which are part of every key.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from sgverify.keeping import identity
from sgverify.schemes.scheme import Scheme
from sgverify.schemes.splittings import Alphabet
from sgverify.targets import Matrix, Vector

PLACES = (
    ("sgverify.exact.series.dimensions", "prove_order"),
    ("sgverify.exact.series.letters", "prove_alphabet_everywhere"),
    ("sgverify.advice.diagnosis.trial", "prove_order"),
    ("sgverify.checks.order.configured_steps", "departure"),
    ("sgverify.checks.order.local_order", "local_order"),
    ("sgverify.subject.step_sizes", "stability_limit"),
    ("sgverify.checks.rates.engines", "answers_for"),
    ("sgverify.checks.rates.stationary_bias", "posterior_formula"),
)

MOST = 500
"""The answers of a function that are held at a time."""


def remember_schemes() -> None:
    """Put the memory in, in those modules that have been imported by now."""
    for name, function in PLACES:
        module = sys.modules.get(name)
        # Half-way through its import a module may lack the function; what a test has put there itself is left alone.
        compute = getattr(module, function, None)
        if compute is not None and getattr(compute, "__module__", "").startswith("sgverify."):
            setattr(module, function, _remembered_once(compute))


def _remembered_once(compute: Callable[..., Any]) -> Callable[..., Any]:
    """One memory of each function, in whichever modules it is called."""
    if compute not in _REMEMBERED:
        _REMEMBERED[compute] = remembered(compute)
    return _REMEMBERED[compute]


_REMEMBERED: dict[Callable[..., Any], Callable[..., Any]] = {}


def remembered(compute: Callable[..., Any]) -> Callable[..., Any]:
    """`compute`, by what it is given; an exception is raised anew."""
    known: dict[Any, Any] = {}

    def once(*given: Any, **more: Any) -> Any:
        key = (_mark(given, set()), _mark(more, set()), repr(identity._EDITS))
        if key not in known:
            if len(known) == MOST:
                known.clear()
            # What was given is kept, so that nothing else has its id.
            known[key] = (given, more), compute(*given, **more)
        return known[key][1]

    return once


def _mark(value: Any, seen: set[int]) -> Any:
    """What stands for a value in a key: equal for values that make a computation give the same."""
    if value is None or isinstance(value, str | bytes | bool | int | float | complex | Fraction):
        # 1, 1.0 and True are equal, and not the same.
        return type(value).__name__, repr(value)
    if id(value) in seen:
        return "again"
    seen = seen | {id(value)}
    if isinstance(value, tuple | list):
        return type(value).__name__, *(_mark(item, seen) for item in value)
    if isinstance(value, Mapping):
        return "mapping", *((_mark(key, seen), _mark(item, seen)) for key, item in value.items())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, fmpq | fmpq_mat | Matrix | Vector):
        return type(value).__name__, repr(value)
    if isinstance(value, FunctionType):
        return _mark_of_function(value, seen)
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_varnames, _mark(value.co_consts, seen)
    if isinstance(value, Alphabet):
        return value.name, _mark(value.dynamics, seen), _mark(value.letters, seen)
    if isinstance(value, Scheme):
        if id(value) not in _SCHEMES:
            _SCHEMES[id(value)] = (
                value,
                tuple(_mark(getattr(value, item.name), seen) for item in fields(value)),
            )
        return _SCHEMES[id(value)][1]
    if is_dataclass(value) and type(value).__module__.startswith("sgverify."):
        return type(value).__qualname__, *(_mark(getattr(value, item.name), seen) for item in fields(value))
    return id(value)


_SCHEMES: dict[int, tuple[Scheme, Any]] = {}
"""The marks of schemes, which are kept with them, so that no other one has their ids."""


def _mark_of_function(function: FunctionType, seen: set[int]) -> Any:
    """Its code with the values of its closure and of the names that it looks up."""
    code, own = function.__code__, not str(function.__globals__.get("__name__")).startswith("sgverify.")
    names = [name for name in _names(code) if name in function.__globals__] if own else []
    looked_up = {name: function.__globals__[name] for name in names}
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    given = (function.__defaults__, function.__kwdefaults__, cells)
    modules = {name: found.__name__ for name, found in looked_up.items() if isinstance(found, ModuleType)}
    return (
        _mark(code, seen) if own else id(code),
        _mark(given, seen),
        _mark({**looked_up, **modules}, seen),
    )


def _names(code: CodeType) -> set[str]:
    """The global names of a function, also those of the functions inside it."""
    inner = (_names(item) for item in code.co_consts if isinstance(item, CodeType))
    return set(code.co_names).union(*inner)
