"""The formula reading of one injected step: the printed text is executed in place of the definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sgverify.exact.formula import define, formula
from sgverify.schemes.scheme import Scheme, make_scheme
from sgverify.testing.case import Case


def formula_step(case: Case) -> dict[str, Sequence[Any]]:
    """The state after the step that the printed formula takes, in balls."""
    values = replace(case, scheme=printed(case.scheme)).expected()
    return {name: [number.value for number in numbers] for name, numbers in values.items()}


def printed(scheme: Scheme) -> Scheme:
    """The scheme that the text of `formula(scheme)` defines."""
    text = formula(scheme)
    name = text.split("(", 1)[0].removeprefix("def ")
    return make_scheme(define(text, name), scheme.dynamics, memory=scheme.memory)


__all__ = ["formula_step", "printed"]
