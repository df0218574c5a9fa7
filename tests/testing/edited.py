"""Functions of every kind, for edits of their text."""

from __future__ import annotations

import functools
from functools import cached_property


def plain(x: float, *, more: float = 1.0) -> float:
    return x + more


def through_another(x: float) -> float:
    return plain(x)


@functools.cache
def remembered(x: float) -> float:
    return x + 1.0


def passed_on(function):
    @functools.wraps(function)
    def call(*given):
        return function(*given)

    return call


@passed_on
def wrapped(x: float) -> float:
    return x + 1.0


class Base:
    def method(self, x: float) -> float:
        return x

    @property
    def shown(self) -> float:
        return 1.0

    @cached_property
    def kept(self) -> float:
        return 1.0

    @classmethod
    def of_class(cls, x: float) -> float:
        return x + 1.0

    @staticmethod
    def of_none(x: float) -> float:
        return x + 1.0

    def several(self):
        yield 1.0
        yield 2.0


class Derived(Base):
    def method(self, x: float) -> float:
        return super().method(x) + 1.0
