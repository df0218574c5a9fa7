"""Schemes by reference: a catalogue name, `module:attribute` or `path/to/file.py:attribute`."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from sgverify.errors import DefinitionError, UnknownNameError, UserError
from sgverify.schemes.catalogue import find_scheme
from sgverify.schemes.scheme import Scheme


def load_scheme(reference: str) -> Scheme:
    """The scheme that `reference` names.

    Raises `UserError` where the file is missing or raises, the attribute is missing (with the nearest one) or
    is no scheme, and what `find_scheme` raises for catalogue names.
    """
    if ":" not in reference:
        if reference.endswith(".py"):
            raise UserError(f"scheme={reference!r}: which scheme of the file? Write {reference}:attribute")
        return find_scheme(reference)
    place, _, attribute = reference.rpartition(":")
    if not place or not attribute:
        raise UserError(f"scheme={reference!r}: expected module:attribute or path/to/file.py:attribute")
    module = _from_file(Path(place), reference) if place.endswith(".py") else _from_module(place, reference)
    if not hasattr(module, attribute):
        schemes = [name for name, value in vars(module).items() if isinstance(value, Scheme)]
        if not schemes:
            raise UserError(
                f"scheme={reference!r}: {place} has no {attribute!r}, and no scheme at all; expected a function under "
                "@scheme(dynamics) or a word Alphabet(...).word(...); define one"
            )
        raise UnknownNameError(f"scheme of {place}", attribute, schemes)
    scheme = getattr(module, attribute)
    if not isinstance(scheme, Scheme):
        raise DefinitionError(
            f"scheme={reference!r}: is of type {type(scheme).__name__}; expected a function under @scheme(dynamics) or a word "
            "Alphabet(...).word(...)"
        )
    return scheme


def _from_file(path: Path, reference: str) -> ModuleType:
    if not path.is_file():
        raise UserError(
            f"scheme={reference!r}: no file {str(path)!r}; expected path/to/file.py:attribute; check the path"
        )
    # The name depends on the place, so that two files of one name do not meet.
    name = f"sgverify_user_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"scheme={reference!r}: {str(path)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        # Compiled from the text on disk: a cached .pyc of the same second and size would be the old code.
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except (UserError, KeyboardInterrupt):
        sys.modules.pop(name, None)
        raise
    except (
        BaseException
    ) as error:  # SystemExit too: a file that exits must not end the command as if all were well
        sys.modules.pop(name, None)
        raise UserError(
            f"scheme={reference!r}: {_place(error, path)} raised {type(error).__name__}: {error}"
        ) from None
    finally:
        sys.path.pop(0)
    return module


def _from_module(name: str, reference: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (UserError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        raise UserError(
            f"scheme={reference!r}: no module {error.name!r}; expected module:attribute, path/to/file.py:attribute or a "
            "catalogue name (see `sgverify list schemes`)"
        ) from None
    except BaseException as error:
        raise UserError(
            f"scheme={reference!r}: importing {name} raised {type(error).__name__}: {error}"
        ) from None


def _place(error: BaseException, path: Path) -> str:
    frames = reversed(traceback.extract_tb(error.__traceback__))
    line = next((f.lineno for f in frames if Path(f.filename).resolve() == path.resolve()), None)
    if isinstance(error, SyntaxError):
        line = error.lineno
    return f"{path.name}:{line}" if line else path.name
