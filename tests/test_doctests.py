"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import warnings
from pathlib import Path

import pytest

import sgverify

HOME = Path(next(iter(sgverify.__path__)))
FILES = [path.relative_to(HOME).with_suffix("") for path in sorted(HOME.rglob("*.py"))]
MODULES = [
    ".".join(["sgverify", *(part for part in path.parts if part != "__init__")])
    for path in FILES
    if path.name != "__main__" and ">>>" in (HOME / path).with_suffix(".py").read_text(encoding="utf-8")
]

OF_LIBRARIES = ("sgverify.adapters.jax_draws.",)
"""Modules that import a library of an extra: the draws of JAX."""


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of(module: str) -> None:
    if module.startswith(OF_LIBRARIES):
        try:
            with warnings.catch_warnings():
                # Of the library's own code.
                warnings.simplefilter("ignore")
                importlib.import_module(module)
        except ImportError as error:
            pytest.skip(f"a library is missing: {error}")
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_there_are_modules_to_read() -> None:
    assert "sgverify.schemes.numbers.algebraic" in MODULES
    assert doctest.testmod(importlib.import_module("sgverify.schemes.numbers.algebraic")).attempted > 0
