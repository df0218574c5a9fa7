"""Guards around code of a user's file.

It may neither print on the command's stdout nor end the process unseen, and what it sets for the whole process while its file is
loaded (`undisturbed`) does not change what is answered. What it imports from its own folder is of that folder (`beside`), whatever
this process has loaded before.
"""

from __future__ import annotations

import builtins
import contextlib
import decimal
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from sgverify.code_files import FileState, is_own
from sgverify.watching import watched

ENDINGS = ("_exit", "abort", "execv", "execve")
"""Functions of `os` that end the interpreter, or put another program in its place, past every handler and `finally`."""


class InterpreterEndedError(SystemExit):
    """User code called a function that ends the process with an exit code of its own; 0 would read as a passed verdict."""


@contextlib.contextmanager
def own_code() -> Iterator[None]:
    """Context in which prints to stdout go to stderr, and calls that would end the interpreter raise.

    So does what C code and other programs write on the file descriptor of stdout. `sys.exit` raises `SystemExit` by itself. A
    process that was forked within is its own master.
    """
    with _descriptor_aside(), contextlib.redirect_stdout(_stderr()), unending(), watched():
        yield


_MARK = "__dynamo_disable"
"""The attribute in which torch keeps what its compiler makes of a method of optimizers."""


def leave_compiler_out() -> bool:
    """Let torch's optimizers be made and used without torch's compiler, a second's import; False where torch is not loaded.

    torch imports it at the first `add_param_group` or `zero_grad`, to leave these out of what is compiled. Where nothing has
    imported it, nothing is compiled; once something has, they go torch's way.
    """
    optimizer = getattr(sys.modules.get("torch.optim.optimizer"), "Optimizer", None)
    for outer in [] if optimizer is None else list(vars(optimizer).values()):
        inner, code = getattr(outer, "__wrapped__", None), getattr(outer, "__code__", None)
        if inner is None or code is None or not code.co_filename.endswith("_compile.py"):
            continue
        if "torch._dynamo" not in sys.modules and not hasattr(inner, _MARK):
            setattr(inner, _MARK, _until_compiler(outer, inner))
    return optimizer is not None


def _until_compiler(outer: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any, **named: Any) -> Any:
        if "torch._dynamo" not in sys.modules:
            return inner(*args, **named)
        delattr(inner, _MARK)
        return outer(*args, **named)

    return called


@contextlib.contextmanager
def compiler_left_out() -> Iterator[None]:
    """Context for loading a file, which may be the first to import torch: `leave_compiler_out` as soon as it has."""
    original = builtins.__import__

    def imported(*args: Any, **named: Any) -> Any:
        found = original(*args, **named)
        if builtins.__import__ is imported and leave_compiler_out():
            builtins.__import__ = original
        return found

    if not leave_compiler_out():
        builtins.__import__ = imported
    try:
        yield
    finally:
        if builtins.__import__ is imported:
            builtins.__import__ = original


@contextlib.contextmanager
def beside(folder: str) -> Iterator[None]:
    """Context for loading a file of a folder, in which its imports are searched first.

    A module that was imported beside a file of another folder is not taken for one of the same name here, nor for one that is
    missing here; one that was edited since is imported anew, with all others that were. No .pyc is written: after an edit that
    leaves second and size as they were, Python would take it for the text.
    """
    if any(not _is_found(name, state, folder) for name, state in _BESIDE.items()):
        for name, state in _BESIDE.items():
            if getattr(sys.modules.get(name), "__file__", None) == state.path:
                del sys.modules[name]
        _BESIDE.clear()
    aside = _others_of_the_names_in(folder)
    for name in aside:
        del sys.modules[name]
    before, writes_none = set(sys.modules), sys.dont_write_bytecode
    importlib.invalidate_caches()
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes_none
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
        for name in set(sys.modules) - before - set(aside):
            source = getattr(sys.modules[name], "__file__", None)
            # By its text: the builtins that a path asks may be the file's own by now.
            if source and not name.startswith(LOADED) and source.startswith(f"{folder}{os.sep}"):
                _BESIDE[name] = FileState.of(source)
        # What the rest of the process imported under these names stays its own.
        sys.modules.update(aside)


@contextlib.contextmanager
def edited(file: str | Path, text: str) -> Iterator[None]:
    """Context in which a file is loaded with another text than it has on disk."""
    place = os.path.realpath(file)
    _EDITED[place] = text.encode()
    try:
        yield
    finally:
        del _EDITED[place]


def edited_content(file: str | Path) -> bytes | None:
    """The text that a file is loaded with inside of `edited`."""
    return _EDITED.get(os.path.realpath(file)) if _EDITED else None


_EDITED: dict[str, bytes] = {}

LOADED = "sgverify_user_"
"""What the names of modules begin with that are loaded from a file by its path."""

_BESIDE: dict[str, FileState] = {}
"""The modules that were imported from the folder of a user's file, each with the state of its file."""


def _is_found(name: str, state: FileState, folder: str) -> bool:
    """Would a file in the folder import just this module under its name?"""
    if FileState.of(state.path) != state:
        return False
    top = name.partition(".")[0]
    spec = PathFinder.find_spec(top, [folder, *sys.path])
    loaded = getattr(sys.modules.get(top), "__file__", None)
    return spec is not None and (loaded is None or spec.origin == loaded)


def _others_of_the_names_in(folder: str) -> dict[str, ModuleType]:
    """The modules of the user's that this process imported from elsewhere under names that the folder has."""
    try:
        names = {name.partition(".")[0] for name in os.listdir(folder)}
    except OSError:
        return {}
    others = set()
    for name in names & sys.modules.keys() - {"__main__", "conftest"}:
        file = getattr(sys.modules[name], "__file__", None)
        spec = PathFinder.find_spec(name, [folder]) if file and is_own(Path(file)) else None
        if spec is not None and spec.origin and os.path.realpath(spec.origin) != os.path.realpath(file or ""):
            others.add(name)
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] in others}


@contextlib.contextmanager
def undisturbed(file: Path) -> Iterator[None]:
    """Context for loading a user's file, after which the settings that everything in this process reads are what they were.

    Within, the arguments of the process are the file's own: none. Put back are these, the working folder, entries of `sys.path`
    that it takes away, builtins, filters of warnings, the contexts of decimal and numpy, the recursion limit, stderr, and the
    handler of Ctrl-C. What torch is set to stays: the code may rely on it.
    """
    path, names, limit, stderr = list(sys.path), dict(vars(builtins)), sys.getrecursionlimit(), sys.stderr
    arguments, sys.argv = sys.argv, [str(file)]
    folder = None
    # A folder that was deleted is none to go back to.
    with contextlib.suppress(FileNotFoundError):
        folder = os.getcwd()
    for name, value in _functions().items():
        _AS_LOADED.setdefault(name, value)
    numpy = sys.modules.get("numpy")
    errors = numpy.geterr() if numpy is not None else {}
    on_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if on_main else None
    try:
        with watched(), warnings.catch_warnings(), decimal.localcontext():
            yield
    finally:
        sys.argv = arguments
        vars(builtins).update(names)
        if folder is not None:
            os.chdir(folder)
        if not set(path) <= set(sys.path):
            sys.path[:] = path
        sys.setrecursionlimit(limit)
        sys.stderr = stderr
        if numpy is not None:
            numpy.seterr(**errors)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)


_AS_LOADED: dict[str, object] = {}
"""The functions of libraries before the first file of a user's was loaded that came after the library, by dotted name."""


def _functions() -> dict[str, object]:
    found = {name: sys.modules[name] for name in ("math", "random", "numpy", "torch") if name in sys.modules}
    return {
        f"{name}.{key}": value
        for name, module in found.items()
        for key, value in vars(module).items()
        if callable(value)
    }


def changed_for_all() -> Iterator[str]:
    """Name what code of a user's has changed for the whole process: functions of libraries, torch's default device and dtype."""
    for name, value in _AS_LOADED.items():
        module, _, key = name.rpartition(".")
        now = getattr(sys.modules.get(module), key, None)
        # A library puts functions of its own in the place of others too, under their names.
        file = getattr(getattr(now, "__code__", None), "co_filename", "")
        if now is not value and (getattr(now, "__name__", None) != key or (file and is_own(Path(file)))):
            yield name
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_default_dtype"):
        device = getattr(sys.modules.get("torch.utils._device"), "CURRENT_DEVICE", None)
        if device is not None and torch.device(device).type != "cpu":
            yield f"torch's default device to {device}"
        if torch.get_default_dtype() is not torch.float32:
            yield f"torch's default dtype to {torch.get_default_dtype()}"


@contextlib.contextmanager
def _descriptor_aside() -> Iterator[None]:
    """Context in which file descriptor 1 is that of stderr; re-entrant, from any thread."""
    with _LOCK:
        _ASIDE.append(_swap() if not _ASIDE else None)
    try:
        yield
    finally:
        with _LOCK:
            kept = _ASIDE.pop()
            if not _ASIDE:
                _swap_back(kept)


def _swap() -> int | None:
    """The former file descriptor 1, which is replaced by that of stderr; None where there is none of both."""
    _flush()
    try:
        kept = os.dup(1)
    except OSError:
        return None
    try:
        os.dup2(2, 1)
    except OSError:
        os.close(kept)
        return None
    return kept


def _swap_back(kept: int | None) -> None:
    if kept is not None:
        _flush()
        os.dup2(kept, 1)
        os.close(kept)


def _flush() -> None:
    # What stands in a buffer belongs to the descriptor as it is now.
    for stream in {id(stream): stream for stream in (sys.stdout, sys.__stdout__)}.values():
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()


@contextlib.contextmanager
def unending() -> Iterator[None]:
    """Context in which `os._exit` and its like raise `InterpreterEndedError` in this process; re-entrant, from any thread."""
    with _LOCK:
        _DEPTH[0] += 1
        if _DEPTH[0] == 1:
            _install()
    try:
        yield
    finally:
        with _LOCK:
            _DEPTH[0] -= 1
            if _DEPTH[0] == 0:
                _remove()


_LOCK = threading.RLock()
_ASIDE: list[int | None] = []
"""One entry for each context that is entered; the first holds the former descriptor."""
_DEPTH = [0]
_KEPT: list[tuple[ModuleType, str, Callable[..., Any]]] = []


def _install() -> None:
    # `os` takes these names from the system's own module, where `from posix import _exit` finds them.
    for module in (os, importlib.import_module(os.name)):
        for name in ENDINGS:
            real = getattr(module, name, None)
            if real is not None:
                _KEPT.append((module, name, real))
                setattr(module, name, _refusing(name, real, os.getpid()))


def _remove() -> None:
    while _KEPT:
        module, name, real = _KEPT.pop()
        setattr(module, name, real)


def _refusing(name: str, real: Callable[..., Any], owner: int) -> Callable[..., Any]:
    def refuse(*arguments: Any) -> NoReturn:
        if os.getpid() != owner:
            real(*arguments)
        given = ", ".join(map(repr, arguments))
        raise InterpreterEndedError(f"os.{name}({given[:100]}) would have ended the interpreter")

    return refuse


def _stderr() -> Any:
    return sys.stderr if sys.stderr is not None else open(os.devnull, "w")
