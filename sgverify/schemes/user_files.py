"""How is a file of a user's loaded? As Python runs it: once, with arguments of its own, in its package, for a limited time."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from sgverify.code_files import package_of, remember
from sgverify.errors import UserError, printable
from sgverify.keeping.files import read_bytes
from sgverify.user_code import LOADED, beside, compiler_left_out, edited_content, own_code, undisturbed

LIMIT = 60.0
"""After so many seconds a file that is still running is stopped: what it has defined by then is taken."""

_ONCE: ContextVar[dict[Path, ModuleType] | None] = ContextVar("sgverify_loaded_once", default=None)


@contextlib.contextmanager
def loaded_once() -> Iterator[None]:
    """A context, that of one command, in which a file runs once however often it is named: it may train for a minute."""
    outer = _ONCE.get()
    token = _ONCE.set({} if outer is None else outer)
    try:
        yield
    finally:
        _ONCE.reset(token)


def module_of(path: Path, attribute: str, given: str) -> ModuleType:
    """The module that a file is; raises `UserError` where there is no such file, or it raises before it has ended.

    A file that runs for longer than `LIMIT` is stopped, and taken as it stands if it has the attribute by then.
    """
    text = edited_content(path)
    loaded = _ONCE.get() if text is None else None
    if loaded is not None and path.absolute() in loaded:
        return loaded[path.absolute()]
    try:
        content = read_bytes(path) if text is None else text
    except FileNotFoundError:
        raise UserError(
            f"{given}: no file {str(path)!r}; expected path/to/file.py:attribute; check the path"
        ) from None
    except OSError as error:
        raise UserError(
            f"{given}: {str(path)!r} cannot be read ({error.strerror}); expected a file of Python; check the path"
        ) from None
    module = _run(path, content, attribute, given)
    if loaded is not None:
        loaded[path.absolute()] = module
    return module


def _run(path: Path, content: bytes, attribute: str, given: str) -> ModuleType:
    root, package = package_of(path)
    # The name depends on the place, so that two files of one name do not meet; in a package it is the file's own.
    name = f"{LOADED}{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    if package:
        name = package if path.stem == "__init__" else f"{package}.{path.stem}"
    module: Any = None
    try:
        with own_code(), undisturbed(path), beside(str(root)), contextlib.ExitStack() as stack:
            if not package:
                stack.enter_context(_in_its_package(path))
            elif path.stem != "__init__":
                importlib.import_module(package)
            edited = edited_content(path) is not None
            if package and name in sys.modules and not edited:
                # The package has imported it.
                return sys.modules[name]
            spec = importlib.util.spec_from_file_location(name, path)
            if spec is None or spec.loader is None:
                raise UserError(f"{given}: {str(path)!r} is not a Python file")
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            if b"get_ipython" in content:
                vars(module).update(get_ipython=Notebook, display=Notebook())
            # Compiled from the text on disk: a cached .pyc of the same second and size would be the old code.
            if not edited:
                remember(path, content)
            with compiler_left_out(), _limited():
                exec(compile(content, str(path), "exec"), vars(module))
    except (UserError, KeyboardInterrupt):
        sys.modules.pop(name, None)
        raise
    except TimeLimitError as error:
        place = place_of(error, path)
        if attribute not in vars(module):
            sys.modules.pop(name, None)
            raise UserError(
                f"{given}: {place} still runs after {LIMIT:g} s; expected a file that has defined {attribute} by then; put what "
                'trains under `if __name__ == "__main__":`'
            ) from None
        print(
            f"{printable(place)} still ran after {LIMIT:g} s and was stopped; {attribute} is judged as it was by then",
            file=sys.stderr,
        )
    except (
        BaseException
    ) as error:  # SystemExit too: a file that exits must not end the command as if all were well
        sys.modules.pop(name, None)
        mend = _hidden(path.parent)
        if isinstance(error, SystemExit):
            mend += '; put what parses arguments or ends the program under `if __name__ == "__main__":`'
        raise UserError(
            f"{given}: {place_of(error, path)} raised {type(error).__name__}: {error}{mend}"
        ) from None
    return module


@contextlib.contextmanager
def _in_its_package(path: Path) -> Iterator[None]:
    """A context in which a file in a package without relative imports finds the package by its own name."""
    top = path.parent.resolve()
    while (top / "__init__.py").is_file():
        top = top.parent
    if top == path.parent.resolve():
        yield
        return
    sys.path.append(str(top))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(top))


class Notebook:
    """The notebook around exported code: a magic does nothing."""

    def __getattr__(self, name: str) -> Notebook:
        return self

    def __call__(self, *given: Any, **named: Any) -> Notebook:
        """Nothing."""
        return self


class TimeLimitError(BaseException):
    """The file has run for too long; it is no `Exception`, which the file might catch."""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """A context that ends in `TimeLimitError` after `LIMIT` seconds, where signals can be had and nobody else has the alarm."""
    alarm = getattr(signal, "SIGALRM", None)
    if (
        alarm is None
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(alarm) is not signal.SIG_DFL
    ):
        yield
        return

    def stop(*_: Any) -> NoReturn:
        raise TimeLimitError

    signal.signal(alarm, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(alarm, signal.SIG_DFL)


def place_of(error: BaseException, path: Path) -> str:
    """FILE:LINE of the last line of `path` that an error passed through."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    line = next((f.lineno for f in frames if Path(f.filename).resolve() == path.resolve()), None)
    if isinstance(error, SyntaxError):
        line = error.lineno
    return f"{path.name}:{line}" if line else path.name


def _hidden(folder: Path) -> str:
    """The hint that files of a folder hide modules of Python: an error while a file is loaded is often theirs."""
    hiding = sorted(
        path.name
        for path in folder.glob("*.py")
        if path.stem in sys.stdlib_module_names
        or path.stem in ("numpy", "scipy", "sgverify", "sympy", "torch")
    )
    return f"; beside it, {', '.join(hiding[:3])} may hide the module of that name" if hiding else ""
