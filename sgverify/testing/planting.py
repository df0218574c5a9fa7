"""An edit of the running code: a function's text is changed, compiled and put in its place for a while."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.keeping.identity import running_edits
from sgverify.schemes.torch_step import TorchStep

Edits = Sequence[tuple[str, str]]


class PlantError(DefinitionError):
    """A bug cannot be planted as it is written: no such place, or a text that does not occur exactly once."""


@contextmanager
def edited_source(place: str, edits: Edits) -> Iterator[None]:
    """A context in which every `was` of `edits` is replaced by `now` in the source of the function "module:Qualified.name".

    The function object keeps its identity and gets other code, so that modules that imported it by name run the edited code too;
    its own code is restored at the exit. Methods, properties, cached properties, class and static methods and wrapped functions
    can be edited. Caches of results (`functools.cache`, or a table `KEPT` of the module) are emptied before and after, and so is
    what is known of kernels, each of which was proved to do as other code does. Raises
    `PlantError` if there is no such function, if a text does not occur exactly once, or if the edit cannot be applied.
    """
    function, caches = _function_at(place)
    code = _compiled(function, edited(_source_of(function, place), edits, place), place)
    own = function.__code__
    _forget(caches)
    function.__code__ = code
    try:
        with running_edits(place, edits):
            yield
    finally:
        function.__code__ = own
        _forget(caches)


def edited(text: str, edits: Edits, where: str) -> str:
    """The text with each `was` replaced by its `now`, one after the other.

    Raises `PlantError` unless each `was` occurs exactly once and differs from its `now`.
    """
    for was, now in edits:
        times = text.count(was) if was else 0
        if times != 1 or was == now:
            raise PlantError(
                f"plant(place={where!r}, was={was!r}, now={now!r}): `was` occurs {times} times; expected exactly one, and "
                f"another text for it; quote as much as names one place in\n{text}"
            )
        text = text.replace(was, now)
    return text


def source_text(place: str) -> str:
    """The text of the function at "module:Qualified.name", dedented, in which `was` is sought."""
    return _source_of(_function_at(place)[0], place)


def _function_at(place: str) -> tuple[FunctionType, list[Callable[[], None]]]:
    """The plain function at a place, and how the memories on the way to it are emptied."""
    module, _, path = place.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = inspect.getattr_static(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise PlantError(
            f"plant(place={place!r}): {error}; expected module:Qualified.name of a function"
        ) from None
    kept = getattr(importlib.import_module(module), "KEPT", None)
    caches: list[Callable[[], None]] = [kept.clear] if isinstance(kept, dict) else []
    while not isinstance(found, FunctionType) or hasattr(found, "__wrapped__"):
        if hasattr(found, "cache_clear"):
            caches.append(found.cache_clear)
        inner = _inside(found)
        if inner is None:
            raise PlantError(
                f"plant(place={place!r}): is of type {type(found).__name__}; expected a function written in Python"
            )
        found = inner
    return found, caches


def _inside(found: Any) -> Any:
    """The function inside a property, a class method, a torch step or a wrapper; None for any other object."""
    if isinstance(found, property):
        return found.fget
    if isinstance(found, functools.cached_property):
        return found.func
    if isinstance(found, TorchStep):
        return found.function
    return getattr(found, "__wrapped__", None) or getattr(found, "__func__", None)


def _source_of(function: FunctionType, place: str) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise PlantError(
            f"plant(place={place!r}): the function has no source text; is it edited already, or generated?"
        ) from None


def _compiled(function: FunctionType, text: str, place: str) -> CodeType:
    """The code of the edited text, with the names that the function encloses."""
    try:
        before, after = (_definition(source) for source in (_source_of(function, place), text))
        if ast.dump(before.args) != ast.dump(after.args):
            raise PlantError(
                f"plant(place={place!r}): the edit changes the signature, which callers hold; expected a change in the body"
            )
        free = function.__code__.co_freevars
        outer = ast.parse(f"def enclosing({', '.join(free)}):\n    pass")
        enclosing = outer.body[0]
        assert isinstance(enclosing, ast.FunctionDef)
        enclosing.body = [after]
        module = compile(
            ast.fix_missing_locations(outer),
            f"<planted in {place}>",
            "exec",
            flags=function.__code__.co_flags & _FUTURE,
            dont_inherit=True,
        )
    except SyntaxError as error:
        raise PlantError(
            f"plant(place={place!r}): the edited text is not Python: {error}; in\n{text}"
        ) from None
    code = _named(_named(module, "enclosing"), after.name)
    if code.co_freevars != free:
        raise PlantError(
            f"plant(place={place!r}): the edit encloses {code.co_freevars}, the function {free}; expected the same names"
        )
    return code


def _definition(text: str) -> ast.FunctionDef:
    node, *more = ast.parse(text).body
    if more or not isinstance(node, ast.FunctionDef):
        raise SyntaxError("expected one function")
    node.decorator_list = []
    return node


def _named(code: CodeType, name: str) -> CodeType:
    return next(item for item in code.co_consts if isinstance(item, CodeType) and item.co_name == name)


def _forget(caches: Sequence[Callable[[], None]]) -> None:
    for clear in caches:
        clear()
    # Without it there is no kernel in this process, and torch need not be loaded.
    kernels = sys.modules.get("sgverify.samplers.fused.driver")
    if kernels is not None:
        kernels.forget_proofs()


_FUTURE = 0x1000000
"""CO_FUTURE_ANNOTATIONS, the one future statement that changes how today's Python compiles a function."""
