"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import sgverify

MODULES = [
    item.name
    for item in pkgutil.walk_packages(sgverify.__path__, "sgverify.")
    if not item.name.endswith("__main__")
]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_there_are_modules_to_read() -> None:
    assert "sgverify.schemes.surd" in MODULES
    assert doctest.testmod(importlib.import_module("sgverify.schemes.surd")).attempted > 0
